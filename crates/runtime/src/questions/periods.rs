//! Periods of recorded time.

use crate::exit::Failure;
use equery::{HistoryRange, TimePoint};
use history::Period;
use notation::{MOMENTS, moment_ns};
use std::time::{SystemTime, UNIX_EPOCH};

/// Nanoseconds since the epoch.
fn now_ns() -> u64 {
    let elapsed = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX)
}

/// The period of `--from` and `--to`.
pub fn parse_options(from: Option<&str>, to: Option<&str>) -> Result<Option<Period>, Failure> {
    let at = |option: &str, text: Option<&str>| {
        text.map(|text| moment(text).map_err(|error| Failure::usage(error).with_option(option))).transpose()
    };
    match (at("--from", from)?, at("--to", to)?) {
        (None, None) => Ok(None),
        (from, to) => not_empty(from.unwrap_or(0), to.unwrap_or(u64::MAX)).map(Some),
    }
}

/// The period of a query's own `from` or `last`. `window_ns`: the length of the windows that are read, in one of which a time before now
/// lies: it is the begin of that window.
pub(crate) fn resolve_query(history: &HistoryRange, window_ns: Option<u64>) -> Result<Period, Failure> {
    let at = |moment: TimePoint| match moment {
        TimePoint::At(ns) => u64::try_from(ns).unwrap_or(0),
        TimePoint::Ago(ns) => begin(now_ns().saturating_sub(ns), window_ns),
    };
    not_empty(at(history.from), history.to.map_or_else(now_ns, at))
}

/// The period of `--from` and `--to` over windows of this length: a time before now is the begin of its window.
pub fn over_windows(
    period: Option<Period>,
    [from, to]: [Option<&str>; 2],
    window_ns: Option<u64>,
) -> Option<Period> {
    let at = |text: Option<&str>, ns: u64| match text {
        Some(text) if text.starts_with('-') => begin(ns, window_ns),
        _ => ns,
    };
    period.map(|Period { from_ns, to_ns }| Period { from_ns: at(from, from_ns), to_ns: at(to, to_ns) })
}

fn begin(ns: u64, window_ns: Option<u64>) -> u64 {
    window_ns.and_then(|window_ns| ns.checked_rem(window_ns)).map_or(ns, |rest| ns - rest)
}

fn not_empty(from_ns: u64, to_ns: u64) -> Result<Period, Failure> {
    match from_ns < to_ns {
        true => Ok(Period { from_ns, to_ns }),
        false => Err(Failure::usage("the period is empty: its end is not later than its begin")),
    }
}

/// A time, or a duration before now (`-1h`).
fn moment(text: &str) -> Result<u64, String> {
    if let Some(ago) = text.strip_prefix('-') {
        let ago = notation::duration(ago).map_err(|error| error.to_string())?;
        return Ok(now_ns().saturating_sub(u64::try_from(ago.as_nanos()).unwrap_or(u64::MAX)));
    }
    let ns = moment_ns(text).and_then(|ns| u64::try_from(ns).ok());
    ns.ok_or_else(|| format!("'{text}' is not {}, nor a time before now such as -1h", MOMENTS))
}

/// A period of `--diff`: a day, or `FROM..TO`.
pub fn named(text: &str) -> Result<Period, Failure> {
    const DAY_NS: u64 = 86_400_000_000_000;
    let period = match text.split_once("..") {
        Some((from, to)) => moment(from).and_then(|from| Ok((from, moment(to)?))),
        None => moment(text).and_then(|from| match text.len() {
            // A date alone.
            10 if !text.starts_with('-') => Ok((from, from.saturating_add(DAY_NS))),
            _ => Err(format!(
                "'{text}' is neither a file nor a period: a period is a day (2026-11-01) or FROM..TO"
            )),
        }),
    };
    let (from, to) = period.map_err(|error| Failure::usage(error).with_option("--diff"))?;
    not_empty(from, to)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_before_now_are_begins_of_windows_and_others_stay() {
        let period = |from_ns, to_ns| Some(Period { from_ns, to_ns });
        let over = |from, to, window_ns| over_windows(period(1_234, 5_678), [from, to], window_ns);
        assert_eq!(over(Some("-1h"), Some("-1min"), Some(100)), period(1_200, 5_600));
        assert_eq!(over(Some("-1h"), Some("2026-11-28"), Some(100)), period(1_200, 5_678));
        assert_eq!(over(Some("2026-11-28"), None, Some(100)), period(1_234, 5_678));
        assert_eq!(over(Some("-1h"), None, None), period(1_234, 5_678));
        assert_eq!(over_windows(None, [None; 2], Some(100)), None);
    }
}
