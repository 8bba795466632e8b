//! The answers to a question, from what the stores of nodes have answered.

use crate::history::is_missing;
use crate::inquiry::{HistoryQuery, HistoryResult, Inquiry};
use model::{Answer, HistoryNode, Missing, Span};
use std::collections::BTreeMap;
use task::query::Over;
use task::rows::Merging;

/// An answer and its node.
type OfNode<'a> = (usize, &'a Answer);

/// A time as long as that which a node watched of an answer: without what is missing of it.
fn measured(answer: &Answer) -> Option<Span> {
    let time = answer.watched.or(answer.window)?;
    let missing = answer.missing.iter().filter_map(|missing| both(missing.span, time));
    let missing_ns = missing.map(|missing| missing.length_ns()).fold(0, u64::saturating_add);
    Some(Span { end_ns: time.end_ns.saturating_sub(missing_ns).max(time.start_ns), ..time })
}

/// The time that two have in common.
fn both(one: Span, other: Span) -> Option<Span> {
    let (start_ns, end_ns) = (one.start_ns.max(other.start_ns), one.end_ns.min(other.end_ns));
    (start_ns < end_ns).then_some(Span { start_ns, end_ns })
}

/// Windows in a row of which nodes have nothing.
struct EmptyWindowRuns<'a> {
    every_ns: u64,
    over_ns: u64,
    /// The node, the ends of the first window and of the last, and its answer about all of them.
    runs: Vec<(usize, [u64; 2], &'a Answer)>,
}

impl<'a> EmptyWindowRuns<'a> {
    fn add(&mut self, node: usize, answer: &'a Answer, window: Span) {
        let first_ns = window.start_ns.saturating_add(self.over_ns).min(window.end_ns);
        self.runs.push((node, [first_ns, window.end_ns], answer));
    }

    /// Returns the end of the first of all windows.
    fn first_ns(&self) -> Option<u64> {
        self.runs.iter().map(|(_, [first_ns, _], _)| *first_ns).min()
    }

    /// Returns the end that the window behind the last would have.
    fn until_ns(&self) -> u64 {
        let last = self.runs.iter().map(|(_, [_, last_ns], _)| *last_ns).max();
        last.map_or(0, |last_ns| last_ns.saturating_add(self.every_ns))
    }

    /// Returns the end of the first window of each run, and that of the window behind its last.
    fn ends(&self) -> impl Iterator<Item = u64> {
        let ends = self.runs.iter();
        ends.flat_map(|(_, [first_ns, last_ns], _)| [*first_ns, last_ns.saturating_add(self.every_ns)])
    }

    /// Returns the answers of the nodes that have nothing of a time, whose first window ends at `first_end_ns`. Each has what is missing of that time.
    fn answer_missing(&self, window: Span, first_end_ns: u64) -> Vec<(usize, Answer)> {
        let of_time =
            self.runs.iter().filter(|(_, [first, last], _)| (*first..=*last).contains(&first_end_ns));
        let said = |(node, _, answer): &(usize, [u64; 2], &Answer)| {
            let missing = answer.missing.iter().filter_map(|missing| {
                Some(Missing { span: both(missing.span, window)?, reason: missing.reason })
            });
            (*node, Answer { window: Some(window), missing: missing.collect(), ..(*answer).clone() })
        };
        of_time.map(said).collect()
    }
}

/// The answers of nodes to a query across nodes.
struct NodeAnswers<'a> {
    merging: &'a Merging,
    /// The answers, each with its node.
    answers: Vec<OfNode<'a>>,
    /// The nodes whose answers are missing or incomplete, and why.
    missing: BTreeMap<usize, (&'a str, &'a str)>,
}

impl Inquiry {
    /// The answers. `names`: those of all nodes.
    pub(crate) fn history(self, names: &[String]) -> HistoryResult {
        let answers = self.queries.iter().flat_map(|query| match &query.merging {
            Some(merging) => {
                let parts = self.parts(query, merging, names);
                match query.query.over {
                    Over::Windows { every_ns, over_ns } => parts.windows(every_ns, over_ns),
                    Over::Run | Over::Window => vec![parts.whole()],
                }
            }
            None => self.answer_by_node(query, names),
        });
        let answers = answers.collect();
        let nodes = self.said.into_iter();
        let nodes = nodes.map(|(node, said)| HistoryNode {
            name: names[node].clone(),
            missing: said.and_then(|said| said.missing),
        });
        HistoryResult { id: self.key.1, answers, nodes: nodes.collect() }
    }

    /// Returns what nodes said of a query, and why it is not all.
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
    fn answer_by_node(&self, query: &HistoryQuery, names: &[String]) -> Vec<Answer> {
        let mut answers = Vec::new();
        for &node in &query.nodes {
            let (own, missing) = self.said_of(query, node);
            let before = answers.len();
            answers.extend(own.cloned());
            if let Some(reason) = missing.filter(|_| answers.len() == before) {
                let mut none = Answer::new(query.query.name.clone(), None, query.columns.clone(), Vec::new());
                none.node = Some(names[node].clone());
                none.mark_partial(&format!("no answer: {reason}"));
                answers.push(none);
            }
        }
        // By time; those of one window in the order of nodes.
        answers.sort_by_key(|answer| answer.window.map(|window| window.end_ns));
        answers
    }

    fn parts<'a>(
        &'a self,
        query: &'a HistoryQuery,
        merging: &'a Merging,
        names: &'a [String],
    ) -> NodeAnswers<'a> {
        let mut parts = NodeAnswers { merging, answers: Vec::new(), missing: BTreeMap::new() };
        for &node in &query.nodes {
            let (own, missing) = self.said_of(query, node);
            parts.answers.extend(own.map(|answer| (node, answer)));
            parts.missing.extend(missing.map(|reason| (node, (names[node].as_str(), reason))));
        }
        parts
    }
}

impl NodeAnswers<'_> {
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

    /// The answers of windows. Those in a row without an answer of any node are one: no node had packets in them. So are those in a row of which the
    /// same nodes have nothing.
    fn windows(&self, every_ns: u64, over_ns: u64) -> Vec<Answer> {
        let mut by_end: BTreeMap<u64, (Span, Vec<OfNode<'_>>)> = BTreeMap::new();
        let mut runs = EmptyWindowRuns { every_ns, over_ns, runs: Vec::new() };
        for (node, answer) in self.answers.iter().filter(|(_, answer)| answer.empty.is_none()) {
            let Some(window) = answer.window else { continue };
            if is_missing(answer) {
                runs.add(*node, answer, window);
            } else {
                by_end.entry(window.end_ns).or_insert((window, Vec::new())).1.push((*node, answer));
            }
        }
        let mut answers = Vec::new();
        let mut next_ns: Option<u64> = None;
        for (end_ns, (window, mut own)) in by_end {
            let without = runs.answer_missing(window, end_ns);
            own.extend(without.iter().map(|(node, answer)| (*node, answer)));
            self.between(&runs, next_ns.or_else(|| runs.first_ns()), end_ns, next_ns.is_some(), &mut answers);
            answers.push(self.merge(window, &own));
            next_ns = Some(end_ns.saturating_add(every_ns));
        }
        self.between(&runs, next_ns.or_else(|| runs.first_ns()), runs.until_ns(), false, &mut answers);
        if answers.is_empty() && !self.missing.is_empty() {
            let none = self.merge(Span { start_ns: 0, end_ns: 0 }, &[]);
            answers.push(Answer { window: None, rows: Vec::new(), ..none });
        }
        answers
    }

    /// The answers of windows without rows that end from `from_ns` on, before `until_ns`. `has_empty`: those of which nothing is missing are among them.
    fn between(
        &self,
        runs: &EmptyWindowRuns<'_>,
        from_ns: Option<u64>,
        until_ns: u64,
        has_empty: bool,
        answers: &mut Vec<Answer>,
    ) {
        let Some(from_ns) = from_ns.filter(|from_ns| *from_ns < until_ns) else { return };
        let mut cuts: Vec<u64> = runs.ends().filter(|cut| from_ns < *cut && *cut < until_ns).collect();
        cuts.extend([from_ns, until_ns]);
        cuts.sort_unstable();
        cuts.dedup();
        for (first_ns, next_ns) in cuts.iter().zip(&cuts[1..]) {
            let start_ns = first_ns.saturating_sub(runs.over_ns);
            let window = Span { start_ns, end_ns: next_ns - runs.every_ns };
            let without = runs.answer_missing(window, *first_ns);
            if without.is_empty() && !has_empty {
                continue;
            }
            let own: Vec<OfNode<'_>> = without.iter().map(|(node, answer)| (*node, answer)).collect();
            let empty = own.is_empty().then_some((next_ns - first_ns) / runs.every_ns);
            answers.push(Answer { empty, rows: Vec::new(), ..self.merge(window, &own) });
        }
    }

    /// The answer of these nodes together.
    fn merge(&self, window: Span, own: &[OfNode<'_>]) -> Answer {
        // A rate is over the time that each node watched; over all rows that is from its first packet to its last.
        let of_time = own.iter().map(|(_, answer)| Answer { watched: measured(answer), ..(*answer).clone() });
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
            merged.mark_partial(&format!("no answer of {}", absent.join(", ")));
        }
        merged
    }
}
