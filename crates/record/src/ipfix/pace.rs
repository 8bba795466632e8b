//! Limits the rate of sending: replays have more records than fit into a collector's socket buffer.

use std::time::{Duration, Instant};

/// The delay that may be caught up at once after a sleep that took too long.
const CATCH_UP: Duration = Duration::from_millis(2);

/// Keeps to a rate of records a second.
#[derive(Debug)]
pub(super) struct RecordPace {
    rate: Option<u64>,
    /// The time at which the next record is due.
    due: Instant,
}

impl RecordPace {
    pub(super) fn new(rate: Option<u64>, now: Instant) -> Self {
        Self { rate, due: now }
    }

    /// Returns the time at which the next message may be sent; `None` is at once.
    pub(super) fn due(&self, now: Instant) -> Option<Instant> {
        (self.rate.is_some() && self.due > now).then_some(self.due)
    }

    /// Counts the records that were sent.
    pub(super) fn sent(&mut self, records: u64, now: Instant) {
        let Some(rate) = self.rate else { return };
        let earliest = now.checked_sub(CATCH_UP).unwrap_or(now);
        let nanoseconds = u128::from(records) * 1_000_000_000 / u128::from(rate);
        let takes = Duration::from_nanos(u64::try_from(nanoseconds).unwrap_or(u64::MAX));
        self.due = self.due.max(earliest) + takes;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_has_as_many_records_as_the_rate_says() {
        let start = Instant::now();
        let mut pace = RecordPace::new(Some(10_000), start);
        let (mut now, mut records) = (start, 0);
        while now < start + Duration::from_secs(1) {
            match pace.due(now) {
                // Sleeps end late.
                Some(due) => now = due + Duration::from_micros(60),
                None => {
                    pace.sent(12, now);
                    records += 12;
                }
            }
        }
        assert!((9_900..=10_100).contains(&records), "{records}");
    }

    #[test]
    fn a_pause_is_not_made_up_for() {
        let start = Instant::now();
        let mut pace = RecordPace::new(Some(1_000), start);
        pace.sent(1, start);
        let later = start + Duration::from_secs(10);
        let at_once = (0..100).take_while(|_| {
            let goes = pace.due(later).is_none();
            pace.sent(1, later);
            goes
        });
        assert!(at_once.count() <= 4);
    }

    #[test]
    fn without_a_rate_nothing_waits() {
        let now = Instant::now();
        let mut pace = RecordPace::new(None, now);
        pace.sent(1_000_000_000, now);
        assert_eq!(pace.due(now), None);
    }
}
