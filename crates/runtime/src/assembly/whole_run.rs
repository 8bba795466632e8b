//! Answers of the whole run under a controller: of each node, of the queries that say nothing of time, and of the queries that are derived from
//! these, once the nodes have ended.

use super::reporting::NodeOutcome;
use crate::exit::Failure;
use crate::questions::asked::QuerySet;
use equery::{Chain, ChainSite, CheckedQuery};
use events::{Derivation, DerivedResult, ObservedWindow};
use model::Answer;
use std::collections::{BTreeMap, BTreeSet};
use task::query::{MOST_GROUPS, Over, Query};

/// The most groups that a derived query reads of the whole run, of a query that does not limit them itself.
const MOST_READ: usize = 250_000;
/// The memory of a group while answers are derived, bytes: its row, its key, and what is known of each of its values.
const GROUP_BYTES: u64 = 4 << 10;

/// The queries that have an answer of the whole run.
pub(super) struct WholeRun {
    /// The queries, by name, and whether their answers are shown. Others of them are only read.
    queries: BTreeMap<String, bool>,
    /// The derived queries, each after those that it reads, and these.
    chain: Chain,
    /// The groups that are read of each query without a limit.
    most_read: usize,
}

impl WholeRun {
    /// Puts the queries together that have an answer of the whole run. Those of windows (`has_windows`) are read for others, but not shown. What is
    /// read takes half of the run's `memory` at the most: its flow tables are gone then.
    ///
    /// # Errors
    /// A line for each query that cannot be derived from what it reads.
    pub(super) fn new(
        asked: &QuerySet,
        site: &ChainSite<'_>,
        has_windows: &BTreeSet<&str>,
        memory: u64,
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
        let places: usize = chain.graph.queries.iter().map(|query| query.nodes.len()).sum();
        let room = memory / 2 / GROUP_BYTES / (places.max(1) as u64);
        let most_read = usize::try_from(room).unwrap_or(MOST_READ).clamp(1, MOST_READ);
        let mut whole = Self { queries, chain, most_read };
        let unlimited = |query: &usize| whole.is_read(*query) && whole.chain.tasks[*query].limit.is_none();
        let unlimited: Vec<usize> = (0..whole.chain.tasks.len()).filter(unlimited).collect();
        for query in unlimited {
            whole.chain.derivations[query].iter_mut().for_each(|derivation| derivation.limit = most_read);
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
            let limit = plan.limit.or(number.map(|_| self.most_read));
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
                let answer = match derivation.evaluate_run(graph, (query, *node), &find) {
                    DerivedResult::Answer(mut answer) => {
                        self.remark_memory(&mut answer, derivation, &find, *node);
                        *answer
                    }
                    // The time was watched.
                    DerivedResult::Empty => self.without_rows((query, *node)),
                    DerivedResult::Missing => {
                        let mut answer = self.without_rows((query, *node));
                        answer.mark_partial(&self.missing(derivation, &known, *node));
                        answer
                    }
                };
                known.insert((query, *node), answer);
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

    /// An answer that has no group.
    fn without_rows(&self, (query, node): (usize, usize)) -> Answer {
        let of = &self.chain.graph.queries[query];
        let columns = of.columns.iter().map(|column| column.column.clone()).collect();
        let node = self.chain.graph.node_name(node).map(str::to_owned);
        Answer { node, ..Answer::new(of.name.clone(), None, columns, Vec::new()) }
    }

    /// Says which answers a derived query lacks.
    fn missing(
        &self,
        derivation: &Derivation,
        known: &BTreeMap<(usize, usize), Answer>,
        node: usize,
    ) -> String {
        let graph = &self.chain.graph;
        let places = derivation.sources.iter().map(|source| (source.query, source.node.unwrap_or(node)));
        let lacks = places.filter(|place| !known.contains_key(place));
        let named = lacks.map(|(query, node)| match graph.node_name(node) {
            Some(node) => format!("{} of {node}", graph.queries[query].name),
            None => graph.queries[query].name.clone(),
        });
        format!("no answer over the run of {}", named.collect::<Vec<_>>().join(", "))
    }

    /// Says of an answer that groups are between bounds because the memory of the run has no room for more of what it reads.
    fn remark_memory<'a>(
        &self,
        answer: &mut Answer,
        derivation: &Derivation,
        find: &dyn Fn((usize, usize)) -> ObservedWindow<'a>,
        node: usize,
    ) {
        let is_cut = |source: &events::DerivationSource| {
            let is_limited = self.chain.tasks[source.query].limit.is_some();
            let seen = find((source.query, source.node.unwrap_or(node)));
            !is_limited && matches!(seen, ObservedWindow::Answer(answer) if answer.rest.groups != 0)
        };
        if self.most_read < MOST_READ && derivation.sources.iter().any(is_cut) {
            let groups = notation::grouped(self.most_read as u64);
            answer.remark(&format!("{groups} groups of each query are read: --memory has no room for more"));
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::enrich::EnrichOptions;
    use crate::questions::query_text::NamedText;
    use crate::verdict::ExitStatus;
    use equery::CheckOptions;
    use events::EventSettings;
    use model::{AnswerStatus, RunReport, Value};

    const LOST: &str = "a: select src_port, sum(total_count) as n where node_id = tx groupby src_port;\n\
        b: select src_port, sum(total_count) as n where node_id = rx groupby src_port;\n\
        lost: select src_port, a.n - b.n as lost from a, b;";

    fn whole(memory: u64) -> (QuerySet, WholeRun) {
        let nodes = ["tx", "rx"].map(str::to_owned);
        let checking = CheckOptions { known_nodes: Some(nodes.to_vec()), ..CheckOptions::default() };
        let text = NamedText { name: "-q".to_owned(), text: LOST.to_owned() };
        let asked =
            QuerySet::from_texts(&[text], checking, &nodes, &EnrichOptions::default()).expect("no error");
        let key = packet::KeySpec::FIVE_TUPLE.parts();
        let length = 1_000_000_000;
        let settings = EventSettings::default();
        let site = ChainSite { nodes: &nodes, key: &key, window_ns: length, base_ns: length, settings };
        let whole = WholeRun::new(&asked, &site, &BTreeSet::new(), memory).expect("no error");
        (asked, whole)
    }

    /// A query, packets by port, and how many further ports there are.
    type Answered<'a> = (&'a str, &'a [(u64, u64)], u64);

    /// What a node answered of its query.
    fn outcome(whole: &WholeRun, node: &str, answered: Option<Answered<'_>>) -> NodeOutcome {
        let answer = answered.map(|(query, ports, rest)| {
            let of = &whole.chain.graph.queries[whole.number(query).expect("the query")];
            let columns = of.columns.iter().map(|column| column.column.clone()).collect();
            let row = |(port, packets): &(u64, u64)| vec![Value::Unsigned(*port), Value::Unsigned(*packets)];
            let mut answer = Answer::new(query, None, columns, ports.iter().map(row).collect());
            answer.node = Some(node.to_owned());
            answer.rest.groups = rest;
            answer
        });
        let report =
            RunReport { node: node.to_owned(), answers: answer.into_iter().collect(), ..Default::default() };
        NodeOutcome { report, longer: Vec::new(), warnings: Vec::new(), verdict: ExitStatus::default() }
    }

    #[test]
    fn groups_that_are_read_have_room_in_the_memory_of_the_run() {
        for (memory, groups) in [(1 << 40, 250_000), (64 << 20, 2_730), (1, 1)] {
            let (asked, whole) = whole(memory);
            let limits: Vec<_> = whole.own(&asked, "tx").iter().map(|query| query.limit).collect();
            assert_eq!(limits, [Some(groups)], "{memory}");
        }
        let (_, whole) = whole(64 << 20);
        let derive = |rest: u64| {
            let nodes = [("tx", ("a", &[(1, 9), (2, 5)][..], rest)), ("rx", ("b", &[(1, 7)][..], 0))];
            let mut outcomes = nodes.map(|(node, answered)| outcome(&whole, node, Some(answered)));
            whole.derive(&mut outcomes).pop().expect("an answer")
        };
        let remark = "2,730 groups of each query are read: --memory has no room for more";
        let reason = derive(0).reason.expect("the nodes differ");
        assert!(!reason.contains(remark), "{reason}");
        let reason = derive(5).reason.expect("groups are left out");
        assert!(reason.contains(remark), "{reason}");
    }

    /// Where a node has no answer, the derived one is there, and says which is missing.
    #[test]
    fn an_answer_that_is_missing_is_named() {
        let (_, whole) = whole(1 << 30);
        let mut outcomes = [outcome(&whole, "tx", Some(("a", &[(1, 9)], 0))), outcome(&whole, "rx", None)];
        let of_all = whole.derive(&mut outcomes);
        let [lost] = &of_all[..] else { panic!("{of_all:?}") };
        assert_eq!((lost.query.as_str(), lost.node.as_deref()), ("lost", None));
        assert_eq!((lost.status, lost.rows.len()), (AnswerStatus::Partial, 0));
        assert_eq!(lost.reason.as_deref(), Some("no answer over the run of b of rx"));
    }
}
