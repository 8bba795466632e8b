//! Values of fields as texts.

use flow::NULL;
use std::net::IpAddr;

/// An address, or the address of a prefix; `None` for an empty text.
pub(crate) fn address(text: &[u8]) -> Result<Option<IpAddr>, String> {
    if text.is_empty() {
        return Ok(None);
    }
    let text = std::str::from_utf8(text).map_err(|_| unreadable(text, "an address"))?;
    let (address, length) =
        text.split_once('/').map_or((text, None), |(address, length)| (address, Some(length)));
    let is_length = |length: &str| length.parse::<u8>().is_ok_and(|length| length <= 128);
    match (address.parse(), length) {
        (Ok(address), None) => Ok(Some(address)),
        (Ok(address), Some(length)) if is_length(length) => Ok(Some(address)),
        _ => Err(unreadable(text.as_bytes(), "an address")),
    }
}

/// A protocol by number or name; [`NULL`] for an empty text.
pub(crate) fn protocol(text: &[u8]) -> Result<u64, String> {
    let text = std::str::from_utf8(text).map_err(|_| unreadable(text, "a protocol"))?.trim();
    match text {
        "" => Ok(NULL),
        text => {
            let number = text.parse().ok().or_else(|| flow::protocol_number(text));
            number.map(u64::from).ok_or_else(|| unreadable(text.as_bytes(), "a protocol"))
        }
    }
}

/// A MAC address as a number; [`NULL`] for an empty text and where all is zero.
pub(crate) fn mac(text: &[u8]) -> Result<u64, String> {
    if text.is_empty() {
        return Ok(NULL);
    }
    let digit = |byte: u8| char::from(byte).to_digit(16).map(u64::from);
    let number = text.split(|byte| matches!(byte, b':' | b'-')).try_fold((0, 0), |(number, octets), part| {
        let [high, low] = part else { return None };
        Some((number << 8 | digit(*high)? << 4 | digit(*low)?, octets + 1))
    });
    match number {
        Some((0, 6)) => Ok(NULL),
        Some((number, 6)) => Ok(number),
        _ => Err(unreadable(text, "a MAC address")),
    }
}

/// An unsigned number; [`NULL`] for an empty text. Some programs write a column of integers with nulls as `80.0`.
pub(crate) fn number(text: &[u8]) -> Result<u64, String> {
    if text.is_empty() {
        return Ok(NULL);
    }
    let digits = std::str::from_utf8(text).ok().map(|text| text.trim().trim_end_matches('0'));
    let value = match digits.and_then(|digits| digits.strip_suffix('.')) {
        Some(whole) => whole.parse().ok(),
        None => std::str::from_utf8(text).ok().and_then(|text| text.trim().parse().ok()),
    };
    value.ok_or_else(|| unreadable(text, "a number"))
}

/// A time; [`NULL`] for an empty text. Digits alone are nanoseconds since the epoch, digits with a fraction seconds; anything else is a
/// date.
pub(crate) fn time(text: &[u8]) -> Result<u64, String> {
    if text.is_empty() {
        return Ok(NULL);
    }
    let refused =
        || unreadable(text, "a time: nanoseconds, seconds with a fraction, or 2026-11-01T12:00:30.5Z");
    let text = std::str::from_utf8(text).map_err(|_| refused())?.trim();
    let is_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let time = match text.split_once('.') {
        None if is_digits(text) => text.parse().ok(),
        Some((seconds, fraction)) if is_digits(seconds) && is_digits(fraction) => {
            let nanoseconds = format!("{:0<9}", &fraction[..fraction.len().min(9)]).parse::<u64>().ok();
            let seconds = seconds.parse::<u64>().ok().and_then(|seconds| seconds.checked_mul(1_000_000_000));
            seconds.zip(nanoseconds).and_then(|(seconds, rest)| seconds.checked_add(rest))
        }
        _ => notation::moment_ns(text).and_then(|ns| u64::try_from(ns).ok()),
    };
    time.ok_or_else(refused)
}

/// The bits of a floating point number; [`NULL`] for an empty text, and for one that is not finite.
pub(crate) fn float(text: &[u8]) -> Result<u64, String> {
    if text.is_empty() {
        return Ok(NULL);
    }
    let value = std::str::from_utf8(text).ok().and_then(|text| text.trim().parse::<f64>().ok());
    let value = value.ok_or_else(|| unreadable(text, "a number"))?;
    Ok(flow::float_bits(Some(value).filter(|value| value.is_finite())))
}

/// Returns the message about a value that cannot be read: its beginning, so that the message stays one line.
pub(crate) fn unreadable(text: &[u8], what: &str) -> String {
    const MOST: usize = 40;
    let shown: String =
        String::from_utf8_lossy(text).chars().take(MOST).flat_map(char::escape_default).collect();
    format!("'{shown}' is not {what}")
}
