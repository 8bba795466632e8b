//! Averages over a run.

use crate::Span;
use serde::{Deserialize, Serialize};

/// Averages over a run; `None` if the time is zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Rates {
    /// Packets received per second of stream time.
    pub packets_per_second: Option<f64>,
    /// Bits measured per second of stream time, on the wire without preamble, gap and check sequence.
    pub bits_per_second: Option<f64>,
    /// Packets received per second of the run's own time.
    pub processed_per_second: Option<f64>,
}

impl Rates {
    /// The rates of packets received and wire bytes measured over stream time and the run's own time.
    pub fn new(packets: u64, wire_byte: u64, span: Option<Span>, elapsed_seconds: f64) -> Self {
        let rate = |amount: f64, seconds: f64| (seconds > 0.0).then(|| amount / seconds);
        let stream = span.map_or(0.0, |span| span.seconds());
        Self {
            packets_per_second: rate(packets as f64, stream),
            bits_per_second: rate(wire_byte as f64 * 8.0, stream),
            processed_per_second: rate(packets as f64, elapsed_seconds),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_needs_time() {
        let span = Span { start_ns: 5_000_000_000, end_ns: 7_000_000_000 };
        let rates = Rates::new(100, 1000, Some(span), 0.5);
        assert_eq!(rates.packets_per_second, Some(50.0));
        assert_eq!(rates.bits_per_second, Some(4000.0));
        assert_eq!(rates.processed_per_second, Some(200.0));
        assert_eq!(Rates::new(100, 1000, None, 0.0), Rates::default());
    }
}
