//! The rules of nodes of a deployment, whose controller says what they answer.

use super::{ConflictRule, NodeFacts, is_of_packets};
use crate::spec::SourceOptions;

const CONTROLLER_ASKS: &str = "the controller says what a probe answers, and shows it";
const IN_PROBE: &str = "in a probe";
const ASK_THERE: &str = "give it to the controller (edison add, or its 'queries')";
const SEE_THERE: &str = "ask the controller (edison watch --json, its page and its API)";
const ON_THE_CLOCK: &str =
    "it measures until it is told to end, in windows of the clock, by which a controller joins nodes";
const MEASURE_LIVE: &str = "name -i, --port or --collect, or measure it with edison run";
const UNTIL_TOLD: &str = "it measures until it is told to end";
const END_IT: &str = "end it with SIGTERM";

/// The rules of nodes of a deployment, in the order of the table.
pub(super) const RULES: &[ConflictRule] = &[
    in_probe("--query", CONTROLLER_ASKS, ASK_THERE, |facts| {
        facts.probe().is_some_and(|spec| !spec.question.query.is_empty())
    }),
    in_probe("--file", CONTROLLER_ASKS, ASK_THERE, |facts| {
        facts.probe().is_some_and(|spec| !spec.question.file.is_empty())
    }),
    in_probe("--set", CONTROLLER_ASKS, ASK_THERE, |facts| {
        facts.probe().is_some_and(|spec| !spec.question.set.is_empty())
    }),
    in_probe("--by", CONTROLLER_ASKS, ASK_THERE, |facts| {
        facts.probe().is_some_and(|spec| spec.question.by.is_some())
    }),
    in_probe("--sort", CONTROLLER_ASKS, ASK_THERE, |facts| {
        facts.probe().is_some_and(|spec| spec.question.sort.is_some())
    }),
    in_probe("--per", CONTROLLER_ASKS, ASK_THERE, |facts| {
        facts.probe().is_some_and(|spec| spec.question.per.is_some())
    }),
    in_probe("--task", CONTROLLER_ASKS, "ask in Equery, at the controller", |facts| {
        facts.probe().is_some_and(|spec| !spec.question.task.is_empty())
    }),
    in_probe("--top", CONTROLLER_ASKS, SEE_THERE, |facts| {
        facts.probe().is_some() && facts.origins.has("top")
    }),
    in_probe("--alertmanager", CONTROLLER_ASKS, "give it to the controller ('alertmanager')", |facts| {
        facts.probe().is_some_and(|spec| spec.output.alerts.is_asked())
    }),
    in_probe(
        "--every in packets",
        "a controller joins nodes by the time of their windows",
        "give --every a time, as 1s",
        |facts| facts.probe().is_some_and(is_of_packets),
    ),
    in_probe("--json", CONTROLLER_ASKS, SEE_THERE, |facts| {
        facts.probe().is_some_and(|spec| spec.output.json)
    }),
    in_probe("--resolve", CONTROLLER_ASKS, SEE_THERE, |facts| {
        facts.probe().is_some_and(|spec| spec.question.enrich.resolve)
    }),
    in_probe("a capture file", ON_THE_CLOCK, MEASURE_LIVE, |facts| {
        facts.probe().is_some_and(|spec| !(spec.source.words.is_empty() && spec.source.read.is_empty()))
    }),
    in_probe("--synthetic", ON_THE_CLOCK, MEASURE_LIVE, |facts| {
        facts.probe().is_some_and(|spec| spec.source.synthetic.is_some())
    }),
    in_probe("--wire", ON_THE_CLOCK, MEASURE_LIVE, |facts| {
        facts.probe().is_some_and(|spec| spec.source.wire.is_some())
    }),
    in_probe("--packets", UNTIL_TOLD, END_IT, |facts| {
        facts.probe().is_some_and(|spec| spec.limit.packets.is_some())
    }),
    in_probe("--duration", UNTIL_TOLD, END_IT, |facts| {
        facts.probe().is_some_and(|spec| spec.limit.duration.is_some())
    }),
    in_probe("--idle-exit", UNTIL_TOLD, END_IT, |facts| {
        facts.probe().is_some_and(|spec| spec.limit.idle_exit.is_some())
    }),
    in_probe(
        "--tee",
        "a controller adds up what probes counted, and does not know their shares",
        "leave it out",
        |facts| facts.probe().is_some_and(|spec| spec.machine.tee.is_some() && spec.machine.adapt.is_none()),
    ),
    ConflictRule {
        what: "a probe",
        condition: "without -i, --port or --collect",
        why: "there is nothing to measure",
        instead: "name an interface or a port, or where routers send to",
        is_broken: |NodeFacts { spec, .. }| {
            let SourceOptions { words, read, synthetic, .. } = &spec.source;
            let has_other = !(words.is_empty() && read.is_empty()) || synthetic.is_some();
            spec.link.is_some() && !spec.is_live() && !has_other
        },
    },
    ConflictRule {
        what: "several nodes",
        condition: IN_PROBE,
        why: "each node logs in at the broker with its own name",
        instead: "start a probe for each",
        is_broken: |facts| facts.spec.link.is_some() && facts.has_several_nodes,
    },
];

/// Returns the rule of an option that a node of a deployment cannot have.
const fn in_probe(
    what: &'static str,
    why: &'static str,
    instead: &'static str,
    is_broken: fn(&NodeFacts<'_>) -> bool,
) -> ConflictRule {
    ConflictRule { what, condition: IN_PROBE, why, instead, is_broken }
}
