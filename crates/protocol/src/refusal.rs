//! The reasons why a message is not taken.

use std::fmt;

/// The reason why a message is not taken. Its name is that of a counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MessageRefusal {
    /// The message is not said to be one of Edison.
    Foreign,
    /// The end of the message is missing.
    Truncated,
    /// The bytes of the message are not those that were sent.
    Damaged,
    /// The message is of a protocol before the oldest that is understood.
    TooOld,
    /// The message is of a protocol after this one.
    TooNew,
    /// The message's node is not one of the controller's.
    UnknownNode,
    /// The broker does not vouch for the message's sender, or vouches for another one.
    WrongUser,
    /// The message is, or would become, larger than any message.
    TooLarge,
    /// The message is not what one of its version is.
    Malformed,
}

impl MessageRefusal {
    /// The list of all reasons.
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

    /// Returns the reason's name, which stays.
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

impl fmt::Display for MessageRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl std::error::Error for MessageRefusal {}
