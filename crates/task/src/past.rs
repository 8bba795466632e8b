//! Answered windows that later ones are compared with.

use crate::state::FeedState;
use crate::tasks::Tasks;
use sketch::SketchError;
use std::collections::VecDeque;

/// Earlier windows that a task compares with, the oldest first.
#[derive(Debug, Default)]
pub(crate) struct BaselineWindows {
    pub(crate) windows: VecDeque<Vec<FeedState>>,
}

impl BaselineWindows {
    /// Adds `skipped` windows without packets.
    pub(crate) fn skip(&mut self, skipped: u64, tasks: &Tasks, task: usize) -> Result<(), SketchError> {
        let most = tasks.tasks[task].spec.windows_back();
        for _ in 0..skipped.min(most as u64) {
            let mut empty = self.other(most, tasks, task)?;
            empty.iter_mut().for_each(FeedState::reset);
            self.windows.push_back(empty);
        }
        Ok(())
    }

    /// Keeps what was counted and leaves other states in its place, which are to be emptied.
    pub(crate) fn keep(
        &mut self,
        states: &mut Vec<FeedState>,
        tasks: &Tasks,
        task: usize,
    ) -> Result<(), SketchError> {
        let most = tasks.tasks[task].spec.windows_back();
        if most > 0 {
            let other = self.other(most, tasks, task)?;
            self.windows.push_back(std::mem::replace(states, other));
        }
        Ok(())
    }

    /// The oldest one's memory if the maximum number is reached, else new memory.
    pub(crate) fn other(
        &mut self,
        most: usize,
        tasks: &Tasks,
        task: usize,
    ) -> Result<Vec<FeedState>, SketchError> {
        if self.windows.len() >= most
            && let Some(oldest) = self.windows.pop_front()
        {
            return Ok(oldest);
        }
        tasks.states_of(task)
    }
}
