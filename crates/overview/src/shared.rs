//! The state that recorders write and questions read.

use crate::error::OverviewError;
use crate::group_key::KeyShape;
use crate::history::ReachMinute;
use crate::node::Node;
use crate::setting::{MOST_STEPS, OverviewSetting};
use crate::step::Step;
use crate::together::Together;
use crate::unusual::Judge;
use model::Span;
use model::view::now::NowKind;
use std::collections::VecDeque;
use std::sync::Arc;

/// The number of nodes that are named where one is asked about that is not there.
const NAMED: usize = 10;

/// All nodes.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) kind: NowKind,
    pub(crate) step_ns: u64,
    pub(crate) nodes: Vec<Node>,
    /// All nodes together, where they tell of themselves.
    pub(crate) together: Option<Together>,
    /// The steps that are to be told to a controller; `None` where there is none.
    pub(crate) untold: Option<VecDeque<Step>>,
}

impl Shared {
    pub(crate) fn new(setting: OverviewSetting) -> Self {
        let OverviewSetting { kind, step_ns } = setting;
        Self { kind, step_ns: step_ns.max(1), nodes: Vec::new(), together: None, untold: None }
    }

    /// Returns the number of a node, which is new unless it has been here.
    pub(crate) fn node(&mut self, name: &str, shape: KeyShape, tracks_loss: bool) -> usize {
        if let Some(at) = self.nodes.iter().position(|node| node.name == name) {
            return at;
        }
        self.nodes.push(Node::new(name, shape, tracks_loss));
        self.nodes.len() - 1
    }

    /// Returns the nodes that are asked about.
    pub(crate) fn named(&self, name: Option<&str>) -> Result<Vec<&Node>, OverviewError> {
        let Some(name) = name else { return Ok(self.nodes.iter().collect()) };
        let known = || {
            let names: Vec<&str> = self.nodes.iter().map(|node| node.name.as_str()).take(NAMED).collect();
            let others = self.nodes.len() - names.len();
            let others = if others == 0 { String::new() } else { format!(", and {others} others") };
            names.join(", ") + &others
        };
        let node = self.nodes.iter().find(|node| node.name == name);
        node.map(|node| vec![node]).ok_or_else(|| {
            let name = name.escape_debug().to_string();
            OverviewError::NoNode(format!("node: there is no node \"{name}\", there are {}", known()))
        })
    }

    /// Returns the end of the newest step of any node.
    pub(crate) fn end(&self) -> Option<u64> {
        match &self.together {
            Some(together) => together.end(self.step_ns),
            None => self.nodes.iter().filter_map(|node| node.history.end()).max(),
        }
    }

    /// Takes a step of a node that is over, and judges it.
    pub(crate) fn push(&mut self, node: usize, step: Step) {
        if let Some(untold) = &mut self.untold {
            if untold.len() == MOST_STEPS {
                untold.pop_front();
            }
            untold.push_back(Step { losing: Vec::new(), ..step.clone() });
        }
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
            self.nodes[node].history.open = Some(Arc::new(Step { start_ns: slot, length_ns, ..step }));
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
