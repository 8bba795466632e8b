//! What the stores of nodes have answered, as the answers to a question.

use crate::inquiry::{History, HistoryQuery, Inquiry};
use model::{Answer, HistoryNode, Span};
use std::collections::BTreeMap;
use task::query::Over;
use task::rows::Merging;

/// An answer and its node.
type OfNode<'a> = (usize, &'a Answer);

/// The answers of nodes to a query across nodes.
struct Parts<'a> {
    merging: &'a Merging,
    /// Each with its node.
    answers: Vec<OfNode<'a>>,
    /// The nodes whose answers are missing or incomplete, and why.
    missing: BTreeMap<usize, (&'a str, &'a str)>,
}

impl Inquiry {
    /// The answers. `names`: those of all nodes.
    pub(crate) fn history(self, names: &[String]) -> History {
        let answers = self.queries.iter().flat_map(|query| match &query.merging {
            Some(merging) => {
                let parts = self.parts(query, merging, names);
                match query.query.over {
                    Over::Windows { every_ns, over_ns } => parts.windows(every_ns, over_ns),
                    Over::Run | Over::Window => vec![parts.whole()],
                }
            }
            None => self.of_nodes(query, names),
        });
        let answers = answers.collect();
        let nodes = self.said.into_iter();
        let nodes = nodes.map(|(node, said)| HistoryNode {
            name: names[node].clone(),
            missing: said.and_then(|said| said.missing),
        });
        History { id: self.key.1, answers, nodes: nodes.collect() }
    }

    /// What nodes said of a query, and why it is not all.
    fn said_of<'a>(
        &'a self,
        query: &'a HistoryQuery,
        node: usize,
    ) -> (impl Iterator<Item = &'a Answer>, Option<&'a str>) {
        let said = self.said.get(&node).and_then(Option::as_ref);
        let answers = said.into_iter().flat_map(|said| &said.answers);
        let own = answers.filter(|answer| answer.query == query.query.name);
        (own, said.and_then(|said| said.missing.as_deref()))
    }

    /// The answers of each node, and of one without any an answer that says why.
    fn of_nodes(&self, query: &HistoryQuery, names: &[String]) -> Vec<Answer> {
        let mut answers = Vec::new();
        for &node in &query.nodes {
            let (own, missing) = self.said_of(query, node);
            let before = answers.len();
            answers.extend(own.cloned());
            if let Some(reason) = missing.filter(|_| answers.len() == before) {
                let mut none = Answer::new(query.query.name.clone(), None, query.columns.clone(), Vec::new());
                none.node = Some(names[node].clone());
                none.lacks(&format!("no answer: {reason}"));
                answers.push(none);
            }
        }
        // By time; those of one window in the order of nodes.
        answers.sort_by_key(|answer| answer.window.map(|window| window.end_ns));
        answers
    }

    fn parts<'a>(&'a self, query: &'a HistoryQuery, merging: &'a Merging, names: &'a [String]) -> Parts<'a> {
        let mut parts = Parts { merging, answers: Vec::new(), missing: BTreeMap::new() };
        for &node in &query.nodes {
            let (own, missing) = self.said_of(query, node);
            parts.answers.extend(own.map(|answer| (node, answer)));
            parts.missing.extend(missing.map(|reason| (node, (names[node].as_str(), reason))));
        }
        parts
    }
}

impl Parts<'_> {
    /// The answer over all rows, whose time is that of all nodes together.
    fn whole(&self) -> Answer {
        let spans = self.answers.iter().filter_map(|(_, answer)| answer.window);
        let hull = spans.reduce(|one, other| Span {
            start_ns: one.start_ns.min(other.start_ns),
            end_ns: one.end_ns.max(other.end_ns),
        });
        let window = hull.unwrap_or(Span { start_ns: 0, end_ns: 0 });
        Answer { window: hull, ..self.merge(window, &self.answers) }
    }

    /// The answers of windows. Those in a row without an answer of any node are one: no node had packets in them.
    fn windows(&self, every_ns: u64, over_ns: u64) -> Vec<Answer> {
        let mut by_end: BTreeMap<u64, (Span, Vec<OfNode<'_>>)> = BTreeMap::new();
        for (node, answer) in self.answers.iter().filter(|(_, answer)| answer.empty.is_none()) {
            let Some(window) = answer.window else { continue };
            by_end.entry(window.end_ns).or_insert((window, Vec::new())).1.push((*node, answer));
        }
        let mut answers = Vec::new();
        let mut last_ns: Option<u64> = None;
        for (end_ns, (window, own)) in by_end {
            let passed = last_ns.map_or(0, |last_ns| (end_ns - last_ns) / every_ns - 1);
            if let Some(last_ns) = last_ns.filter(|_| passed != 0) {
                let start_ns = last_ns.saturating_add(every_ns).saturating_sub(over_ns);
                let none = self.merge(Span { start_ns, end_ns: end_ns - every_ns }, &[]);
                answers.push(Answer { empty: Some(passed), rows: Vec::new(), ..none });
            }
            answers.push(self.merge(window, &own));
            last_ns = Some(end_ns);
        }
        if answers.is_empty() && !self.missing.is_empty() {
            let none = self.merge(Span { start_ns: 0, end_ns: 0 }, &[]);
            answers.push(Answer { window: None, rows: Vec::new(), ..none });
        }
        answers
    }

    /// The answer of these nodes together.
    fn merge(&self, window: Span, own: &[OfNode<'_>]) -> Answer {
        // A rate is over the time that each node watched; over all rows that is from its first packet to its last.
        let of_time = own
            .iter()
            .map(|(_, answer)| Answer { watched: answer.watched.or(answer.window), ..(*answer).clone() });
        let of_time: Vec<Answer> = of_time.collect();
        let mut merged = self.merging.merge(window, &of_time.iter().collect::<Vec<_>>());
        if own.iter().all(|(_, answer)| answer.watched.is_none()) {
            merged.watched = None;
        }
        let mut levels: Vec<String> = own.iter().flat_map(|(_, answer)| answer.levels.clone()).collect();
        // The coarsest first, as their names sort: 1h, 1min, rows.
        levels.sort_unstable();
        levels.dedup();
        merged.levels = levels;
        let absent = self.missing.iter().filter(|(node, _)| own.iter().all(|(of, _)| of != *node));
        let absent: Vec<String> = absent.map(|(_, (name, reason))| format!("{name} ({reason})")).collect();
        if !absent.is_empty() {
            merged.lacks(&format!("no answer of {}", absent.join(", ")));
        }
        merged
    }
}
