//! Why a file is no database of addresses.

use std::fmt;
use std::io;

/// A database that cannot be used.
#[derive(Debug)]
pub struct DatabaseError {
    /// The file.
    pub file: String,
    /// What is wrong with it.
    pub flaw: Flaw,
}

/// What is wrong with a database.
#[derive(Debug)]
pub enum Flaw {
    /// It cannot be read.
    Unreadable(io::Error),
    /// It is a directory, a pipe or a device.
    NoFile,
    /// It is larger than any database.
    TooLarge,
    /// It is in another format.
    NoDatabase,
    /// Its parts do not fit each other.
    Damaged,
    /// It tells other things of addresses.
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
