//! Times as text: RFC 3339 in UTC, with all nine digits of the nanoseconds.

use serde::de::{Error, Unexpected};
use serde::{Deserialize, Deserializer, Serializer};
use std::borrow::Cow;

const NANOSECONDS: u64 = 1_000_000_000;
const DAY_SECONDS: u64 = 86_400;
/// The number of days from 0000-03-01 to 1970-01-01.
const EPOCH_DAYS: u64 = 719_468;
/// The number of days in 400 years of the Gregorian calendar, after which it repeats.
const ERA_DAYS: u64 = 146_097;

/// Nanoseconds since the epoch as text, such as `2026-11-24T15:40:02.000000001Z`.
pub fn format_time(ns: u64) -> String {
    let (seconds, nanos) = (ns / NANOSECONDS, ns % NANOSECONDS);
    let (year, month, day) = civil(seconds / DAY_SECONDS);
    let second = seconds % DAY_SECONDS;
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{nanos:09}Z")
}

/// The time of a text that [`format_time`] could have written; `None` for any other text.
pub fn parse_time(text: &str) -> Option<u64> {
    let number = |at: std::ops::Range<usize>| {
        let digits = text.get(at).filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()))?;
        digits.parse::<u64>().ok()
    };
    let days = days(number(0..4)?, number(5..7)?, number(8..10)?)?;
    let seconds = (number(11..13)? * 60 + number(14..16)?) * 60 + number(17..19)?;
    let nanos = number(20..29)?;
    let ns = (days * DAY_SECONDS + seconds).checked_mul(NANOSECONDS)?.checked_add(nanos)?;
    // Separators, length, and invalid dates.
    (format_time(ns) == text).then_some(ns)
}

/// The date of a day since the epoch (H. Hinnant, chrono-compatible low-level date algorithms, `civil_from_days`): years
/// begin in March, so that a leap day is the last of its year.
fn civil(days: u64) -> (u64, u64, u64) {
    let days = days + EPOCH_DAYS;
    let (era, day) = (days / ERA_DAYS, days % ERA_DAYS);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (era * 400 + year + u64::from(month <= 2), month, day)
}

/// The reverse of [`civil`]; `None` before the epoch and for months that do not exist.
fn days(year: u64, month: u64, day: u64) -> Option<u64> {
    if !(1..=12).contains(&month) {
        return None;
    }
    let year = year.checked_sub(u64::from(month <= 2))?;
    let (era, year) = (year / 400, year % 400);
    let month = if month > 2 { month - 3 } else { month + 9 };
    let day = ((153 * month + 2) / 5 + day).checked_sub(1)?;
    (era * ERA_DAYS + year * 365 + year / 4 - year / 100 + day).checked_sub(EPOCH_DAYS)
}

/// A time: RFC 3339 in UTC with nanoseconds.
///
/// A `u64` with `#[serde(with = "Time")]` holds nanoseconds since the epoch, and is written and read that way.
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(extend("format" = "date-time", "pattern" = "^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]\\.[0-9]{9}Z$"))
)]
pub struct Time(#[cfg_attr(feature = "schema", schemars(with = "String"))] pub u64);

impl Time {
    /// Writes a time.
    ///
    /// # Errors
    /// Returns the errors of the serializer.
    pub fn serialize<S: Serializer>(ns: &u64, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&format_time(*ns))
    }

    /// Reads a time.
    ///
    /// # Errors
    /// Returns the errors of the deserializer, and one if the text is no time.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
        parse(&Cow::<str>::deserialize(deserializer)?)
    }
}

pub(crate) fn parse<E: Error>(text: &str) -> Result<u64, E> {
    let expected = "a time such as 2026-11-24T15:40:02.000000001Z";
    parse_time(text).ok_or_else(|| E::invalid_value(Unexpected::Str(text), &expected))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// As `date -u -d @SECONDS +%Y-%m-%dT%H:%M:%S` prints them (GNU coreutils).
    const DATES: [(u64, &str); 9] = [
        (0, "1970-01-01T00:00:00"),
        (1, "1970-01-01T00:00:01"),
        (951_782_399, "2000-02-28T23:59:59"),
        (951_782_400, "2000-02-29T00:00:00"),
        (1_709_164_800, "2024-02-29T00:00:00"),
        (1_795_534_802, "2026-11-24T15:40:02"),
        (4_102_444_799, "2099-12-31T23:59:59"),
        (4_107_542_400, "2100-03-01T00:00:00"),
        (18_446_744_073, "2554-07-21T23:34:33"),
    ];

    #[test]
    fn times_are_those_of_date() {
        for (seconds, date) in DATES {
            for (nanos, fraction) in [(0, "000000000"), (1, "000000001"), (709_551_615, "709551615")] {
                let text = format!("{date}.{fraction}Z");
                let ns = seconds * NANOSECONDS + nanos;
                assert_eq!(format_time(ns), text);
                assert_eq!(parse_time(&text), Some(ns));
            }
        }
        assert_eq!(format_time(u64::MAX), "2554-07-21T23:34:33.709551615Z");
    }

    #[test]
    fn other_texts_are_refused() {
        let wrong = [
            "",
            "2026-11-24",
            "2026-11-24T15:40:02Z",
            "2026-11-24T15:40:02.1Z",
            "2026-11-24T15:40:02.000000001",
            "2026-11-24T15:40:02.000000001z",
            "2026-11-24T15:40:02.000000001+00:00",
            "2026-11-24 15:40:02.000000001Z",
            "2026-11-24T15:40:02.0000000001Z",
            "2026-13-24T15:40:02.000000001Z",
            "2026-00-24T15:40:02.000000001Z",
            "2026-02-29T15:40:02.000000001Z",
            "2026-11-00T15:40:02.000000001Z",
            "2026-11-24T24:40:02.000000001Z",
            "2026-11-24T15:60:02.000000001Z",
            "2026-11-24T15:40:60.000000001Z",
            "1969-12-31T23:59:59.000000000Z",
            "0000-01-01T00:00:00.000000000Z",
            "2554-07-21T23:34:33.709551616Z",
            "2026-11-24T15:40:+2.000000001Z",
            "２026-11-24T15:40:02.00000001Z",
        ];
        for text in wrong {
            assert_eq!(parse_time(text), None, "{text}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(testbed::cases(256)))]

        #[test]
        fn every_time_is_read_back(ns in any::<u64>()) {
            prop_assert_eq!(parse_time(&format_time(ns)), Some(ns));
        }

        #[test]
        fn any_text_is_read_without_a_panic(text in any::<String>()) {
            let _ = parse_time(&text);
        }
    }
}
