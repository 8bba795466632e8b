//! The rules of routers: what flow records do not tell, and options that need routers.

use super::{ConflictRule, NodeFacts, is_of_packets};
use crate::spec::SourceOptions;
use task::{Quantity, TaskKind, TaskSpec, is_from_rows};

const NO_PACKETS: &str = "routers send flow records, no packets";
const NO_ROUTERS: &str = "measure the packets themselves, by -i or --port";
pub(super) const WITH_ROUTERS: &str = "with routers";
const NO_SOURCE_BESIDE: &str = "name each source as a node, as r=ipfix://:4739 a=trace.pcap";

/// The rules of options that need routers, in the order of the table.
pub(super) const MISSING: &[ConflictRule] = &[
    without_routers("--from", |facts| !facts.has_routers && !facts.spec.routers.from.is_empty()),
    without_routers("--sampling", |facts| !facts.has_routers && facts.spec.routers.sampling.is_some()),
    without_routers("--wait", |facts| !facts.has_routers && facts.spec.routers.wait.is_some()),
];

/// The rules of what is not possible with routers, in the order of the table.
pub(super) const RULES: &[ConflictRule] = &[
    ConflictRule {
        what: "losses (--loss, or a query that reads them)",
        condition: WITH_ROUTERS,
        why: NO_PACKETS,
        instead: NO_ROUTERS,
        is_broken: |facts| {
            has_routers(facts)
                && (facts.spec.packets.loss || facts.queries.iter().any(|query| query.parts.loss))
        },
    },
    ConflictRule {
        what: "--biflow",
        condition: WITH_ROUTERS,
        why: "routers send a record of each direction, at a time of its own",
        instead: "group by conversation, as --by conversation",
        is_broken: |facts| has_routers(facts) && facts.spec.record.biflow,
    },
    ConflictRule {
        what: "--gap",
        condition: WITH_ROUTERS,
        why: NO_PACKETS,
        instead: NO_ROUTERS,
        is_broken: |facts| has_routers(facts) && facts.spec.record.gap.is_some(),
    },
    ConflictRule {
        what: "--packet-size",
        condition: WITH_ROUTERS,
        why: NO_PACKETS,
        instead: NO_ROUTERS,
        is_broken: |facts| has_routers(facts) && facts.spec.record.packet_size.is_some(),
    },
    ConflictRule {
        what: "--inter-arrival",
        condition: WITH_ROUTERS,
        why: NO_PACKETS,
        instead: NO_ROUTERS,
        is_broken: |facts| has_routers(facts) && facts.spec.record.inter_arrival.is_some(),
    },
    ConflictRule {
        what: "'using', 'error' and a --task with a structure, memory= or error=",
        condition: WITH_ROUTERS,
        why: "structures count packets one by one, and routers send flow records",
        instead: "leave these out: flow records answer exactly",
        is_broken: |facts| {
            has_routers(facts) && facts.tasks.iter().any(|task| !is_from_rows(task) && !is_of_sizes(task))
        },
    },
    ConflictRule {
        what: "--task quantiles:key=size",
        condition: WITH_ROUTERS,
        why: "flow records do not tell the sizes of single packets",
        instead: "ask for the quantiles of another quantity, as key=dst_port",
        is_broken: |facts| has_routers(facts) && facts.tasks.iter().any(is_of_sizes),
    },
    ConflictRule {
        what: "--captures",
        condition: WITH_ROUTERS,
        why: NO_PACKETS,
        instead: NO_ROUTERS,
        is_broken: |facts| has_routers(facts) && facts.spec.capture.captures.is_some(),
    },
    ConflictRule {
        what: "a filter",
        condition: WITH_ROUTERS,
        why: "it is matched against the bytes of packets, and routers send flow records",
        instead: "say it in a query, as where dst_port = 443",
        is_broken: |facts| has_routers(facts) && !facts.spec.source.words.is_empty(),
    },
    ConflictRule {
        what: "a file, -i, --port or --synthetic",
        condition: WITH_ROUTERS,
        why: "a node has sources of one kind",
        instead: NO_SOURCE_BESIDE,
        is_broken: |facts| {
            let SourceOptions { read, interface, port, synthetic, .. } = &facts.spec.source;
            let has_other = !(read.is_empty() && interface.is_empty() && port.is_empty());
            has_routers(facts) && (has_other || synthetic.is_some())
        },
    },
    ConflictRule {
        what: "--wire",
        condition: WITH_ROUTERS,
        why: "it says how packets arrive or are measured, and routers send flow records",
        instead: "leave it out",
        is_broken: |facts| has_routers(facts) && facts.spec.source.wire.is_some(),
    },
    ConflictRule {
        what: "--tee",
        condition: WITH_ROUTERS,
        why: "it says how packets arrive or are measured, and routers send flow records",
        instead: "leave it out",
        is_broken: |facts| {
            has_routers(facts) && facts.spec.machine.tee.is_some() && facts.spec.machine.adapt.is_none()
        },
    },
    ConflictRule {
        what: "--adapt",
        condition: WITH_ROUTERS,
        why: "it says how packets arrive or are measured, and routers send flow records",
        instead: "leave it out",
        is_broken: |facts| has_routers(facts) && facts.spec.machine.adapt.is_some(),
    },
    ConflictRule {
        what: "--cores",
        condition: WITH_ROUTERS,
        why: "it says how cores share packets, and one thread takes flow records",
        instead: "leave it out",
        is_broken: |facts| has_routers(facts) && facts.spec.machine.cores.is_some(),
    },
    ConflictRule {
        what: "--design",
        condition: WITH_ROUTERS,
        why: "it says how cores share packets, and one thread takes flow records",
        instead: "leave it out",
        is_broken: |facts| has_routers(facts) && facts.spec.machine.design.is_some(),
    },
    ConflictRule {
        what: "--preset",
        condition: WITH_ROUTERS,
        why: "it says how cores share packets, and one thread takes flow records",
        instead: "leave it out",
        is_broken: |facts| has_routers(facts) && facts.spec.machine.preset.is_some(),
    },
    ConflictRule {
        what: "--scheduler",
        condition: WITH_ROUTERS,
        why: "it is of threads that measure packets, and routers send flow records",
        instead: "leave it out",
        is_broken: |facts| has_routers(facts) && facts.spec.machine.scheduler.is_some(),
    },
    ConflictRule {
        what: "--steps",
        condition: WITH_ROUTERS,
        why: "it times the steps of packets, and routers send flow records",
        instead: "leave it out",
        is_broken: |facts| has_routers(facts) && facts.spec.machine.steps,
    },
    ConflictRule {
        what: "--every in packets",
        condition: WITH_ROUTERS,
        why: "a flow record is of many packets, which no boundary between two packets parts",
        instead: "give --every a time, as 10s",
        is_broken: |facts| has_routers(facts) && is_of_packets(facts.spec),
    },
];

/// Returns the rule of an option that is of routers.
const fn without_routers(what: &'static str, is_broken: fn(&NodeFacts<'_>) -> bool) -> ConflictRule {
    let why = "it says what is received of routers";
    let instead = "name where routers send to: r=ipfix://:4739, or --collect of a probe";
    ConflictRule { what, condition: "without routers", why, instead, is_broken }
}

fn is_of_sizes(task: &TaskSpec) -> bool {
    task.kind == TaskKind::Quantiles && task.quantity == Quantity::Size
}

fn has_routers(facts: &NodeFacts<'_>) -> bool {
    facts.spec.routers.listener.is_some()
}
