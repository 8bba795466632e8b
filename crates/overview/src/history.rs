//! The steps of one node, and the minutes of who reaches whom.

use crate::reach::Reach;
use crate::step::Step;
use model::Span;
use std::collections::VecDeque;

/// The number of minutes of which it is known who reaches whom.
const REACH_MINUTES: usize = 61;

/// A minute, or what there is of it, and who reached whom in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ReachMinute {
    pub(crate) span: Span,
    pub(crate) reach: Reach,
    /// True if more of the minute follows.
    pub(crate) is_open: bool,
}

/// The steps of a node, the oldest first. Their lengths are the same, except of one that is open, and they begin at multiples of it.
#[derive(Clone, Debug, Default)]
pub(crate) struct History {
    pub(crate) steps: VecDeque<Step>,
    /// The step that is not over yet.
    pub(crate) open: Option<Step>,
    pub(crate) minutes: VecDeque<ReachMinute>,
    pub(crate) has_ended: bool,
}

impl History {
    /// Returns the begin of the oldest step.
    pub(crate) fn begin(&self) -> Option<u64> {
        self.steps.front().or(self.open.as_ref()).map(|step| step.start_ns)
    }

    /// Returns the end of the newest step, which may be open.
    pub(crate) fn end(&self) -> Option<u64> {
        let newest = self.open.as_ref().or(self.steps.back());
        newest.map(|step| step.span().end_ns)
    }

    /// Adds a step that is over. It joins the one that there is of its slot.
    pub(crate) fn push(&mut self, mut step: Step, step_ns: u64) {
        let start_ns = step.start_ns - step.start_ns % step_ns;
        let at = self.steps.partition_point(|own| own.start_ns < start_ns);
        match self.steps.get_mut(at).filter(|own| own.start_ns == start_ns) {
            Some(own) => own.join(&step),
            None => {
                step.start_ns = start_ns;
                self.steps.insert(at, step);
            }
        }
        self.steps[at].length_ns = step_ns;
        self.steps[at].start_ns = start_ns;
    }

    /// Makes steps of this length of those that there are, which are shorter.
    pub(crate) fn lengthen(&mut self, step_ns: u64) {
        let steps = std::mem::take(&mut self.steps);
        steps.into_iter().for_each(|step| self.push(step, step_ns));
    }

    /// Forgets steps that end before this time.
    pub(crate) fn forget_before(&mut self, ns: u64) {
        while self.steps.front().is_some_and(|step| step.span().end_ns <= ns) {
            self.steps.pop_front();
        }
    }

    /// Returns the step that begins at this time, an open one too.
    pub(crate) fn step(&self, start_ns: u64) -> Option<&Step> {
        let at = self.steps.partition_point(|step| step.start_ns < start_ns);
        let over = self.steps.get(at).filter(|step| step.start_ns == start_ns);
        over.or(self.open.as_ref().filter(|step| step.start_ns == start_ns))
    }

    /// Takes a minute, in the place of the last one where that is the same and was not over.
    pub(crate) fn push_minute(&mut self, minute: ReachMinute) {
        if self.minutes.back().is_some_and(|last| last.is_open) {
            self.minutes.pop_back();
        }
        if self.minutes.len() == REACH_MINUTES {
            self.minutes.pop_front();
        }
        self.minutes.push_back(minute);
    }

    pub(crate) fn memory(&self) -> usize {
        let steps = self.steps.iter().chain(&self.open).map(Step::memory).sum::<usize>();
        steps
            + self
                .minutes
                .iter()
                .map(|minute| size_of::<ReachMinute>() + minute.reach.memory())
                .sum::<usize>()
    }

    /// Returns the memory that a node takes at most, bytes.
    pub(crate) fn most_memory(steps: usize) -> usize {
        use crate::reach::{Peers, PortsReached, REACHING};
        let lists = REACHING * (2 * size_of::<Peers>() + size_of::<PortsReached>());
        (steps + 1) * Step::most_memory() + REACH_MINUTES * (size_of::<ReachMinute>() + lists)
    }
}
