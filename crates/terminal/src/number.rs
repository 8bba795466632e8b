//! Numbers for people.

use notation::grouped;

fn group_digits(digits: &str) -> String {
    let mut text = String::with_capacity(digits.len() * 4 / 3 + 1);
    for (at, digit) in digits.chars().enumerate() {
        if at != 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A number of any size with its digits grouped, rounded to this many decimals; `?` if it is not finite.
pub(crate) fn decimal(number: f64, decimals: usize) -> String {
    if !number.is_finite() {
        return "?".to_owned();
    }
    let text = format!("{:.decimals$}", number.abs());
    let (whole, fraction) = text.split_at(text.find('.').unwrap_or(text.len()));
    let is_zero = text.bytes().all(|byte| matches!(byte, b'0' | b'.'));
    let sign = if number < 0.0 && !is_zero { "-" } else { "" };
    format!("{sign}{}{fraction}", group_digits(whole))
}

/// A signed integer with its digits grouped.
pub(crate) fn signed(number: i64) -> String {
    let sign = if number < 0 { "-" } else { "" };
    format!("{sign}{}", grouped(number.unsigned_abs()))
}

/// A part of a whole; empty if there is no whole.
pub(crate) fn share(part: u64, whole: u64) -> String {
    if whole == 0 { String::new() } else { format!("{:.1} %", part as f64 * 100.0 / whole as f64) }
}

/// Nanoseconds.
pub(crate) fn time(ns: f64) -> String {
    match ns.abs() {
        _ if !ns.is_finite() => "?".to_owned(),
        size if size < 1e6 => format!("{:.1} µs", ns / 1e3),
        size if size < 1e9 => format!("{:.2} ms", ns / 1e6),
        _ => format!("{:.2} s", ns / 1e9),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_digits() {
        let cases = [(0, "0"), (999, "999"), (1000, "1,000"), (1234567, "1,234,567"), (100000, "100,000")];
        for (number, text) in cases {
            assert_eq!(grouped(number), text);
        }
        assert_eq!(grouped(u64::MAX), "18,446,744,073,709,551,615");
        assert_eq!(signed(i64::MIN), "-9,223,372,036,854,775,808");
        assert_eq!(signed(-999), "-999");
    }

    #[test]
    fn rounds_to_decimals() {
        let cases = [
            (-1234.4, 0, "-1,234"),
            (1_234.567_8, 2, "1,234.57"),
            (-0.4, 0, "0"),
            (-0.4, 1, "-0.4"),
            (999.6, 0, "1,000"),
            (f64::INFINITY, 0, "?"),
            (f64::NAN, 4, "?"),
        ];
        for (number, decimals, text) in cases {
            assert_eq!(decimal(number, decimals), text);
        }
    }

    #[test]
    fn times_have_a_unit_of_their_size() {
        let cases = [(0.0, "0.0 µs"), (999_900.0, "999.9 µs"), (1e6, "1.00 ms"), (2.5e9, "2.50 s")];
        for (ns, text) in cases {
            assert_eq!(time(ns), text);
        }
    }
}
