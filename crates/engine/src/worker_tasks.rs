//! Tasks that a worker counts beside its flow tables.

use crate::ids::WindowId;
use packet::Bursts;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, TryRecvError};
use task::{TaskCounter, TaskStates, Tasks};

/// Where what was counted of a window goes.
pub(crate) type Outlet = Box<dyn Fn(WindowId, Box<TaskStates>) + Send>;

/// What one worker counts. When a window turns it goes on in states that were emptied elsewhere, and waits for them where the
/// window before is not answered yet: there are two for each worker.
pub(crate) struct WorkerTasks {
    counter: TaskCounter,
    spare: Receiver<Box<TaskStates>>,
    outlet: Option<Outlet>,
    /// Set while it waits for emptied states.
    waits: Arc<AtomicBool>,
}

impl WorkerTasks {
    /// Counts into `states`; `spare` is where others come from.
    pub(crate) fn new(tasks: &Tasks, states: Box<TaskStates>, spare: Receiver<Box<TaskStates>>) -> Self {
        Self { counter: TaskCounter::new(tasks, states), spare, outlet: None, waits: Arc::default() }
    }

    /// Says where states go, until then they go nowhere; and what is set while it waits for others.
    pub(crate) fn set_outlet(&mut self, outlet: Outlet, waits: Arc<AtomicBool>) {
        (self.outlet, self.waits) = (Some(outlet), waits);
    }

    /// Counts packets.
    #[inline]
    pub(crate) fn count(&mut self, bursts: &Bursts) {
        self.counter.count(bursts);
    }

    /// The window is over.
    pub(crate) fn turn(&mut self, window: WindowId) {
        // Nothing comes where whoever answers has failed, and the run with it.
        let (Some(outlet), Some(empty)) = (&self.outlet, self.emptied()) else { return };
        outlet(window, self.counter.turn(empty));
    }

    fn emptied(&self) -> Option<Box<TaskStates>> {
        match self.spare.try_recv() {
            Err(TryRecvError::Empty) => {}
            states => return states.ok(),
        }
        self.waits.store(true, Relaxed);
        let states = self.spare.recv().ok();
        self.waits.store(false, Relaxed);
        states
    }
}

impl fmt::Debug for WorkerTasks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WorkerTasks")
    }
}
