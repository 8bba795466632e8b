//! Queries that read the answers of others: `from q1, q2`.

use super::queries::Outline;
use super::values::no_columns;
use super::{Checker, Context, Scope};
use crate::ast::{From, QueryText, Spanned};
use crate::lexer::shortened;
use crate::literal::duration_text;
use crate::names::field_name;
use crate::node_filter::NodeFilter;
use crate::parents::Parent;
use task::query::{GroupField, Grouping, OutputColumn, Over, Query};

/// Checks a derived query, whose parents are known. `None` where it has errors.
pub(crate) fn derived<'a>(
    checker: &mut Checker<'a, '_>,
    query: &'a QueryText,
    label: &str,
) -> Option<Outline> {
    let before = checker.diagnostics.errors();
    checker.sources = sources(query);
    let parents = checker.known_sources()?;
    let groups = checker.common_keys(&parents)?;
    let none = no_columns();
    let columns =
        checker.columns(query, Scope { context: Context::Derived, groups: &groups, columns: &none });
    checker.refuse_row_clauses(query);
    let scope = Scope { context: Context::Derived, groups: &groups, columns: &columns };
    let having = query.having.as_ref().and_then(|having| checker.condition(&having.value, scope));
    let order = checker.order(query, scope);
    let over = checker.common_windows(query, &parents);
    checker.check_earlier_lengths(over);
    let limit = query.limit.as_ref().map(|limit| usize::try_from(limit.value).unwrap_or(usize::MAX));
    if checker.diagnostics.errors() != before || query.is_broken {
        return None;
    }
    let items = columns
        .list
        .iter()
        .map(|(name, typed)| OutputColumn::new(name.clone(), typed.value.clone()))
        .collect();
    let group = if groups.is_empty() { Grouping::All } else { Grouping::By(groups) };
    let plan = Query { group, columns: items, having, order, limit, over, ..Query::new(label, [], []) };
    let used = std::mem::take(&mut checker.used);
    Some(Outline { plan, columns, nodes: NodeFilter::Every, history: None, used, bindings: Vec::new() })
}

/// The queries that a query reads.
pub(crate) fn sources(query: &QueryText) -> &[Spanned<String>] {
    match query.from.as_ref().map(|from| &from.value) {
        Some(From::Queries(names)) => names,
        _ => &[],
    }
}

impl<'a> Checker<'a, '_> {
    /// The queries in `from`, if all are known and have no errors.
    fn known_sources(&mut self) -> Option<Vec<(&'a Spanned<String>, &'a Parent)>> {
        let mut found = Vec::new();
        let mut is_complete = true;
        for name in self.sources {
            match self.parent(name) {
                Some(parent) => {
                    is_complete &= parent.is_known;
                    found.push((name, parent));
                }
                None => is_complete = false,
            }
        }
        is_complete.then_some(found)
    }

    /// The query of a name; an error if there is none.
    pub(super) fn parent(&mut self, name: &Spanned<String>) -> Option<&'a Parent> {
        let parents = self.parents;
        let parent = parents.get(&name.value);
        if parent.is_none() && !self.diagnostics.is_full() {
            let near = crate::names::nearest(&name.value, parents.keys().map(String::as_str));
            let mut known: Vec<_> = parents.keys().map(String::as_str).collect();
            known.sort_unstable();
            let help = match near {
                Some(near) => format!("'{near}' may be meant"),
                None if known.is_empty() => {
                    "no query has a name, as 'q1: select …' gives one; without from a query reads the traffic"
                        .to_owned()
                }
                None => format!("queries are {}", known[..known.len().min(20)].join(", ")),
            };
            let message = format!("there is no query '{}'", shortened(&name.value));
            self.diagnostics.error_with_help("unknown_query", &name.span, message, help);
        }
        parent
    }

    /// The keys that all have.
    fn common_keys(&mut self, parents: &[(&Spanned<String>, &Parent)]) -> Option<Vec<GroupField>> {
        let (first, rest) = parents.split_first()?;
        let sorted = |parent: &Parent| {
            let mut keys = parent.keys.clone();
            keys.sort_unstable();
            keys
        };
        for (name, parent) in rest {
            if sorted(parent) != sorted(first.1) {
                let text = |parent: &Parent| {
                    if parent.keys.is_empty() { "nothing".to_owned() } else { parent.keys.join(", ") }
                };
                let message = format!(
                    "'{}' groups by {}, but '{}' by {}",
                    first.0.value,
                    text(first.1),
                    name.value,
                    text(parent)
                );
                self.diagnostics.error_with_help(
                    "different_keys",
                    &name.span,
                    message,
                    "queries in from group by the same keys",
                );
                return None;
            }
        }
        Some(first.1.keys.iter().map(|key| group_of(key)).collect())
    }

    /// The windows that all have, which are also its own: of queries that say nothing of time, none that it says either.
    fn common_windows(&mut self, query: &QueryText, parents: &[(&Spanned<String>, &Parent)]) -> Over {
        let usual = self.options.base_window_ns;
        let length = |over: Over| match (over, usual) {
            (Over::Window, Some(base)) => Over::Windows { every_ns: base, over_ns: base },
            (over, _) => over,
        };
        let known = |parent: &Parent| parent.over.map(length);
        let mut all = parents.iter().filter_map(|(name, parent)| Some((*name, known(parent)?)));
        let clause = query.every.as_ref().map(|every| every.span.clone());
        let clause = clause.or(query.over.as_ref().map(|over| over.span.clone()));
        let own = clause.map(|span| (span, self.over(query)));
        let is_timeless =
            own.is_none() && parents.iter().all(|(_, parent)| parent.over == Some(Over::Window));
        let Some((first, over)) = all.next() else { return own.map_or(Over::Window, |(_, over)| over) };
        for (name, other) in all {
            if other != over {
                let message = format!(
                    "'{}' answers for {}, but '{}' for {}",
                    first.value,
                    windows_text(over),
                    name.value,
                    windows_text(other)
                );
                let help = "queries in from have the same every and over";
                self.diagnostics.error_with_help("different_windows", &name.span, message, help);
                return over;
            }
        }
        if let Some((span, own)) = own.filter(|(_, own)| length(*own) != over) {
            let message = format!(
                "the query answers for {}, but '{}', which it reads, for {}",
                windows_text(own),
                first.value,
                windows_text(over)
            );
            let help = "leave every and over out: a derived query has the windows of those that it reads";
            self.diagnostics.error_with_help("different_windows", &span, message, help);
        }
        if is_timeless { Over::Window } else { over }
    }

    /// Reports clauses that are about rows, which a derived query does not read.
    fn refuse_row_clauses(&mut self, query: &QueryText) {
        let clauses = [
            ("where", query.filter.as_ref().map(|clause| &clause.span)),
            ("groupby", query.group.as_ref().map(|clause| &clause.span)),
            ("across nodes", query.across.as_ref().map(|clause| &clause.span)),
        ];
        for (name, span) in clauses {
            if let Some(span) = span {
                let message =
                    format!("'{name}' is about rows and nodes, but a query with 'from QUERY' reads answers");
                self.diagnostics.error_with_help(
                    "derived_clause",
                    span,
                    message,
                    "use having, or move it into the queries in from",
                );
            }
        }
    }
}

/// Windows as an error tells them.
fn windows_text(over: Over) -> String {
    match over {
        Over::Window => "the windows of the run".to_owned(),
        Over::Run => "the whole run".to_owned(),
        Over::Windows { every_ns, over_ns } if every_ns == over_ns => {
            format!("windows of {}", duration_text(every_ns))
        }
        Over::Windows { every_ns, over_ns } => {
            format!("windows of {} every {}", duration_text(over_ns), duration_text(every_ns))
        }
    }
}

/// A key as text, back as a group field.
fn group_of(key: &str) -> GroupField {
    let mut parts = key.split('/');
    let field = field_name(parts.next().unwrap_or_default()).to_owned();
    let lengths: Vec<u8> = parts.filter_map(|length| length.parse().ok()).collect();
    let prefix = (!lengths.is_empty()).then(|| super::values::prefix_lengths(&lengths));
    GroupField { field, prefix }
}
