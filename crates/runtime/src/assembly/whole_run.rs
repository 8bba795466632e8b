//! Answers of the whole run under a controller: of each node, of the queries that say nothing of time, and of the queries that are derived from
//! these, once the nodes have ended.

use super::reporting::NodeOutcome;
use crate::exit::Failure;
use crate::questions::asked::QuerySet;
use equery::{Chain, ChainSite, CheckedQuery};
use events::{DerivedResult, ObservedWindow};
use model::Answer;
use std::collections::{BTreeMap, BTreeSet};
use task::query::{MOST_GROUPS, Over, Query};

/// The most groups that a derived query reads of the whole run, of a query that does not limit them itself. A group takes some kilobytes while
/// answers are derived.
const MOST_READ: usize = 250_000;

/// The queries that have an answer of the whole run.
pub(super) struct WholeRun {
    /// The queries, by name, and whether their answers are shown. Others of them are only read.
    queries: BTreeMap<String, bool>,
    /// The derived queries, each after those that it reads, and these.
    chain: Chain,
}

impl WholeRun {
    /// Puts the queries together that have an answer of the whole run. Those of windows (`has_windows`) are read for others, but not shown.
    ///
    /// # Errors
    /// A line for each query that cannot be derived from what it reads.
    pub(super) fn new(
        asked: &QuerySet,
        site: &ChainSite<'_>,
        has_windows: &BTreeSet<&str>,
    ) -> Result<Self, Failure> {
        let shown: BTreeSet<&str> = answered(&asked.checked).difference(has_windows).copied().collect();
        // What is not shown is answered where it is read.
        let kept = with_parents(&asked.checked, shown.clone());
        let own = asked.checked.iter().filter(|query| kept.contains(query.label.as_str()));
        let derived = own.clone().filter(|query| !query.derived_from.is_empty());
        let derived = with_parents(&asked.checked, derived.map(|query| query.label.as_str()).collect());
        let own: Vec<CheckedQuery> =
            own.filter(|query| derived.contains(query.label.as_str())).cloned().collect();
        let chain = Chain::new(&own, site).map_err(Failure::usages)?;
        let queries = kept.iter().map(|name| ((*name).to_owned(), shown.contains(name))).collect();
        let mut whole = Self { queries, chain };
        let unlimited = |query: &usize| whole.is_read(*query) && whole.chain.tasks[*query].limit.is_none();
        let unlimited: Vec<usize> = (0..whole.chain.tasks.len()).filter(unlimited).collect();
        for query in unlimited {
            whole.chain.derivations[query].iter_mut().for_each(|derivation| derivation.limit = MOST_READ);
        }
        Ok(whole)
    }

    /// Returns what a node answers at the end of the run, in the order of the text.
    pub(super) fn own(&self, asked: &QuerySet, node: &str) -> Vec<Query> {
        let of_node = |query: &&CheckedQuery| {
            self.queries.contains_key(&query.label)
                && query.derived_from.is_empty()
                && query.nodes.matches(node)
        };
        let plan = |query: &CheckedQuery| {
            let number = self.number(&query.label).filter(|number| self.is_read(*number));
            // With the columns of its key.
            let plan = number.map_or(&query.plan, |number| &self.chain.tasks[number]);
            let limit = plan.limit.or(number.map(|_| MOST_READ));
            Query { over: Over::Run, limit, ..plan.clone() }
        };
        asked.checked.iter().filter(of_node).map(plan).collect()
    }

    fn number(&self, query: &str) -> Option<usize> {
        self.chain.graph.queries.iter().position(|own| own.name == query)
    }

    /// Returns true if a derived query reads this one.
    fn is_read(&self, query: usize) -> bool {
        let mut sources = self.chain.derivations.iter().flatten().flat_map(|derivation| &derivation.sources);
        sources.any(|source| source.query == query)
    }

    /// Computes the answers of derived queries. Those of a node are added to its report; those of several nodes together are returned. What
    /// is read for them alone leaves the reports, as do columns and groups that are not asked for.
    pub(super) fn derive(&self, outcomes: &mut [NodeOutcome]) -> Vec<Answer> {
        let graph = &self.chain.graph;
        // Answers that are read have many rows: they are moved, and come back when all is computed.
        let mut known: BTreeMap<(usize, usize), Answer> = BTreeMap::new();
        for (place, answer) in self.read_answers(outcomes) {
            let empty = Answer::new(answer.query.clone(), None, Vec::new(), Vec::new());
            known.insert(place, std::mem::replace(answer, empty));
        }
        for (query, derivation) in self.chain.derivations.iter().enumerate() {
            let Some(derivation) = derivation else { continue };
            for node in &graph.queries[query].nodes {
                let find = |place| known.get(&place).map_or(ObservedWindow::Missing, ObservedWindow::Answer);
                if let DerivedResult::Answer(answer) = derivation.evaluate_run(graph, (query, *node), &find) {
                    known.insert((query, *node), *answer);
                }
            }
        }
        for (place, answer) in self.read_answers(outcomes) {
            if let Some(whole) = known.remove(&place) {
                *answer = self.shown(place.0, whole);
            }
        }
        for outcome in &mut *outcomes {
            outcome.report.answers.retain(|answer| self.queries.get(&answer.query) != Some(&false));
        }
        let mut of_all = Vec::new();
        for ((query, _), answer) in known {
            if self.queries.get(&answer.query) != Some(&true) {
                continue;
            }
            let answer = self.shown(query, answer);
            match outcomes.iter_mut().find(|own| Some(&own.report.node) == answer.node.as_ref()) {
                Some(own) => own.report.answers.push(answer),
                None => of_all.push(answer),
            }
        }
        of_all
    }

    /// The answers of nodes that derived queries read, each with its query and node.
    fn read_answers<'a>(
        &'a self,
        outcomes: &'a mut [NodeOutcome],
    ) -> impl Iterator<Item = ((usize, usize), &'a mut Answer)> {
        let nodes = &self.chain.graph.nodes;
        let of_node = move |outcome: &'a mut NodeOutcome| {
            let node = nodes.iter().position(|name| *name == outcome.report.node);
            let answers = node.map(|_| outcome.report.answers.iter_mut());
            answers.into_iter().flatten().filter_map(move |answer| {
                let query = self.number(&answer.query).filter(|query| self.is_read(*query))?;
                Some(((query, node?), answer))
            })
        };
        outcomes.iter_mut().flat_map(of_node)
    }

    /// Leaves the columns that the query selects, and as many groups as other answers list.
    fn shown(&self, query: usize, mut answer: Answer) -> Answer {
        let columns = self.chain.shown[query];
        answer.columns.truncate(columns);
        answer.rows.iter_mut().for_each(|row| row.truncate(columns));
        let is_limited = self.chain.tasks[query].limit.is_some();
        if !is_limited {
            answer.list(MOST_GROUPS);
        }
        let columns = &answer.columns;
        answer.rest.totals.retain(|(name, _)| columns.iter().any(|column| column.name == *name));
        answer
    }
}

/// The queries that the end of a run can answer: they say nothing of time, run from its begin to its end, are answered from rows and read nothing
/// of single windows, and nor does what they read.
pub(super) fn answered(queries: &[CheckedQuery]) -> BTreeSet<&str> {
    let is_of_run = |query: &&CheckedQuery| {
        query.plan.over == Over::Window
            && query.across.is_none()
            && query.trigger.is_none()
            && query.earlier.is_empty()
            && query.statistics.is_empty()
            && query.sketch.is_none()
    };
    let of_run: Vec<&CheckedQuery> = queries.iter().filter(is_of_run).collect();
    let mut answered: BTreeSet<&str> = BTreeSet::new();
    loop {
        let is_known = |name: &String| answered.contains(name.as_str());
        let more = of_run.iter().filter(|query| query.derived_from.iter().all(is_known));
        let more: BTreeSet<&str> = more.map(|query| query.label.as_str()).collect();
        if more.len() == answered.len() {
            return answered;
        }
        answered = more;
    }
}

/// Adds the queries that start these, or that these read, and so on.
pub(super) fn with_parents<'a>(
    queries: &'a [CheckedQuery],
    mut names: BTreeSet<&'a str>,
) -> BTreeSet<&'a str> {
    loop {
        let own = queries.iter().filter(|query| names.contains(query.label.as_str()));
        let parents = own.flat_map(|query| {
            query.derived_from.iter().chain(query.trigger.iter().flat_map(|trigger| &trigger.parents))
        });
        let parents: BTreeSet<&str> = parents.map(String::as_str).collect();
        if parents.is_subset(&names) {
            return names;
        }
        names.extend(parents);
    }
}
