//! Reasons why alerts wait.

/// A reason why an Alertmanager takes no alerts at present, so that they wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum AlertmanagerProblem {
    /// The Alertmanager cannot be reached.
    Away,
    /// The Alertmanager does not answer in time.
    Slow,
    /// The Alertmanager asks to come again later (408, 429), or has a fault (5xx).
    Busy,
    /// The Alertmanager wants other credentials (401, 403).
    NotAllowed,
    /// The Alertmanager has no such API (any other answer).
    NoApi,
}

impl AlertmanagerProblem {
    /// Returns the name that counters have.
    pub fn name(self) -> &'static str {
        match self {
            Self::Away => "away",
            Self::Slow => "slow",
            Self::Busy => "busy",
            Self::NotAllowed => "not_allowed",
            Self::NoApi => "no_api",
        }
    }
}
