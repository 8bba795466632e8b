//! Packets whose headers the snap length of a capture cut, and the answers that do not tell because of them.

use super::plan::Plan;
use crate::query::{Aggregate, Grouping};
use model::Answer;
use packet::KeySpec;

/// Numbers of measured packets, parts of whose headers were on the wire but not captured: these count as 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CutHeaders {
    /// Packets without their ports, or their ICMP type and code.
    pub ports: u64,
    /// Packets without the flags, the numbers and the window of TCP.
    pub tcp: u64,
    /// TCP segments that could not be read, so that no losses and round trips are known of them.
    pub segments: u64,
}

/// The fields of a key that a cut takes away.
const PORTS: [&str; 2] = ["src_port", "dst_port"];
/// The fields of a TCP header.
const TCP: [&str; 4] = ["tcp_flags", "tcp_seq", "tcp_ack", "tcp_win"];

impl CutHeaders {
    /// Adds others.
    pub fn add(&mut self, more: &Self) {
        self.ports = self.ports.saturating_add(more.ports);
        self.tcp = self.tcp.saturating_add(more.tcp);
        self.segments = self.segments.saturating_add(more.segments);
    }

    /// Returns the numbers that matter to a plan; the others are 0.
    pub(crate) fn of(self, plan: &Plan) -> Self {
        if self == Self::default() {
            return self;
        }
        let fields = plan.query.fields();
        let reads = |names: &[&str]| names.iter().any(|name| fields.contains(*name));
        let key_has_ports = plan.key.columns().any(|column| PORTS.contains(&column));
        let is_of_ports = key_has_ports && (reads(&PORTS) || plan.is_of_flows());
        let reads_losses = plan.query.loss_field().is_some();
        Self {
            ports: if is_of_ports { self.ports } else { 0 },
            tcp: if reads(&TCP) { self.tcp } else { 0 },
            segments: if reads_losses { self.segments } else { 0 },
        }
    }

    /// Says in the answer of a plan how many packets count with other values than they had on the wire.
    pub(crate) fn tell(self, answer: &mut Answer, plan: &Plan) {
        self.of(plan).say(answer);
    }

    /// Returns the numbers that matter to the number of flows with such keys; the others are 0.
    pub(crate) fn of_totals(self, key: &KeySpec) -> Self {
        let has_ports = key.columns().any(|column| PORTS.contains(&column));
        Self { ports: if has_ports { self.ports } else { 0 }, ..Self::default() }
    }

    /// Makes an answer partial, with these numbers as the reason. All of them matter to it.
    pub fn say(self, answer: &mut Answer) {
        let Self { ports, tcp, segments } = self;
        if tcp != 0 {
            answer.lacks(&format!(
                "the capture cut the TCP headers of {tcp} packets: what they have of TCP counts as 0"
            ));
        }
        if ports != 0 {
            answer.lacks(&format!(
                "the capture cut the headers of {ports} packets before their ports: these count as 0, and all such packets of two addresses as one flow"
            ));
        }
        if segments != 0 {
            answer.lacks(&format!(
                "the TCP headers of {segments} segments were cut or damaged: no losses and round trips are known of them"
            ));
        }
    }
}

impl Plan {
    /// Whether its answer depends on which packets are one flow.
    fn is_of_flows(&self) -> bool {
        let counts = |aggregate: &&Aggregate| matches!(aggregate, Aggregate::Count);
        let is_by_packets = !self.changing.is_empty();
        self.query.group == Grouping::Flows
            || self.query.aggregates().iter().any(counts)
            || self.merges && !is_by_packets
    }
}
