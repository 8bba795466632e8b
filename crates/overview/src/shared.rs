//! The state that recorders write and questions read.

use crate::group_key::KeyShape;
use crate::history::ReachMinute;
use crate::node::Node;
use crate::setting::{MOST_STEPS, OverviewSetting};
use crate::step::Step;
use crate::unusual::Judge;
use model::Span;
use model::view::now::NowKind;

/// All nodes.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) kind: NowKind,
    pub(crate) step_ns: u64,
    pub(crate) nodes: Vec<Node>,
}

impl Shared {
    pub(crate) fn new(setting: OverviewSetting) -> Self {
        let OverviewSetting { kind, step_ns } = setting;
        Self { kind, step_ns: step_ns.max(1), nodes: Vec::new() }
    }

    /// Returns the number of a node, which is new unless it has been here.
    pub(crate) fn node(&mut self, name: &str, shape: KeyShape, tracks_loss: bool) -> usize {
        if let Some(at) = self.nodes.iter().position(|node| node.name == name) {
            return at;
        }
        self.nodes.push(Node::new(name, shape, tracks_loss));
        self.nodes.len() - 1
    }

    /// Takes a step of a node that is over, and judges it.
    pub(crate) fn push(&mut self, node: usize, step: Step) {
        let span = step.span();
        self.make_room(span);
        let step_ns = self.step_ns;
        let own = &mut self.nodes[node];
        own.history.open = None;
        own.history.push(step, step_ns);
        if self.kind == NowKind::Live {
            let kept_ns = step_ns.saturating_mul(MOST_STEPS as u64);
            let end_ns = own.history.end().unwrap_or(span.end_ns);
            own.history.forget_before(end_ns.saturating_sub(kept_ns));
        }
        Judge::new(own).step();
    }

    /// Takes what there is of a step so far.
    pub(crate) fn open(&mut self, node: usize, step: Step) {
        self.make_room(step.span());
        // Its slot may have become a longer one.
        let slot = step.start_ns - step.start_ns % self.step_ns;
        let last = self.nodes[node].history.steps.back();
        let is_of_last = last.is_some_and(|last| last.start_ns >= slot);
        if !is_of_last {
            let length_ns = self.step_ns;
            self.nodes[node].history.open = Some(Step { start_ns: slot, length_ns, ..step });
            Judge::new(&mut self.nodes[node]).open_step();
        }
    }

    /// Takes who reached whom in a minute.
    pub(crate) fn reached(&mut self, node: usize, minute: ReachMinute) {
        let own = &mut self.nodes[node];
        own.history.push_minute(minute);
        Judge::new(own).minute();
    }

    /// Makes the steps of a capture longer, until this time lies within as many as are kept.
    pub(crate) fn make_room(&mut self, span: Span) {
        if self.kind == NowKind::Live {
            return;
        }
        let begin = self.nodes.iter().filter_map(|node| node.history.begin()).min();
        let end = self.nodes.iter().filter_map(|node| node.history.end()).max();
        let begin = begin.unwrap_or(span.start_ns).min(span.start_ns);
        let end = end.unwrap_or(span.end_ns).max(span.end_ns);
        let slots = |step_ns: u64| end.div_ceil(step_ns) - begin / step_ns;
        let mut step_ns = self.step_ns;
        while slots(step_ns) > MOST_STEPS as u64 {
            step_ns = longer(step_ns);
        }
        if step_ns != self.step_ns {
            self.step_ns = step_ns;
            self.nodes.iter_mut().for_each(|node| node.history.lengthen(step_ns));
        }
    }
}

/// Returns twice a length, which is a multiple of it.
fn longer(step_ns: u64) -> u64 {
    step_ns.saturating_mul(2)
}
