//! A window's time, as clocks show it.

use crate::{Span, format_time};

/// The start and the end of a span in UTC, to the millisecond: the date once where both have the same.
pub(super) fn period(span: &Span) -> String {
    let [start, end] = [span.start_ns, span.end_ns].map(|ns| {
        let text = format_time(ns);
        // Date, time to the millisecond: `2026-11-24T15:40:02.000000001Z` without what is behind the third digit.
        (text[..10].to_owned(), text[11..23].to_owned())
    });
    match start.0 == end.0 {
        true => format!("{} {} to {} UTC", start.0, start.1, end.1),
        false => format!("{} {} to {} {} UTC", start.0, start.1, end.0, end.1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_date_stands_once_where_it_is_one() {
        // date -u -d @1795534802
        let start_ns = 1_795_534_802_123_456_789;
        let span = |seconds: u64| Span { start_ns, end_ns: start_ns + seconds * 1_000_000_000 };
        assert_eq!(period(&span(10)), "2026-11-24 15:40:02.123 to 15:40:12.123 UTC");
        assert_eq!(period(&span(86_400)), "2026-11-24 15:40:02.123 to 2026-11-25 15:40:02.123 UTC");
    }
}
