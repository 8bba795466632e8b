//! Time stamps of a pcapng interface.

use packet::Frame;

const NS_PER_S: i128 = 1_000_000_000;

/// The conversion of an interface's time stamps to nanoseconds since the epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TimestampConverter {
    tick: Tick,
    offset_ns: i128,
}

/// The length of one unit of a time stamp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tick {
    Nanoseconds(u64),
    /// The number of units in one nanosecond.
    PerNanosecond(u64),
    /// The power of two that is the number of units in one second.
    PowerOfTwo(u32),
}

impl TimestampConverter {
    /// Returns the clock of the options `if_tsresol` (a microsecond if missing) and `if_tsoffset`.
    pub(super) fn new(resolution: Option<u8>, offset_s: i64) -> Self {
        let resolution = resolution.unwrap_or(6);
        let power = u32::from(resolution & 0x7f);
        let tick = match (resolution & 0x80 != 0, power) {
            (true, _) => Tick::PowerOfTwo(power),
            (false, 0..=9) => Tick::Nanoseconds(10u64.pow(9 - power)),
            // Finer than 2^64 to the nanosecond, every time stamp is less than one.
            (false, _) => Tick::PerNanosecond(10u64.checked_pow(power - 9).unwrap_or(u64::MAX)),
        };
        Self { tick, offset_ns: i128::from(offset_s) * NS_PER_S }
    }

    /// The time, or [`Frame::NO_TIME`] where the fields of a record cannot hold it.
    #[inline]
    pub(super) fn nanoseconds(&self, ticks: u64) -> u64 {
        let ns = match self.tick {
            Tick::Nanoseconds(length) => i128::from(ticks) * i128::from(length),
            Tick::PerNanosecond(number) => i128::from(ticks / number),
            // At most 2^64 times 10^9, which 127 bits hold.
            Tick::PowerOfTwo(power) => (i128::from(ticks) * NS_PER_S) >> power,
        };
        u64::try_from(ns + self.offset_ns).ok().filter(|&ns| ns <= Frame::LATEST_NS).unwrap_or(Frame::NO_TIME)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimal_and_binary_resolutions() {
        assert_eq!(TimestampConverter::new(None, 0).nanoseconds(1_500_000), 1_500_000_000);
        assert_eq!(TimestampConverter::new(Some(0), 0).nanoseconds(3), 3_000_000_000);
        assert_eq!(TimestampConverter::new(Some(9), 0).nanoseconds(3), 3);
        assert_eq!(TimestampConverter::new(Some(12), 0).nanoseconds(3_999), 3);
        assert_eq!(TimestampConverter::new(Some(127), 0).nanoseconds(5), 0);
        assert_eq!(TimestampConverter::new(Some(0x80 | 1), 0).nanoseconds(3), 1_500_000_000);
        assert_eq!(TimestampConverter::new(Some(0x80 | 32), 0).nanoseconds(1 << 31), 500_000_000);
        assert_eq!(TimestampConverter::new(Some(0xff), 0).nanoseconds(u64::MAX), 0);
    }

    #[test]
    fn offsets_and_the_ends_of_the_range() {
        assert_eq!(TimestampConverter::new(Some(9), 2).nanoseconds(7), 2_000_000_007);
        assert_eq!(TimestampConverter::new(Some(9), -2).nanoseconds(2_000_000_007), 7);
        assert_eq!(TimestampConverter::new(Some(9), -3).nanoseconds(3_000_000_000), 0);
        assert_eq!(TimestampConverter::new(Some(9), 0).nanoseconds(Frame::LATEST_NS), Frame::LATEST_NS);
        let none = [
            TimestampConverter::new(Some(9), -3).nanoseconds(5),
            TimestampConverter::new(Some(9), 0).nanoseconds(Frame::LATEST_NS + 1),
            TimestampConverter::new(Some(0), 0).nanoseconds(u64::MAX),
            TimestampConverter::new(Some(0), i64::MAX).nanoseconds(u64::MAX),
            TimestampConverter::new(Some(0x80), i64::MIN).nanoseconds(u64::MAX),
        ];
        assert_eq!(none, [Frame::NO_TIME; 5]);
    }
}
