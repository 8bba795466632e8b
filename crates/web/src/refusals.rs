//! The refusals of requests of clients, by name: counted always, logged now and then.

use model::Counters;
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// A reason has a line in each of these at most: strangers must not fill a disk.
const EVERY: Duration = Duration::from_secs(10);

/// The refusals by reason.
#[derive(Debug, Default)]
pub(crate) struct Refusals(Mutex<BTreeMap<&'static str, RefusalCount>>);

#[derive(Debug, Default)]
struct RefusalCount {
    count: u64,
    logged: Option<Logged>,
}

#[derive(Debug)]
struct Logged {
    at: Instant,
    count: u64,
}

impl Refusals {
    fn reasons(&self) -> MutexGuard<'_, BTreeMap<&'static str, RefusalCount>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts one refusal. Returns what a line begins with, where it is time for one.
    pub(crate) fn count(&self, name: &'static str, now: Instant) -> Option<String> {
        let mut reasons = self.reasons();
        let reason = reasons.entry(name).or_default();
        reason.count += 1;
        if reason.logged.as_ref().is_some_and(|logged| now.saturating_duration_since(logged.at) < EVERY) {
            return None;
        }
        let since = reason.count - reason.logged.as_ref().map_or(0, |logged| logged.count);
        reason.logged = Some(Logged { at: now, count: reason.count });
        Some(match since {
            1 => format!("refused ({name})"),
            _ => format!("refused ({name}, {since} since the last line about it)"),
        })
    }

    pub(crate) fn counters(&self) -> Counters {
        self.reasons().iter().map(|(name, reason)| (*name, reason.count)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_counted_and_few_are_logged() {
        let (refusals, start) = (Refusals::default(), Instant::now());
        let count = |name, after| refusals.count(name, start + Duration::from_secs(after));
        assert_eq!(count("a", 0).as_deref(), Some("refused (a)"));
        assert_eq!((count("a", 1), count("a", 9)), (None, None));
        assert_eq!(count("b", 9).as_deref(), Some("refused (b)"));
        assert_eq!(count("a", 10).as_deref(), Some("refused (a, 3 since the last line about it)"));
        assert_eq!(refusals.counters(), [("a", 4), ("b", 1)].into_iter().collect());
    }
}
