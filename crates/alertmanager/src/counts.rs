//! What became of alerts.

use std::collections::BTreeMap;

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

/// What became of the alerts for one Alertmanager.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Firings that it took.
    pub fired: u64,
    /// Resolutions that it took.
    pub resolved: u64,
    /// Firings that it took again, as they still fire.
    pub repeated: u64,
    /// Resolutions that it took without having taken the firing before: it notifies of neither.
    pub unseen: u64,
    /// Resolutions after which the same fired again before it took them: it knows of one firing.
    pub merged: u64,
    /// What was given up, by reason.
    pub lost: BTreeMap<&'static str, u64>,
    /// How often something went wrong that may pass, by its name.
    pub problems: BTreeMap<&'static str, u64>,
    /// What is wrong at present.
    pub fault: Option<String>,
}

impl Counts {
    /// Counts what was given up.
    pub(crate) fn lose(&mut self, reason: &'static str, number: u64) {
        if number != 0 {
            *self.lost.entry(reason).or_default() += number;
        }
    }
}
