//! The choice of the level that covers each part of a time.

use crate::question::Period;
use store::Level;

/// The time of which a rollup has all rows of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RollupCoverage {
    pub(super) level: Level,
    /// The begin of its first window.
    pub(super) from_ns: u64,
    /// Windows that begin before are complete.
    pub(super) until_ns: u64,
}

/// The parts of a period, in the order of time, each with the level that it is read from: those rollups, the coarsest first, as far as they are
/// complete and have windows that lie in it, and rows for the rest.
pub(super) fn cover(period: Period, rollups: &[RollupCoverage]) -> Vec<(Level, Period)> {
    if period.is_empty() {
        return Vec::new();
    }
    let Some((coarsest, finer)) = rollups.split_first() else { return vec![(Level::Rows, period)] };
    let Some(middle) = whole_windows(period, coarsest) else { return cover(period, finer) };
    let before = Period { to_ns: middle.from_ns, ..period };
    let after = Period { from_ns: middle.to_ns, ..period };
    let mut parts = cover(before, finer);
    parts.push((coarsest.level, middle));
    parts.extend(cover(after, finer));
    parts
}

/// The windows of a rollup that lie in a period.
fn whole_windows(period: Period, rollup: &RollupCoverage) -> Option<Period> {
    let length = rollup.level.window_ns()?;
    let from_ns = period.from_ns.max(rollup.from_ns).checked_next_multiple_of(length)?;
    let until_ns = period.to_ns.min(rollup.until_ns);
    let to_ns = until_ns - until_ns % length;
    (from_ns < to_ns).then_some(Period { from_ns, to_ns })
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: u64 = 60_000_000_000;
    const HOUR: u64 = 60 * MINUTE;
    /// A begin of an hour.
    const START: u64 = 500_000 * HOUR;

    fn at(minutes: u64) -> u64 {
        START + minutes * MINUTE
    }

    fn complete(level: Level, from: u64, until: u64) -> RollupCoverage {
        RollupCoverage { level, from_ns: at(from), until_ns: at(until) }
    }

    /// The parts, in minutes.
    fn parts(from_ns: u64, to_ns: u64, rollups: &[RollupCoverage]) -> Vec<(Level, f64, f64)> {
        let minutes = |ns: u64| (ns as f64 - START as f64) / MINUTE as f64;
        let parts = cover(Period { from_ns, to_ns }, rollups).into_iter();
        parts.map(|(level, part)| (level, minutes(part.from_ns), minutes(part.to_ns))).collect()
    }

    #[test]
    fn rollups_cover_whole_windows_and_finer_ones_the_ends() {
        use Level::{Hour, Minute, Rows};
        let both = [complete(Hour, 0, 300), complete(Minute, 0, 330)];
        assert_eq!(parts(at(60), at(180), &both), [(Hour, 60.0, 180.0)]);
        assert_eq!(
            parts(at(59), at(181), &both),
            [(Minute, 59.0, 60.0), (Hour, 60.0, 180.0), (Minute, 180.0, 181.0)]
        );
        assert_eq!(
            parts(at(58) + MINUTE / 2, at(181) + MINUTE / 4, &both),
            [
                (Rows, 58.5, 59.0),
                (Minute, 59.0, 60.0),
                (Hour, 60.0, 180.0),
                (Minute, 180.0, 181.0),
                (Rows, 181.0, 181.25)
            ]
        );
        // What is not rolled up yet.
        assert_eq!(
            parts(at(240), at(400), &both),
            [(Hour, 240.0, 300.0), (Minute, 300.0, 330.0), (Rows, 330.0, 400.0)]
        );
        assert_eq!(parts(at(301), at(302), &both), [(Minute, 301.0, 302.0)]);
        assert_eq!(parts(at(301), at(301) + MINUTE / 2, &both), [(Rows, 301.0, 301.5)]);
        assert_eq!(parts(at(5), at(5), &both), []);
        // Rows are older than the rollups.
        assert_eq!(
            parts(at(0), at(180), &[complete(Hour, 60, 300)]),
            [(Rows, 0.0, 60.0), (Hour, 60.0, 180.0)]
        );
        assert_eq!(parts(at(0), at(180), &[]), [(Rows, 0.0, 180.0)]);
    }

    #[test]
    fn all_time_is_covered_once() {
        let both = [complete(Level::Hour, 0, 300), complete(Level::Minute, 0, 330)];
        let parts = cover(Period::ALL, &both);
        assert_eq!((parts[0].1.from_ns, parts[parts.len() - 1].1.to_ns), (0, u64::MAX));
        assert!(parts.windows(2).all(|pair| pair[0].1.to_ns == pair[1].1.from_ns), "{parts:?}");
        let endless = [RollupCoverage { level: Level::Hour, from_ns: u64::MAX - 1, until_ns: u64::MAX }];
        assert_eq!(cover(Period::ALL, &endless), [(Level::Rows, Period::ALL)]);
    }
}
