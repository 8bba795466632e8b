//! What keeps alerts waiting.

/// What keeps an Alertmanager from taking alerts; alerts wait meanwhile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Problem {
    /// It cannot be reached.
    Away,
    /// It does not answer in time.
    Slow,
    /// It asks to come again later (408, 429), or has a fault (5xx).
    Busy,
    /// It wants other credentials (401, 403).
    NotAllowed,
    /// It has no such API (any other answer).
    NoApi,
}

impl Problem {
    /// Its name in counters.
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
