//! The times at which frames are due.

use notation::{QuantityError, Rate};
use std::str::FromStr;

/// The pace at which frames are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pacing {
    /// The fastest pace at which frames are accepted.
    Unlimited,
    /// An even pace at a rate.
    Rate(Rate),
    /// The pace of the frames' time stamps.
    Times,
}

impl FromStr for Pacing {
    type Err = QuantityError;

    /// Reads `max`, `times` or a rate.
    fn from_str(text: &str) -> Result<Self, QuantityError> {
        match text {
            "max" => Ok(Self::Unlimited),
            "times" => Ok(Self::Times),
            _ if text.ends_with("pps") || text.ends_with("bps") => text.parse().map(Self::Rate),
            _ => Err(QuantityError::new(text, "a rate such as 100kpps or 1.5Gbps, times or max")),
        }
    }
}

/// The bytes that a frame takes on an Ethernet link in addition to its own: preamble and start delimiter 8, check sequence 4, gap 12 (IEEE
/// 802.3).
pub(crate) const OVERHEAD: u64 = 8 + 4 + 12;

const SECOND_NS: u128 = 1_000_000_000;

/// The schedule of a run: a frame is due when the time of those before it has passed. It is computed from the
/// run's beginning, so that errors do not accumulate.
#[derive(Clone, Copy, Debug)]
pub struct SendSchedule {
    pacing: Pacing,
    /// Frames, or bits, before the next frame.
    before: u128,
    first_time_ns: Option<u64>,
    end_ns: u64,
}

impl SendSchedule {
    /// A schedule that begins now.
    pub fn new(pacing: Pacing) -> Self {
        Self { pacing, before: 0, first_time_ns: None, end_ns: 0 }
    }

    /// Returns when the next frame is due, nanoseconds since the run's beginning. `wire_len` is its length without check sequence, `time_ns`
    /// its time stamp.
    pub fn next(&mut self, wire_len: u32, time_ns: u64) -> u64 {
        let (due, end) = match self.pacing {
            Pacing::Unlimited => (0, 0),
            Pacing::Rate(Rate::Packets(rate)) => self.advance(1, rate),
            Pacing::Rate(Rate::Bits(rate)) => {
                self.advance((u128::from(wire_len) + u128::from(OVERHEAD)) * 8, rate)
            }
            Pacing::Times => {
                let due = time_ns.saturating_sub(*self.first_time_ns.get_or_insert(time_ns));
                (due, due)
            }
        };
        self.end_ns = end;
        due
    }

    fn advance(&mut self, by: u128, rate: u64) -> (u64, u64) {
        let at = |units: u128| u64::try_from(units * SECOND_NS / u128::from(rate.max(1))).unwrap_or(u64::MAX);
        let due = at(self.before);
        self.before += by;
        (due, at(self.before))
    }

    /// Returns when the time of all frames so far has passed; 0 without a set rate.
    pub fn end_ns(&self) -> u64 {
        self.end_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_rates() {
        assert_eq!("100kpps".parse(), Ok(Pacing::Rate(Rate::Packets(100_000))));
        assert_eq!(("times".parse(), "max".parse()), (Ok(Pacing::Times), Ok(Pacing::Unlimited)));
        let error = |text: &str| text.parse::<Pacing>().expect_err(text).to_string();
        assert!(error("100").ends_with("times or max"), "{}", error("100"));
        assert!(error("0pps").contains("from 1pps"), "{}", error("0pps"));
    }

    #[test]
    fn packets_are_evenly_spaced_and_nothing_adds_up() {
        // A third of a microsecond: no whole number of nanoseconds.
        let mut pace = SendSchedule::new(Pacing::Rate(Rate::Packets(3_000_000)));
        let due: Vec<u64> = (0..7).map(|_| pace.next(60, 0)).collect();
        assert_eq!(due, [0, 333, 666, 1000, 1333, 1666, 2000]);
        (7..3_000_000).for_each(|_| {
            pace.next(60, 0);
        });
        assert_eq!(pace.end_ns(), 1_000_000_000);
    }

    #[test]
    fn bits_are_those_of_the_link() {
        // 14,880,952 smallest frames a second make 10 Gbit/s, 812,743 largest ones.
        for (wire_len, frames) in [(60, 14_880_952), (1514, 812_743)] {
            let mut pace = SendSchedule::new(Pacing::Rate(Rate::Bits(10_000_000_000)));
            (0..frames).for_each(|_| {
                pace.next(wire_len, 0);
            });
            assert!((999_990_000..=1_000_000_000).contains(&pace.end_ns()), "{}", pace.end_ns());
        }
        let mut pace = SendSchedule::new(Pacing::Rate(Rate::Bits(1_000_000_000)));
        assert_eq!([60, 1514, 60].map(|length| pace.next(length, 0)), [0, 672, 672 + 12_304]);
    }

    #[test]
    fn times_are_kept_and_without_a_rate_all_is_due() {
        let mut pace = SendSchedule::new(Pacing::Times);
        assert_eq!([5000, 5700, 5699, 9000].map(|time| pace.next(60, time)), [0, 700, 699, 4000]);
        let mut pace = SendSchedule::new(Pacing::Unlimited);
        assert_eq!([5000, 5700].map(|time| pace.next(60, time)), [0, 0]);
        assert_eq!(pace.end_ns(), 0);
        let mut slowest = SendSchedule::new(Pacing::Rate(Rate::Packets(1)));
        assert_eq!([slowest.next(60, 0), slowest.next(60, 0)], [0, 1_000_000_000]);
    }
}
