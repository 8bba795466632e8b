//! A span of stream time.

use crate::Time;
use serde::{Deserialize, Serialize};

/// A time. Its end is not part of it.
///
/// A half-open span of stream time, in nanoseconds since the epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Span {
    /// The first instant in it.
    #[serde(rename = "start", with = "Time")]
    pub start_ns: u64,
    /// The first instant after it.
    #[serde(rename = "end", with = "Time")]
    pub end_ns: u64,
}

impl Span {
    /// Returns the length of the span in nanoseconds.
    pub fn length_ns(&self) -> u64 {
        self.end_ns.saturating_sub(self.start_ns)
    }

    /// Returns the length of the span in seconds.
    pub fn seconds(&self) -> f64 {
        self.length_ns() as f64 / 1e9
    }

    /// Returns true if times that are in order cover all of the span.
    pub fn is_within(self, times: &[Self]) -> bool {
        let until = times.iter().fold(self.start_ns, |until, time| match time.start_ns <= until {
            true => until.max(time.end_ns),
            false => until,
        });
        until >= self.end_ns
    }

    /// Returns what is left of the span without times at its begin and its end; `None` if nothing is left, or more than one time. The times
    /// are in order, and none overlaps another.
    pub fn without(self, times: &[Self]) -> Option<Self> {
        let from = times.partition_point(|time| time.end_ns <= self.start_ns);
        let to = times.partition_point(|time| time.start_ns < self.end_ns);
        let mut rest = times.get(from..to).unwrap_or_default();
        let mut left = self;
        while let [first, others @ ..] = rest
            && first.start_ns <= left.start_ns
        {
            left.start_ns = left.start_ns.max(first.end_ns);
            rest = others;
        }
        while let [others @ .., last] = rest
            && last.end_ns >= left.end_ns
        {
            left.end_ns = left.end_ns.min(last.start_ns);
            rest = others;
        }
        (rest.is_empty() && left.start_ns < left.end_ns).then_some(left)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_without_times_is_one_time_or_none() {
        let left = |times: &[[u64; 2]]| {
            let times: Vec<Span> =
                times.iter().map(|&[start_ns, end_ns]| Span { start_ns, end_ns }).collect();
            let left = Span { start_ns: 10, end_ns: 20 }.without(&times);
            left.map(|left| [left.start_ns, left.end_ns])
        };
        assert_eq!((left(&[]), left(&[[5, 10], [20, 25]])), (Some([10, 20]), Some([10, 20])));
        assert_eq!((left(&[[10, 12]]), left(&[[5, 12]])), (Some([12, 20]), Some([12, 20])));
        assert_eq!((left(&[[17, 20]]), left(&[[17, 25]])), (Some([10, 17]), Some([10, 17])));
        assert_eq!(left(&[[10, 11], [11, 12], [17, 20]]), Some([12, 17]));
        assert_eq!((left(&[[12, 13]]), left(&[[10, 20]]), left(&[[5, 25]])), (None, None, None));
        assert_eq!(left(&[[10, 11], [12, 13]]), None);
    }
}
