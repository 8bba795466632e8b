//! Times and durations as people write them.

use crate::{Span, format_time};
use notation::{grouped, time_text};

/// When it was: `2026-11-24 15:40:00 to 15:40:10 UTC`. The date of the end only where it is another day, fractions only where
/// there are any.
pub fn when(span: Span) -> String {
    let ([start_day, start], [end_day, end]) = (date_and_clock(span.start_ns), date_and_clock(span.end_ns));
    if start_day == end_day {
        format!("{start_day} {start} to {end} UTC")
    } else {
        format!("{start_day} {start} to {end_day} {end} UTC")
    }
}

/// A moment: `2026-11-24 15:40:10 UTC`.
pub fn moment(ns: u64) -> String {
    let [day, clock] = date_and_clock(ns);
    format!("{day} {clock} UTC")
}

/// The date, and the time of day to the millisecond.
fn date_and_clock(ns: u64) -> [String; 2] {
    let text = format_time(ns);
    // The date, `T`, and twelve characters of `15:40:02.000000001Z`.
    let (day, rest) = text.split_once('T').unwrap_or((&text, ""));
    let clock = rest.get(..12).unwrap_or(rest);
    [day.to_owned(), clock.strip_suffix(".000").unwrap_or(clock).to_owned()]
}

/// How long it was: `250.00 ms`, `30.029 s`, `12 min 5 s`, `3 h 12 min`, `1,528 d 16 h`.
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
            let text = format!("{:.3}", ns as f64 / SECOND as f64);
            format!("{} s", text.trim_end_matches('0').trim_end_matches('.'))
        }
        0..3600 => pair(seconds / 60, "min", seconds % 60, "s"),
        3600..86_400 if minutes < 24 * 60 => pair(minutes / 60, "h", minutes % 60, "min"),
        _ => pair(hours / 24, "d", hours % 24, "h"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    #[test]
    fn durations_as_people_write_them() {
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

    #[test]
    fn times_of_a_day_and_of_two() {
        // `date -u -d @1795534800` says 2026-11-24 15:40:00.
        let start_ns = 1_795_534_800 * SECOND;
        let span = |ns| Span { start_ns, end_ns: start_ns + ns };
        assert_eq!(when(span(10 * SECOND)), "2026-11-24 15:40:00 to 15:40:10 UTC");
        assert_eq!(when(span(250_999_999)), "2026-11-24 15:40:00 to 15:40:00.250 UTC");
        assert_eq!(when(span(86_400 * SECOND)), "2026-11-24 15:40:00 to 2026-11-25 15:40:00 UTC");
        assert_eq!(moment(start_ns), "2026-11-24 15:40:00 UTC");
    }
}
