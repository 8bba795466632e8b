//! Times and durations as people write them.

use model::{Span, format_time};

/// Writes a span of time: `2026-11-24 15:40:00 to 15:40:10 UTC`. The date of the end is there only where it is another day, fractions only where
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

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

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
