//! The answers of a condition's sources in one window, joined by group.

use super::watch::{TriggerPlan, own_key};
use crate::figure::BoundedValue;
use crate::graph::{Graph, GraphQuery, QueryTrigger};
use crate::key::{EventKey, Member};
use crate::rows::{ConditionGroups, unknown};
use crate::seen::ObservedWindow;
use crate::undecided::Why;
use model::{Value, weaker_bounds};
use std::collections::HashMap;

/// The answer of one source in a window.
struct SourceAnswer<'a> {
    query: &'a GraphQuery,
    /// The columns of the key; `None` if the source has a single group, which applies to all keys.
    key: Option<&'a [usize]>,
    /// The rows of the source; `None` if it is missing.
    rows: Option<ConditionGroups<'a>>,
    /// True if the answer covers a smaller share of the packets than the settings require.
    is_uncovered: bool,
}

/// The answers of all sources in a window.
pub(super) struct SourceAnswers<'a> {
    sides: Vec<SourceAnswer<'a>>,
    missing: Vec<bool>,
}

/// A group: its key, and its row in each source that has one.
pub(super) struct JoinedGroup<'a> {
    pub(super) key: EventKey,
    rows: Vec<Option<&'a [Value]>>,
}

impl<'a> SourceAnswers<'a> {
    /// Reads the answers of all sources in a window. `seen`: the window of each source.
    pub(super) fn new(graph: &'a Graph, trigger: &'a QueryTrigger, seen: &[ObservedWindow<'a>]) -> Self {
        let side = |(source, seen): (&'a crate::graph::TriggerSource, &ObservedWindow<'a>)| {
            let query = &graph.queries[source.query];
            let rows = match seen {
                ObservedWindow::Answer(answer) => ConditionGroups::from_answer(query, answer),
                ObservedWindow::Empty => Some(ConditionGroups::none(query)),
                ObservedWindow::Missing => None,
            };
            let is_uncovered = rows.as_ref().is_some_and(|rows| rows.is_uncovered(&graph.settings));
            SourceAnswer { query, key: source.key.as_deref(), rows, is_uncovered }
        };
        let sides: Vec<SourceAnswer<'a>> = trigger.sources.iter().zip(seen).map(side).collect();
        let missing = sides.iter().map(|side| side.rows.is_none()).collect();
        Self { sides, missing }
    }

    /// Returns, for each source, true if it is missing.
    pub(super) fn missing(&self) -> &[bool] {
        &self.missing
    }

    /// Returns the reason why a condition may be undecided.
    pub(super) fn why(&self) -> Why {
        let of = |side: &SourceAnswer<'_>| match &side.rows {
            None => Some(Why::Missing),
            Some(_) if side.is_uncovered => Some(Why::Uncovered),
            Some(rows) => rows.lacks(),
        };
        self.sides.iter().filter_map(of).min().unwrap_or(Why::Bounds)
    }

    /// The least share of packets that any source received; `None` if the share of a source is not known.
    pub(super) fn coverage(&self) -> Option<f64> {
        let mut coverage: Option<f64> = None;
        for rows in self.sides.iter().filter_map(|side| side.rows.as_ref()) {
            let own = rows.coverage()?;
            coverage = Some(coverage.map_or(own, |least| least.min(own)));
        }
        coverage
    }

    /// The weakest bounds of the sources whose values are estimates, in words; `None` where all are exact.
    pub(super) fn bounds(&self) -> Option<String> {
        let rows = self.sides.iter().filter_map(|side| side.rows.as_ref());
        rows.filter_map(ConditionGroups::bounds_of_estimates).reduce(weaker_bounds).map(str::to_owned)
    }

    /// Returns the groups that have a row in any source, each once.
    pub(super) fn groups(&self) -> Vec<JoinedGroup<'a>> {
        let mut groups: Vec<JoinedGroup<'a>> = Vec::new();
        let mut known: HashMap<EventKey, usize> = HashMap::new();
        for (at, side) in self.sides.iter().enumerate() {
            let (Some(columns), Some(rows)) = (side.key, &side.rows) else { continue };
            for row in rows.rows() {
                let key = ConditionGroups::members(row, columns);
                let number = *known.entry(key).or_insert_with_key(|key| {
                    groups.push(JoinedGroup { key: key.clone(), rows: vec![None; self.sides.len()] });
                    groups.len() - 1
                });
                groups[number].rows[at] = Some(row);
            }
        }
        groups
    }

    /// Returns the group of a key without rows.
    pub(super) fn absent(&self, key: EventKey) -> JoinedGroup<'a> {
        JoinedGroup { key, rows: vec![None; self.sides.len()] }
    }

    /// Returns the known bounds of each item of a group. `widened`: true if the bounds include lost packets that may belong to the group.
    pub(super) fn figures(&self, group: &JoinedGroup<'_>, widened: bool) -> Vec<BoundedValue> {
        let mut figures = Vec::new();
        for (side, row) in self.sides.iter().zip(&group.rows) {
            let key = || own_key(side.query, side.key, &group.key);
            figures.extend(match (&side.rows, side.row(*row)) {
                (None, _) => unknown(side.query, &key()),
                (Some(_), _) if side.is_uncovered && !widened => {
                    vec![BoundedValue::Unknown; side.query.columns.len()]
                }
                (Some(rows), Some(row)) => rows.figures(row, widened),
                (Some(rows), None) => rows.absent(&key(), widened),
            });
        }
        figures
    }

    /// Returns the values of these items of a group.
    pub(super) fn values(&self, group: &JoinedGroup<'_>, watch: &TriggerPlan, items: &[usize]) -> Vec<Value> {
        let value = |item: &usize| {
            let (source, column) = watch.place(*item);
            let side = &self.sides[source];
            match (&side.rows, side.row(group.rows[source])) {
                (_, Some(row)) => row.get(column).cloned().unwrap_or_default(),
                (Some(rows), None) => rows.absent_value(&own_key(side.query, side.key, &group.key), column),
                (None, None) => {
                    let at = side.key.and_then(|key| key.iter().position(|own| *own == column));
                    at.and_then(|at| group.key.get(at)).map_or(Value::Null, Value::from)
                }
            }
        };
        items.iter().map(value).collect()
    }

    /// Returns the value of an item of a group, as a member of a key.
    pub(super) fn member(&self, group: &JoinedGroup<'_>, watch: &TriggerPlan, item: usize) -> Member {
        self.values(group, watch, &[item]).first().map_or(Member::Null, Member::from)
    }
}

impl<'a> SourceAnswer<'a> {
    /// Returns the row of a group; the only row if the source has a single group for all keys.
    fn row<'r>(&self, own: Option<&'r [Value]>) -> Option<&'r [Value]>
    where
        'a: 'r,
    {
        match (self.key, &self.rows) {
            (None, Some(rows)) => rows.rows().first().map(Vec::as_slice),
            _ => own,
        }
    }
}
