//! Reasons why there is no capture.

use std::fmt;

/// The reason why nothing is captured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotCaptured {
    /// No folder was given.
    NoFolder,
    /// Addresses must not leave.
    Anonymized,
    /// The name of the capture may not become the name of a file.
    BadName,
    /// A capture of this name is open.
    SameName,
    /// The maximum number of captures is open.
    TooMany {
        /// The maximum number of open captures.
        most: usize,
    },
    /// The file would exceed the space that is left for captures.
    NoRoom {
        /// The least space that the file takes, bytes.
        bytes: u64,
        /// The space that is left for captures, bytes.
        left: u64,
    },
    /// The memory for what receivers hand over is not there.
    NoMemory,
    /// The run has ended.
    RunOver,
}

impl fmt::Display for NotCaptured {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoFolder => f.write_str("no_folder: captures have no place here: give --captures DIR"),
            Self::Anonymized => f.write_str("anonymized: addresses are replaced here, and packets have them"),
            Self::BadName => f.write_str(
                "bad_name: the name of a capture has at most 100 letters, digits, '-', '_' and '.', which is not the first",
            ),
            Self::SameName => f.write_str("same_name: a capture of this name is open"),
            Self::TooMany { most } => write!(f, "too_many: {most} captures are open"),
            Self::NoRoom { bytes, left } => {
                write!(f, "no_room: it takes {bytes} bytes or more, and {left} are left for captures")
            }
            Self::NoMemory => f.write_str("no_memory: receivers have no memory to hand packets over"),
            Self::RunOver => f.write_str("run_over: the run has ended"),
        }
    }
}

impl std::error::Error for NotCaptured {}
