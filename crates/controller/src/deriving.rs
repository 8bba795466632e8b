//! Answers of derived queries: of each window, once those that they read are there.

use crate::controller::{Actions, Controller, ControllerOutput};
use crate::empty_run::DerivedRun;
use crate::ended::{EndedWindows, asked};
use events::{AnswerHistory, DerivedResult, Find, PastPart, QueryRun, SavedWindows};
use model::{Answer, Span};

impl EndedWindows<'_> {
    /// Returns what a derived query gives of the windows that end then, by node.
    pub(crate) fn derived(
        &self,
        query: usize,
        runs: &[QueryRun],
        past: &AnswerHistory,
        end_ns: u64,
    ) -> Vec<(usize, DerivedResult)> {
        let Some(derivation) = &self.chain.derivations[query] else { return Vec::new() };
        if asked(self.chain, runs, query, end_ns).is_empty() {
            return Vec::new();
        }
        let find: &Find<'_> = &|asked| self.seen(asked);
        let of = |node: &usize| {
            (*node, derivation.evaluate(&self.chain.graph, (query, *node), end_ns, find, past))
        };
        self.chain.graph.queries[query].nodes.iter().map(of).collect()
    }
}

impl Controller {
    /// Continues with the earlier windows that another controller saved, of queries that both have.
    pub fn restore_past(&mut self, windows: impl IntoIterator<Item = SavedWindows>) {
        self.past.restore(&self.chain.graph, &self.chain.derivations, windows);
    }

    /// The earlier windows that queries read, in parts that do not change: probes will not send them again.
    pub fn past(&self) -> impl Iterator<Item = PastPart<'_>> {
        self.past.parts(&self.chain.graph, &self.chain.derivations)
    }

    /// The memory of earlier windows, an estimate in bytes, and the answers that found no room there.
    pub fn past_memory(&self) -> (u64, u64) {
        (self.past.bytes(), self.past.not_kept())
    }

    /// Returns what found no room among the earlier windows, in words.
    pub(crate) fn not_kept(&self) -> Option<String> {
        let (number, most) = (self.past.not_kept(), self.chain.graph.settings.past_bytes);
        let size = notation::size_text(usize::try_from(most).unwrap_or(usize::MAX));
        let line = format!("{number} answers of earlier windows were not kept: they take more than {size}");
        (number != 0).then_some(line)
    }

    /// Computes the answers of the windows that end then, shows them, and keeps them for the event machine and for queries that read them.
    pub(crate) fn derive_answers(&mut self, end_ns: u64, actions: &mut Actions) {
        for query in 0..self.chain.derivations.len() {
            for (node, outcome) in self.ended().derived(query, self.timeline.now().runs(), &self.past, end_ns)
            {
                self.take_outcome((query, node), outcome, end_ns, actions);
            }
        }
    }

    fn take_outcome(
        &mut self,
        (query, node): (usize, usize),
        outcome: DerivedResult,
        end_ns: u64,
        actions: &mut Actions,
    ) {
        let of = &self.chain.graph.queries[query];
        let (every_ns, is_standing) = (of.every_ns, of.trigger.is_none());
        if outcome != DerivedResult::Empty {
            self.show_derived_run((query, node), end_ns.saturating_sub(every_ns), actions);
        }
        match outcome {
            DerivedResult::Missing => {}
            DerivedResult::Empty => {
                self.settling.derived_empty.insert((query, node));
                let new = DerivedRun { first_end_ns: end_ns, last_end_ns: end_ns };
                let run = self.derived_runs.entry((query, node)).or_insert(new);
                run.last_end_ns = end_ns;
                // The runs of a query that is started need not follow each other.
                if !is_standing {
                    self.show_derived_run((query, node), end_ns, actions);
                }
            }
            DerivedResult::Answer(answer) => {
                actions.show.push(ControllerOutput::Answer(Box::new(self.as_shown((*answer).clone()))));
                self.settling.answers.entry((query, node)).or_default().push(*answer);
            }
        }
    }

    /// Shows windows without packets of all derived queries, up to this time.
    pub(crate) fn show_derived_runs(&mut self, until_ns: u64, actions: &mut Actions) {
        let places: Vec<(usize, usize)> = self.derived_runs.keys().copied().collect();
        places.into_iter().for_each(|place| self.show_derived_run(place, until_ns, actions));
    }

    /// Shows the windows of a query and node that had no packets, if there are any: no others end by this time.
    fn show_derived_run(&mut self, (query, node): (usize, usize), until_ns: u64, actions: &mut Actions) {
        let Some(run) = self.derived_runs.remove(&(query, node)) else { return };
        let of = &self.chain.graph.queries[query];
        // Windows that were passed are as the one before them.
        let last_end_ns = run.last_end_ns.max(until_ns - until_ns % of.every_ns);
        let window = Span { start_ns: run.first_end_ns.saturating_sub(of.over_ns), end_ns: last_end_ns };
        let columns = of.columns.iter().map(|column| column.column.clone()).collect();
        let answer = Answer {
            node: self.chain.graph.node_name(node).map(str::to_owned),
            empty: Some(1 + (last_end_ns - run.first_end_ns) / of.every_ns),
            ..Answer::new(of.name.clone(), Some(window), columns, Vec::new())
        };
        actions.show.push(ControllerOutput::Answer(Box::new(self.as_shown(answer))));
    }
}
