//! Values as they are written: numbers with units, addresses, texts.

use std::fmt;
use std::net::IpAddr;

/// A value as it is written.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Literal {
    Integer(u64),
    Float(f64),
    /// `5%` is 5.
    Percent(f64),
    /// Nanoseconds.
    Duration(u64),
    /// Bytes: a number with `B`.
    Size(u64),
    /// Bits per second.
    BitRate(f64),
    /// Bytes per second.
    ByteRate(f64),
    /// Packets per second.
    PacketRate(f64),
    Address(IpAddr),
    /// The address as it is written, and the length.
    Prefix(IpAddr, u8),
    Mac(u64),
    Text(String),
}

/// Units of durations, the longest first: name and nanoseconds.
pub(crate) const DURATIONS: [(&str, u64); 10] = [
    ("w", 604_800_000_000_000),
    ("d", 86_400_000_000_000),
    ("h", 3_600_000_000_000),
    ("min", 60_000_000_000),
    ("m", 60_000_000_000),
    ("s", 1_000_000_000),
    ("ms", 1_000_000),
    ("us", 1_000),
    ("µs", 1_000),
    ("ns", 1),
];

/// The suffixes that multiply a number, with their factors.
const SCALES: [(&str, u64); 10] = [
    ("", 1),
    ("k", 1_000),
    ("K", 1_000),
    ("M", 1_000_000),
    ("G", 1_000_000_000),
    ("T", 1_000_000_000_000),
    ("Ki", 1 << 10),
    ("Mi", 1 << 20),
    ("Gi", 1 << 30),
    ("Ti", 1 << 40),
];

/// Nanoseconds as they are written: `90s` as `90s`, `60s` as `1min`.
pub(crate) fn duration_text(ns: u64) -> String {
    let unit =
        DURATIONS.iter().find(|(_, unit)| ns.is_multiple_of(*unit) && (ns != 0 || *unit == 1_000_000_000));
    let (name, unit) = unit.copied().unwrap_or(("ns", 1));
    format!("{}{name}", ns / unit)
}

impl fmt::Display for Literal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Integer(number) => write!(f, "{number}"),
            Self::Float(number) => write!(f, "{number:?}"),
            Self::Percent(number) => write!(f, "{number}%"),
            Self::Duration(ns) => f.write_str(&duration_text(*ns)),
            Self::Size(bytes) => write!(f, "{bytes}B"),
            Self::BitRate(rate) => write!(f, "{}bps", scaled_text(*rate)),
            Self::ByteRate(rate) => write!(f, "{}Bps", scaled_text(*rate)),
            Self::PacketRate(rate) => write!(f, "{}pps", scaled_text(*rate)),
            Self::Address(address) => write!(f, "{address}"),
            Self::Prefix(address, length) => write!(f, "{address}/{length}"),
            Self::Mac(mac) => f.write_str(&mac_text(*mac)),
            Self::Text(text) => write!(f, "\"{}\"", text.replace('"', "\"\"")),
        }
    }
}

/// A rate with the largest scale of which it is a whole multiple.
fn scaled_text(rate: f64) -> String {
    // Whole numbers up to here are exact.
    let is_whole = rate != 0.0 && rate.abs() <= 9_007_199_254_740_992.0;
    let scales = [(1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")];
    match scales.iter().find(|(scale, _)| is_whole && rate % scale == 0.0) {
        Some((scale, name)) => format!("{}{name}", rate / scale),
        None => rate.to_string(),
    }
}

pub(crate) fn mac_text(mac: u64) -> String {
    let [_, _, octets @ ..] = mac.to_be_bytes();
    octets.map(|octet| format!("{octet:02x}")).join(":")
}

/// The MAC address in six pairs of hexadecimal digits.
pub(crate) fn mac(text: &str) -> Option<u64> {
    if text.len() != 17 {
        return None;
    }
    let mut number = 0;
    let mut pairs = 0;
    for pair in text.split(':') {
        if pair.len() != 2 || !pair.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return None;
        }
        number = number << 8 | u64::from_str_radix(pair, 16).ok()?;
        pairs += 1;
    }
    (pairs == 6).then_some(number)
}

/// A decimal number, which may have a fraction and an exponent, with a unit behind it, none, or `%`. An error says what is wrong.
pub(crate) fn number(digits: &str, unit: &str) -> Result<Literal, String> {
    let too_large = || format!("{digits}{unit} does not fit into 64 bits");
    let value: f64 = digits.parse().map_err(|_| format!("'{digits}' is not a number"))?;
    if !value.is_finite() {
        return Err(too_large());
    }
    if unit == "%" {
        return Ok(Literal::Percent(value));
    }
    if let Some((_, ns)) = DURATIONS.iter().find(|(name, _)| *name == unit) {
        return match exact(digits, *ns) {
            Some(ns) => Ok(Literal::Duration(ns)),
            None => Err(format!("{digits}{unit} is not a whole number of nanoseconds below 2^64")),
        };
    }
    let bases = ["bps", "Bps", "pps", "B", ""];
    let scaled = bases.iter().find_map(|base| {
        let scale = unit.strip_suffix(base)?;
        SCALES.iter().find(|(name, _)| *name == scale).map(|(_, scale)| (*base, *scale))
    });
    let Some((base, scale)) = scaled else {
        return Err(unknown_unit(digits, unit));
    };
    let rate = value * scale as f64;
    let whole = exact(digits, scale);
    match base {
        "bps" | "Bps" | "pps" if !rate.is_finite() => Err(too_large()),
        "bps" => Ok(Literal::BitRate(rate)),
        "Bps" => Ok(Literal::ByteRate(rate)),
        "pps" => Ok(Literal::PacketRate(rate)),
        "B" => whole
            .map(Literal::Size)
            .ok_or_else(|| format!("{digits}{unit} is not a whole number of bytes below 2^64")),
        _ if scale == 1 && digits.contains(['.', 'e', 'E']) => Ok(Literal::Float(value)),
        _ => match whole {
            Some(number) => Ok(Literal::Integer(number)),
            None if digits.contains(['.', 'e', 'E']) && rate.is_finite() => Ok(Literal::Float(rate)),
            None => Err(too_large()),
        },
    }
}

/// A decimal number times `scale` where that is a whole number of 64 bits.
fn exact(digits: &str, scale: u64) -> Option<u64> {
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let fraction = fraction.trim_end_matches('0');
    if whole.len() > 20 || fraction.len() > 18 || digits.contains(['e', 'E']) {
        return None;
    }
    let number: u128 = format!("{whole}{fraction}").parse().ok()?;
    let scaled = number.checked_mul(u128::from(scale))?;
    let one = 10_u128.pow(u32::try_from(fraction.len()).ok()?);
    if scaled.is_multiple_of(one) { u64::try_from(scaled / one).ok() } else { None }
}

fn unknown_unit(digits: &str, unit: &str) -> String {
    let shown: String = unit.chars().take(20).collect();
    let known = "units are ns us ms s m min h d w, K M G Ki Mi Gi with or without B, bps, Bps, pps (Mbps, kpps), and %";
    let near = match unit {
        "mbps" | "gbps" | "mpps" | "gpps" => {
            format!("; {digits}{}{} is meant", unit[..1].to_uppercase(), &unit[1..])
        }
        "sec" | "secs" | "second" | "seconds" => format!("; {digits}s is meant"),
        "minute" | "minutes" | "mins" => format!("; {digits}min is meant"),
        "hour" | "hours" | "hr" => format!("; {digits}h is meant"),
        "day" | "days" => format!("; {digits}d is meant"),
        _ => String::new(),
    };
    format!("'{shown}' is not a unit{near}: {known}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_units() {
        use Literal::{BitRate, ByteRate, Duration, Float, Integer, PacketRate, Percent, Size};
        let cases = [
            (("10", "K"), Integer(10_000)),
            (("1.5", "K"), Integer(1_500)),
            (("2", "Gi"), Integer(2 << 30)),
            (("0.5", ""), Float(0.5)),
            (("1.0005", "K"), Float(1_000.5)),
            (("5", "%"), Percent(5.0)),
            (("1.5", "h"), Duration(5_400_000_000_000)),
            (("10", "m"), Duration(600_000_000_000)),
            (("10", "M"), Integer(10_000_000)),
            (("128", "KiB"), Size(128 << 10)),
            (("5", "Mbps"), BitRate(5e6)),
            (("5", "MBps"), ByteRate(5e6)),
            (("3", "kpps"), PacketRate(3e3)),
            (("18446744073709551615", ""), Integer(u64::MAX)),
        ];
        for ((digits, unit), value) in cases {
            let read = number(digits, unit);
            assert_eq!(read.as_ref(), Ok(&value), "{digits}{unit}");
            assert!(!value.to_string().is_empty());
        }
        for (digits, unit) in
            [("18446744073709551616", ""), ("1", "parsec"), ("0.1", "ns"), ("1.3", "B"), ("1e999", "")]
        {
            assert!(number(digits, unit).is_err(), "{digits}{unit}");
        }
        assert!(number("5", "mbps").unwrap_err().contains("5Mbps is meant"));
    }

    #[test]
    fn durations_are_written_in_the_largest_whole_unit() {
        let cases = [
            (0, "0s"),
            (1, "1ns"),
            (1_500_000_000, "1500ms"),
            (60_000_000_000, "1min"),
            (604_800_000_000_000, "1w"),
        ];
        for (ns, text) in cases {
            assert_eq!(duration_text(ns), text);
        }
    }

    #[test]
    fn a_mac_has_six_pairs() {
        assert_eq!(mac("02:00:00:00:00:ff"), Some(0x0200_0000_00ff));
        assert_eq!(mac_text(0x0200_0000_00ff), "02:00:00:00:00:ff");
        for bad in ["02:00:00:00:00", "02:00:00:00:00:fg", "0:2:00:00:00:00:0", "+2:00:00:00:00:ff", ""] {
            assert_eq!(mac(bad), None, "{bad}");
        }
    }
}
