//! Questions of clients about history: from text to what nodes are asked.

use super::facts::RowFacts;
use super::over_rows::{self, Asking, RecordedQuery};
use crate::exit::Failure;
use controller::{CheckContext, HistoryQuery, HistoryRequest};
use equery::{Severity, SourceText};
use history::Period;
use model::Span;
use packet::KeySpec;
use task::query::Across;
use web::{HistoryAsked, RequestRefusal};

/// The memory that a node may take where the client does not say it.
pub(crate) const DEFAULT_MEMORY: u64 = 256 << 20;

/// Returns what nodes are asked, and what the client should think about. `place`: what has the nodes, in an error.
pub fn asked(
    site: &CheckContext,
    place: &str,
    asked: &HistoryAsked,
) -> Result<(HistoryRequest, Vec<String>), RequestRefusal> {
    let invalid = |error: String| RequestRefusal::Invalid { error, diagnostics: Vec::new() };
    let nodes = nodes(site, &asked.nodes)?;
    let period = match (asked.from_ns, asked.to_ns) {
        (None, None) => None,
        (from, to) => Some(Period { from_ns: from.unwrap_or(0), to_ns: to.unwrap_or(u64::MAX) }),
    };
    if period.is_some_and(Period::is_empty) {
        return Err(invalid("the period is empty: its end is not later than its begin".to_owned()));
    }
    let asking = Asking { top: asked.top, every_ns: asked.every_ns, period, enrich: None, is_across: true };
    let facts = facts(site, place).map_err(RequestRefusal::Failed)?;
    let (recorded, warnings) = match asked.text.trim().is_empty() && asked.every_ns.is_none() {
        true => {
            let first = over_rows::first_look(&asking, &facts);
            (first.into_iter().map(|recorded| (recorded, None)).collect(), Vec::new())
        }
        false => read_text(site, &asked.text, &asking, &facts)?,
    };
    let mut refused = Vec::new();
    let mut queries = Vec::new();
    for (RecordedQuery { query, period, nodes: filter }, across) in recorded {
        let own = nodes.iter().copied().filter(|node| filter.matches(&site.nodes[*node])).collect();
        let period = period.map(|period| Span { start_ns: period.from_ns, end_ns: period.to_ns });
        let name = query.name.clone();
        match HistoryQuery::new(query, across, period, own, &site.key) {
            Ok(query) => queries.push(query),
            Err(reasons) => refused.push(format!("{name}: {}", reasons.join("; "))),
        }
    }
    if !refused.is_empty() {
        return Err(invalid(refused.join("; ")));
    }
    let idle = queries.iter().filter(|query| query.nodes.is_empty());
    let idle = idle.map(|query| format!("{} runs on no node that is asked", query.query.name));
    let warnings = warnings.into_iter().chain(idle).collect();
    let time_ms = u64::try_from(asked.time.as_millis()).unwrap_or(u64::MAX);
    Ok((
        HistoryRequest { queries, memory_bytes: asked.memory_bytes.unwrap_or(DEFAULT_MEMORY), time_ms },
        warnings,
    ))
}

/// The numbers of the nodes of these names; of all without any.
fn nodes(site: &CheckContext, names: &[String]) -> Result<Vec<usize>, RequestRefusal> {
    let number = |name: &String| {
        site.nodes.iter().position(|known| known == name).ok_or_else(|| {
            let nearest = notation::nearest(name, site.nodes.iter().map(String::as_str));
            let hint = nearest.map(|nearest| format!("; did you mean {nearest}?")).unwrap_or_default();
            RequestRefusal::Unknown(format!("there is no node {name}{hint}"))
        })
    };
    match names {
        [] => Ok((0..site.nodes.len()).collect()),
        names => names.iter().map(number).collect(),
    }
}

/// Returns what is known of the rows of all nodes.
fn facts(site: &CheckContext, place: &str) -> Result<RowFacts, String> {
    Ok(RowFacts {
        key: KeySpec::parse(&site.key.join(",")).map_err(|error| error.to_string())?,
        window_ns: Some(site.base_ns),
        statistics: Vec::new(),
        rows: None,
        // Nodes tell.
        tracked: flow::TrackedParts::ALL,
        has_records: false,
        span: None,
        lengths: [(place.to_owned(), site.base_ns)].into(),
    })
}

/// Queries, each with how the answers of nodes become one; and warnings.
type RecordedQueries = (Vec<(RecordedQuery, Option<Across>)>, Vec<String>);

fn read_text(
    site: &CheckContext,
    text: &str,
    asking: &Asking<'_>,
    facts: &RowFacts,
) -> Result<RecordedQueries, RequestRefusal> {
    let source = SourceText { name: "query", text };
    let checking = equery::CheckOptions {
        set: site.set.clone(),
        known_nodes: Some(site.nodes.clone()),
        ..over_rows::checking(facts)
    };
    let checked = equery::check(&source, &checking);
    let lines = |severity: Severity| -> Vec<String> {
        let found = checked.diagnostics.iter().filter(|found| found.severity == severity);
        found.map(|found| equery::one_line(&source, found)).collect()
    };
    let errors = lines(Severity::Error);
    if !errors.is_empty() {
        let json = |found| serde_json::to_value(found).unwrap_or_default();
        let diagnostics = checked.diagnostics.iter().map(json).collect();
        return Err(RequestRefusal::Invalid { error: errors.join("; "), diagnostics });
    }
    let queries: Vec<_> = checked.queries.iter().collect();
    let invalid =
        |failure: Failure| RequestRefusal::Invalid { error: failure.line(), diagnostics: Vec::new() };
    let recorded = over_rows::recorded(asking, &queries, facts).map_err(invalid)?;
    let recorded = recorded.into_iter().zip(queries.iter().map(|query| query.across)).collect();
    Ok((recorded, lines(Severity::Warning)))
}
