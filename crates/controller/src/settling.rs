//! Windows are settled one after the other, over all nodes.

use crate::controller::{Actions, Controller, Output};
use crate::ended::{Ended, was_empty};
use crate::node::Node;
use events::{ALL_NODES, Report, Step};
use report::{Answer, Span};

impl Controller {
    /// Settles all windows that all nodes have passed.
    pub(crate) fn settle(&mut self, actions: &mut Actions) {
        // Nothing is settled before all nodes have said when they begin.
        let Some(known_ns) = self.nodes.iter().map(|node| self.known_until(node)).min().flatten() else {
            return;
        };
        // Where all have ended, up to the last window of which anything is known; where they may come back, up to the last one that
        // was answered.
        let last = if self.clock.is_some() { Node::last_answered_ns } else { Node::last_end_ns };
        let last_ns = self.nodes.iter().map(last).max().unwrap_or(0);
        let until_ns = if known_ns == u64::MAX { last_ns } else { known_ns };
        let Some(first_ns) = self.nodes.iter().filter_map(Node::begun_ns).min() else { return };
        let mut settled_ns = self.settled_ns.unwrap_or(first_ns);
        // Time that is not a whole window is awaited no less than one that is.
        let until_ns = until_ns - until_ns % self.setting.window_ns.max(1);
        while settled_ns < until_ns {
            let next = self.nodes.iter().filter_map(Node::next_result_ns).min().unwrap_or(u64::MAX);
            settled_ns = if next <= settled_ns {
                let end_ns = settled_ns.saturating_add(self.setting.window_ns);
                if end_ns > until_ns {
                    break;
                }
                self.settle_window(settled_ns, end_ns, actions);
                end_ns
            } else {
                let end_ns = next.min(until_ns);
                self.pass(settled_ns, end_ns, actions);
                end_ns
            };
            self.settled_ns = Some(settled_ns);
        }
        self.settled_ns = Some(settled_ns);
        let since_ns = settled_ns.saturating_sub(self.longest_ns());
        self.nodes.iter_mut().for_each(|node| node.received.forget_until(since_ns));
        if !self.setting.is_replay {
            self.nodes.iter_mut().for_each(|node| node.forget_before(since_ns));
            self.show_empty_runs(settled_ns, actions);
        }
    }

    /// Up to when all is known of a node, or is not awaited; `None` if nothing is.
    fn known_until(&self, node: &Node) -> Option<u64> {
        if self.setting.is_replay {
            return node.replayed_until();
        }
        let grace_ns = self.chain.graph.settings.grace_ns;
        let awaited = self.clock.and_then(|clock| clock.waits_until(&node.progress, grace_ns));
        node.answered_until().max(awaited)
    }

    /// Settles a window that some nodes answered.
    fn settle_window(&mut self, start_ns: u64, end_ns: u64, actions: &mut Actions) {
        for number in 0..self.nodes.len() {
            if let Some(result) = self.nodes[number].take_result(start_ns) {
                self.nodes[number].settled_ns = Some(end_ns);
                self.nodes[number].received.take(&result);
                self.take_answers(number, result.answers, actions);
            }
        }
        self.step(end_ns, actions);
    }

    /// Passes windows that no node answered: each had no packet, or was not there, in all of them.
    fn pass(&mut self, since_ns: u64, until_ns: u64, actions: &mut Actions) {
        let mut end_ns = since_ns.saturating_add(self.setting.window_ns);
        while end_ns <= until_ns {
            let is_quiet = self.step(end_ns, actions);
            end_ns = match is_quiet {
                false => end_ns.saturating_add(self.setting.window_ns),
                true => match self.next_change(since_ns, end_ns) {
                    Some(next) => next,
                    None => return,
                },
            };
        }
    }

    /// When anything happens next although all goes on like this.
    fn next_change(&self, since_ns: u64, now_ns: u64) -> Option<u64> {
        let ends = self.nodes.iter().filter(|node| node.has_ended()).map(Node::last_end_ns);
        let ends = ends.chain(self.nodes.iter().flat_map(Node::later_ends)).filter(|end| *end > now_ns);
        ends.chain(self.machine.next_change(since_ns)).chain(self.past.next_change(now_ns)).min()
    }

    /// Takes the windows that end then. Returns whether others like them change nothing.
    fn step(&mut self, end_ns: u64, actions: &mut Actions) -> bool {
        for number in 0..self.nodes.len() {
            let later = self.nodes[number].take_later(end_ns);
            self.take_answers(number, later, actions);
        }
        self.merge_answers(end_ns, actions);
        self.derive_answers(end_ns, actions);
        let Self { chain, machine, nodes, settling, setting, past, derived_empty, .. } = self;
        let ended = Ended { chain, nodes, settling, derived_empty, is_replay: setting.is_replay };
        let find = |query, node, window| ended.seen(query, node, window);
        let step = machine.step(end_ns, &find);
        past.record(&chain.graph, end_ns, &find);
        self.show_step(&step, actions);
        // What ended is not asked for any more.
        self.settling.clear();
        self.derived_empty.clear();
        step.is_quiet
    }

    /// Whether the window of a query that ends then is answered: of one that starts by itself, or of a run of one that is started. A
    /// node answers windows too that began before the run, and those up to its next packet, whenever the run ends.
    pub(crate) fn is_asked(&self, query: usize, end_ns: u64) -> bool {
        let of = &self.chain.graph.queries[query];
        let begins = |start_ns: u64| start_ns.saturating_add(of.over_ns) <= end_ns;
        let is_in = |run: &events::Run| run.query == query && begins(run.start_ns) && end_ns <= run.end_ns;
        of.trigger.is_none() || self.machine.runs().iter().any(is_in)
    }

    /// The same of a window that a node answers. A query that is started was not asked in windows without packets before.
    fn is_wanted(&self, query: usize, answer: &Answer) -> bool {
        let is_empty_before = answer.empty.is_some() && self.chain.graph.queries[query].trigger.is_some();
        answer.window.is_none_or(|window| !is_empty_before && self.is_asked(query, window.end_ns))
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
                actions.show.push(Output::Answer(Box::new(self.as_shown(answer.clone()))));
            }
            if let Some(query) = query.filter(|_| answer.empty.is_none()) {
                self.settling.entry((query, node)).or_default().push(answer);
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

    /// The answer of a window without packets.
    fn empty_answer(&self, query: usize, node: usize, window: Span) -> Output {
        let graph = &self.chain.graph;
        let of = &graph.queries[query];
        let columns = of.columns[..self.chain.shown[query]].iter().map(|column| column.column.clone());
        let answer = Answer {
            node: Some(graph.nodes[node].clone()),
            empty: Some(1),
            ..Answer::new(of.name.clone(), Some(window), columns.collect(), Vec::new())
        };
        Output::Answer(Box::new(answer))
    }

    /// Whether a node watched the whole window and received nothing.
    pub(crate) fn was_empty(&self, node: usize, window: Span) -> bool {
        was_empty(&self.nodes[node], window, self.setting.is_replay)
    }

    /// Shows what happened.
    pub(crate) fn show_step(&mut self, step: &Step, actions: &mut Actions) {
        // Those across nodes are shown as they are merged.
        let is_of_node =
            |report: &&Report| report.node != ALL_NODES && self.chain.derivations[report.query].is_none();
        for report in step.reports.iter().filter(is_of_node) {
            let answers = self.settling.get(&(report.query, report.node)).into_iter().flatten();
            let is_answered = answers.into_iter().any(|answer| answer.window == Some(report.window));
            if !is_answered && self.was_empty(report.node, report.window) {
                actions.show.push(self.empty_answer(report.query, report.node, report.window));
            }
        }
        let sentences = self.stories.take(&self.chain.graph, step);
        let events = step.events.iter().map(|event| Output::Event(Box::new(event.clone())));
        actions.show.extend(events);
        actions.show.extend(sentences.into_iter().map(Output::Sentence));
    }
}
