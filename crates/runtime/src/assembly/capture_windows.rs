//! The length of the windows of a capture whose traffic the page shows.

use super::nodes::NodeSpec;
use super::positional;
use crate::spec::RunSpec;
use engine::Every;

/// The most windows of a capture: the page has as many steps.
const MOST: u64 = overview::MOST_STEPS as u64;
const MILLISECOND: u64 = 1_000_000;
const SECOND: u64 = 1_000 * MILLISECOND;
/// The length of windows of a capture whose time is not known before it is read.
const UNKNOWN: u64 = SECOND;
/// Lengths that people use. Each is at most twice the one before.
const LENGTHS: [u64; 29] = [
    MILLISECOND,
    2 * MILLISECOND,
    3 * MILLISECOND,
    5 * MILLISECOND,
    10 * MILLISECOND,
    20 * MILLISECOND,
    30 * MILLISECOND,
    50 * MILLISECOND,
    100 * MILLISECOND,
    200 * MILLISECOND,
    300 * MILLISECOND,
    500 * MILLISECOND,
    SECOND,
    2 * SECOND,
    3 * SECOND,
    5 * SECOND,
    10 * SECOND,
    20 * SECOND,
    30 * SECOND,
    60 * SECOND,
    120 * SECOND,
    180 * SECOND,
    300 * SECOND,
    600 * SECOND,
    1_200 * SECOND,
    1_800 * SECOND,
    3_600 * SECOND,
    7_200 * SECOND,
    14_400 * SECOND,
];

/// Returns the length of windows that divides the time of these captures into as many steps as the page shows.
pub(super) fn every(options: &RunSpec, nodes: &[NodeSpec]) -> Every {
    let files = nodes.iter().map(|node| {
        let source = &node.options.source;
        let split = positional::split(&source.words, &source.read, source.synthetic.is_some());
        split.map(|arguments| arguments.files).unwrap_or_default()
    });
    let spans: Vec<_> = files.flatten().map(|file| port::capture_span(&file)).collect();
    let known: Option<Vec<[u64; 2]>> = spans.into_iter().collect();
    let known = known.filter(|_| options.source.wire.is_none()).unwrap_or_default();
    let first = known.iter().map(|[first, _]| *first).min();
    let last = known.iter().map(|[_, last]| *last).max();
    Every::Time(first.zip(last).map_or(UNKNOWN, |(first, last)| length(first, last)))
}

/// Returns the least length of which a time has at most as many windows as the page has steps.
fn length(first_ns: u64, last_ns: u64) -> u64 {
    let windows = |length: u64| last_ns / length - first_ns / length + 1;
    let fits = LENGTHS.into_iter().find(|length| windows(*length) <= MOST);
    fits.unwrap_or(LENGTHS[LENGTHS.len() - 1])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_capture_has_60_to_120_windows() {
        let begin = 1_764_590_400 * SECOND + 123_456_789;
        for span in [70 * MILLISECOND, SECOND, 7 * SECOND, 59 * SECOND, 600 * SECOND, 86_400 * SECOND] {
            let length = length(begin, begin + span);
            let windows = (begin + span) / length - begin / length + 1;
            assert!((60..=120).contains(&windows), "{span}: {windows} of {length}");
        }
        // A capture of one moment has the shortest windows, one of years the longest.
        assert_eq!(length(begin, begin), MILLISECOND);
        assert_eq!(length(begin, begin + 300_000_000 * SECOND), 14_400 * SECOND);
    }

    #[test]
    fn lengths_grow_by_twice_at_most() {
        assert!(LENGTHS.windows(2).all(|both| both[0] < both[1] && both[1] <= 2 * both[0]));
    }
}
