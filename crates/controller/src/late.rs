//! Windows that come after they were settled without them.

use crate::controller::{Actions, Controller, ControllerOutput};
use crate::ended::{EndedAnswers, EndedWindows, asked, is_of};
use crate::health::{HealthGap, TOO_LATE};
use events::{ALL_NODES, DerivedResult, Find, Machine, MachineStep};
use model::{Answer, Span};
use protocol::WindowResult;

/// Values of answers that are kept for windows that may still come, at the most: some hundreds of megabytes.
const MOST_KEPT: usize = 4_000_000;

impl Controller {
    /// Takes a late window: it is judged in its order, and so are those after it, if it is not too late for that.
    pub(crate) fn take_late(&mut self, node: usize, result: WindowResult, actions: &mut Actions) {
        self.nodes[node].received.take(&result);
        let WindowResult { window, answers, empty, .. } = result;
        let ends: Vec<u64> = self.timeline.kept().map(|(end_ns, _)| end_ns).collect();
        let own = ends.iter().filter(|end| window.start_ns < **end && **end <= window.end_ns);
        let Some(first_ns) = own.copied().next() else {
            self.take_too_late(node, window, answers, actions);
            return;
        };
        if empty.is_some() {
            self.nodes[node].add_empty(window);
        } else {
            self.nodes[node].settled_ns = self.nodes[node].settled_ns.max(Some(window.end_ns));
            self.nodes[node].late.insert(window.end_ns);
        }
        self.change(node, window, first_ns, answers, actions);
    }

    /// Takes what comes beyond the time for late windows as a gap: shown, and judged by no condition.
    fn take_too_late(&mut self, node: usize, window: Span, answers: Vec<Answer>, actions: &mut Actions) {
        self.nodes[node].health.count_rejected(TOO_LATE, 1);
        self.nodes[node].health.add_gap(HealthGap { window, reason: TOO_LATE.into() });
        self.say_wrong(node, "its windows come too late: a gap that no condition judges", actions);
        for answer in answers.into_iter().filter(|answer| self.is_shown(answer)) {
            // Another revision, so that it does not replace the answer that came in time.
            let answer = Answer { late: true, revision: 1, ..self.as_shown(answer) };
            actions.show.push(ControllerOutput::Answer(Box::new(answer)));
        }
    }

    /// Adds the late answers of a node for its window `late`, and judges the windows that end at `end_ns` and later again.
    fn change(&mut self, node: usize, late: Span, end_ns: u64, answers: Vec<Answer>, actions: &mut Actions) {
        let numbered: Vec<(usize, Answer)> = answers
            .into_iter()
            .filter_map(|answer| Some((self.query_number(&answer.query)?, answer)))
            .collect();
        let Self { chain, nodes, setting, timeline, past, .. } = self;
        let is_replay = setting.is_replay;
        let mut shown: Vec<Answer> = Vec::new();
        let mut own = Some(numbered);
        let step = |machine: &mut Machine, at_ns: u64, inputs: &mut EndedAnswers| -> MachineStep {
            let runs = machine.runs().to_vec();
            if at_ns == end_ns {
                for (query, answer) in own.take().into_iter().flatten() {
                    let instances = asked(chain, &runs, query, at_ns);
                    let fits = |run: &Option<&events::QueryRun>| {
                        is_of(&answer, run.map_or(&[], |run| &run.instance))
                    };
                    let known = inputs.answers.entry((query, node)).or_default();
                    let is_new =
                        !known.iter().any(|own| own.window == answer.window && own.bound == answer.bound);
                    if is_new && instances.iter().any(fits) {
                        if chain.mergings[query].is_none() && !chain.hidden[query] {
                            shown.push(Answer { late: true, revision: 1, ..answer.clone() });
                        }
                        known.push(answer);
                    }
                }
            }
            if at_ns >= end_ns {
                let mut again = Again { chain, nodes, is_replay, shown: &mut shown };
                again.merge(&runs, at_ns, late, inputs);
                again.derive(&runs, past, at_ns, inputs);
                let ended = EndedWindows { chain, nodes, inputs, is_replay };
                let find: &Find<'_> = &|asked| ended.seen(asked);
                past.record(&chain.graph, at_ns, find);
            }
            let ended = EndedWindows { chain, nodes, inputs, is_replay };
            machine.step(at_ns, &|asked| ended.seen(asked))
        };
        let steps = timeline.change(end_ns, |_| {}, step).unwrap_or_default();
        if !self.is_open(end_ns) {
            self.timeline.close(end_ns);
        }
        for answer in shown {
            let answer = self.as_shown(answer);
            actions.show.push(ControllerOutput::Answer(Box::new(answer)));
        }
        for step in &steps {
            let empty =
                EndedWindows { inputs: &EndedAnswers::default(), ..self.ended() }.without_packets(step);
            actions.show.extend(empty);
            self.show_step(step, actions);
        }
    }

    /// Returns true if a window that ends then may still come of a node.
    pub(crate) fn is_open(&self, end_ns: u64) -> bool {
        let window = Span { start_ns: end_ns.saturating_sub(self.setting.window_ns), end_ns };
        let is_there = |node: &crate::node::ControlledNode| {
            node.settled_ns == Some(end_ns) || node.late.contains(&end_ns) || node.was_empty(window)
        };
        self.clock.is_some() && !self.setting.is_replay && !self.nodes.iter().all(is_there)
    }

    /// Windows before the time for late ones are final, and so are the oldest ones if too much is kept of them.
    pub(crate) fn settle_late(&mut self, settled_ns: u64) {
        let mut until_ns = settled_ns.saturating_sub(self.chain.graph.settings.lateness_ns);
        let mut kept = 0;
        for (end_ns, inputs) in self.timeline.kept().rev() {
            let values = |answer: &Answer| answer.rows.len() * answer.columns.len();
            kept += inputs.answers.values().flatten().map(values).sum::<usize>();
            if kept > MOST_KEPT {
                until_ns = until_ns.max(end_ns);
                break;
            }
        }
        let Self { chain, nodes, setting, timeline, .. } = self;
        let is_replay = setting.is_replay;
        timeline.settle(until_ns, |machine, end_ns, inputs| {
            let ended = EndedWindows { chain, nodes, inputs, is_replay };
            machine.step(end_ns, &|asked| ended.seen(asked))
        });
        nodes.iter_mut().for_each(|node| node.late = node.late.split_off(&until_ns));
    }
}

/// Computes again what follows from the answers of nodes.
struct Again<'a> {
    chain: &'a equery::Chain,
    nodes: &'a [crate::node::ControlledNode],
    is_replay: bool,
    /// Answers that have changed.
    shown: &'a mut Vec<Answer>,
}

impl Again<'_> {
    /// Merges the answers of the windows that end at `end_ns`. `late`: the window whose result came late. The answer of a standing query does not
    /// change if its window begins after that.
    fn merge(&mut self, runs: &[events::QueryRun], end_ns: u64, late: Span, inputs: &mut EndedAnswers) {
        for query in 0..self.chain.mergings.len() {
            let of = &self.chain.graph.queries[query];
            if of.trigger.is_none() && end_ns.saturating_sub(of.over_ns) >= late.end_ns {
                continue;
            }
            let Self { chain, nodes, is_replay, .. } = *self;
            let merged = EndedWindows { chain, nodes, inputs, is_replay }.merged(query, runs, end_ns);
            for merged in merged {
                if merged.is_kept(chain.nodes[query].len()) {
                    self.replace(query, ALL_NODES, merged.answer, inputs);
                } else if let Some(known) = inputs.answers.get_mut(&(query, ALL_NODES)) {
                    // All nodes say now that they had no packets.
                    known.retain(|known| known.bound != merged.answer.bound);
                }
            }
        }
    }

    fn derive(
        &mut self,
        runs: &[events::QueryRun],
        past: &events::AnswerHistory,
        end_ns: u64,
        inputs: &mut EndedAnswers,
    ) {
        for query in 0..self.chain.derivations.len() {
            let Self { chain, nodes, is_replay, .. } = *self;
            let outcomes =
                EndedWindows { chain, nodes, inputs, is_replay }.derived(query, runs, past, end_ns);
            for (node, outcome) in outcomes {
                inputs.derived_empty.remove(&(query, node));
                match outcome {
                    DerivedResult::Missing => {}
                    DerivedResult::Empty => {
                        inputs.derived_empty.insert((query, node));
                        inputs.answers.remove(&(query, node));
                    }
                    DerivedResult::Answer(answer) => self.replace(query, node, *answer, inputs),
                }
            }
        }
    }

    /// Puts an answer into the place of that before, and shows it if it is another one.
    fn replace(&mut self, query: usize, node: usize, answer: Answer, inputs: &mut EndedAnswers) {
        let known = inputs.answers.entry((query, node)).or_default();
        let at = known.iter().position(|known| known.window == answer.window && known.bound == answer.bound);
        let before = at.map(|at| known.swap_remove(at));
        let revision = before.as_ref().map_or(0, |before| before.revision);
        let answer = match before {
            Some(before) if Answer { late: before.late, revision, ..answer.clone() } == before => before,
            _ => {
                let answer = Answer { late: true, revision: revision + 1, ..answer };
                if !self.chain.hidden[query] {
                    self.shown.push(answer.clone());
                }
                answer
            }
        };
        known.push(answer);
    }
}
