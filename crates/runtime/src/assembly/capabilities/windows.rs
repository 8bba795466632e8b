//! The rules of windows, of samples and of recorded rows: what these do not tell.

use super::{ConflictRule, LEAVE_ONE, NodeFacts, is_of_packets};
use crate::spec::RunSpec;
use engine::Every;
use equery::ReadParts;
use flow::TrackedParts;
use history::replay::NodeRecording;

const RECORDED: &str = "in edison dry-run";

/// The rules of windows, of samples and of recorded rows, in the order of the table.
pub(super) const RULES: &[ConflictRule] = &[
    // Windows.
    ConflictRule {
        what: "--task",
        condition: "with --per where the run's windows have another length (--every, or the 'every' of queries)",
        why: "tasks are answered in each window of the run",
        instead: "give them the length of --per, or leave out --per",
        is_broken: |NodeFacts { spec, .. }| {
            let per =
                spec.question.per.map(|per| Every::Time(u64::try_from(per.as_nanos()).unwrap_or(u64::MAX)));
            !spec.question.task.is_empty() && per.is_some_and(|per| per != spec.question.every)
        },
    },
    ConflictRule {
        what: "--every in packets",
        condition: "with several nodes, or queries that start others",
        why: "nodes are joined by the time of their windows, and queries start others at a time: they need windows of time",
        instead: "give --every a time, as 1s",
        is_broken: |facts| facts.spec.link.is_none() && facts.is_controlled && is_of_packets(facts.spec),
    },
    // Samples.
    ConflictRule {
        what: "'across nodes'",
        condition: "with --tee or --adapt, or over rows of a sample",
        why: task::rows::OF_SAMPLES,
        instead: LEAVE_ONE,
        is_broken: |facts| {
            let is_sample = is_sample(facts.spec) || facts.recorded.is_some_and(NodeRecording::is_sampled);
            is_sample && facts.queries.iter().any(|query| query.across.is_some())
        },
    },
    ConflictRule {
        what: "'capture'",
        condition: "with --tee or --adapt",
        why: "'capture' writes every packet, and a sample lacks some",
        instead: LEAVE_ONE,
        is_broken: |facts| {
            is_sample(facts.spec) && facts.queries.iter().any(|query| query.firing.capture_packets.is_some())
        },
    },
    // Recorded rows.
    ConflictRule {
        what: "'using' and 'error'",
        condition: RECORDED,
        why: "they count packets, of which rows do not tell",
        instead: "leave these out: rows answer exactly",
        is_broken: |facts| facts.recorded.is_some() && !facts.tasks.is_empty(),
    },
    ConflictRule {
        what: "a query that reads losses",
        condition: "over rows without them",
        why: "what was lost is no longer known",
        instead: "record it too, as edison run SOURCE --loss --rows FILE",
        is_broken: |facts| is_asked_without(facts, |query, rows| query.loss && !rows.loss),
    },
    ConflictRule {
        what: "a query that reads header fields of --headers",
        condition: "over rows without them",
        why: "the headers of the packets are no longer known",
        instead: "record them too, as edison run SOURCE --headers --rows FILE",
        is_broken: |facts| is_asked_without(facts, |query, rows| query.headers && !rows.headers),
    },
];

/// Returns true if the rows of a recorded node lack a part that a query of the node reads.
fn is_asked_without(facts: &NodeFacts<'_>, lacks: fn(ReadParts, TrackedParts) -> bool) -> bool {
    facts.recorded.is_some_and(|node| {
        let mut queries = facts.queries.iter().filter(|query| query.nodes.matches(node.name()));
        queries.any(|query| lacks(query.parts, node.site().tracked))
    })
}

fn is_sample(spec: &RunSpec) -> bool {
    spec.machine.tee.is_some() || spec.machine.adapt.is_some()
}
