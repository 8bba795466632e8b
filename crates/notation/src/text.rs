//! Quantities as reports print them.

/// 1234567 as `1,234,567`.
pub fn grouped(number: u64) -> String {
    grouped_digits(&number.to_string())
}

/// A signed integer in groups of digits: `-1,234`.
pub fn grouped_signed(number: i64) -> String {
    let sign = if number < 0 { "-" } else { "" };
    format!("{sign}{}", grouped(number.unsigned_abs()))
}

/// A number of any size in groups of digits, rounded to this many decimals: `1,234.57`; `?` if it is not finite.
pub fn grouped_decimal(number: f64, decimals: usize) -> String {
    if !number.is_finite() {
        return "?".to_owned();
    }
    let text = format!("{:.decimals$}", number.abs());
    let (whole, fraction) = text.split_at(text.find('.').unwrap_or(text.len()));
    let is_zero = text.bytes().all(|byte| matches!(byte, b'0' | b'.'));
    let sign = if number < 0.0 && !is_zero { "-" } else { "" };
    format!("{sign}{}{fraction}", grouped_digits(whole))
}

/// A number of at most this many decimals, of which there is one at least, without zeros at its end: `30.029`, `30`.
pub fn trimmed(number: f64, decimals: usize) -> String {
    let text = format!("{number:.decimals$}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn grouped_digits(digits: &str) -> String {
    let mut text = String::with_capacity(digits.len() * 4 / 3 + 1);
    for (at, digit) in digits.chars().enumerate() {
        if at != 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A number of things by the word for one of them, whose plural ends in `s`: `1 alert`, `2,000 alerts`.
pub fn counted(number: u64, one: &str) -> String {
    format!("{} {one}{}", grouped(number), if number == 1 { "" } else { "s" })
}

/// Returns a number of things as programs read it, by the word for one of them: `1 alert`, `2000 alerts`.
pub fn number_of(number: u64, one: &str) -> String {
    format!("{number} {one}{}", if number == 1 { "" } else { "s" })
}

/// Returns a number of things with the verb that agrees with it, for one of them and for several, as [`number_of`] has the number.
///
/// ```
/// assert_eq!(notation::counted_as(1, "row", ["does", "do"]), "1 row does");
/// assert_eq!(notation::counted_as(2000, "row", ["does", "do"]), "2000 rows do");
/// ```
pub fn counted_as(number: u64, one: &str, verbs: [&str; 2]) -> String {
    format!("{} {}", number_of(number, one), verbs[usize::from(number != 1)])
}

/// A text in lines of at most `columns` characters, broken after spaces; a longer word is broken anywhere. `columns` is not 0.
pub fn wrapped(text: &str, columns: usize) -> Vec<String> {
    let (mut lines, mut line, mut width) = (Vec::new(), String::new(), 0);
    for word in text.split_inclusive(' ') {
        if width > 0 && width + word.chars().count() > columns {
            lines.push(std::mem::take(&mut line));
            width = 0;
        }
        for letter in word.chars() {
            if width == columns {
                lines.push(std::mem::take(&mut line));
                width = 0;
            }
            line.push(letter);
            width += 1;
        }
    }
    lines.push(line);
    lines
}

/// A figure with a decimal prefix: `1.23 Mbps`.
pub fn scaled(value: f64, unit: &str) -> String {
    let (scale, prefix) = match value {
        v if v >= 1e12 => (1e12, "T"),
        v if v >= 1e9 => (1e9, "G"),
        v if v >= 1e6 => (1e6, "M"),
        v if v >= 1e3 => (1e3, "k"),
        _ => (1.0, ""),
    };
    let digits = if prefix.is_empty() { 0 } else { 2 };
    format!("{:.digits$} {prefix}{unit}", value / scale)
}

/// Nanoseconds in the unit that suits them: `12.3 µs`, `1.50 ms`, `2.00 s`.
pub fn time_text(ns: u64) -> String {
    computed_time_text(ns as f64)
}

/// Nanoseconds that were computed, as [`time_text`] has them: `1.50 ms`, `-2.00 s`; `?` if they are not finite.
pub fn computed_time_text(ns: f64) -> String {
    match ns.abs() {
        _ if !ns.is_finite() => "?".to_owned(),
        size if size < 1e6 => format!("{:.1} µs", ns / 1e3),
        size if size < 1e9 => format!("{:.2} ms", ns / 1e6),
        _ => format!("{:.2} s", ns / 1e9),
    }
}

/// Bytes in the largest unit that leaves a whole number: `1 MiB`, `1536 KiB`, `1000 bytes`.
pub fn size_text(bytes: usize) -> String {
    match bytes {
        _ if bytes.is_multiple_of(1 << 20) => format!("{} MiB", bytes >> 20),
        _ if bytes.is_multiple_of(1 << 10) => format!("{} KiB", bytes >> 10),
        _ => format!("{bytes} bytes"),
    }
}

/// Returns a duration in words: `250.00 ms`, `30.029 s`, `12 min 5 s`, `3 h 12 min`, `1,528 d 16 h`.
pub fn how_long(ns: u64) -> String {
    const SECOND: u64 = 1_000_000_000;
    if ns < SECOND {
        return if ns == 0 { "0 s".to_owned() } else { time_text(ns) };
    }
    let pair = |large: u64, unit: &str, small: u64, part: &str| match small {
        0 => format!("{} {unit}", grouped(large)),
        _ => format!("{} {unit} {small} {part}", grouped(large)),
    };
    // Rounded before it is parted, so that no part is 60.
    let seconds = (ns + SECOND / 2) / SECOND;
    let minutes = (seconds + 30) / 60;
    let hours = (minutes + 30) / 60;
    match seconds {
        _ if ns < 60 * SECOND - SECOND / 2000 => {
            format!("{} s", trimmed(ns as f64 / SECOND as f64, 3))
        }
        0..3600 => pair(seconds / 60, "min", seconds % 60, "s"),
        3600..86_400 if minutes < 24 * 60 => pair(minutes / 60, "h", minutes % 60, "min"),
        _ => pair(hours / 24, "d", hours % 24, "h"),
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
        assert_eq!(grouped_signed(i64::MIN), "-9,223,372,036,854,775,808");
        assert_eq!(grouped_signed(-999), "-999");
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
            assert_eq!(grouped_decimal(number, decimals), text);
        }
        assert_eq!([30.029, 30.0, 0.1].map(|number| trimmed(number, 2)), ["30.03", "30", "0.1"]);
    }

    #[test]
    fn counts_in_words() {
        assert_eq!(
            [0, 1, 2_000].map(|number| counted(number, "alert")),
            ["0 alerts", "1 alert", "2,000 alerts"]
        );
    }

    #[test]
    fn breaks_after_spaces_and_within_long_words() {
        assert_eq!(wrapped("one two three", 8), ["one two ", "three"]);
        assert_eq!(wrapped("a äöüäöü b", 4), ["a ", "äöüä", "öü b"]);
        assert_eq!(wrapped("", 5), [""]);
        assert_eq!(wrapped("12345", 5), ["12345"]);
    }

    #[test]
    fn scales_with_a_prefix() {
        assert_eq!(scaled(999.0, "bps"), "999 bps");
        assert_eq!(scaled(12_345.0, "pps"), "12.35 kpps");
        assert_eq!(scaled(1.5e9, "bps"), "1.50 Gbps");
    }

    #[test]
    fn times_have_the_unit_that_suits_them() {
        assert_eq!([12_345, 1_500_000, 2_000_000_000].map(time_text), ["12.3 µs", "1.50 ms", "2.00 s"]);
        let cases = [
            (0.0, "0.0 µs"),
            (999_900.0, "999.9 µs"),
            (1e6, "1.00 ms"),
            (2.5e9, "2.50 s"),
            (-2.5e9, "-2.50 s"),
            (f64::NAN, "?"),
        ];
        for (ns, text) in cases {
            assert_eq!(computed_time_text(ns), text);
        }
    }

    #[test]
    fn bytes_are_said_in_the_largest_unit_that_is_whole() {
        let said = [0, 999, 1 << 10, 3 << 19, 5 << 30].map(size_text);
        assert_eq!(said, ["0 MiB", "999 bytes", "1 KiB", "1536 KiB", "5120 MiB"]);
    }

    #[test]
    fn durations_as_people_write_them() {
        const SECOND: u64 = 1_000_000_000;
        for (ns, text) in [
            (0, "0 s"),
            (12_300, "12.3 µs"),
            (250_000_000, "250.00 ms"),
            (SECOND, "1 s"),
            (30_029_000_000, "30.029 s"),
            (59_999_000_000, "59.999 s"),
            (59_999_900_000, "1 min"),
            (60 * SECOND, "1 min"),
            (725 * SECOND, "12 min 5 s"),
            (3_599_600_000_000, "1 h"),
            (11_520 * SECOND, "3 h 12 min"),
            (86_399 * SECOND, "1 d"),
            (90_000 * SECOND, "1 d 1 h"),
            (132_075_369_707_000_000, "1,528 d 16 h"),
        ] {
            assert_eq!(how_long(ns), text, "{ns}");
        }
    }
}
