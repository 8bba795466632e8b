//! Why a message is not taken.

use std::fmt;

/// Why a message is not taken. Its name is that of a counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Refusal {
    /// It is not said to be a message of Edison.
    Foreign,
    /// Its end is missing.
    Truncated,
    /// Its bytes are not those that were sent.
    Damaged,
    /// It is of a protocol before the oldest that is understood.
    TooOld,
    /// It is of a protocol after this one.
    TooNew,
    /// Its node is not one of the controller's.
    UnknownNode,
    /// The broker does not vouch for its sender, or vouches for another one.
    WrongUser,
    /// It is, or would become, larger than any message.
    TooLarge,
    /// It is not what a message of its version is.
    Malformed,
}

impl Refusal {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::Foreign,
        Self::Truncated,
        Self::Damaged,
        Self::TooOld,
        Self::TooNew,
        Self::UnknownNode,
        Self::WrongUser,
        Self::TooLarge,
        Self::Malformed,
    ];

    /// Its name, which stays.
    pub fn name(self) -> &'static str {
        match self {
            Self::Foreign => "foreign",
            Self::Truncated => "truncated",
            Self::Damaged => "damaged",
            Self::TooOld => "too_old",
            Self::TooNew => "too_new",
            Self::UnknownNode => "unknown_node",
            Self::WrongUser => "wrong_user",
            Self::TooLarge => "too_large",
            Self::Malformed => "malformed",
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl std::error::Error for Refusal {}
