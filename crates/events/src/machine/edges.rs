//! Edges of a machine's state, each for a place and for the runs of the sources.

use super::watch::TriggerPlan;
use super::{Machine, window};
use crate::graph::{EvaluationPoint, Graph, GraphQuery, QueryTrigger};
use crate::judged::WindowTime;
use crate::key::{EventKey, Member};
use crate::run::QueryRun;
use crate::state::EdgeState;
use model::{Item, Span};
use std::collections::BTreeMap;

/// Sets of runs whose answers a condition is judged on, at the most.
const MOST_SETS: usize = 64;

/// The runs of the sources that do not always run.
#[derive(Clone, Debug, Default)]
pub(super) struct SourceRuns {
    /// The run of each source; `None` of one that always runs.
    pub(super) of: Vec<Option<QueryRun>>,
}

impl SourceRuns {
    /// The events that started them.
    pub(super) fn causes(&self) -> Vec<String> {
        self.of.iter().flatten().map(|run| run.cause.clone()).collect()
    }

    /// Returns what tells the events of one instance from those of another.
    pub(super) fn instances(&self) -> EventKey {
        let instances = self.of.iter().flatten().filter(|run| !run.instance.is_empty() || run.node.is_some());
        instances.map(|run| Member::Text(run.cause.clone())).collect()
    }

    /// The key that they pin, if they pin one.
    pub(super) fn pinned(&self, graph: &Graph, trigger: &QueryTrigger) -> Option<EventKey> {
        trigger.sources.iter().zip(&self.of).find_map(|(source, run)| {
            let query = &graph.queries[source.query];
            let (run, columns, bound) = (run.as_ref()?, source.key.as_ref()?, query.bound_key.as_ref()?);
            let member = |column: &usize| {
                let at = query.key.iter().position(|own| own == column)?;
                run.instance.get(bound[at]).cloned()
            };
            columns.iter().map(member).collect()
        })
    }

    /// The run with which the chain began, if it did not begin here.
    pub(super) fn first(&self) -> Option<&QueryRun> {
        self.of.iter().flatten().min_by_key(|run| run.begun_ns)
    }
}

impl Machine {
    /// The sets of runs whose windows end then, none of which pin different values of a field: one where all sources always run. Also the number of further sets, which are not judged.
    pub(super) fn sets(&self, sources: &[usize], end_ns: u64) -> (Vec<SourceRuns>, usize) {
        let mut left_out: usize = 0;
        let mut sets = vec![SourceRuns::default()];
        for source in sources {
            let query = &self.graph.queries[*source];
            let runs: Vec<Option<QueryRun>> = match &query.trigger {
                None if query.ends_at(end_ns) => vec![None],
                None => Vec::new(),
                Some(_) => {
                    let runs = self.state.runs.iter().filter(|run| run.query == *source);
                    runs.filter(|run| run_window(query, run, end_ns).is_some()).cloned().map(Some).collect()
                }
            };
            let with = |set: &SourceRuns, run: &Option<QueryRun>| SourceRuns {
                of: [&set.of[..], std::slice::from_ref(run)].concat(),
            };
            let fits = |set: &SourceRuns, run: &Option<QueryRun>| {
                run.as_ref().is_none_or(|run| set.of.iter().flatten().all(|of| agree(&self.graph, of, run)))
            };
            sets = sets
                .iter()
                .flat_map(|set| runs.iter().filter(|run| fits(set, run)).map(|run| with(set, run)))
                .collect();
            left_out =
                left_out.saturating_mul(runs.len()).saturating_add(sets.len().saturating_sub(MOST_SETS));
            sets.truncate(MOST_SETS);
        }
        (sets, left_out)
    }

    /// The place of an edge among all, which is made where it is new.
    pub(super) fn edge(&mut self, query: usize, place: &EvaluationPoint, runs: &[String]) -> usize {
        let edges = &mut self.state.edges;
        let known =
            edges.iter().position(|edge| edge.query == query && edge.place == *place && edge.runs == runs);
        known.unwrap_or_else(|| {
            edges.push(EdgeState {
                query,
                place: place.clone(),
                runs: runs.to_vec(),
                last_end_ns: None,
                missing: vec![0; place.of.len()],
                watched_ns: 0,
                is_settled: false,
                forgotten: 0,
                keys: BTreeMap::new(),
            });
            edges.len() - 1
        })
    }
}

/// Returns true if two runs pin no field to different values.
fn agree(graph: &Graph, one: &QueryRun, other: &QueryRun) -> bool {
    let pinned = |run: &QueryRun| graph.queries[run.query].pinned_by(&run.instance);
    let others = pinned(other);
    let differs = |item: &Item| {
        others.iter().any(|other| other.column.name == item.column.name && other.value != item.value)
    };
    !pinned(one).iter().any(differs)
}

/// Counts the windows that were skipped, in which all was as in the last one.
pub(super) fn pass_time(edge: &mut EdgeState, watch: &TriggerPlan, end_ns: u64) -> WindowTime {
    let length_ns = watch.every_ns;
    let begin = end_ns.saturating_sub(length_ns);
    let skipped_ns = edge.last_end_ns.map_or(0, |last| begin.saturating_sub(last));
    edge.last_end_ns = Some(end_ns);
    if watch.sees(edge) {
        edge.watched_ns += skipped_ns;
    }
    for missing in edge.missing.iter_mut().filter(|missing| **missing != 0) {
        *missing += skipped_ns / length_ns;
    }
    WindowTime { end_ns, length_ns, skipped_ns }
}

/// The window of a run that ends then.
pub(super) fn run_window(query: &GraphQuery, run: &QueryRun, end_ns: u64) -> Option<Span> {
    let first_ns = if run.looks_back { run.end_ns } else { run.start_ns.saturating_add(query.over_ns) };
    let is_in = first_ns <= end_ns && end_ns <= run.end_ns;
    (is_in && query.ends_at(end_ns)).then(|| window(query, end_ns))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{Binding, EventSettings};
    use crate::{AnswerColumn, ColumnRole, TriggerCondition};
    use model::ColumnKind;

    /// A query that a firing starts and that pins these fields.
    fn query(fields: &[&str]) -> GraphQuery {
        let column = |name: &str| model::Column::new(name, ColumnKind::Unsigned, String::new());
        let mut query = GraphQuery {
            columns: vec![AnswerColumn { column: column("key"), role: ColumnRole::Key }],
            key: vec![0],
            nodes: vec![0],
            ..GraphQuery::new("q", 1)
        };
        let mut trigger = QueryTrigger::new(0, &query, TriggerCondition::And(Vec::new()));
        let binding = |(item, field): (usize, &&str)| Binding::Field { column: column(field), item };
        trigger.bindings = fields.iter().enumerate().map(binding).collect();
        query.trigger = Some(trigger);
        query
    }

    #[test]
    fn runs_agree_unless_a_field_of_both_has_different_values() {
        let queries = vec![query(&["a"]), query(&["b"]), query(&["a", "b"])];
        let graph = Graph { queries, nodes: vec!["A".to_owned()], settings: EventSettings::default() };
        let run = |query: usize, values: &[u64]| QueryRun {
            query,
            start_ns: 0,
            end_ns: 1,
            cause: String::new(),
            instance: values.iter().map(|value| Member::Unsigned(*value)).collect(),
            node: None,
            root: String::new(),
            begun_ns: 0,
            looks_back: false,
            missing: Vec::new(),
        };
        for (one, other, expected) in [
            (run(0, &[1]), run(0, &[1]), true),
            (run(0, &[1]), run(0, &[2]), false),
            // Different fields may have any values.
            (run(0, &[1]), run(1, &[1]), true),
            (run(0, &[1]), run(1, &[2]), true),
            (run(2, &[1, 2]), run(0, &[1]), true),
            (run(2, &[1, 2]), run(1, &[1]), false),
            (run(2, &[1, 2]), run(2, &[1, 3]), false),
        ] {
            assert_eq!(agree(&graph, &one, &other), expected, "{one:?} {other:?}");
            assert_eq!(agree(&graph, &other, &one), expected, "{other:?} {one:?}");
        }
    }
}
