//! Values of a specification: numbers with suffixes, shares, times.

/// What a value should have looked like.
pub(crate) type Expected = &'static str;

const WHOLE: Expected = "a whole number below 2^64 such as 500, 64k, 10M or 1.5G";
const SIZE: Expected = "a size below 16 EiB such as 128KiB, 1.5MiB or 2G";
const SHARE: Expected = "a share such as 30% or 0.3";
const SECONDS: Expected = "seconds since 1970 such as 1704067200 or 1704067200.5";

/// A whole number, decimal, with an optional suffix: `k`, `M`, `G`, `T` (powers of ten), `Ki`, `Mi`, `Gi`, `Ti` (of 1024).
/// Otherwise what it should have looked like.
pub fn count(text: &str) -> Result<u64, &'static str> {
    whole(text).ok_or(WHOLE)
}

/// Bytes, as such a number, and a `B` behind if you like.
/// Otherwise what it should have looked like.
pub fn bytes(text: &str) -> Result<u64, &'static str> {
    whole(text.strip_suffix('B').unwrap_or(text)).ok_or(SIZE)
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

/// A share, in parts per million: `30%`, `0.3`, `0`.
/// Otherwise what it should have looked like.
pub fn share_ppm(text: &str) -> Result<u32, &'static str> {
    let ppm = match text.strip_suffix('%') {
        Some(percent) => in_units(percent, 10_000),
        None => in_units(text, 1_000_000),
    };
    ppm.and_then(|ppm| u32::try_from(ppm).ok()).filter(|&ppm| ppm <= 1_000_000).ok_or(SHARE)
}

/// Seconds since the epoch with at most nine places, in nanoseconds.
pub(crate) fn time_ns(text: &str) -> Result<u64, Expected> {
    in_units(text, 1_000_000_000).ok_or(SECONDS)
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
            assert_eq!(bytes(wrong), Err(SIZE), "{wrong}");
        }
        for wrong in
            ["", "k", "1.5", "-1", "1e3", "0x10", "1.2345k", "1..2k", "+1", "99999999999999G", "5B", "é"]
        {
            assert_eq!(count(wrong), Err(WHOLE), "{wrong}");
        }
        for wrong in ["", "%", "101%", "1.1", "30", "-1%", "0.00001%"] {
            assert_eq!(share_ppm(wrong), Err(SHARE), "{wrong}");
        }
    }
}
