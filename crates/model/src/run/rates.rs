//! Averages over a run.

use crate::Span;
use serde::{Deserialize, Serialize};

/// The averages over a run; `None` where the time has no length.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Rates {
    /// The packets measured per second of the time from the first of them to the last.
    #[cfg_attr(feature = "schema", schemars(range(min = 0)))]
    pub packets_per_second: Option<f64>,
    /// The bits measured per second of the time from the first packet to the last, on the wire without preamble, gap and check sequence;
    /// `None`, too, where bytes on the wire are not known.
    #[cfg_attr(feature = "schema", schemars(range(min = 0)))]
    pub bits_per_second: Option<f64>,
    /// The packets received per second of the time that the run took.
    #[cfg_attr(feature = "schema", schemars(range(min = 0)))]
    pub processed_per_second: Option<f64>,
}

impl Rates {
    /// The rates of what was measured over its own time, and of packets received over the run's.
    pub fn new(measured: &Amount, received: u64, elapsed_seconds: f64) -> Self {
        let rate = |amount: f64, seconds: f64| (seconds > 0.0).then(|| amount / seconds);
        let seconds = measured.span.map_or(0.0, |span| span.seconds());
        Self {
            packets_per_second: rate(measured.packets as f64, seconds),
            bits_per_second: measured.wire_bytes.and_then(|bytes| rate(bytes as f64 * 8.0, seconds)),
            processed_per_second: rate(received as f64, elapsed_seconds),
        }
    }
}

/// The amount of traffic that was measured, and its time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Amount {
    /// The number of packets.
    pub packets: u64,
    /// The bytes of the packets on the wire, where they are known.
    pub wire_bytes: Option<u64>,
    /// The time from the first packet to the last.
    pub span: Option<Span>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_needs_time() {
        let span = Span { start_ns: 5_000_000_000, end_ns: 7_000_000_000 };
        // What was received and not measured is in no rate of the traffic.
        let measured = Amount { packets: 100, wire_bytes: Some(1000), span: Some(span) };
        let rates = Rates::new(&measured, 300, 0.5);
        assert_eq!(rates.packets_per_second, Some(50.0));
        assert_eq!(rates.bits_per_second, Some(4000.0));
        assert_eq!(rates.processed_per_second, Some(600.0));
        assert_eq!(Rates::new(&Amount { span: None, ..measured }, 300, 0.0), Rates::default());
    }
}
