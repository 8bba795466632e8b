//! The questions about recorded rows that texts ask.

use super::continuous::{self, StandingOptions};
use super::facts::RowFacts;
use super::periods;
use crate::enrich::EnrichOptions;
use crate::exit::{Failure, say};
use equery::{CheckedQuery, NodeFilter};
use history::Period;
use notation::time_text;
use task::query::{Over, Query};
use terminal::BY_FLOW;

/// The settings that are asked for beside the texts.
#[derive(Clone, Copy)]
pub struct Asking<'a> {
    /// Rows of the rankings of a first look.
    pub top: usize,
    /// The length of the windows of queries that do not say it.
    pub every_ns: Option<u64>,
    /// The time that is read where a query says nothing.
    pub period: Option<Period>,
    /// The databases of addresses; `None` where those who read the rows have their own.
    pub enrich: Option<&'a EnrichOptions>,
    /// True if answers of several nodes can become one.
    pub is_across: bool,
}

/// A query over recorded rows.
pub struct RecordedQuery {
    /// The query.
    pub query: Query,
    /// The time that it reads.
    pub period: Option<Period>,
    /// The nodes that it runs on.
    pub nodes: NodeFilter,
}

/// Returns the queries of the first screen: conversations, not single flows.
pub fn first_look(asking: &Asking<'_>, facts: &RowFacts) -> Vec<RecordedQuery> {
    let standing = StandingOptions {
        key: facts.key,
        // Records have the mean of round trips alone.
        tracks_loss: false,
        biflow: false,
        top: asking.top,
        of_windows: false,
        of_run: true,
    };
    let queries = continuous::continuous_queries(&standing).into_iter();
    let queries = queries.filter(|query| !BY_FLOW.contains(&query.name.as_str()));
    let period = asking.period;
    queries.map(|query| RecordedQuery { query, period, nodes: NodeFilter::Every }).collect()
}

/// Returns the options by which texts are checked.
pub fn checking(facts: &RowFacts) -> equery::CheckOptions {
    equery::CheckOptions {
        base_window_ns: facts.window_ns,
        key: Some(facts.key.parts()),
        statistics: facts.statistics.clone(),
        reads_history: true,
        flows: facts.rows,
        ..equery::CheckOptions::default()
    }
}

/// Returns what these queries read, in their order.
pub fn recorded(
    asking: &Asking<'_>,
    queries: &[&CheckedQuery],
    facts: &RowFacts,
) -> Result<Vec<RecordedQuery>, Failure> {
    let mut refused: Vec<String> = queries
        .iter()
        .flat_map(|query| &query.not_run)
        .map(|not_run| format!("{} cannot be answered: {}", not_run.clause, not_run.reason))
        .collect();
    let events = queries.iter().filter(|query| query.trigger.is_some());
    refused.extend(events.map(|query| {
        format!(
            "{}: 'when' cannot be answered here: edison dry-run lists the events of recorded windows",
            query.label
        )
    }));
    let computed = queries.iter().filter(|query| !query.derived_from.is_empty() || !query.earlier.is_empty());
    refused.extend(computed.map(|query| {
        let part = if query.earlier.is_empty() { "from" } else { "values of earlier windows" };
        format!("{}: '{part}' cannot be answered: edison run computes it window by window", query.label)
    }));
    let across = queries.iter().filter(|query| query.across.is_some() && !asking.is_across);
    refused.extend(across.map(|query| {
        format!(
            "{}: 'across nodes' cannot be answered here: --controller URL asks the stores of all nodes",
            query.label
        )
    }));
    let enrich = asking.enrich.into_iter();
    refused.extend(enrich.flat_map(|enrich| queries.iter().filter_map(|query| enrich.check(query).err())));
    let of_packets = queries.iter().filter(|query| query.sketch.is_some());
    refused.extend(of_packets.map(|query| {
        format!(
            "{}: 'using' and 'error' count packets; rows of files answer exactly without them",
            query.label
        )
    }));
    let headers = |query: &CheckedQuery| query.parts.headers && !facts.tracked.headers;
    let loss = |query: &CheckedQuery| query.parts.loss && !facts.tracked.loss;
    refused.extend(refuse_missing(queries, headers, "header fields", "--headers"));
    refused.extend(refuse_missing(queries, loss, "losses", "--loss"));
    if !refused.is_empty() {
        return Err(Failure::usages(refused));
    }
    queries.iter().map(|query| one(asking, query, facts)).collect()
}

/// Refuses the queries that read a part which the files do not have. `option`: the option of a run that gives it.
fn refuse_missing(
    queries: &[&CheckedQuery],
    lacks: impl Fn(&CheckedQuery) -> bool,
    part: &str,
    option: &str,
) -> impl Iterator<Item = String> {
    queries.iter().filter(move |query| lacks(query)).map(move |query| {
        format!(
            "{}: it reads {part}, which the files do not have: edison run {option} --flows or --rows writes them",
            query.label
        )
    })
}

fn one(asking: &Asking<'_>, checked: &CheckedQuery, facts: &RowFacts) -> Result<RecordedQuery, Failure> {
    let period = match &checked.history {
        Some(history) => Some(periods::resolve_query(history, facts.window_ns)?),
        None => asking.period,
    };
    let over = match (checked.plan.over, asking.every_ns) {
        (over @ Over::Windows { .. }, _) => over,
        (_, Some(every_ns)) => Over::Windows { every_ns, over_ns: every_ns },
        _ => Over::Run,
    };
    if let Over::Windows { every_ns, .. } = over {
        check_length(&checked.label, every_ns, facts)?;
    }
    Ok(RecordedQuery { query: Query { over, ..checked.plan.clone() }, period, nodes: checked.nodes.clone() })
}

/// Windows are multiples of the rows' own; records count whole in the window in which they end.
fn check_length(label: &str, every_ns: u64, facts: &RowFacts) -> Result<(), Failure> {
    let is_unfit = |window_ns: u64| window_ns != 0 && !every_ns.is_multiple_of(window_ns);
    if let Some((what, window_ns)) = facts.lengths.iter().find(|(_, window_ns)| is_unfit(*window_ns)) {
        return Err(Failure::usage(format!(
            "{label}: its windows of {} are no multiple of those in {what}, which are {} long",
            time_text(every_ns),
            time_text(*window_ns),
        )));
    }
    if facts.has_records {
        say(&format!(
            "{label}: a flow record counts whole in the window in which it ends; for shorter windows, measure with \
             --rows or a shorter --active-timeout"
        ));
    }
    Ok(())
}
