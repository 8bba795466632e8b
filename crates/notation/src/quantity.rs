//! Quantities as users write them: numbers with suffixes, shares, times and durations.

use std::fmt;
use std::time::Duration;

/// The description of the notation that a text should have had.
pub(crate) type Expected = &'static str;

const WHOLE: Expected = "a whole number below 2^64 such as 500, 64k, 10M or 1.5G";
const SIZE: Expected = "a size below 16 EiB such as 128KiB, 1.5MiB or 2G";
const SHARE: Expected = "a share such as 30% or 0.3";
const SECONDS: Expected = "seconds since 1970 such as 1704067200 or 1704067200.5";
const DURATION: Expected = "a duration such as 500ms, 10s, 30min or 2h";
const DURATION_IN_RANGE: Expected =
    "a duration above zero that 64 bits can hold, such as 500ms, 10s, 30min or 2h";
const TIMEOUT: Expected = "a duration such as 500ms, 10s, 30min or 2h, or off";

/// A text is not the quantity that it should be. Displayed as one line: `'8x' is not a size …`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuantityError {
    text: String,
    expected: Expected,
}

impl QuantityError {
    /// Makes the error for a text that should have looked like `expected`.
    pub fn new(text: &str, expected: &'static str) -> Self {
        Self { text: text.to_owned(), expected }
    }

    /// Returns the description of the expected notation, such as `a share such as 30% or 0.3`.
    pub fn expected(&self) -> &'static str {
        self.expected
    }
}

impl fmt::Display for QuantityError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "'{}' is not {}", self.text, self.expected)
    }
}

impl std::error::Error for QuantityError {}

/// Reads a whole number, decimal, with an optional suffix: `k`, `M`, `G`, `T` (powers of ten), `Ki`, `Mi`, `Gi`, `Ti` (of 1024).
///
/// # Errors
/// The text is no such number, or the number does not fit.
pub fn count(text: &str) -> Result<u64, QuantityError> {
    whole(text).ok_or_else(|| QuantityError::new(text, WHOLE))
}

/// Reads bytes: such a number, with an optional `B` at its end.
///
/// # Errors
/// The text is no such size, or the size does not fit.
pub fn bytes(text: &str) -> Result<u64, QuantityError> {
    whole(text.strip_suffix('B').unwrap_or(text)).ok_or_else(|| QuantityError::new(text, SIZE))
}

fn whole(text: &str) -> Option<u64> {
    let number = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match &text[number.len()..] {
        "" => 1,
        "k" | "K" => 1_000,
        "M" => 1_000_000,
        "G" => 1_000_000_000,
        "T" => 1_000_000_000_000,
        "ki" | "Ki" => 1 << 10,
        "Mi" => 1 << 20,
        "Gi" => 1 << 30,
        "Ti" => 1 << 40,
        _ => return None,
    };
    in_units(number, unit)
}

/// `text`, a decimal number, times `unit` where that is a whole number.
fn in_units(text: &str, unit: u64) -> Option<u64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let fraction = fraction.trim_end_matches('0');
    let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !digits(whole) || !digits(fraction) {
        return None;
    }
    let number: u128 = format!("{whole}{fraction}").parse().ok()?;
    let scaled = number.checked_mul(u128::from(unit))?;
    let one = 10_u128.checked_pow(u32::try_from(fraction.len()).ok()?)?;
    if scaled % one == 0 { u64::try_from(scaled / one).ok() } else { None }
}

/// Reads a share, in parts per million: `30%`, `0.3`, `0`.
///
/// # Errors
/// The text is no share, or the share is above 100%.
pub fn share_ppm(text: &str) -> Result<u32, QuantityError> {
    let ppm = match text.strip_suffix('%') {
        Some(percent) => in_units(percent, 10_000),
        None => in_units(text, 1_000_000),
    };
    ppm.and_then(|ppm| u32::try_from(ppm).ok())
        .filter(|&ppm| ppm <= 1_000_000)
        .ok_or_else(|| QuantityError::new(text, SHARE))
}

/// Reads seconds since the epoch with at most nine decimal places, in nanoseconds.
///
/// # Errors
/// The text is no such time, or the nanoseconds do not fit.
pub fn time_ns(text: &str) -> Result<u64, QuantityError> {
    in_units(text, 1_000_000_000).ok_or_else(|| QuantityError::new(text, SECONDS))
}

/// Reads a duration above zero: `10s`, `500ms`, `30min`; up to `w`, seven days, and `y`, 365 days.
///
/// # Errors
/// The text is no duration, or the duration is zero or too long.
pub fn duration(text: &str) -> Result<Duration, QuantityError> {
    let expected = || QuantityError::new(text, DURATION);
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let seconds_per = match text[digits..].trim() {
        "ns" => 1e-9,
        "us" | "µs" => 1e-6,
        "ms" => 1e-3,
        "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        "d" => 86_400.0,
        "w" => 7.0 * 86_400.0,
        "y" => 365.0 * 86_400.0,
        _ => return Err(expected()),
    };
    let value: f64 = text[..digits].parse().map_err(|_| expected())?;
    match Duration::try_from_secs_f64(value * seconds_per) {
        Ok(duration) if duration > Duration::ZERO => Ok(duration),
        _ => Err(QuantityError::new(text, DURATION_IN_RANGE)),
    }
}

/// Reads a duration in nanoseconds, or `off`, which is the longest.
///
/// # Errors
/// The text is neither, or the duration is zero or too long.
pub fn timeout_ns(text: &str) -> Result<u64, QuantityError> {
    if text == "off" {
        return Ok(u64::MAX);
    }
    let in_range = |_| QuantityError::new(text, DURATION_IN_RANGE);
    match duration(text) {
        Ok(duration) => u64::try_from(duration.as_nanos()).map_err(in_range),
        Err(error) if error.expected == DURATION => Err(QuantityError::new(text, TIMEOUT)),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_shares() {
        assert_eq!(count("500"), Ok(500));
        assert_eq!(count("64k"), Ok(64_000));
        assert_eq!(count("1.25M"), Ok(1_250_000));
        assert_eq!(count("18G"), Ok(18_000_000_000));
        assert_eq!(share_ppm("30%"), Ok(300_000));
        assert_eq!(share_ppm("0.5%"), Ok(5_000));
        assert_eq!(share_ppm("1"), Ok(1_000_000));
        assert_eq!(time_ns("1.5"), Ok(1_500_000_000));
        assert_eq!(
            [bytes("128KiB"), bytes("1Mi"), bytes("512MiB")],
            [Ok(128 << 10), Ok(1 << 20), Ok(512 << 20)]
        );
        assert_eq!([bytes("2G"), bytes("1.5kB"), bytes("7B")], [Ok(2_000_000_000), Ok(1_500), Ok(7)]);
        assert_eq!(
            [bytes("1.5KiB"), bytes("2.25TiB"), bytes("3T")],
            [Ok(1536), Ok(9 << 38), Ok(3_000_000_000_000)]
        );
        assert_eq!([count("64Ki"), bytes("18446744073709551615")], [Ok(65_536), Ok(u64::MAX)]);
        let wrong = [
            "",
            "B",
            "iB",
            "KiB",
            "1.3KiB",
            "1KB B",
            "1Qi",
            "1bB",
            "99999999999GiB",
            "18446744073709551616",
            "é",
        ];
        for wrong in wrong {
            assert_eq!(bytes(wrong), Err(QuantityError::new(wrong, SIZE)), "{wrong}");
        }
        for wrong in
            ["", "k", "1.5", "-1", "1e3", "0x10", "1.2345k", "1..2k", "+1", "99999999999999G", "5B", "é"]
        {
            assert_eq!(count(wrong), Err(QuantityError::new(wrong, WHOLE)), "{wrong}");
        }
        for wrong in ["", "%", "101%", "1.1", "30", "-1%", "0.00001%"] {
            assert_eq!(share_ppm(wrong), Err(QuantityError::new(wrong, SHARE)), "{wrong}");
        }
    }

    #[test]
    fn reads_sizes_and_counts() {
        assert_eq!([bytes("512MiB"), bytes("4096")], [Ok(512 << 20), Ok(4096)]);
        // The same in specifications (`memory=1.5MiB`) and in options.
        assert_eq!(
            [bytes("1.5MiB"), bytes("1.5G"), bytes("2T")],
            [Ok(3 << 19), Ok(1_500_000_000), Ok(2_000_000_000_000)]
        );
        assert_eq!([count("300k"), count("1.5M"), count("64Ki")], [Ok(300_000), Ok(1_500_000), Ok(65_536)]);
        for bad in ["", "x", "1.5", "10Q", "99999999999999999999", "18446744073709551615k"] {
            assert!(bytes(bad).is_err() && count(bad).is_err(), "{bad}");
        }
        assert_eq!(
            bytes("8x").unwrap_err().to_string(),
            "'8x' is not a size below 16 EiB such as 128KiB, 1.5MiB or 2G"
        );
    }

    #[test]
    fn reads_durations() {
        assert_eq!(timeout_ns("30min"), Ok(1_800_000_000_000));
        assert_eq!(timeout_ns("off"), Ok(u64::MAX));
        assert_eq!(duration("10s"), Ok(Duration::from_secs(10)));
        assert_eq!(duration("500ms"), Ok(Duration::from_millis(500)));
        for bad in ["", "10", "0s", "-1s", "1e9999s", "10parsecs", "nans", "1..2s", "99999999999999999999d"] {
            assert!(duration(bad).is_err() && timeout_ns(bad).is_err(), "{bad}");
        }
        assert!(timeout_ns("never").unwrap_err().to_string().ends_with("or off"));
        assert!(timeout_ns("0s").unwrap_err().to_string().contains("above zero"));
        assert!(timeout_ns("300000d").unwrap_err().to_string().contains("64 bits"));
    }
}
