//! Lengths of time as SQL has them.

use crate::literal::{DURATIONS, duration_text};

/// Says how to ask for the time of this length that ends now, in the place of a condition.
pub(crate) fn until_now(length_ns: u64) -> String {
    let all = |times: u64| duration_text(length_ns.saturating_mul(times));
    format!("leave the condition out, and write 'last {}', or 'from -{} to -{}'", all(1), all(2), all(1))
}

/// Returns whether a text is of a length that is not the same each time: `month`, `3 years`.
pub(crate) fn is_of_calendar(text: &str) -> bool {
    let text = text.trim().to_ascii_lowercase();
    let (_, unit) = begins_with(&text, |letter| letter.is_ascii_digit());
    let unit = unit.trim_start();
    ["month", "quarter", "year"].contains(&unit.strip_suffix('s').unwrap_or(unit))
}

/// A length of time as SQL has it: `hour`, `5 minutes`, `10s`, `1 hour 30 minutes`.
pub(crate) fn sql_length_ns(text: &str) -> Option<u64> {
    let text = text.trim().to_ascii_lowercase();
    let (mut rest, mut sum) = (text.as_str(), 0_u64);
    loop {
        let (digits, behind) = begins_with(rest, |letter| letter.is_ascii_digit());
        let (unit, next) = begins_with(behind.trim_start(), char::is_alphabetic);
        let number = if digits.is_empty() { 1 } else { digits.parse::<u64>().ok()? };
        sum = sum.checked_add(number.checked_mul(unit_ns(unit)?)?)?;
        rest = next.trim_start();
        if rest.is_empty() {
            return (sum != 0).then_some(sum);
        }
    }
}

/// The letters of this kind that a text begins with, and the rest.
fn begins_with(text: &str, is_it: impl Fn(char) -> bool) -> (&str, &str) {
    text.split_at(text.find(|letter| !is_it(letter)).unwrap_or(text.len()))
}

/// A unit of time as SQL has it.
pub(crate) fn unit_ns(unit: &str) -> Option<u64> {
    let unit = match unit.strip_suffix('s').filter(|unit| unit.len() > 1).unwrap_or(unit) {
        "second" | "sec" => "s",
        "minute" => "min",
        "hour" | "hr" => "h",
        "day" => "d",
        "week" => "w",
        _ if DURATIONS.iter().any(|(name, _)| *name == unit) => unit,
        other => other,
    };
    DURATIONS.iter().find(|(name, _)| *name == unit).map(|(_, ns)| *ns)
}
