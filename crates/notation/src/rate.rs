//! Rates of packets and bits.

use crate::quantity::{QuantityError, count};
use std::fmt;
use std::str::FromStr;

/// A rate of traffic. Made from text by [`str::parse`]; shown by `Display`, which parses to itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rate {
    /// Packets per second.
    Packets(u64),
    /// Bits per second on an Ethernet line: with preamble, check sequence and the gap between frames.
    Bits(u64),
}

impl Rate {
    /// The range of rates, of either kind. The fastest is beyond any link.
    const RANGE: std::ops::RangeInclusive<u64> = 1..=10_000_000_000_000;
}

impl FromStr for Rate {
    type Err = QuantityError;

    /// Reads `25Mpps` or `100Gbps`.
    fn from_str(text: &str) -> Result<Self, QuantityError> {
        let not = |expected| QuantityError::new(text, expected);
        let (number, kind): (_, fn(u64) -> Self) = match (text.strip_suffix("pps"), text.strip_suffix("bps"))
        {
            (Some(number), _) => (number, Self::Packets),
            (_, Some(number)) => (number, Self::Bits),
            _ => return Err(not("a rate such as 25Mpps (packets) or 100Gbps (bits per second)")),
        };
        let number = count(number).map_err(|_| not("a whole number of packets or bits per second"))?;
        if !Self::RANGE.contains(&number) {
            return Err(not("a rate in range: from 1pps or 1bps to 10000Gbps"));
        }
        Ok(kind(number))
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (number, unit) = match *self {
            Self::Packets(number) => (number, "pps"),
            Self::Bits(number) => (number, "bps"),
        };
        let scales = [(1_000_000_000, "G"), (1_000_000, "M"), (1_000, "k")];
        match scales.iter().find(|(scale, _)| number % scale == 0) {
            Some((scale, prefix)) => write!(f, "{}{prefix}{unit}", number / scale),
            None => write!(f, "{number}{unit}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_rates() {
        assert_eq!("100kpps".parse(), Ok(Rate::Packets(100_000)));
        assert_eq!("1.5Mpps".parse(), Ok(Rate::Packets(1_500_000)));
        assert_eq!("14.88Mpps".parse(), Ok(Rate::Packets(14_880_000)));
        assert_eq!("1Gbps".parse(), Ok(Rate::Bits(1_000_000_000)));
        for bad in
            ["", "100", "pps", "0pps", "-1pps", "1e3pps", "1kp", "nanpps", "infbps", "99999Gbps", "1..2pps"]
        {
            assert!(bad.parse::<Rate>().is_err(), "{bad}");
        }
    }

    #[test]
    fn text_and_back() {
        for text in ["25Mpps", "1pps", "1500kpps", "100Gbps", "1Mbps", "14880952pps"] {
            assert_eq!(text.parse::<Rate>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn errors_say_what_is_possible() {
        let rate = |text: &str| text.parse::<Rate>().expect_err(text).to_string();
        assert!(rate("25M").contains("such as 25Mpps"));
        assert!(rate("0pps").contains("from 1pps"));
        assert!(rate("1.5pps").contains("whole number"));
        assert!(rate("-1Mpps").contains("whole number"));
    }
}
