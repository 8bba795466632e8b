//! Times as they are written: `2026-11-01`, `2026-11-02T12:00`, `2026-11-02 12:00:30.5+01:00`; without a zone UTC.

/// The description of a moment's notation, for messages.
pub const MOMENTS: &str = "a time such as 2026-11-01, 2026-11-01T12:00 or 2026-11-01T12:00:30.5Z";

/// Nanoseconds since the epoch of a moment: `2026-11-01`, `2026-11-02T12:00`, `2026-11-02 12:00:30.5+01:00`. Without a zone it is UTC.
pub fn moment_ns(text: &str) -> Option<i64> {
    let (date, rest) = text.split_at_checked(10)?;
    let days = days(date)?;
    let Some(rest) = rest.strip_prefix(['T', 't', ' ']) else {
        return if rest.is_empty() { total(days, 0, 0) } else { None };
    };
    let (clock, offset) = split_zone(rest)?;
    let mut parts = clock.split(':');
    let hours = number(parts.next()?, 2, 23)?;
    let minutes = number(parts.next()?, 2, 59)?;
    let (seconds, fraction) = match parts.next() {
        Some(seconds) => seconds_and_fraction(seconds)?,
        None => (0, 0),
    };
    if parts.next().is_some() {
        return None;
    }
    total(days, hours * 3600 + minutes * 60 + seconds - offset, fraction)
}

fn total(days: i64, seconds: i64, fraction: i64) -> Option<i64> {
    days.checked_mul(86_400)?.checked_add(seconds)?.checked_mul(1_000_000_000)?.checked_add(fraction)
}

/// A number of exactly `digits` digits, at most `most`.
fn number(text: &str, digits: usize, most: i64) -> Option<i64> {
    let is_number = text.len() == digits && text.bytes().all(|byte| byte.is_ascii_digit());
    let number = is_number.then(|| text.parse().ok()).flatten()?;
    (number <= most).then_some(number)
}

fn seconds_and_fraction(text: &str) -> Option<(i64, i64)> {
    let (seconds, fraction) =
        text.split_once('.').map_or((text, None), |(seconds, rest)| (seconds, Some(rest)));
    let fraction = match fraction {
        None => 0,
        Some(digits) if (1..=9).contains(&digits.len()) => {
            number(digits, digits.len(), i64::MAX)? * 10_i64.pow(9 - digits.len() as u32)
        }
        Some(_) => return None,
    };
    Some((number(seconds, 2, 59)?, fraction))
}

/// The clock and the zone's seconds east of UTC.
fn split_zone(text: &str) -> Option<(&str, i64)> {
    if let Some(clock) = text.strip_suffix(['Z', 'z']) {
        return Some((clock, 0));
    }
    let Some(at) = text.find(['+', '-']) else { return Some((text, 0)) };
    let (clock, zone) = text.split_at(at);
    let sign = if zone.starts_with('-') { -1 } else { 1 };
    // `+01:00`, `+0100` and `+01`.
    let zone = &zone[1..];
    let (hours, minutes) = match zone.split_once(':') {
        Some(parts) => parts,
        None if zone.len() == 2 => (zone, "00"),
        None => zone.split_at_checked(2)?,
    };
    Some((clock, sign * (number(hours, 2, 23)? * 3600 + number(minutes, 2, 59)? * 60)))
}

/// Days since the epoch of a date in the Gregorian calendar.
fn days(date: &str) -> Option<i64> {
    let mut parts = date.split('-');
    let year = number(parts.next()?, 4, 9999)?;
    let month = number(parts.next()?, 2, 12)?;
    let day = number(parts.next()?, 2, 31)?;
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let length = match month {
        2 if is_leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    };
    if parts.next().is_some() || month == 0 || day == 0 || day > length {
        return None;
    }
    // Years begin in March, so that the leap day is the last.
    let (shifted, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let leap_days = shifted.div_euclid(4) - shifted.div_euclid(100) + shifted.div_euclid(400);
    Some(shifted * 365 + leap_days + (153 * month + 2) / 5 + day - 1 - 719_468)
}

#[cfg(test)]
mod tests {
    use super::moment_ns;

    #[test]
    fn times_are_utc_without_a_zone() {
        let second = 1_000_000_000;
        let cases = [
            ("1970-01-01", 0),
            ("2026-11-01", 1_793_491_200 * second),
            ("2026-11-02T12:00", 1_793_620_800 * second),
            ("2000-02-29 23:59:59.5Z", 951_868_799 * second + 500_000_000),
            ("2026-11-02T12:00:00+01:00", 1_793_617_200 * second),
            ("2026-11-02T12:00:00+0100", 1_793_617_200 * second),
            ("2026-11-02 12:00:00+01", 1_793_617_200 * second),
            ("1969-12-31T23:59:59", -second),
        ];
        for (text, ns) in cases {
            assert_eq!(moment_ns(text), Some(ns), "{text}");
        }
    }

    #[test]
    fn what_is_no_time_is_refused() {
        let wrong = [
            "",
            "now",
            "2026",
            "2026-13-01",
            "2026-02-29",
            "2026-11-01T",
            "2026-11-01T24:00",
            "2026-11-01T12:00:00.",
            "2026-11-01x",
            "2026-11-0é",
            "2026-11-01T12",
            "2026-11-01T12:00:00.1234567890",
            "9999-12-31",
            "+026-11-01",
        ];
        for text in wrong {
            assert_eq!(moment_ns(text), None, "{text}");
        }
    }
}
