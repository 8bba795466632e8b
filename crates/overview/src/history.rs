//! The steps of one node, and the minutes of who reaches whom.

use crate::ranking::Ranking;
use crate::reach::Reach;
use crate::step::Step;
use model::Span;
use std::collections::VecDeque;
use std::sync::Arc;

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
#[derive(Debug, Default)]
pub(crate) struct History {
    /// Whoever answers a question has the steps too, so that the state is not locked meanwhile.
    pub(crate) steps: VecDeque<Arc<Step>>,
    /// The memory that these take, bytes.
    steps_bytes: usize,
    /// The step that is not over yet.
    pub(crate) open: Option<Arc<Step>>,
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

    /// Returns the same steps, without the minutes.
    pub(crate) fn shared(&self) -> Self {
        let Self { steps, steps_bytes, open, minutes: _, has_ended } = self;
        Self {
            steps: steps.clone(),
            steps_bytes: *steps_bytes,
            open: open.clone(),
            minutes: VecDeque::new(),
            has_ended: *has_ended,
        }
    }

    /// Adds a step that is over. It joins the one that there is of its slot.
    pub(crate) fn push(&mut self, step: Step, step_ns: u64) {
        let start_ns = step.start_ns - step.start_ns % step_ns;
        let at = self.steps.partition_point(|own| own.start_ns < start_ns);
        if self.steps.get(at).is_none_or(|own| own.start_ns != start_ns) {
            let new = Arc::new(Step { start_ns, length_ns: step_ns, ..step });
            self.steps_bytes += new.memory();
            self.steps.insert(at, new);
            return;
        }
        self.change(at, |own| {
            own.join(&step);
            (own.start_ns, own.length_ns) = (start_ns, step_ns);
        });
    }

    /// Keeps this number of groups in each ranking of the step that begins then, and a bounded number of names.
    pub(crate) fn list(&mut self, start_ns: u64, groups: usize) {
        let at = self.steps.partition_point(|own| own.start_ns < start_ns);
        if self.steps.get(at).is_none_or(|own| own.start_ns != start_ns) {
            return;
        }
        self.change(at, |own| {
            for ranking in &mut own.rankings {
                let Ranking { leaders, others } = std::mem::take(ranking);
                *ranking = Ranking::new(leaders, others, groups);
            }
            own.losing.clear();
            own.totals.bound_names();
        });
    }

    /// Changes a step, and no copy of it that a question has.
    pub(crate) fn change(&mut self, at: usize, change: impl FnOnce(&mut Step)) {
        // A copy may take less.
        self.steps_bytes -= self.steps[at].memory();
        let own = Arc::make_mut(&mut self.steps[at]);
        change(own);
        self.steps_bytes += own.memory();
    }

    /// Adds a step behind all others.
    pub(crate) fn append(&mut self, step: Arc<Step>) {
        self.steps_bytes += step.memory();
        self.steps.push_back(step);
    }

    /// Makes steps of this length of those that there are, which are shorter.
    pub(crate) fn lengthen(&mut self, step_ns: u64) {
        let steps = std::mem::take(&mut self.steps);
        self.steps_bytes = 0;
        steps.into_iter().for_each(|step| self.push(Arc::unwrap_or_clone(step), step_ns));
    }

    /// Forgets steps that end before this time.
    pub(crate) fn forget_before(&mut self, ns: u64) {
        while self.steps.front().is_some_and(|step| step.span().end_ns <= ns) {
            self.steps_bytes -= self.steps.pop_front().map_or(0, |step| step.memory());
        }
    }

    /// Returns the step that begins at this time, an open one too.
    pub(crate) fn step(&self, start_ns: u64) -> Option<&Arc<Step>> {
        let is_it = |step: &&Arc<Step>| step.start_ns == start_ns;
        // Where none is missing the place follows from the first one, and few steps are looked at.
        let first = self.steps.front();
        let guess =
            first.and_then(|first| Some(start_ns.checked_sub(first.start_ns)? / first.length_ns.max(1)));
        let guess = guess.and_then(|at| self.steps.get(usize::try_from(at).ok()?)).filter(is_it);
        let over = guess.or_else(|| {
            let at = self.steps.partition_point(|step| step.start_ns < start_ns);
            self.steps.get(at).filter(is_it)
        });
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
        self.steps_bytes + self.open.as_ref().map_or(0, |step| step.memory()) + self.minutes_memory()
    }

    /// Returns the memory that the minutes take, bytes.
    pub(crate) fn minutes_memory(&self) -> usize {
        self.minutes.iter().map(|minute| size_of::<ReachMinute>() + minute.reach.memory()).sum()
    }

    /// Returns the memory that a node takes at most, bytes.
    pub(crate) fn most_memory(steps: usize) -> usize {
        use crate::reach::{Peers, PortsReached, REACHING};
        let lists = REACHING * (2 * size_of::<Peers>() + size_of::<PortsReached>());
        (steps + 1) * Step::most_memory() + REACH_MINUTES * (size_of::<ReachMinute>() + lists)
    }
}
