//! From texts to questions about files.

use super::facts::Facts;
use crate::cli::QueryOptions;
use crate::exit::{Failure, say};
use crate::machine;
use crate::periods;
use crate::queries::{self, StandingOptions};
use crate::query_text::{self, NamedText};
use equery::CheckedQuery;
use history::{Period, Question};
use notation::time_text;
use report::terminal::BY_FLOW;
use task::query::{Over, Query};

/// What the texts ask of rows of which this is known; without texts what the first screen shows. `period`: the time that is read where a query says nothing.
pub(super) fn of(
    options: &QueryOptions,
    texts: &[NamedText],
    facts: &Facts,
    period: Option<Period>,
) -> Result<Vec<Question>, Failure> {
    if texts.is_empty() {
        let standing = StandingOptions {
            key: facts.key,
            // Records have the mean of round trips alone.
            tracks_loss: false,
            biflow: false,
            top: options.top,
            of_windows: false,
            of_run: true,
        };
        let questions = queries::standing(&standing).into_iter();
        // What a run's report shows: conversations, not single flows.
        let questions = questions.filter(|query| !BY_FLOW.contains(&query.name.as_str()));
        return Ok(questions.map(|query| Question { query, period, runs_on: Box::new(|_| true) }).collect());
    }
    let checking = equery::Options {
        set: options.set.clone(),
        base_window_ns: facts.window_ns,
        key: Some(facts.key.parts()),
        statistics: facts.statistics.clone(),
        reads_history: true,
        memory_bytes: Some(options.memory.unwrap_or_else(machine::half_of_memory)),
        flows: facts.rows,
        ..equery::Options::default()
    };
    let checked: Vec<_> = texts.iter().map(|text| equery::check(&text.source(), &checking)).collect();
    texts.iter().zip(&checked).for_each(|(text, checked)| query_text::show(text, checked));
    query_text::outcome(texts, &checked)?;
    let queries: Vec<&CheckedQuery> = checked.iter().flat_map(|checked| &checked.queries).collect();
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
    let across = queries.iter().filter(|query| query.across.is_some());
    refused.extend(across.map(|query| {
        format!(
            "{}: 'across nodes' cannot be answered: recorded flows do not say on which node they were",
            query.label
        )
    }));
    refused.extend(queries.iter().filter_map(|query| options.enrich.check(query).err()));
    let of_packets = queries.iter().filter(|query| query.sketch.is_some());
    refused.extend(of_packets.map(|query| {
        format!(
            "{}: 'using' and 'error' count packets; rows of files answer exactly without them",
            query.label
        )
    }));
    if !facts.tracks_loss {
        let lacking = queries.iter().filter(|query| query.needs_loss);
        refused.extend(lacking.map(|query| {
            format!(
                "{}: it reads losses, which the files do not have: edison run --loss --flows writes them",
                query.label
            )
        }));
    }
    if !refused.is_empty() {
        return Err(Failure::usages(refused));
    }
    queries.into_iter().map(|query| question(options, query, facts, period)).collect()
}

fn question(
    options: &QueryOptions,
    checked: &CheckedQuery,
    facts: &Facts,
    period: Option<Period>,
) -> Result<Question, Failure> {
    let period = match &checked.history {
        Some(history) => Some(periods::of_query(history)?),
        None => period,
    };
    let over = match (checked.plan.over, options.per) {
        (over @ Over::Windows { .. }, _) => over,
        (_, Some(per)) => {
            let every_ns = u64::try_from(per.as_nanos()).unwrap_or(u64::MAX);
            Over::Windows { every_ns, over_ns: every_ns }
        }
        _ => Over::Run,
    };
    if let Over::Windows { every_ns, .. } = over {
        check_length(&checked.label, every_ns, facts)?;
    }
    let nodes = checked.nodes.clone();
    Ok(Question {
        query: Query { over, ..checked.plan.clone() },
        period,
        runs_on: Box::new(move |node| nodes.matches(node.unwrap_or_default())),
    })
}

/// Windows are multiples of the rows' own; records count whole in the window in which they end.
fn check_length(label: &str, every_ns: u64, facts: &Facts) -> Result<(), Failure> {
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
