//! The last windows, kept so that late ones are judged in their order.
//!
//! A machine takes windows in the order of their ends. Where one may still come, a timeline keeps the state from before it, and what was
//! known of it and of all windows since. When it comes, these are taken again from there, so that the state is that of windows which all came
//! in time, whatever their order. What was told stays told: only what is new is told, as late.

use crate::machine::{MachineStep, Report};
use std::collections::{HashSet, VecDeque};

/// A timeline: what has been told and what is kept. `S` is a state that windows change, `I` what is known of the windows that end at one
/// time.
#[derive(Clone, Debug)]
pub struct Timeline<S, I> {
    now: S,
    /// The state before the first of `kept`; `None` without any.
    base: Option<S>,
    kept: VecDeque<TimelineEntry<I>>,
    /// The events and reports that were told of all that is kept.
    told: HashSet<TimelineOutput>,
}

#[derive(Clone, Debug)]
struct TimelineEntry<I> {
    end_ns: u64,
    input: I,
    /// True if windows that end then may still come.
    is_open: bool,
    told: Vec<TimelineOutput>,
}

/// An event or a report, which is told once.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum TimelineOutput {
    Event(String),
    Report { cause: String, node: usize, end_ns: u64 },
}

impl TimelineOutput {
    fn report(report: &Report) -> Self {
        Self::Report { cause: report.cause.clone(), node: report.node, end_ns: report.window.end_ns }
    }
}

impl<S: Clone, I> Timeline<S, I> {
    /// A timeline that begins with this state.
    pub fn new(state: S) -> Self {
        Self { now: state, base: None, kept: VecDeque::new(), told: HashSet::new() }
    }

    /// The state after all windows.
    pub fn now(&self) -> &S {
        &self.now
    }

    /// Returns true if all windows that were taken are final.
    pub fn is_final(&self) -> bool {
        self.kept.is_empty()
    }

    /// Returns what is kept, the oldest first: the ends of windows, and what is known of them.
    pub fn kept(&self) -> impl DoubleEndedIterator<Item = (u64, &I)> {
        self.kept.iter().map(|kept| (kept.end_ns, &kept.input))
    }

    /// Takes the windows that end at this time, later than those before. `is_open`: some of them may still come.
    pub fn take(
        &mut self,
        end_ns: u64,
        mut input: I,
        is_open: bool,
        step: impl FnOnce(&mut S, &mut I) -> MachineStep,
    ) -> MachineStep {
        if is_open && self.base.is_none() {
            self.base = Some(self.now.clone());
        }
        let step = step(&mut self.now, &mut input);
        if self.base.is_some() {
            let told: Vec<TimelineOutput> = told(&step).collect();
            self.told.extend(told.iter().cloned());
            self.kept.push_back(TimelineEntry { end_ns, input, is_open, told });
        }
        step
    }

    /// Ends the timeline: no windows follow, and all that were taken are final.
    pub fn end(&mut self, end: impl FnOnce(&mut S) -> MachineStep) -> MachineStep {
        self.kept.clear();
        self.base = None;
        end(&mut self.now)
    }

    /// Changes what is known of the windows that end then, and takes them and those after them again with `step`. Returns what is new,
    /// the oldest first; `None` if these windows are final.
    pub fn change(
        &mut self,
        end_ns: u64,
        change: impl FnOnce(&mut I),
        mut step: impl FnMut(&mut S, u64, &mut I) -> MachineStep,
    ) -> Option<Vec<MachineStep>> {
        let at = self.kept.iter().position(|kept| kept.end_ns == end_ns)?;
        change(&mut self.kept[at].input);
        let mut state = self.base.clone()?;
        let mut new = Vec::new();
        for kept in &mut self.kept {
            let mut own = step(&mut state, kept.end_ns, &mut kept.input);
            own.events.retain(|event| !self.told.contains(&TimelineOutput::Event(event.event.clone())));
            own.events.iter_mut().for_each(|event| event.late = true);
            own.reports.retain(|report| !self.told.contains(&TimelineOutput::report(report)));
            let is_new = |event: &String| own.events.iter().any(|own| own.event == *event);
            own.started.retain(|started| started.events.iter().any(is_new));
            let told: Vec<TimelineOutput> = told(&own).collect();
            if !told.is_empty() {
                self.told.extend(told.iter().cloned());
                kept.told.extend(told);
                new.push(own);
            }
        }
        self.now = state;
        Some(new)
    }

    /// Windows that end by this time are final. Those after the last one that may still come are not kept either.
    pub fn settle(&mut self, until_ns: u64, mut step: impl FnMut(&mut S, u64, &mut I) -> MachineStep) {
        let is_final = |kept: &TimelineEntry<I>| kept.end_ns <= until_ns || !kept.is_open;
        while self.kept.front().is_some_and(is_final) {
            let Some(mut kept) = self.kept.pop_front() else { break };
            if let Some(base) = self.base.as_mut().filter(|_| !self.kept.is_empty()) {
                step(base, kept.end_ns, &mut kept.input);
            }
            kept.told.iter().for_each(|told| {
                self.told.remove(told);
            });
        }
        if self.kept.is_empty() {
            self.base = None;
        }
    }

    /// Closes the windows that end then: no others come.
    pub fn close(&mut self, end_ns: u64) {
        self.kept.iter_mut().filter(|kept| kept.end_ns == end_ns).for_each(|kept| kept.is_open = false);
    }
}

fn told(step: &MachineStep) -> impl Iterator<Item = TimelineOutput> {
    let events = step.events.iter().map(|event| TimelineOutput::Event(event.event.clone()));
    events.chain(step.reports.iter().map(TimelineOutput::report))
}
