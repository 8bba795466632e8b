//! The decisions that all receivers of a run share, by the number of a window: its tasks, its workers, and when it may be entered.

use crate::config::MeasurementConfig;
use crate::control::Control;
use crate::ids::WindowId;
use crate::window_barrier::Seat;
use crate::worker_use::WorkerUse;
use std::sync::Arc;
use task::{Generation, TaskSet};

/// The part of one receiver in the decisions that all receivers share. It takes locks once a window.
#[derive(Debug)]
pub(super) struct Coordination<'a> {
    control: Option<Control>,
    /// The set by which tasks are counted.
    counting: Option<Generation>,
    /// The number of workers that get packets, if not all of them do.
    worker_use: Option<WorkerUse>,
    /// The place of the receiver at the barrier between windows, if receivers wait for one another.
    seat: Option<Seat<'a>>,
}

impl<'a> Coordination<'a> {
    /// The part of a receiver that is in no window.
    pub(super) fn new(config: &MeasurementConfig, seat: Option<Seat<'a>>) -> Self {
        let (control, worker_use) = (config.control.clone(), config.worker_use.clone());
        Self { control, counting: None, worker_use, seat }
    }

    /// Waits until this window may be entered.
    pub(super) fn await_window(&self, window: WindowId) {
        if let Some(seat) = &self.seat {
            seat.enter(window);
        }
    }

    /// Returns the set of tasks of the window that is entered, if its tasks are counted by another set than those of the window before.
    pub(super) fn other_set(&mut self, window: WindowId) -> Option<Arc<TaskSet>> {
        let control = self.control.as_ref()?;
        let counting = control.enter(window);
        if counting == self.counting {
            return None;
        }
        self.counting = counting;
        Some(control.set(window))
    }

    /// Returns the number of workers that get packets in the window that is entered; `None` if all do.
    pub(super) fn workers(&self, window: WindowId) -> Option<usize> {
        self.worker_use.as_ref().map(|workers| workers.enter(window))
    }

    /// Leaves a window, whose packets are settled then, where receivers wait for one another.
    pub(super) fn leave_window(&self, window: WindowId, settle: impl FnOnce()) {
        if let Some(seat) = &self.seat {
            settle();
            seat.leave(window);
        }
    }

    /// Gives up the place at the barrier between windows.
    pub(super) fn end(&mut self) {
        self.seat = None;
    }
}
