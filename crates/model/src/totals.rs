//! The whole that rows are shares of.

use crate::{Answer, Span, Value};

/// Sums over all measured packets: the answer of the query `totals`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// The number of packets.
    pub packets: u64,
    /// The layer-3 bytes of the packets.
    pub bytes: u64,
    /// The bytes of the packets on the wire; `None` where they are not known of all packets.
    pub wire_bytes: Option<u64>,
    /// The number of flows: of a run, the flow records that the packets belong to; of a window, its flows.
    pub flows: u64,
    /// The smallest possible number of flows: each packet without a place in the table counts in `flows` as a flow of its own.
    pub least_flows: u64,
    /// The time from the first packet to the last; `None` without packets, and where the time is not told.
    pub measured: Option<Span>,
}

impl Totals {
    /// The sums in the one row of the answer `totals`, or what they are estimated to be; 0 where a column is missing.
    pub fn from_answer(answer: &Answer) -> Self {
        let known = |column| match answer.value(0, column) {
            Some(Value::Estimate { value, .. }) => Some(value.max(0.0) as u64),
            other => other.and_then(Value::as_unsigned),
        };
        let sum = |column| known(column).unwrap_or(0);
        let least = |column| match answer.value(0, column) {
            Some(Value::Estimate { value, lower, .. }) if lower.is_finite() => {
                Some(lower.clamp(0.0, value.max(0.0)) as u64)
            }
            _ => known(column),
        };
        let time = |column| match answer.value(0, column) {
            Some(Value::Time(time)) => Some(*time),
            _ => None,
        };
        Self {
            measured: time("stime").zip(time("ltime")).map(|(start_ns, end_ns)| Span { start_ns, end_ns }),
            packets: sum("total_count"),
            bytes: sum("total_byte"),
            wire_bytes: known("wire_byte"),
            flows: sum("flows"),
            least_flows: least("flows").unwrap_or(0),
        }
    }
}
