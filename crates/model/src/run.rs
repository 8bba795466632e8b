//! The whole run.

mod design;
mod events;
mod exporters;
mod flows;
mod rates;
mod sources;
mod steps;
mod tuning;
mod undecided;
mod wire;

pub use design::DesignReport;
pub use events::RunEvents;
pub use exporters::ExporterReport;
pub use flows::{FlowCounts, HashTableCounts, OutputCounts};
pub use rates::{Amount, Rates};
pub use steps::{HardwareReport, StepsReport, StepsThread};
pub use tuning::{TuningChange, TuningReport, TuningSettings, TuningUnmet};
pub use undecided::UndecidedReport;
pub use wire::WireReport;

use sources::Sources;

use crate::Totals;
use crate::{Answer, Counters, Integer, Nullable, PacketCounts, Sampling, Span, Time, WindowCounts};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::net::IpAddr;

/// The report of a whole run.
///
/// `--report` writes it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RunReport {
    /// The sources, by the names that the user gave: one name, or a list of them.
    #[serde(with = "Sources")]
    pub source: Vec<String>,
    /// The name of the observation point; of several nodes, all names.
    pub node: String,
    /// The stream time of the first frame; `None` without frames.
    #[serde(rename = "started", with = "Nullable::<Time>")]
    pub started_ns: Option<u64>,
    /// The stream time of the last frame; `None` without frames.
    #[serde(rename = "ended", with = "Nullable::<Time>")]
    pub ended_ns: Option<u64>,
    /// The windows.
    pub windows: WindowCounts,
    /// The frames.
    pub packets: PacketCounts,
    /// The frames that the source lost, by its own counters; `None` if it cannot count them.
    pub loss: Option<Counters>,
    /// The share of the packets that was sampled.
    ///
    /// `None`: all were taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sampling: Option<Sampling>,
    /// The flow records.
    pub flows: FlowCounts,
    /// The averages over the run.
    pub rates: Rates,
    /// The memory of tables and queues at its most, bytes.
    #[serde(with = "Integer")]
    pub memory_bytes: u64,
    /// The answers: those of the whole run, then those of its last windows.
    pub answers: Vec<Answer>,
    /// The events, with their stories and captured packets.
    #[serde(flatten)]
    pub occurrences: RunEvents,
    /// The report of each node, in a run with several, of which this report has the sums.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub nodes: BTreeMap<String, RunReport>,
    /// The version of Edison.
    pub version: String,
    /// The command line, a text for each word.
    pub command_line: Vec<String>,
    /// The time that the run took, seconds.
    #[cfg_attr(feature = "schema", schemars(range(min = 0)))]
    pub elapsed_seconds: f64,
    /// The number of times that links were found to have gone down.
    ///
    /// `None` if there is no link.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "Nullable::<Integer>")]
    pub link_down: Option<u64>,
    /// The routers that sent flow records, by their addresses.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "schema", schemars(length(min = 1)))]
    pub exporters: Vec<ExporterReport>,
    /// The division of the work.
    pub design: DesignReport,
    /// The observations of a software wire (`--wire`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wire: Option<WireReport>,
    /// The time that a packet took, by step (`--steps`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steps: Option<StepsReport>,
    /// The changes that `--adapt` made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tuning: Option<TuningReport>,
    /// The faults of the run, a line each.
    pub faults: Vec<String>,
    /// The number of windows whose answers are not in `answers`.
    #[serde(with = "Integer")]
    pub answers_unlisted: u64,
}

impl RunReport {
    /// Stream time from the first to the last frame; `None` without frames.
    pub fn span(&self) -> Option<Span> {
        Some(Span { start_ns: self.started_ns?, end_ns: self.ended_ns? })
    }

    /// The answer of this query over the whole run.
    pub fn answer(&self, query: &str) -> Option<&Answer> {
        self.answers.iter().find(|answer| answer.query == query && answer.window.is_none())
    }

    /// The run took at least this long, with all that followed its last packet, in seconds.
    pub fn took(&mut self, seconds: f64) {
        if self.elapsed_seconds < seconds {
            self.elapsed_seconds = seconds;
            self.rates.processed_per_second = Some(self.packets.received as f64 / seconds);
        }
    }

    /// Replaces addresses in all answers and events.
    pub fn map_addresses(&mut self, f: &mut dyn FnMut(IpAddr) -> IpAddr) {
        self.answers.iter_mut().for_each(|answer| answer.map_addresses(f));
        self.occurrences.events.iter_mut().for_each(|event| event.map_addresses(f));
    }

    /// Adds the report of a node: counts add up, and what one of them does not know is not known. The first answer is the sum of
    /// the nodes' `totals`.
    pub fn add_node(&mut self, node: Self) {
        let is_first = self.nodes.is_empty();
        if is_first {
            self.design = node.design.clone();
        }
        self.source.extend(node.source.iter().cloned());
        let times = |own: Option<u64>, other: Option<u64>, of: fn(u64, u64) -> u64| match (own, other) {
            (Some(own), Some(other)) => Some(of(own, other)),
            (own, other) => own.or(other),
        };
        self.started_ns = times(self.started_ns, node.started_ns, u64::min);
        self.ended_ns = times(self.ended_ns, node.ended_ns, u64::max);
        self.windows.add_all(&node.windows);
        self.packets.add(&node.packets);
        self.loss = match (self.loss.take(), &node.loss) {
            _ if is_first => node.loss.clone(),
            (Some(mut own), Some(other)) => {
                own.add(other);
                Some(own)
            }
            _ => None,
        };
        self.sampling = match (self.sampling.take(), node.sampling) {
            _ if is_first => node.sampling,
            (own, other) => own.zip(other).and_then(|(own, other)| own.with(&other)),
        };
        self.flows.add(&node.flows);
        self.exporters.extend(node.exporters.iter().cloned());
        self.memory_bytes += node.memory_bytes;
        self.elapsed_seconds = self.elapsed_seconds.max(node.elapsed_seconds);
        if let Some(totals) = node.answer("totals") {
            match self.answers.first_mut().filter(|_| !is_first) {
                Some(sum) => sum.add_values(totals),
                None => self.answers.push(Answer { node: None, ..totals.clone() }),
            }
        }
        self.answers.extend(node.answers.iter().cloned());
        self.answers_unlisted += node.answers_unlisted;
        self.faults.extend(node.faults.iter().map(|fault| format!("{}: {fault}", node.node)));
        self.nodes.insert(node.node.clone(), node);
        let totals = self.answer("totals").map(Totals::from_answer).unwrap_or_default();
        let measured =
            Amount { packets: totals.packets, wire_bytes: totals.wire_bytes, span: totals.measured };
        self.rates = Rates::new(&measured, self.packets.received, self.elapsed_seconds);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_follows_the_last_packet_counts() {
        let packets = PacketCounts { received: 100, ..PacketCounts::default() };
        let rates = Rates::new(&Amount::default(), 100, 0.5);
        let mut report = RunReport { packets, rates, elapsed_seconds: 0.5, ..RunReport::default() };
        report.took(0.25);
        assert_eq!((report.elapsed_seconds, report.rates.processed_per_second), (0.5, Some(200.0)));
        report.took(10.0);
        assert_eq!((report.elapsed_seconds, report.rates.processed_per_second), (10.0, Some(10.0)));
    }
}
