//! Values of a specification: numbers with suffixes, shares, times.

/// What a value should have looked like.
pub(crate) type Expected = &'static str;

const WHOLE: Expected = "a whole number such as 500, 64k, 10M or 1.5G";
const SIZE: Expected = "a size such as 128KiB, 1MiB or 2G";
const SHARE: Expected = "a share such as 30% or 0.3";
const SECONDS: Expected = "seconds since 1970 such as 1704067200 or 1704067200.5";

/// A whole number, decimal, with an optional suffix k, M or G (powers of ten).
/// Otherwise what it should have looked like.
pub fn count(text: &str) -> Result<u64, &'static str> {
    let (number, zeros) = match text.as_bytes().last() {
        Some(b'k' | b'K') => (&text[..text.len() - 1], 3),
        Some(b'M') => (&text[..text.len() - 1], 6),
        Some(b'G') => (&text[..text.len() - 1], 9),
        _ => (text, 0),
    };
    fixed_point(number, zeros).ok_or(WHOLE)
}

/// Bytes, with an optional suffix: `k`, `M`, `G` (powers of ten), `Ki`, `Mi`, `Gi` (of 1024), and a `B` behind either.
/// Otherwise what it should have looked like.
pub fn bytes(text: &str) -> Result<u64, &'static str> {
    let number = text.strip_suffix('B').unwrap_or(text);
    let Some(binary) = number.strip_suffix('i') else { return count(number).map_err(|_| SIZE) };
    let shift = match binary.as_bytes().last() {
        Some(b'K' | b'k') => 10,
        Some(b'M') => 20,
        Some(b'G') => 30,
        _ => return Err(SIZE),
    };
    let whole = fixed_point(&binary[..binary.len() - 1], 0).ok_or(SIZE)?;
    whole.checked_mul(1 << shift).ok_or(SIZE)
}

/// `text` × 10^`places` where that is a whole number.
fn fixed_point(text: &str, places: usize) -> Option<u64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let fraction = fraction.trim_end_matches('0');
    let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !digits(whole) || !digits(fraction) || fraction.len() > places {
        return None;
    }
    format!("{whole}{fraction:0<places$}").parse().ok()
}

/// A share, in parts per million: `30%`, `0.3`, `0`.
/// Otherwise what it should have looked like.
pub fn share_ppm(text: &str) -> Result<u32, &'static str> {
    let ppm = match text.strip_suffix('%') {
        Some(percent) => fixed_point(percent, 4),
        None => fixed_point(text, 6),
    };
    ppm.and_then(|ppm| u32::try_from(ppm).ok()).filter(|&ppm| ppm <= 1_000_000).ok_or(SHARE)
}

/// Seconds since the epoch with at most nine places, in nanoseconds.
pub(crate) fn time_ns(text: &str) -> Result<u64, Expected> {
    fixed_point(text, 9).ok_or(SECONDS)
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
        assert_eq!(bytes("128KiB"), Ok(128 << 10));
        assert_eq!(bytes("1Mi"), Ok(1 << 20));
        assert_eq!([bytes("2G"), bytes("1.5kB"), bytes("7B")], [Ok(2_000_000_000), Ok(1_500), Ok(7)]);
        for wrong in ["", "B", "iB", "KiB", "1.5KiB", "1TiB", "99999999999GiB", "é"] {
            assert_eq!(bytes(wrong), Err(SIZE), "{wrong}");
        }
        for wrong in ["", "k", "1.5", "-1", "1e3", "0x10", "1.2345k", "1..2k", "+1", "99999999999999G", "é"]
        {
            assert_eq!(count(wrong), Err(WHOLE), "{wrong}");
        }
        for wrong in ["", "%", "101%", "1.1", "30", "-1%", "0.00001%"] {
            assert_eq!(share_ppm(wrong), Err(SHARE), "{wrong}");
        }
    }
}
