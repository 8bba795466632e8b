//! The rules of a table that knows flows by a hash (`--table`): it counts packets and bytes of each flow over the whole run, and no more.

use super::tuning::is_ipfix;
use super::{ConflictRule, LEAVE_ONE, NodeFacts};
use crate::assembly::table_records::is_told;
use crate::spec::RunSpec;

const WITH_TABLE: &str = "with --table";
const WHOLE_RUN: &str =
    "such a table counts each flow from the first packet of the run to the last: it has no windows";
const NO_PARTS: &str = "such a table has packets, bytes, first and last time of a flow, and no more";
const EXACT: &str = "leave out --table";

/// The rules of `--table`, in the order of the page.
pub(super) const RULES: &[ConflictRule] = &[
    with_table("--every, --per", WHOLE_RUN, EXACT, |facts| {
        asked(facts).is_some_and(|spec| facts.origins.has("every") || spec.question.per.is_some())
    }),
    with_table(
        "--query, --file, --by, --sort",
        "queries are answered from the exact table's rows of windows, or have structures of their own",
        "leave out --table, or ask the records (edison query FILE)",
        |facts| {
            asked(facts).is_some_and(|RunSpec { question, .. }| {
                let has_text = !(question.query.is_empty() && question.file.is_empty());
                has_text || question.by.is_some() || question.sort.is_some()
            })
        },
    ),
    with_table("--task", WHOLE_RUN, EXACT, |facts| {
        asked(facts).is_some_and(|spec| !spec.question.task.is_empty())
    }),
    with_table("--loss", "it follows connections in the exact table's entries", EXACT, |facts| {
        asked(facts).is_some_and(|spec| spec.packets.loss)
    }),
    with_table("--biflow", "an entry is of one direction: each has a hash of its own", EXACT, |facts| {
        asked(facts).is_some_and(|spec| spec.record.biflow)
    }),
    with_table("--gap, --packet-size, --inter-arrival, --headers", NO_PARTS, EXACT, |facts| {
        asked(facts).is_some_and(|spec| {
            spec.output.headers || spec.record.statistics().iter().any(|(_, asked)| asked.is_some())
        })
    }),
    with_table(
        "--idle-timeout, --active-timeout",
        "nothing ends in such a table before the run does",
        EXACT,
        |facts| {
            let is_given = |option| facts.origins.has(option);
            asked(facts).is_some() && ["idle-timeout", "active-timeout"].into_iter().any(is_given)
        },
    ),
    with_table(
        "another field in --fields than node_id, the key's, stime, ltime, total_count, total_byte, end_reason",
        NO_PARTS,
        "take some of these",
        |facts| {
            let list = asked(facts).and_then(|spec| spec.output.fields.as_deref());
            list.is_some_and(|list| !list.split(',').all(|name| is_told(facts.spec, name.trim())))
        },
    ),
    with_table("--store, --rows", WHOLE_RUN, EXACT, |facts| {
        asked(facts).is_some_and(|spec| spec.output.store.is_some() || spec.output.rows.is_some())
    }),
    with_table(
        "--export, or --flows in IPFIX",
        "a collector takes what records do not tell for zero",
        "write --flows as .csv, .jsonl or .parquet",
        |facts| asked(facts).is_some_and(|spec| spec.output.export.is_some() || is_ipfix(&spec.output.flows)),
    ),
    with_table(
        "--web, --kafka, --alertmanager, --captures",
        WHOLE_RUN,
        "take --json, --report or --flows",
        |facts| {
            asked(facts).is_some_and(|RunSpec { output, capture, .. }| {
                let is_sent = output.kafka.is_asked() || output.alerts.is_asked();
                is_sent || output.web.is_some() || capture.captures.is_some()
            })
        },
    ),
    with_table(
        "--tee, --adapt",
        "the error of the table would be mistaken for that of the sample",
        LEAVE_ONE,
        |facts| {
            asked(facts)
                .is_some_and(|RunSpec { machine, .. }| machine.tee.is_some() || machine.adapt.is_some())
        },
    ),
    with_table(
        "one of several nodes, or a node of a deployment,",
        "nodes are joined by their windows, and such a table has none",
        EXACT,
        |facts| asked(facts).is_some_and(|spec| facts.has_several_nodes || spec.link.is_some()),
    ),
    with_table(
        "a router",
        "such a table counts packets one by one, and routers send flow records",
        EXACT,
        |facts| asked(facts).is_some_and(|spec| spec.routers.listener.is_some()),
    ),
];

/// Returns the options of a run with such a table.
fn asked<'a>(facts: &NodeFacts<'a>) -> Option<&'a RunSpec> {
    Some(facts.spec).filter(|spec| spec.machine.table.is_some())
}

/// Returns a rule of what does not go together with such a table.
const fn with_table(
    what: &'static str,
    why: &'static str,
    instead: &'static str,
    is_broken: fn(&NodeFacts<'_>) -> bool,
) -> ConflictRule {
    ConflictRule { what, condition: WITH_TABLE, why, instead, is_broken }
}
