//! Makes questions about rows from the options of `edison query`.

use crate::commands::QueryOptions;
use equery::CheckedQuery;
use history::{Period, Question};
use runtime::exit::Failure;
use runtime::machine;
use runtime::questions::facts::RowFacts;
use runtime::questions::over_rows::{self, Asking, RecordedQuery};
use runtime::questions::periods;
use runtime::questions::query_text::{self, NamedText};
use std::rc::Rc;

/// Returns the questions that the texts ask of rows of which `facts` are known; without texts those of the first screen. `period` is the time
/// that is read where a query says nothing.
pub(super) fn questions(
    options: &QueryOptions,
    texts: &[NamedText],
    facts: &RowFacts,
    period: Option<Period>,
) -> Result<Vec<Question>, Failure> {
    let asking = Asking {
        top: options.top,
        every_ns: options.per.map(|per| u64::try_from(per.as_nanos()).unwrap_or(u64::MAX)),
        period: periods::over_windows(
            period,
            [options.from.as_deref(), options.to.as_deref()],
            facts.window_ns,
        ),
        enrich: Some(&options.enrich),
        is_across: false,
    };
    let question = |recorded: RecordedQuery| {
        let RecordedQuery { query, period, nodes } = recorded;
        Question { query, period, runs_on: Rc::new(move |node| nodes.matches(node.unwrap_or_default())) }
    };
    if texts.is_empty() {
        return Ok(over_rows::first_look(&asking, facts).into_iter().map(question).collect());
    }
    let checking = equery::CheckOptions {
        set: options.set.clone(),
        memory_bytes: Some(options.memory.unwrap_or_else(machine::half_of_memory)),
        ..over_rows::checking(facts)
    };
    let checked: Vec<_> = texts.iter().map(|text| equery::check(&text.source(), &checking)).collect();
    texts.iter().zip(&checked).for_each(|(text, checked)| query_text::show(text, checked));
    query_text::outcome(texts, &checked)?;
    let queries: Vec<&CheckedQuery> = checked.iter().flat_map(|checked| &checked.queries).collect();
    Ok(over_rows::recorded(&asking, &queries, facts)?.into_iter().map(question).collect())
}
