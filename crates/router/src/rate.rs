//! Sampling rates.

use std::fmt;

/// A sampling rate: of a number of packets, how many are counted. `1:100` is one of a hundred.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SamplingRate {
    packets: u32,
    counted: u32,
}

impl SamplingRate {
    /// The rate by which all packets are counted.
    pub const ALL: Self = Self { packets: 1, counted: 1 };
    /// The most packets that one counted packet may stand for. A rate by which it stands for more is wrong.
    pub const MOST: u32 = 1 << 24;

    /// Makes the rate by which `counted` of `packets` packets are counted. `None` where that is not possible, or more than [`SamplingRate::MOST`].
    pub fn new(packets: u64, counted: u64) -> Option<Self> {
        let is_possible = counted != 0 && packets >= counted && packets / counted <= u64::from(Self::MOST);
        let divisor = if is_possible { greatest_divisor(packets, counted) } else { return None };
        let [packets, counted] = [packets / divisor, counted / divisor].map(u32::try_from);
        Some(Self { packets: packets.ok()?, counted: counted.ok()? })
    }

    /// Makes the rate by which each packet is counted with this probability: the rate of the least numbers that is as good as equal. `None`
    /// where it is no probability, or less than that of [`SamplingRate::MOST`].
    pub fn with_probability(probability: f64) -> Option<Self> {
        if !(1.0 / f64::from(Self::MOST) * 0.999..=1.0).contains(&probability) {
            return None;
        }
        // Continued fractions of the inverse; a float of 32 bits has 24 of them.
        let inverse = 1.0 / probability;
        let (mut rest, mut last, mut now) = (inverse, (0.0, 1.0), (1.0, 0.0));
        for _ in 0..32 {
            let whole: f64 = rest.floor();
            (last, now) = (now, (whole * now.0 + last.0, whole * now.1 + last.1));
            let is_good = (now.0 / now.1 / inverse - 1.0).abs() < 1e-7;
            rest = 1.0 / (rest - whole);
            if is_good || !rest.is_finite() {
                break;
            }
        }
        Self::new(now.0 as u64, now.1 as u64)
    }

    /// Makes the rate by which one of `packets` packets is counted.
    pub fn one_of(packets: u64) -> Option<Self> {
        Self::new(packets, 1)
    }

    /// Returns true if packets are left out.
    pub fn is_sampled(self) -> bool {
        self != Self::ALL
    }

    /// Returns what this many packets or bytes that were counted stand for, to the nearest.
    pub fn scale(self, counted: u64) -> u64 {
        if self == Self::ALL {
            return counted;
        }
        let product = u128::from(counted) * u128::from(self.packets) + u128::from(self.counted / 2);
        u64::try_from(product / u128::from(self.counted)).unwrap_or(u64::MAX)
    }

    /// Returns the number of packets that one counted packet stands for, to the nearest whole number; at least 2 where packets are left out.
    pub fn rounded(self) -> u32 {
        if self == Self::ALL { 1 } else { (self.factor().round() as u32).max(2) }
    }

    /// Returns the number of packets that one counted packet stands for.
    pub fn factor(self) -> f64 {
        f64::from(self.packets) / f64::from(self.counted)
    }
}

fn greatest_divisor(one: u64, other: u64) -> u64 {
    if other == 0 { one } else { greatest_divisor(other, one % other) }
}

impl fmt::Display for SamplingRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.counted, self.packets)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_counted_stands_for_more() {
        let rate = SamplingRate::one_of(100).expect("a rate");
        assert_eq!((rate.scale(7), rate.to_string().as_str(), rate.is_sampled()), (700, "1:100", true));
        let rate = SamplingRate::new(30, 20).expect("a rate");
        assert_eq!((rate.scale(4), rate.scale(3), rate.to_string().as_str()), (6, 5, "2:3"));
        assert_eq!(SamplingRate::new(7, 7), Some(SamplingRate::ALL));
        assert_eq!(
            [SamplingRate::ALL, rate, SamplingRate::new(5, 2).expect("a rate")].map(SamplingRate::rounded),
            [1, 2, 3]
        );
        assert_eq!(rate.scale(u64::MAX), u64::MAX);
        for (probability, text) in
            [(0.01, "1:100"), (f64::from(0.01f32), "1:100"), (0.3, "3:10"), (1.0, "1:1"), (0.5, "1:2")]
        {
            assert_eq!(SamplingRate::with_probability(probability).expect("a rate").to_string(), text);
        }
        let odd = SamplingRate::with_probability(0.123_456_789).expect("a rate").factor();
        assert!((odd * 0.123_456_789 - 1.0).abs() < 1e-6, "{odd}");
        for wrong in [0.0, -0.5, 1.5, f64::NAN, f64::INFINITY, 1e-9] {
            assert_eq!(SamplingRate::with_probability(wrong), None, "{wrong}");
        }
        for (packets, counted) in
            [(0, 0), (5, 0), (3, 5), (u64::MAX, 1), (u64::from(SamplingRate::MOST) + 1, 1)]
        {
            assert_eq!(SamplingRate::new(packets, counted), None, "{counted}:{packets}");
        }
    }
}
