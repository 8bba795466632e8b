//! The reasons why a file cannot be used as a database of addresses.

use std::fmt;
use std::io;

/// A database that cannot be used.
#[derive(Debug)]
pub struct DatabaseError {
    /// The file.
    pub file: String,
    /// The reason why it cannot be used.
    pub flaw: Flaw,
}

/// A reason why a database cannot be used.
#[derive(Debug)]
pub enum Flaw {
    /// The file cannot be read.
    Unreadable(io::Error),
    /// The file is a directory, a pipe or a device.
    NoFile,
    /// The file is larger than any database.
    TooLarge,
    /// The file is in another format.
    NoDatabase,
    /// The parts of the database do not fit each other.
    Damaged,
    /// The database has neither countries nor autonomous systems.
    NothingUsed,
}

impl fmt::Display for DatabaseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let expected =
            "expected an MMDB file with countries or autonomous systems, such as GeoLite2-ASN.mmdb";
        write!(f, "{}: ", self.file.escape_debug())?;
        match &self.flaw {
            Flaw::Unreadable(error) => write!(f, "{error}; {expected}"),
            Flaw::NoFile => write!(f, "not a regular file; {expected}"),
            Flaw::TooLarge => write!(f, "larger than 4 GiB; {expected}"),
            Flaw::NoDatabase => write!(f, "not in MMDB format; {expected}"),
            Flaw::Damaged => write!(f, "a damaged MMDB file; {expected}"),
            Flaw::NothingUsed => {
                write!(f, "has neither countries nor autonomous systems; {expected}")
            }
        }
    }
}

impl std::error::Error for DatabaseError {}
