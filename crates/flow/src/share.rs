//! The share of packets that a sampled measurement takes.

use std::fmt;

/// Parts of a whole.
const WHOLE_PPM: u32 = 1_000_000;

/// The probability with which each packet is sampled, independently of all others (RFC 5475, section 5.2.2.1: uniform probabilistic
/// sampling). Above 0 and at most 1, in parts per million.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Share(u32);

impl Share {
    /// Every packet.
    pub const ALL: Self = Self(WHOLE_PPM);

    /// Returns the share of this many parts per million; `None` for 0, or more than all.
    pub const fn from_ppm(ppm: u32) -> Option<Self> {
        if ppm == 0 || ppm > WHOLE_PPM { None } else { Some(Self(ppm)) }
    }

    /// Parts per million.
    pub const fn ppm(self) -> u32 {
        self.0
    }

    /// The share with this probability, to the nearest part per million; `None` for what is no share.
    pub fn from_probability(probability: f64) -> Option<Self> {
        let ppm = (probability * f64::from(WHOLE_PPM)).round();
        if (1.0..=f64::from(WHOLE_PPM)).contains(&ppm) { Self::from_ppm(ppm as u32) } else { None }
    }

    /// The probability.
    pub fn probability(self) -> f64 {
        f64::from(self.0) / f64::from(WHOLE_PPM)
    }
}

/// Writes the share as a percentage: `15%`.
impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}%", f64::from(self.0) / 1e4)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_above_none_and_at_most_all() {
        assert_eq!((Share::from_ppm(0), Share::from_ppm(1_000_001)), (None, None));
        assert_eq!(Share::from_ppm(1_000_000), Some(Share::ALL));
        let share = |ppm| Share::from_ppm(ppm).expect("a share");
        assert_eq!(share(150_000).probability().to_bits(), 0.15_f64.to_bits());
        assert_eq!(Share::from_probability(0.15), Some(share(150_000)));
        for wrong in [0.0, 1.1, -0.1, f64::NAN] {
            assert_eq!(Share::from_probability(wrong), None, "{wrong}");
        }
        let texts = [1_000_000, 150_000, 1, 12_345].map(|ppm| share(ppm).to_string());
        assert_eq!(texts, ["100%", "15%", "0.0001%", "1.2345%"]);
    }
}
