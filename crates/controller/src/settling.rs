//! Windows are settled one after the other, over all nodes.

use crate::controller::{Actions, Controller, ControllerOutput};
use crate::ended::{EndedWindows, asked, is_of};
use crate::node::ControlledNode;
use events::{ALL_NODES, Find, MachineStep, QueryWindow, Report};
use model::{Answer, Span};

impl Controller {
    /// Settles all windows that all nodes have passed.
    pub(crate) fn settle(&mut self, actions: &mut Actions) {
        // Nothing is settled before all nodes have said when they begin.
        let Some(known_ns) = self.nodes.iter().map(|node| self.known_until(node)).min().flatten() else {
            return;
        };
        // Where all have ended, up to the last window of which anything is known; where they may come back, up to the last one that
        // was answered.
        let last =
            if self.clock.is_some() { ControlledNode::last_answered_ns } else { ControlledNode::last_end_ns };
        let last_ns = self.nodes.iter().map(last).max().unwrap_or(0);
        let until_ns = if known_ns == u64::MAX { last_ns } else { known_ns };
        let Some(first_ns) = self.nodes.iter().filter_map(ControlledNode::begun_ns).min() else { return };
        let before_ns = self.settled_ns;
        let mut settled_ns = self.settled_ns.unwrap_or(first_ns);
        if let Some(end_ns) = self.awaited.as_ref().map(|awaited| awaited.end_ns) {
            if self.judge(end_ns, actions).is_none() {
                return;
            }
            settled_ns = end_ns;
            self.settled_ns = Some(end_ns);
        }
        // Time that is not a whole window is awaited no less than one that is.
        let until_ns = until_ns - until_ns % self.setting.window_ns.max(1);
        while settled_ns < until_ns {
            let next = self.nodes.iter().filter_map(ControlledNode::next_result_ns).min().unwrap_or(u64::MAX);
            settled_ns = if next <= settled_ns {
                let end_ns = settled_ns.saturating_add(self.setting.window_ns);
                if end_ns > until_ns {
                    break;
                }
                if !self.settle_window(settled_ns, end_ns, actions) {
                    return;
                }
                end_ns
            } else {
                let end_ns = next.min(until_ns);
                if !self.pass(settled_ns, end_ns, actions) {
                    return;
                }
                end_ns
            };
            self.settled_ns = Some(settled_ns);
        }
        self.settled_ns = Some(settled_ns);
        if before_ns == self.settled_ns {
            return;
        }
        self.settle_late(settled_ns);
        self.end_captures(settled_ns, actions);
        let late_ns = if self.setting.is_replay { 0 } else { self.chain.graph.settings.lateness_ns };
        let since_ns = settled_ns.saturating_sub(self.longest_ns()).saturating_sub(late_ns);
        self.nodes.iter_mut().for_each(|node| node.received.forget_until(since_ns));
        if !self.setting.is_replay {
            self.nodes.iter_mut().for_each(|node| node.forget_before(since_ns));
            self.show_empty_runs(settled_ns, actions);
        }
    }

    /// Returns the time up to which all is known of a node, or is not awaited; `None` if nothing is.
    fn known_until(&self, node: &ControlledNode) -> Option<u64> {
        if self.setting.is_replay {
            return node.replayed_until();
        }
        let grace_ns = self.chain.graph.settings.grace_ns;
        let awaited = self.clock.and_then(|clock| clock.waits_until(&node.progress, grace_ns));
        node.answered_until().max(awaited)
    }

    /// Settles a window that some nodes answered. Returns whether it is settled: not if it waits for what nodes have kept of it.
    fn settle_window(&mut self, start_ns: u64, end_ns: u64, actions: &mut Actions) -> bool {
        for number in 0..self.nodes.len() {
            if let Some(result) = self.nodes[number].take_result(start_ns) {
                self.nodes[number].settled_ns = Some(end_ns);
                self.nodes[number].received.take(&result);
                self.take_answers(number, result.answers, actions);
            }
        }
        self.step(end_ns, actions).is_some()
    }

    /// Passes windows that no node answered: each had no packet, or was not there, in all of them. Returns whether all are settled.
    fn pass(&mut self, since_ns: u64, until_ns: u64, actions: &mut Actions) -> bool {
        let mut end_ns = since_ns.saturating_add(self.setting.window_ns);
        while end_ns <= until_ns {
            let Some(is_quiet) = self.step(end_ns, actions) else { return false };
            self.settled_ns = Some(end_ns);
            end_ns = match is_quiet {
                false => end_ns.saturating_add(self.setting.window_ns),
                true => match self.next_change(since_ns, end_ns) {
                    Some(next) => next,
                    None => return true,
                },
            };
            // Windows that may still come are taken one by one.
            let late_ns = until_ns.saturating_sub(self.chain.graph.settings.lateness_ns);
            if self.clock.is_some() {
                let window_ns = self.setting.window_ns.max(1);
                end_ns =
                    end_ns.min(late_ns - late_ns % window_ns).max(self.settled_ns.unwrap_or(0) + window_ns);
            }
        }
        true
    }

    /// Returns the time of the next change if all goes on like this.
    fn next_change(&self, since_ns: u64, now_ns: u64) -> Option<u64> {
        let ends = self.nodes.iter().filter(|node| node.has_ended()).map(ControlledNode::last_end_ns);
        let ends =
            ends.chain(self.nodes.iter().flat_map(ControlledNode::later_ends)).filter(|end| *end > now_ns);
        ends.chain(self.timeline.now().next_change(since_ns)).chain(self.past.next_change(now_ns)).min()
    }

    /// Takes the windows that end then. Returns whether others like them change nothing; `None` if they wait for what nodes have kept.
    fn step(&mut self, end_ns: u64, actions: &mut Actions) -> Option<bool> {
        for number in 0..self.nodes.len() {
            let later = self.nodes[number].take_later(end_ns);
            self.take_answers(number, later, actions);
        }
        self.merge_answers(end_ns, actions);
        self.derive_answers(end_ns, actions);
        self.judge(end_ns, actions)
    }

    /// Judges the windows that end then, the answers of which are there; the result is that of [`Controller::step`].
    pub(crate) fn judge(&mut self, end_ns: u64, actions: &mut Actions) -> Option<bool> {
        if self.looks_back && !self.query_recent_windows(end_ns, actions) {
            return None;
        }
        let is_open = self.is_open(end_ns);
        // What ended is not asked for any more.
        let inputs = std::mem::take(&mut self.settling);
        let Self { chain, nodes, setting, timeline, past, .. } = self;
        let is_replay = setting.is_replay;
        let mut empty = Vec::new();
        let step = timeline.take(end_ns, inputs, is_open, |machine, inputs| {
            let ended = EndedWindows { chain, nodes, inputs, is_replay };
            let find: &Find<'_> = &|asked: QueryWindow<'_>| ended.seen(asked);
            past.record(&chain.graph, end_ns, find);
            let step = machine.step(end_ns, find);
            empty = ended.without_packets(&step);
            step
        });
        actions.show.extend(empty);
        self.show_step(&step, actions);
        Some(step.is_quiet && self.timeline.is_final())
    }

    /// The windows that are being settled.
    pub(crate) fn ended(&self) -> EndedWindows<'_> {
        EndedWindows {
            chain: &self.chain,
            nodes: &self.nodes,
            inputs: &self.settling,
            is_replay: self.setting.is_replay,
        }
    }

    /// Returns true if a window that a node answers was asked. A query that is started was not in windows without packets before.
    fn is_wanted(&self, query: usize, answer: &Answer) -> bool {
        let is_empty_before = answer.empty.is_some() && self.chain.graph.queries[query].trigger.is_some();
        let is_asked = |window: Span| {
            let runs = asked(&self.chain, self.timeline.now().runs(), query, window.end_ns);
            runs.into_iter().any(|run| is_of(answer, run.map_or(&[], |run| &run.instance)))
        };
        answer.window.is_none_or(|window| !is_empty_before && is_asked(window))
    }

    /// Shows answers, and keeps them for the event machine.
    fn take_answers(&mut self, node: usize, answers: Vec<Answer>, actions: &mut Actions) {
        for answer in answers {
            let query = self.query_number(&answer.query);
            if query.is_some_and(|query| !self.is_wanted(query, &answer)) {
                continue;
            }
            // Parts are shown once they are merged.
            if self.is_shown(&answer) {
                actions.show.push(ControllerOutput::Answer(Box::new(self.as_shown(answer.clone()))));
            }
            if let Some(query) = query.filter(|_| answer.empty.is_none()) {
                self.settling.answers.entry((query, node)).or_default().push(answer);
            }
        }
    }

    /// An answer without the columns that its query does not select.
    pub(crate) fn as_shown(&self, mut answer: Answer) -> Answer {
        let Some(query) = self.query_number(&answer.query) else { return answer };
        let columns = self.chain.shown[query];
        answer.columns.truncate(columns);
        answer.rows.iter_mut().for_each(|row| row.truncate(columns));
        answer
    }

    /// Shows what happened.
    pub(crate) fn show_step(&mut self, step: &MachineStep, actions: &mut Actions) {
        self.start_captures(step);
        let sentences = self.stories.take(&self.chain.graph, step);
        let events = step.events.iter().map(|event| ControllerOutput::Event(Box::new(event.clone())));
        actions.show.extend(events);
        actions.show.extend(sentences.into_iter().map(ControllerOutput::Sentence));
    }
}

impl EndedWindows<'_> {
    /// The answers of runs in windows without packets, which nodes do not send. Those across nodes are shown as they are merged.
    pub(crate) fn without_packets(&self, step: &MachineStep) -> Vec<ControllerOutput> {
        let is_of_node =
            |report: &&Report| report.node != ALL_NODES && self.chain.derivations[report.query].is_none();
        let is_empty = |report: &&Report| {
            let Report { query, node, instance, window, .. } = report;
            self.answer(*query, *node, instance, *window).is_none() && self.was_empty(*node, *window)
        };
        step.reports
            .iter()
            .filter(is_of_node)
            .filter(is_empty)
            .map(|report| self.empty_answer(report))
            .collect()
    }

    /// The answer of a window without packets.
    fn empty_answer(&self, report: &Report) -> ControllerOutput {
        let graph = &self.chain.graph;
        let of = &graph.queries[report.query];
        let columns = of.columns[..self.chain.shown[report.query]].iter().map(|column| column.column.clone());
        let answer = Answer {
            node: Some(graph.nodes[report.node].clone()),
            bound: of.pinned_by(&report.instance),
            empty: Some(1),
            ..Answer::new(of.name.clone(), Some(report.window), columns.collect(), Vec::new())
        };
        ControllerOutput::Answer(Box::new(answer))
    }
}
