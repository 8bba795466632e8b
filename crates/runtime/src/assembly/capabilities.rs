//! The options that do not go together in a run, and the reasons: one table, by which runs are checked and from which docs/refused.md is made.

use crate::origin::Origins;
use crate::sinks::standard_output;
use crate::spec::{SourceOptions, Spec};
use engine::Every;
use equery::CheckedQuery;
use history::replay::NodeRecording;
use record::Format;
use std::path::PathBuf;
use task::{Kind, Quantity, TaskSpec, is_from_rows};

/// The facts about a node that are known before anything is opened.
pub(super) struct Facts<'a> {
    /// The options of the run, with the sources of the node.
    pub(super) spec: &'a Spec,
    /// The places where the options are set.
    pub(super) origins: &'a Origins,
    /// The queries of the run that rows answer.
    pub(super) queries: &'a [CheckedQuery],
    /// The tasks of the node, those of queries among them.
    pub(super) tasks: &'a [TaskSpec],
    /// True if a node of the run receives what routers send.
    pub(super) has_routers: bool,
    /// True if there are several nodes.
    pub(super) has_several_nodes: bool,
    /// The node, where its rows were recorded.
    pub(super) recorded: Option<&'a NodeRecording>,
    /// True if a controller joins nodes: there are several, or queries start or read others.
    pub(super) is_controlled: bool,
}

impl<'a> Facts<'a> {
    /// Returns what a node of a deployment is asked for.
    fn probe(&self) -> Option<&'a Spec> {
        Some(self.spec).filter(|spec| spec.link.is_some())
    }
}

/// Something that a run cannot do beside something else.
struct Rule {
    /// The option that is refused, as users write it.
    what: &'static str,
    /// The circumstance in which it is refused: an option beside it, or something that is missing.
    condition: &'static str,
    /// The reason why it is refused.
    why: &'static str,
    /// The alternative that is possible.
    instead: &'static str,
    is_broken: fn(&Facts<'_>) -> bool,
}

const RECORDS_ONLY: &str = "it shows in flow records only";
const GIVE_RECORDS: &str = "give --flows PATH, --export URL or --store DIR too";
const LEAVE_ONE: &str = "leave out one of them";
const CONTROLLER_ASKS: &str = "the controller says what a probe answers, and shows it";
const NO_PACKETS: &str = "routers send flow records, no packets";
const NO_ROUTERS: &str = "measure the packets themselves, by -i or --port";
const WITH_ROUTERS: &str = "with routers";
const NO_SOURCE_BESIDE: &str = "name each source as a node, as r=ipfix://:4739 a=trace.pcap";

const RECORDED: &str = "in edison dry-run";
const IN_PROBE: &str = "in a probe";
const ASK_THERE: &str = "give it to the controller (edison add, or its 'queries')";
const SEE_THERE: &str = "ask the controller (edison watch --json, its page and its API)";
const ON_THE_CLOCK: &str =
    "it measures until it is told to end, in windows of the clock, by which a controller joins nodes";
const MEASURE_LIVE: &str = "name -i, --port or --collect, or measure it with edison run";
const UNTIL_TOLD: &str = "it measures until it is told to end";
const END_IT: &str = "end it with SIGTERM";

/// Returns the rule of an option that a node of a deployment cannot have.
const fn in_probe(
    what: &'static str,
    why: &'static str,
    instead: &'static str,
    is_broken: fn(&Facts<'_>) -> bool,
) -> Rule {
    Rule { what, condition: IN_PROBE, why, instead, is_broken }
}

/// Returns the rule of an option that is of routers.
const fn without_routers(what: &'static str, is_broken: fn(&Facts<'_>) -> bool) -> Rule {
    let why = "it says what is received of routers";
    let instead = "name where routers send to: r=ipfix://:4739, or --collect of a probe";
    Rule { what, condition: "without routers", why, instead, is_broken }
}

/// The list of all rules, by subject.
const RULES: &[Rule] = &[
    // Options that show in something that is not asked for.
    Rule {
        what: "--gap",
        condition: "without --flows, --export or --store",
        why: RECORDS_ONLY,
        instead: GIVE_RECORDS,
        is_broken: |facts| facts.spec.record.gap.is_some() && !has_records(facts.spec),
    },
    Rule {
        what: "--packet-size",
        condition: "without --flows, --export or --store",
        why: RECORDS_ONLY,
        instead: GIVE_RECORDS,
        is_broken: |facts| facts.spec.record.packet_size.is_some() && !has_records(facts.spec),
    },
    Rule {
        what: "--inter-arrival",
        condition: "without --flows, --export or --store",
        why: RECORDS_ONLY,
        instead: GIVE_RECORDS,
        is_broken: |facts| facts.spec.record.inter_arrival.is_some() && !has_records(facts.spec),
    },
    Rule {
        what: "--fields",
        condition: "without --flows or --export",
        why: RECORDS_ONLY,
        instead: "give --flows PATH or --export URL too",
        is_broken: |Facts { spec, .. }| {
            spec.output.fields.is_some() && spec.output.flows.is_none() && spec.output.export.is_none()
        },
    },
    Rule {
        what: "--rotate",
        condition: "without --flows",
        why: "it splits what --flows writes",
        instead: "give --flows PATH too",
        is_broken: |Facts { spec, .. }| spec.output.rotate.is_some() && spec.output.flows.is_none(),
    },
    Rule {
        what: "--store-keep",
        condition: "without --store",
        why: "it says what --store keeps",
        instead: "give --store DIR too",
        is_broken: |Facts { spec, .. }| spec.output.store_keep.is_some() && spec.output.store.is_none(),
    },
    Rule {
        what: "--queues",
        condition: "without --port",
        why: "--queues is for DPDK ports",
        instead: "a software wire has --wire queues=N",
        is_broken: |Facts { spec, .. }| spec.machine.queues.is_some() && spec.source.port.is_empty(),
    },
    Rule {
        what: "--alertmanager",
        condition: "without a query with 'when'",
        why: "it is told what fires, and no query of this run starts another",
        instead: "give -q or -f one with 'when'",
        is_broken: |Facts { spec, queries, .. }| {
            spec.link.is_none()
                && spec.output.alerts.is_asked()
                && !queries.iter().any(|query| query.trigger.is_some())
        },
    },
    // Two things of which one undoes the other.
    Rule {
        what: "--resolve",
        condition: "with --anonymize",
        why: "it shows names, which tell the addresses that --anonymize hides",
        instead: "give one of them",
        is_broken: |Facts { spec, .. }| spec.question.enrich.resolve && spec.output.anonymize.is_some(),
    },
    Rule {
        what: "--flows -",
        condition: "with --report -",
        why: "both write to standard output",
        instead: "give one of them a file",
        is_broken: |Facts { spec, .. }| goes_there(&spec.output.flows) && goes_there(&spec.output.report),
    },
    Rule {
        what: "--flows -",
        condition: "with --json",
        why: "both write to standard output",
        instead: "give one of them a file",
        is_broken: |Facts { spec, .. }| {
            goes_there(&spec.output.flows) && !goes_there(&spec.output.report) && spec.output.json
        },
    },
    Rule {
        what: "--answers -",
        condition: "instead of --json",
        why: "these are the lines that --json prints to standard output",
        instead: "give --json, or a file",
        is_broken: |Facts { spec, .. }| goes_there(&spec.output.answers),
    },
    Rule {
        what: "--wire",
        condition: "with -i or --port",
        why: "--wire goes around capture files or --synthetic, whose frames are there before they arrive",
        instead: LEAVE_ONE,
        is_broken: |Facts { spec, .. }| {
            spec.source.wire.is_some() && !(spec.source.interface.is_empty() && spec.source.port.is_empty())
        },
    },
    Rule {
        what: "--flows -",
        condition: "with several nodes",
        why: "their records would be mixed",
        instead: "give a path, whose name gets those of the nodes",
        is_broken: |facts| facts.has_several_nodes && goes_there(&facts.spec.output.flows),
    },
    Rule {
        what: "an interface or a port",
        condition: "given twice for one node",
        why: "each of its packets would count twice",
        instead: "name it once",
        is_broken: |Facts { spec, .. }| has_twice(&spec.source.interface) || has_twice(&spec.source.port),
    },
    // Nodes of a deployment.
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
    Rule {
        what: "a probe",
        condition: "without -i, --port or --collect",
        why: "there is nothing to measure",
        instead: "name an interface or a port, or where routers send to",
        is_broken: |Facts { spec, .. }| {
            let SourceOptions { words, read, synthetic, .. } = &spec.source;
            let has_other = !(words.is_empty() && read.is_empty()) || synthetic.is_some();
            spec.link.is_some() && !spec.is_live() && !has_other
        },
    },
    Rule {
        what: "several nodes",
        condition: IN_PROBE,
        why: "each node logs in at the broker with its own name",
        instead: "start a probe for each",
        is_broken: |facts| facts.spec.link.is_some() && facts.has_several_nodes,
    },
    without_routers("--from", |facts| !facts.has_routers && !facts.spec.routers.from.is_empty()),
    without_routers("--sampling", |facts| !facts.has_routers && facts.spec.routers.sampling.is_some()),
    without_routers("--wait", |facts| !facts.has_routers && facts.spec.routers.wait.is_some()),
    // Windows.
    Rule {
        what: "--task",
        condition: "with --per where the run's windows have another length (--every, or the 'every' of queries)",
        why: "tasks are answered in each window of the run",
        instead: "give them the length of --per, or leave out --per",
        is_broken: |Facts { spec, .. }| {
            let per =
                spec.question.per.map(|per| Every::Time(u64::try_from(per.as_nanos()).unwrap_or(u64::MAX)));
            !spec.question.task.is_empty() && per.is_some_and(|per| per != spec.question.every)
        },
    },
    Rule {
        what: "--every in packets",
        condition: "with several nodes, or queries that start others",
        why: "nodes are joined by the time of their windows, and queries start others at a time: they need windows of time",
        instead: "give --every a time, as 1s",
        is_broken: |facts| facts.spec.link.is_none() && facts.is_controlled && is_of_packets(facts.spec),
    },
    // Samples.
    Rule {
        what: "'across nodes'",
        condition: "with --tee or --adapt, or over rows of a sample",
        why: task::rows::OF_SAMPLES,
        instead: LEAVE_ONE,
        is_broken: |facts| {
            let is_sample = is_sample(facts.spec) || facts.recorded.is_some_and(NodeRecording::is_sampled);
            is_sample && facts.queries.iter().any(|query| query.across.is_some())
        },
    },
    Rule {
        what: "'capture'",
        condition: "with --tee or --adapt",
        why: "'capture' writes every packet, and a sample lacks some",
        instead: LEAVE_ONE,
        is_broken: |facts| {
            is_sample(facts.spec) && facts.queries.iter().any(|query| query.capture_packets.is_some())
        },
    },
    // Recorded rows.
    Rule {
        what: "'using' and 'error'",
        condition: RECORDED,
        why: "they count packets, of which rows do not tell",
        instead: "leave these out: rows answer exactly",
        is_broken: |facts| facts.recorded.is_some() && !facts.tasks.is_empty(),
    },
    Rule {
        what: "a query that reads losses",
        condition: "over rows without them",
        why: "what was lost is not known any more",
        instead: "record it too, as edison run SOURCE --loss --rows FILE",
        is_broken: |facts| {
            let is_of = |node: &NodeRecording, query: &CheckedQuery| {
                query.needs_loss && query.nodes.matches(node.name()) && !node.site().tracks_loss
            };
            facts.recorded.is_some_and(|node| facts.queries.iter().any(|query| is_of(node, query)))
        },
    },
    // A run that tunes itself.
    Rule {
        what: "--adapt",
        condition: "with a capture, or --synthetic, that no wire is around",
        why: "it keeps loss below a bound, and a replay loses nothing",
        instead: "measure an interface or a port, or put the capture on a wire (--wire rate=10Mpps)",
        is_broken: |Facts { spec, .. }| {
            spec.machine.adapt.is_some() && !spec.is_live() && spec.source.wire.is_none()
        },
    },
    Rule {
        what: "--adapt",
        condition: "with a --wire that has no rate",
        why: "it keeps loss below a bound, and a wire without a rate loses nothing",
        instead: "give it one, as rate=5Mpps/20Mpps,phase=10s",
        is_broken: |Facts { spec, .. }| {
            spec.machine.adapt.is_some() && spec.source.wire.is_some_and(|wire| wire.rate.is_none())
        },
    },
    Rule {
        what: "--adapt",
        condition: "with --every in packets",
        why: "it decides from window to window of time",
        instead: "give --every a time, as 1s",
        is_broken: |Facts { spec, .. }| spec.machine.adapt.is_some() && is_of_packets(spec),
    },
    Rule {
        what: "--adapt",
        condition: "is not possible with several nodes, or queries that start others",
        why: "its changes are events of their own, which start no query, and cores are shared out among nodes before they are measured",
        instead: LEAVE_ONE,
        is_broken: |facts| facts.spec.machine.adapt.is_some() && facts.is_controlled,
    },
    Rule {
        what: "--adapt",
        condition: "with --store or --rows",
        why: "it may change the share that is sampled, and one answer about recorded windows has windows of one share alone",
        instead: LEAVE_ONE,
        is_broken: |Facts { spec, .. }| {
            spec.machine.adapt.is_some() && (spec.output.store.is_some() || spec.output.rows.is_some())
        },
    },
    Rule {
        what: "--adapt",
        condition: "with --export, or --flows in IPFIX",
        why: "it may change the share that is sampled, and IPFIX tells a collector one share for all records",
        instead: "leave out --export, and write --flows as .csv, .jsonl or .parquet",
        is_broken: |Facts { spec, .. }| {
            spec.machine.adapt.is_some() && (spec.output.export.is_some() || is_ipfix(&spec.output.flows))
        },
    },
    Rule {
        what: "a query named adapt",
        condition: "with --adapt",
        why: "events of --adapt have this name",
        instead: "give the query another one",
        is_broken: |facts| {
            facts.spec.machine.adapt.is_some()
                && facts.queries.iter().any(|query| query.label == super::adapt::NAME)
        },
    },
    // Routers.
    Rule {
        what: "losses (--loss, or a query that reads them)",
        condition: WITH_ROUTERS,
        why: NO_PACKETS,
        instead: NO_ROUTERS,
        is_broken: |facts| {
            has_routers(facts)
                && (facts.spec.packets.loss || facts.queries.iter().any(|query| query.needs_loss))
        },
    },
    Rule {
        what: "--biflow",
        condition: WITH_ROUTERS,
        why: "routers send a record of each direction, at a time of its own",
        instead: "group by conversation, as --by conversation",
        is_broken: |facts| has_routers(facts) && facts.spec.record.biflow,
    },
    Rule {
        what: "--gap",
        condition: WITH_ROUTERS,
        why: NO_PACKETS,
        instead: NO_ROUTERS,
        is_broken: |facts| has_routers(facts) && facts.spec.record.gap.is_some(),
    },
    Rule {
        what: "--packet-size",
        condition: WITH_ROUTERS,
        why: NO_PACKETS,
        instead: NO_ROUTERS,
        is_broken: |facts| has_routers(facts) && facts.spec.record.packet_size.is_some(),
    },
    Rule {
        what: "--inter-arrival",
        condition: WITH_ROUTERS,
        why: NO_PACKETS,
        instead: NO_ROUTERS,
        is_broken: |facts| has_routers(facts) && facts.spec.record.inter_arrival.is_some(),
    },
    Rule {
        what: "'using', 'error' and a --task with a structure, memory= or error=",
        condition: WITH_ROUTERS,
        why: "structures count packets one by one, and routers send flow records",
        instead: "leave these out: flow records answer exactly",
        is_broken: |facts| {
            has_routers(facts) && facts.tasks.iter().any(|task| !is_from_rows(task) && !is_of_sizes(task))
        },
    },
    Rule {
        what: "--task quantiles:key=size",
        condition: WITH_ROUTERS,
        why: "flow records do not tell the sizes of single packets",
        instead: "ask for the quantiles of another quantity, as key=dst_port",
        is_broken: |facts| has_routers(facts) && facts.tasks.iter().any(is_of_sizes),
    },
    Rule {
        what: "--captures",
        condition: WITH_ROUTERS,
        why: NO_PACKETS,
        instead: NO_ROUTERS,
        is_broken: |facts| has_routers(facts) && facts.spec.capture.captures.is_some(),
    },
    Rule {
        what: "a filter",
        condition: WITH_ROUTERS,
        why: "it is matched against the bytes of packets, and routers send flow records",
        instead: "say it in a query, as where dst_port = 443",
        is_broken: |facts| has_routers(facts) && !facts.spec.source.words.is_empty(),
    },
    Rule {
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
    Rule {
        what: "--wire",
        condition: WITH_ROUTERS,
        why: "it says how packets arrive or are measured, and routers send flow records",
        instead: "leave it out",
        is_broken: |facts| has_routers(facts) && facts.spec.source.wire.is_some(),
    },
    Rule {
        what: "--tee",
        condition: WITH_ROUTERS,
        why: "it says how packets arrive or are measured, and routers send flow records",
        instead: "leave it out",
        is_broken: |facts| {
            has_routers(facts) && facts.spec.machine.tee.is_some() && facts.spec.machine.adapt.is_none()
        },
    },
    Rule {
        what: "--adapt",
        condition: WITH_ROUTERS,
        why: "it says how packets arrive or are measured, and routers send flow records",
        instead: "leave it out",
        is_broken: |facts| has_routers(facts) && facts.spec.machine.adapt.is_some(),
    },
    Rule {
        what: "--cores",
        condition: WITH_ROUTERS,
        why: "it says how cores share packets, and one thread takes flow records",
        instead: "leave it out",
        is_broken: |facts| has_routers(facts) && facts.spec.machine.cores.is_some(),
    },
    Rule {
        what: "--design",
        condition: WITH_ROUTERS,
        why: "it says how cores share packets, and one thread takes flow records",
        instead: "leave it out",
        is_broken: |facts| has_routers(facts) && facts.spec.machine.design.is_some(),
    },
    Rule {
        what: "--every in packets",
        condition: WITH_ROUTERS,
        why: "a flow record is of many packets, which no boundary between two packets parts",
        instead: "give --every a time, as 10s",
        is_broken: |facts| has_routers(facts) && is_of_packets(facts.spec),
    },
];

fn has_records(spec: &Spec) -> bool {
    spec.output.flows.is_some() || spec.output.export.is_some() || spec.output.store.is_some()
}

fn has_twice(sources: &[String]) -> bool {
    sources.iter().enumerate().any(|(at, source)| sources[..at].contains(source))
}

fn goes_there(path: &Option<PathBuf>) -> bool {
    path.as_deref().is_some_and(standard_output::is_meant)
}

fn is_of_packets(spec: &Spec) -> bool {
    matches!(spec.question.every, Every::Packets(_))
}

fn is_sample(spec: &Spec) -> bool {
    spec.machine.tee.is_some() || spec.machine.adapt.is_some()
}

fn is_ipfix(flows: &Option<PathBuf>) -> bool {
    flows.as_ref().is_some_and(|path| matches!(Format::of(path), Ok(Format::Ipfix)))
}

fn is_of_sizes(task: &TaskSpec) -> bool {
    task.kind == Kind::Quantiles && task.quantity == Quantity::Size
}

fn has_routers(facts: &Facts<'_>) -> bool {
    facts.spec.routers.listener.is_some()
}

/// Returns the options that are refused with routers, as they are typed.
pub(super) fn refused_with_routers() -> impl Iterator<Item = &'static str> {
    let rules = RULES.iter().filter(|rule| rule.condition == WITH_ROUTERS);
    let is_of_word = |letter: char| letter.is_ascii_lowercase() || letter == '-';
    rules
        .flat_map(move |rule| rule.what.split(move |letter| !is_of_word(letter)))
        .filter(|word| word.starts_with('-'))
}

/// Returns a line for each rule that a node breaks.
pub(super) fn refusals(facts: &Facts<'_>) -> Vec<String> {
    let broken = RULES.iter().filter(|rule| (rule.is_broken)(facts));
    broken
        .map(|Rule { what, condition, why, instead, .. }| format!("{what} {condition}: {why}: {instead}"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Args;

    #[test]
    fn options_that_routers_refuse_are_options_of_a_run() {
        let run = Spec::augment_args(clap::Command::new("run"));
        let names = run.get_arguments().flat_map(|argument| {
            let long = argument.get_long().map(|name| format!("--{name}"));
            [long, argument.get_short().map(|letter| format!("-{letter}"))]
        });
        let names: Vec<String> = names.flatten().collect();
        for option in refused_with_routers() {
            assert!(names.iter().any(|name| name == option), "{option}");
        }
        assert!(refused_with_routers().any(|option| option == "--tee"));
    }

    const HEAD: &str = "\
# What does not go together

Everything that a run can do goes with everything else, but for what this table has. A test writes it from the program's own
(`EDISON_REWRITE=1 cargo test capabilities`). What designs and sources cannot do is in [designs.md](designs.md), what a
sample does not tell is in [tee.md](tee.md), and what queries cannot ask is in [equery.md](equery.md#refused).

| what | is refused | because | instead |
| --- | --- | --- | --- |
";

    /// The page that lists the rules.
    fn page() -> String {
        let mut text = String::from(HEAD);
        for Rule { what, condition, why, instead, .. } in RULES {
            text.push_str(&format!("| {what} | {condition} | {why} | {instead} |\n"));
        }
        text
    }

    #[test]
    fn the_page_lists_all_rules() {
        let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/refused.md");
        if std::env::var_os("EDISON_REWRITE").is_some() {
            std::fs::write(&path, page()).expect("the page is written");
        }
        assert_eq!(std::fs::read_to_string(&path).expect("the page is there"), page());
    }
}
