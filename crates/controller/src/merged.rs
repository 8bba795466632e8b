//! Answers across nodes: those of all nodes of a query, merged window by window.

use crate::controller::{Actions, Controller, ControllerOutput};
use crate::empty_run::EmptyRun;
use crate::ended::{EndedWindows, asked, is_of};
use events::{ALL_NODES, Member, QueryRun};
use model::{Answer, Missing, Span};
use task::rows::Merging;

/// The answer of a window.
pub(crate) struct Merged {
    pub(crate) answer: Answer,
    window: Span,
    /// True if some node had packets.
    pub(crate) had_packets: bool,
    /// The nodes of which nothing is known.
    pub(crate) missing: Vec<usize>,
}

/// The parts of a window that the nodes of a query have.
struct WindowAnswers<'a> {
    /// The answers of nodes that had packets.
    answers: Vec<&'a Answer>,
    /// The nodes that were watched.
    present: Vec<usize>,
    missing: Vec<usize>,
}

impl Merged {
    /// Returns true if the event machine and other queries need the answer: not of a window that is complete and empty.
    pub(crate) fn is_kept(&self, nodes: usize) -> bool {
        self.missing.len() != nodes && (self.had_packets || !self.missing.is_empty())
    }
}

impl EndedWindows<'_> {
    /// The merged answers of a query's windows that end then: one, or one of each instance.
    pub(crate) fn merged(&self, query: usize, runs: &[QueryRun], end_ns: u64) -> Vec<Merged> {
        let Some(merging) = &self.chain.mergings[query] else { return Vec::new() };
        let of = &self.chain.graph.queries[query];
        let window = Span { start_ns: end_ns.saturating_sub(of.over_ns), end_ns };
        let merge = |run: Option<&QueryRun>| {
            let instance = run.map(|run| run.instance.clone()).unwrap_or_default();
            let parts = self.parts(query, merging, &instance, window);
            let mut answer = self.merge_parts(merging, window, &parts);
            answer.bound = of.pinned_by(&instance);
            Merged { answer, window, had_packets: !parts.answers.is_empty(), missing: parts.missing }
        };
        asked(self.chain, runs, query, end_ns).into_iter().map(merge).collect()
    }

    /// Returns what the nodes have of a window.
    fn parts(&self, query: usize, merging: &Merging, instance: &[Member], window: Span) -> WindowAnswers<'_> {
        let mut parts = WindowAnswers { answers: Vec::new(), present: Vec::new(), missing: Vec::new() };
        for &node in &self.chain.nodes[query] {
            let mut answers = self.inputs.answers.get(&(query, node)).into_iter().flatten();
            let fits = |answer: &&Answer| {
                answer.window == Some(window) && is_of(answer, instance) && merging.fits(answer)
            };
            match answers.find(fits) {
                Some(answer) => {
                    parts.answers.push(answer);
                    parts.present.push(node);
                }
                None if self.was_empty(node, window) => parts.present.push(node),
                None => parts.missing.push(node),
            }
        }
        parts
    }

    /// The answer of the nodes together.
    fn merge_parts(&self, merging: &Merging, window: Span, parts: &WindowAnswers<'_>) -> Answer {
        let mut answer = merging.merge(window, &parts.answers);
        answer.coverage = self.coverage(&parts.present, window);
        if !parts.missing.is_empty() {
            let names: Vec<&str> =
                parts.missing.iter().filter_map(|node| self.chain.graph.node_name(*node)).collect();
            answer.mark_partial(&format!("no answer of {}", names.join(", ")));
            self.gaps(&parts.missing, window)
                .into_iter()
                .for_each(|gap| Missing::push(&mut answer.missing, gap));
        }
        for &node in &parts.present {
            let name = self.chain.graph.node_name(node).unwrap_or_default();
            self.nodes[node].health.clock.remark(name).iter().for_each(|remark| answer.remark(remark));
        }
        answer
    }

    /// Returns the times of a window that lie in gaps of these nodes, the oldest first. A node that sent the window without an answer of the
    /// query has no gap in it.
    fn gaps(&self, nodes: &[usize], window: Span) -> Vec<Missing> {
        let gaps = nodes.iter().flat_map(|node| &self.nodes[*node].health.lacks.gaps);
        let mut gaps: Vec<Missing> = gaps.filter_map(|gap| gap.missing_in(window)).collect();
        gaps.sort_unstable_by_key(|gap| (gap.span.start_ns, gap.span.end_ns, gap.reason));
        gaps
    }

    /// Packets that nodes received in a window, as a share of those received or lost; `None` if the loss of one is not known.
    fn coverage(&self, nodes: &[usize], window: Span) -> Option<f64> {
        let all = nodes.iter().try_fold((0_u64, 0_u64), |(received, lost), node| {
            let (own, own_lost) = self.nodes[*node].received.sum_within(window)?;
            Some((received.saturating_add(own), lost.saturating_add(own_lost)))
        });
        all.map(|(received, lost)| model::coverage(received, lost))
    }
}

impl Controller {
    /// Merges the answers of the windows that end then, shows them, and keeps them for the event machine. Windows in which no node had
    /// packets are shown once others follow.
    pub(crate) fn merge_answers(&mut self, end_ns: u64, actions: &mut Actions) {
        for query in 0..self.chain.mergings.len() {
            for merged in self.ended().merged(query, self.timeline.now().runs(), end_ns) {
                self.take_merged(query, merged, actions);
            }
        }
    }

    fn take_merged(&mut self, query: usize, merged: Merged, actions: &mut Actions) {
        let Merged { answer, window, had_packets, missing } = merged;
        let of = &self.chain.graph.queries[query];
        let (every_ns, is_standing) = (of.every_ns, of.trigger.is_none());
        let before_ns = window.end_ns.saturating_sub(every_ns);
        let is_missing = missing.len() == self.chain.nodes[query].len();
        let run = self.empty_runs.get_mut(&query);
        match run.filter(|run| !had_packets && !is_missing && run.missing == missing) {
            Some(run) => run.last_end_ns = window.end_ns,
            None => self.show_empty_run(query, before_ns, actions),
        }
        if is_missing {
            return;
        }
        let is_hidden = self.chain.hidden[query];
        if had_packets && !is_hidden {
            actions.show.push(ControllerOutput::Answer(Box::new(self.as_shown(answer.clone()))));
        } else if had_packets || is_hidden {
            // Another query reads it.
        } else if is_standing {
            let end_ns = window.end_ns;
            let run = EmptyRun { first_end_ns: end_ns, last_end_ns: end_ns, missing: missing.clone() };
            self.empty_runs.entry(query).or_insert(run);
        } else {
            let empty = self.as_shown(Answer { empty: Some(1), rows: Vec::new(), ..answer.clone() });
            actions.show.push(ControllerOutput::Answer(Box::new(empty)));
        }
        // A window that is complete and empty needs no answer to be judged.
        if had_packets || !missing.is_empty() {
            self.settling.answers.entry((query, ALL_NODES)).or_default().push(answer);
        }
    }

    /// Shows windows without packets of all queries across nodes, up to this time.
    pub(crate) fn show_empty_runs(&mut self, until_ns: u64, actions: &mut Actions) {
        self.show_derived_runs(until_ns, actions);
        let queries: Vec<usize> = self.empty_runs.keys().copied().collect();
        queries.into_iter().for_each(|query| self.show_empty_run(query, until_ns, actions));
    }

    /// Shows the windows of a query that had no packets, if there are any: no others end by this time.
    fn show_empty_run(&mut self, query: usize, until_ns: u64, actions: &mut Actions) {
        let Some(run) = self.empty_runs.remove(&query) else { return };
        let Some(merging) = &self.chain.mergings[query] else { return };
        let of = &self.chain.graph.queries[query];
        // Windows that were passed are as the one before them.
        let last_end_ns = run.last_end_ns.max(until_ns - until_ns % of.every_ns);
        let window = Span { start_ns: run.first_end_ns.saturating_sub(of.over_ns), end_ns: last_end_ns };
        let number = 1 + (last_end_ns - run.first_end_ns) / of.every_ns;
        let nodes = self.chain.nodes[query].iter().copied();
        let present = nodes.filter(|node| !run.missing.contains(node)).collect();
        let parts = WindowAnswers { answers: Vec::new(), present, missing: run.missing };
        let answer = self.ended().merge_parts(merging, window, &parts);
        let answer = self.as_shown(Answer { empty: Some(number), rows: Vec::new(), ..answer });
        actions.show.push(ControllerOutput::Answer(Box::new(answer)));
    }
}
