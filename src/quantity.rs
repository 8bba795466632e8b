//! Quantities on the command line: sizes, counts, durations, windows.

use engine::Every;
use port::Rate;
use record::Rotation;
use std::time::Duration;

/// `300k`, `10M`.
pub(crate) fn count(text: &str) -> Result<u64, String> {
    traffic::parse_count(text).map_err(|expected| format!("'{text}' is not {expected}"))
}

/// `512MiB`, `1.5GiB`, `4G`.
pub(crate) fn bytes(text: &str) -> Result<u64, String> {
    traffic::parse_bytes(text).map_err(|expected| format!("'{text}' is not {expected}"))
}

/// `10s`, `500ms`, `30min`; not zero.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let seconds_per = match text[digits..].trim() {
        "ns" => 1e-9,
        "us" => 1e-6,
        "ms" => 1e-3,
        "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        "d" => 86_400.0,
        _ => return Err(format!("'{text}' is no duration: write 500ms, 10s, 30min, 2h")),
    };
    let value: f64 = text[..digits].parse().map_err(|_| format!("'{text}' does not begin with a number"))?;
    match Duration::try_from_secs_f64(value * seconds_per) {
        Ok(duration) if duration > Duration::ZERO => Ok(duration),
        _ => Err(format!("'{text}' is out of range")),
    }
}

/// A duration in nanoseconds, or `off`.
pub(crate) fn timeout(text: &str) -> Result<u64, String> {
    if text == "off" {
        return Ok(u64::MAX);
    }
    let duration = duration(text).map_err(|error| format!("{error}, or off"))?;
    u64::try_from(duration.as_nanos()).map_err(|_| format!("'{text}' is out of range"))
}

/// `10s`, or `1Mp` for packets.
pub(crate) fn every(text: &str) -> Result<Every, String> {
    if let Some(Ok(packets)) = text.strip_suffix('p').map(count) {
        return match packets {
            0 => Err("a window of no packets never ends".to_owned()),
            packets => Ok(Every::Packets(packets)),
        };
    }
    let duration = duration(text).map_err(|error| format!("{error}; or packets, 1Mp"))?;
    let nanoseconds = u64::try_from(duration.as_nanos()).map_err(|_| format!("'{text}' is out of range"))?;
    Ok(Every::Time(nanoseconds))
}

/// `100kpps`, `1.5Gbps`, `times`, `max`.
pub(crate) fn rate(text: &str) -> Result<Rate, String> {
    match text {
        "max" => return Ok(Rate::Unlimited),
        "times" => return Ok(Rate::Times),
        _ => {}
    }
    let expected = || format!("'{text}' is no rate: write 100kpps, 1.5Mpps, 1Gbps, times or max");
    let (number, is_bits) = match (text.strip_suffix("pps"), text.strip_suffix("bps")) {
        (Some(number), _) => (number, false),
        (None, Some(number)) => (number, true),
        (None, None) => return Err(expected()),
    };
    let (digits, factor) = match number.as_bytes().last() {
        Some(b'k' | b'K') => (&number[..number.len() - 1], 1e3),
        Some(b'M') => (&number[..number.len() - 1], 1e6),
        Some(b'G') => (&number[..number.len() - 1], 1e9),
        _ => (number, 1.0),
    };
    if !digits.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') {
        return Err(expected());
    }
    let value = digits.parse::<f64>().map_err(|_| expected())? * factor;
    // The slowest: a frame in some minutes; the fastest: beyond any link.
    if !(1.0..=1e13).contains(&value) {
        return Err(format!("'{text}' is out of range: from 1pps or 1bps to 10000Gbps"));
    }
    let value = value.round() as u64;
    Ok(if is_bits { Rate::Bits(value) } else { Rate::Packets(value) })
}

/// `1h`, or `100MiB`.
pub(crate) fn rotation(text: &str) -> Result<Rotation, String> {
    if text == "hup" {
        return Ok(Rotation::OnDemand);
    }
    match (bytes(text), duration(text)) {
        (Ok(size), _) if size != 0 => Ok(Rotation::Size(size)),
        (_, Ok(time)) => u64::try_from(time.as_nanos())
            .map(Rotation::Time)
            .map_err(|_| format!("'{text}' is out of range")),
        _ => Err(format!("'{text}' is neither a time (10min, 1h) nor a size (100MiB, 1G), nor hup")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_sizes_and_counts() {
        assert_eq!([bytes("512MiB"), bytes("4096")], [Ok(512 << 20), Ok(4096)]);
        // As in specifications (`memory=1.5MiB`), so in options.
        assert_eq!(
            [bytes("1.5MiB"), bytes("1.5G"), bytes("2T")],
            [Ok(3 << 19), Ok(1_500_000_000), Ok(2_000_000_000_000)]
        );
        assert_eq!([count("300k"), count("1.5M"), count("64Ki")], [Ok(300_000), Ok(1_500_000), Ok(65_536)]);
        for bad in ["", "x", "1.5", "10Q", "99999999999999999999", "18446744073709551615k"] {
            assert!(bytes(bad).is_err() && count(bad).is_err(), "{bad}");
        }
        assert_eq!(bytes("8x").unwrap_err(), "'8x' is not a size below 16 EiB such as 128KiB, 1.5MiB or 2G");
    }

    #[test]
    fn reads_rates() {
        assert_eq!(rate("100kpps"), Ok(Rate::Packets(100_000)));
        assert_eq!(rate("14.88Mpps"), Ok(Rate::Packets(14_880_000)));
        assert_eq!(rate("1Gbps"), Ok(Rate::Bits(1_000_000_000)));
        assert_eq!((rate("times"), rate("max")), (Ok(Rate::Times), Ok(Rate::Unlimited)));
        for bad in
            ["", "100", "pps", "0pps", "-1pps", "1e3pps", "1kp", "nanpps", "infbps", "99999Gbps", "1..2pps"]
        {
            assert!(rate(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn reads_durations_and_windows() {
        assert_eq!(timeout("30min"), Ok(1_800_000_000_000));
        assert_eq!(timeout("off"), Ok(u64::MAX));
        assert_eq!(every("10s"), Ok(Every::Time(10_000_000_000)));
        assert_eq!(every("500ms"), Ok(Every::Time(500_000_000)));
        assert_eq!(every("1Mp"), Ok(Every::Packets(1_000_000)));
        for bad in ["", "10", "0s", "0p", "-1s", "1e9999s", "10parsecs", "nans"] {
            assert!(every(bad).is_err(), "{bad}");
        }
    }
}
