//! The times of a record, in whichever form they are told.

use super::super::element::{NumericElement, TimeEncoding};
use super::RecordValues;

/// The seconds from 1900 to 1970.
pub(super) const EPOCH: u64 = 2_208_988_800;
pub(super) const SECOND: u64 = 1_000_000_000;
const MILLISECOND: u64 = 1_000_000;

/// The facts about a record's time that are known apart from the record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExportTimes {
    /// The time at which the record's message was sent, nanoseconds since the epoch.
    pub export_ns: u64,
    /// The exporter's time since its start when it sent the message, milliseconds, where the message tells it.
    pub uptime_ms: Option<u32>,
}

impl RecordValues {
    /// Returns the times at which the first and the last packet of a direction came, as far as the record tells them; the other direction has
    /// its own times, or those of the flow. `start_ms`: when the exporter began, where that was told apart from records.
    pub fn times(&self, is_reverse: bool, facts: ExportTimes, start_ms: Option<u64>) -> [Option<u64>; 2] {
        let start_ms = self.number(NumericElement::SystemStart).or(start_ms);
        let half = &self.halves[usize::from(is_reverse)];
        let at = |told: Option<(TimeEncoding, u64)>| {
            told.and_then(|(clock, time)| moment(clock, time, facts, start_ms))
        };
        let [start, end, event] = [half.start, half.end, half.event].map(at);
        let duration = half.duration_ns;
        let after = |start: u64| duration.and_then(|length| start.checked_add(length));
        let before = |end: u64| duration.and_then(|length| end.checked_sub(length));
        // What is not told follows from the duration, or is the time of the event.
        let end = end.or_else(|| start.and_then(after)).or(event);
        let start = start.or_else(|| end.and_then(before));
        match (start, end) {
            (None, None) if is_reverse => self.times(false, facts, start_ms),
            // It was no later than the export.
            (None, None) => {
                let start = before(facts.export_ns);
                [start, start.map(|_| facts.export_ns)]
            }
            times => [times.0, times.1],
        }
    }
}

/// A time, nanoseconds since the epoch. `start_ms`: when the exporter began, where that was told apart from the header.
fn moment(clock: TimeEncoding, time: u64, facts: ExportTimes, start_ms: Option<u64>) -> Option<u64> {
    match clock {
        TimeEncoding::NtpNanoseconds => ntp(time, SECOND).filter(|_| time != 0),
        TimeEncoding::NtpMicroseconds => ntp(time, 1_000_000).filter(|_| time != 0),
        // Zero is how a time is told that is not known.
        TimeEncoding::Milliseconds => time.checked_mul(MILLISECOND).filter(|time| *time != 0),
        TimeEncoding::Seconds => time.checked_mul(SECOND).filter(|time| *time != 0),
        TimeEncoding::MicrosecondsBefore => facts.export_ns.checked_sub(time.checked_mul(1000)?),
        TimeEncoding::Uptime => {
            let told = |start: u64| (facts.export_ns / MILLISECOND).wrapping_sub(start) as u32;
            let uptime = facts.uptime_ms.or(start_ms.map(told))?;
            // The counter begins anew every seven weeks: what counts is how long before the export it was, or a little after.
            let before = i64::from(uptime.wrapping_sub(time as u32) as i32);
            facts.export_ns.checked_add_signed(-before * MILLISECOND as i64)
        }
    }
}

/// Nanoseconds since 1970 of an NTP timestamp whose fraction is rounded to a unit; `units` of them are a second. Seconds before 1968 are
/// of the second era, which begins in 2036.
fn ntp(timestamp: u64, units: u64) -> Option<u64> {
    const ERA: u64 = 1 << 32;
    let (seconds, fraction) = (timestamp >> 32, timestamp & (ERA - 1));
    let seconds = if seconds < ERA / 2 { seconds + ERA } else { seconds };
    let rounded = (fraction * units + ERA / 2) >> 32;
    Some(seconds.checked_sub(EPOCH)? * SECOND + rounded * (SECOND / units))
}
