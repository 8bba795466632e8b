//! The rules of a run that tunes itself (`--adapt`).

use super::{ConflictRule, LEAVE_ONE, NodeFacts, is_of_packets};
use crate::assembly::adapt;
use record::Format;
use std::path::PathBuf;

/// The rules of `--adapt`, in the order of the table.
pub(super) const RULES: &[ConflictRule] = &[
    ConflictRule {
        what: "--adapt",
        condition: "with a capture, or --synthetic, that no wire is around",
        why: "it keeps loss below a bound, and a replay loses nothing",
        instead: "measure an interface or a port, or put the capture on a wire (--wire rate=10Mpps)",
        is_broken: |NodeFacts { spec, .. }| {
            spec.machine.adapt.is_some() && !spec.is_live() && spec.source.wire.is_none()
        },
    },
    ConflictRule {
        what: "--adapt",
        condition: "with a --wire that has no rate",
        why: "it keeps loss below a bound, and a wire without a rate loses nothing",
        instead: "give it one, as rate=5Mpps/20Mpps,phase=10s",
        is_broken: |NodeFacts { spec, .. }| {
            spec.machine.adapt.is_some() && spec.source.wire.is_some_and(|wire| wire.rate.is_none())
        },
    },
    ConflictRule {
        what: "--adapt",
        condition: "with --every in packets",
        why: "it decides from window to window of time",
        instead: "give --every a time, as 1s",
        is_broken: |NodeFacts { spec, .. }| spec.machine.adapt.is_some() && is_of_packets(spec),
    },
    ConflictRule {
        what: "--adapt",
        condition: "is not possible with several nodes, or queries that start others",
        why: "its changes are events of their own, which start no query, and cores are shared out among nodes before they are measured",
        instead: LEAVE_ONE,
        is_broken: |facts| facts.spec.machine.adapt.is_some() && facts.is_controlled,
    },
    ConflictRule {
        what: "--adapt",
        condition: "with --store or --rows",
        why: "it may change the share that is sampled, and one answer about recorded windows has windows of one share alone",
        instead: LEAVE_ONE,
        is_broken: |NodeFacts { spec, .. }| {
            spec.machine.adapt.is_some() && (spec.output.store.is_some() || spec.output.rows.is_some())
        },
    },
    ConflictRule {
        what: "--adapt",
        condition: "with --export, or --flows in IPFIX",
        why: "it may change the share that is sampled, and IPFIX tells a collector one share for all records",
        instead: "leave out --export, and write --flows as .csv, .jsonl or .parquet",
        is_broken: |NodeFacts { spec, .. }| {
            spec.machine.adapt.is_some() && (spec.output.export.is_some() || is_ipfix(&spec.output.flows))
        },
    },
    ConflictRule {
        what: "a query named adapt",
        condition: "with --adapt",
        why: "events of --adapt have this name",
        instead: "give the query another one",
        is_broken: |facts| {
            facts.spec.machine.adapt.is_some() && facts.queries.iter().any(|query| query.label == adapt::NAME)
        },
    },
];

/// Returns true if flow records are written in IPFIX.
pub(super) fn is_ipfix(flows: &Option<PathBuf>) -> bool {
    flows.as_ref().is_some_and(|path| matches!(Format::from_output_path(path), Ok(Format::Ipfix)))
}
