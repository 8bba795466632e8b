//! The desk for tasks that rows of windows answer: exactly, by the thread that takes the rows.

use crate::answering::Answering;
use crate::feed::Feeder;
use crate::generation::Generation;
use crate::reported::{ReportedFacts, ReportedWindows};
use crate::task_answer::TaskAnswer;
use crate::task_memory::TaskMemory;
use crate::tasks::{TaskStates, Tasks};
use flow::{Rows, WindowId};
use packet::{KeyV4, KeyV6};
use sketch::SketchError;

/// The counts of the rows of one window so far.
#[derive(Debug)]
pub struct RowTaskStates(TaskStates);

/// Counts rows of windows for the tasks of one set after the other.
#[derive(Debug, Default)]
pub struct RowDesk {
    /// The set whose windows are answered.
    set: Option<Answering>,
    /// The feeder that makes rows ready, for the set of this generation.
    feeder: Option<(Generation, Feeder)>,
    reported: ReportedWindows,
}

impl RowDesk {
    /// Creates the empty counts of a window that these tasks answer. Its tables are its own: those of an earlier window have grown, and are
    /// there or not as the threads have run, so that what is said of their memory would differ from run to run.
    ///
    /// # Errors
    /// If the machine does not have the memory.
    pub fn window(tasks: &Tasks) -> Result<RowTaskStates, SketchError> {
        tasks.states().map(RowTaskStates)
    }

    /// Counts rows of a window of these tasks.
    pub fn add(&mut self, tasks: &Tasks, states: &mut RowTaskStates, v4: &Rows<KeyV4>, v6: &Rows<KeyV6>) {
        let feeder = self.feeder.take().filter(|(generation, _)| *generation == tasks.generation());
        let (generation, mut feeder) = feeder.unwrap_or_else(|| (tasks.generation(), tasks.feeder()));
        if !v4.is_empty() {
            feeder.feed_rows_v4(v4);
            states.0.count_rows(tasks, &feeder);
        }
        if !v6.is_empty() {
            feeder.feed_rows_v6(v6);
            states.0.count_rows(tasks, &feeder);
        }
        self.feeder = Some((generation, feeder));
    }

    /// The answers of a window, all rows of which have come. One without rows is answered as one in which nothing was counted, and later
    /// ones are compared with it. `missing`: why rows or packets are not among them. Windows come in order.
    pub fn report(
        &mut self,
        tasks: &Tasks,
        window: WindowId,
        states: Option<RowTaskStates>,
        reported: ReportedFacts,
        missing: Option<String>,
    ) -> Vec<TaskAnswer> {
        let goes_on =
            |set: &Answering| set.tasks.generation() == tasks.generation() || tasks.continues(&set.tasks);
        if !self.set.as_ref().is_some_and(goes_on) {
            // They begin anew: what changed is measured against windows of the same set.
            self.set = Some(Answering::new(window, tasks.clone(), TaskMemory::default()));
        }
        let Some(set) = &self.set else { return Vec::new() };
        let states = match states {
            None if missing.is_none() => Self::window(tasks).ok(),
            states => states,
        };
        let mut answers = match states {
            Some(RowTaskStates(mut states)) => set.answer(window, &mut states, &mut missing.clone()),
            None => set.answer_nothing(missing.as_deref(), &reported.untold).unwrap_or_default(),
        };
        let is_cut = reported.is_cut;
        self.reported.finish(set, window, (reported, missing.is_some()), &mut answers);
        if missing.is_some() {
            answers.iter_mut().for_each(TaskAnswer::forget_bounds);
        }
        if missing.is_some() && !is_cut {
            self.reported.mark_lacking(window);
        }
        answers
    }
}
