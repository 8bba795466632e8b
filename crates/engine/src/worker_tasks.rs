//! Tasks that a worker counts in addition to its flow tables.

use crate::control::Control;
use crate::counting::WorkerHalf;
use crate::ids::{WindowId, WorkerId};
use packet::Bursts;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::TryRecvError;
use task::{TaskSet, TaskStates};

/// The destination of what was counted in a window.
pub(crate) type TaskOutlet = Box<dyn Fn(WindowId, Box<TaskStates>) + Send>;

/// The tasks that one worker counts. When a window turns, the worker continues in states that were emptied elsewhere, and waits for them if
/// the previous window is not answered yet: each worker has two.
pub(crate) struct WorkerTasks {
    control: Control,
    worker: WorkerId,
    half: Option<WorkerHalf>,
    outlet: Option<TaskOutlet>,
    /// True while the worker waits for emptied states.
    waits: Arc<AtomicBool>,
}

impl WorkerTasks {
    /// Counts nothing until a window is entered.
    pub(crate) fn new(control: Control, worker: WorkerId) -> Self {
        Self { control, worker, half: None, outlet: None, waits: Arc::default() }
    }

    /// Sets the destination of states, which are discarded until then, and the flag that is set while it
    /// waits for others.
    pub(crate) fn set_outlet(&mut self, outlet: TaskOutlet, waits: Arc<AtomicBool>) {
        (self.outlet, self.waits) = (Some(outlet), waits);
    }

    /// Lets another set determine what is counted from this window on.
    pub(crate) fn enter(&mut self, window: WindowId) {
        self.half = self.control.exchange(self.worker, window, self.half.take());
    }

    /// The set that answers this window.
    pub(crate) fn set(&self, window: WindowId) -> Arc<TaskSet> {
        self.control.set(window)
    }

    /// Counts packets.
    #[inline]
    pub(crate) fn count(&mut self, bursts: &Bursts) {
        if let Some(half) = &mut self.half {
            half.counter.count(bursts);
        }
    }

    /// The window is over.
    pub(crate) fn turn(&mut self, window: WindowId) {
        let (Some(outlet), Some(half)) = (&self.outlet, &mut self.half) else { return };
        // Nothing arrives if the answering thread has failed, and the run with it.
        let Some(empty) = emptied(half, &self.waits) else { return };
        outlet(window, half.counter.turn(empty));
    }
}

fn emptied(half: &WorkerHalf, waits: &AtomicBool) -> Option<Box<TaskStates>> {
    match half.spare.try_recv() {
        Err(TryRecvError::Empty) => {}
        states => return states.ok(),
    }
    waits.store(true, Relaxed);
    let states = half.spare.recv().ok();
    waits.store(false, Relaxed);
    states
}

impl fmt::Debug for WorkerTasks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WorkerTasks")
    }
}
