//! The rules of options that show in something that is not asked for, and of pairs of which one undoes the other.

use super::{ConflictRule, LEAVE_ONE, NodeFacts};
use crate::sinks::standard_output;
use crate::spec::RunSpec;
use flow::Metric;
use flowtable::StatisticSpec;
use std::path::PathBuf;

const RECORDS_ONLY: &str = "it shows in flow records only";

/// The rules of options of a run, in the order of the table.
pub(super) const RULES: &[ConflictRule] = &[
    // Options that show in something that is not asked for.
    unread_statistics("--gap", |facts| are_unread(facts, Metric::Gap)),
    unread_statistics("--packet-size", |facts| are_unread(facts, Metric::Size)),
    unread_statistics("--inter-arrival", |facts| are_unread(facts, Metric::InterArrival)),
    ConflictRule {
        what: "--fields",
        condition: "without --flows or --export",
        why: RECORDS_ONLY,
        instead: "give --flows PATH or --export URL too",
        is_broken: |NodeFacts { spec, .. }| {
            spec.output.fields.is_some() && spec.output.flows.is_none() && spec.output.export.is_none()
        },
    },
    ConflictRule {
        what: "--headers",
        condition: "without --flows, --export, --store, --rows, --web or a query",
        why: "header fields show in these only",
        instead: "give one of these, as --flows PATH",
        is_broken: |facts| facts.spec.output.headers && !show_headers(facts),
    },
    ConflictRule {
        what: "--rotate",
        condition: "without --flows",
        why: "it splits what --flows writes",
        instead: "give --flows PATH too",
        is_broken: |NodeFacts { spec, .. }| spec.output.rotate.is_some() && spec.output.flows.is_none(),
    },
    ConflictRule {
        what: "--store-keep",
        condition: "without --store",
        why: "it says what --store keeps",
        instead: "give --store DIR too",
        is_broken: |NodeFacts { spec, .. }| spec.output.store_keep.is_some() && spec.output.store.is_none(),
    },
    ConflictRule {
        what: "--queues",
        condition: "without --port",
        why: "--queues is for DPDK ports",
        instead: "a software wire has --wire queues=N",
        is_broken: |NodeFacts { spec, .. }| spec.machine.queues.is_some() && spec.source.port.is_empty(),
    },
    ConflictRule {
        what: "--pools",
        condition: "without --port",
        why: "--pools is for DPDK ports",
        instead: "a software wire has --wire mbufs=N,pools=1",
        is_broken: |NodeFacts { spec, .. }| spec.machine.pools.is_some() && spec.source.port.is_empty(),
    },
    with_one_queue("--rss", |facts| has_one_queue(facts.spec) && facts.spec.machine.rss.is_some()),
    with_one_queue("--rss-key", |facts| has_one_queue(facts.spec) && facts.spec.machine.rss_key.is_some()),
    ConflictRule {
        what: "--alertmanager",
        condition: "without a query with 'when'",
        why: "it is told what fires, and no query of this run starts another",
        instead: "give -q or -f one with 'when'",
        is_broken: |NodeFacts { spec, queries, .. }| {
            spec.link.is_none()
                && spec.output.alerts.is_asked()
                && !queries.iter().any(|query| query.trigger.is_some())
        },
    },
    ConflictRule {
        what: "--site, --at",
        condition: "without --web",
        why: "the page's API tells where nodes are, and the controller of a probe",
        instead: "give --web too",
        is_broken: |NodeFacts { spec, .. }| {
            spec.link.is_none() && spec.output.web.is_none() && spec.output.sites.is_given()
        },
    },
    // Two things of which one undoes the other.
    ConflictRule {
        what: "--resolve",
        condition: "with --anonymize",
        why: "it shows names, which tell the addresses that --anonymize hides",
        instead: "give one of them",
        is_broken: |NodeFacts { spec, .. }| spec.question.enrich.resolve && spec.output.anonymize.is_some(),
    },
    ConflictRule {
        what: "--flows -",
        condition: "with --report -",
        why: "both write to standard output",
        instead: "give one of them a file",
        is_broken: |NodeFacts { spec, .. }| goes_there(&spec.output.flows) && goes_there(&spec.output.report),
    },
    ConflictRule {
        what: "--flows -",
        condition: "with --json",
        why: "both write to standard output",
        instead: "give one of them a file",
        is_broken: |NodeFacts { spec, .. }| {
            goes_there(&spec.output.flows) && !goes_there(&spec.output.report) && spec.output.json
        },
    },
    ConflictRule {
        what: "--answers -",
        condition: "instead of --json",
        why: "these are the lines that --json prints to standard output",
        instead: "give --json, or a file",
        is_broken: |NodeFacts { spec, .. }| goes_there(&spec.output.answers),
    },
    ConflictRule {
        what: "--wire",
        condition: "with -i or --port",
        why: "--wire goes around capture files or --synthetic, whose frames are there before they arrive",
        instead: LEAVE_ONE,
        is_broken: |NodeFacts { spec, .. }| {
            spec.source.wire.is_some() && !(spec.source.interface.is_empty() && spec.source.port.is_empty())
        },
    },
    ConflictRule {
        what: "--flows -",
        condition: "with several nodes",
        why: "their records would be mixed",
        instead: "give a path, whose name gets those of the nodes",
        is_broken: |facts| facts.has_several_nodes && goes_there(&facts.spec.output.flows),
    },
    ConflictRule {
        what: "an interface or a port",
        condition: "given twice for one node",
        why: "each of its packets would count twice",
        instead: "name it once",
        is_broken: |NodeFacts { spec, .. }| has_twice(&spec.source.interface) || has_twice(&spec.source.port),
    },
];

/// Returns the rule of an option of the hash that chooses queues, where there is none to choose.
const fn with_one_queue(what: &'static str, is_broken: fn(&NodeFacts<'_>) -> bool) -> ConflictRule {
    let condition = "without --port or a --wire of several queues";
    let why = "it chooses among the receive queues of a source, and there is one";
    ConflictRule { what, condition, why, instead: "give --wire queues=N to what is replayed", is_broken }
}

fn has_one_queue(spec: &RunSpec) -> bool {
    spec.source.port.is_empty() && spec.source.wire.is_none_or(|wire| wire.queues == 1)
}

/// Returns the rule of statistics of packets that nothing shows.
const fn unread_statistics(what: &'static str, is_broken: fn(&NodeFacts<'_>) -> bool) -> ConflictRule {
    let condition = "without --flows, --export, --store or a query of windows that reads it";
    let why = "it shows in flow records and in such queries only";
    let instead =
        "give --flows PATH, --export URL or --store DIR too, or ask for it, as gap_p99, size_mean, iat_p50";
    ConflictRule { what, condition, why, instead, is_broken }
}

/// Returns true if statistics of a metric are asked for, and no record and no query shows one of them.
fn are_unread(facts: &NodeFacts<'_>, metric: Metric) -> bool {
    let read: Vec<_> = facts.queries.iter().flat_map(|query| query.plan.statistics()).collect();
    let is_unread = |spec: &StatisticSpec| !spec.columns(metric).any(|column| read.contains(&column));
    let asked = facts.spec.record.statistics().into_iter().find(|(asked, _)| *asked == metric);
    !facts.spec.output.has_records() && asked.and_then(|(_, spec)| spec).is_some_and(|spec| is_unread(&spec))
}

/// Returns true if header fields show in something. Queries of a deployment, and those of a page, may come later.
fn show_headers(facts: &NodeFacts<'_>) -> bool {
    let output = &facts.spec.output;
    output.has_records()
        || output.rows.is_some()
        || output.web.is_some()
        || facts.spec.link.is_some()
        || !facts.queries.is_empty()
}

fn has_twice(sources: &[String]) -> bool {
    sources.iter().enumerate().any(|(at, source)| sources[..at].contains(source))
}

fn goes_there(path: &Option<PathBuf>) -> bool {
    path.as_deref().is_some_and(standard_output::is_meant)
}
