//! The structures in which all workers of a run count, window by window: of one window while it is open, of another while that is answered.

use crate::state::SharedFeed;
use crate::tasks::Tasks;
use sketch::SketchError;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

/// The interval at which a change of windows that waits for an answer checks whether the run is given up.
const LOOK: Duration = Duration::from_millis(50);

/// The structures of one window, by task and level; none of a task whose structure is not shared.
pub(crate) type SharedStates = Vec<Vec<SharedFeed>>;

/// The structures of one window. They are emptied, and free for another window, when all holders have given them back: the workers have turned
/// away, and the window is answered.
#[derive(Debug)]
pub(crate) struct LentStates {
    pub(crate) states: SharedStates,
    back: Sender<SharedStates>,
}

impl Drop for LentStates {
    fn drop(&mut self) {
        let states = std::mem::take(&mut self.states);
        states.iter().flatten().for_each(SharedFeed::reset);
        // The receiver is gone if the run is over.
        let _ = self.back.send(states);
    }
}

/// The structures in which all workers of a run count the tasks of one set: two of each.
#[derive(Debug)]
pub struct SharedCounting {
    open: RwLock<Arc<LentStates>>,
    emptied: Mutex<Receiver<SharedStates>>,
    back: Sender<SharedStates>,
    is_given_up: AtomicBool,
}

impl SharedCounting {
    /// Creates the structures of tasks that share some; `None` of tasks that share none.
    ///
    /// # Errors
    /// If the memory cannot be allocated.
    pub fn new(tasks: &Tasks) -> Result<Option<Arc<Self>>, SketchError> {
        if !tasks.share() {
            return Ok(None);
        }
        let (back, emptied) = channel();
        // It cannot fail: the other end is here.
        let _ = back.send(tasks.shared_states()?);
        let open = RwLock::new(Arc::new(LentStates { states: tasks.shared_states()?, back: back.clone() }));
        Ok(Some(Arc::new(Self {
            open,
            emptied: Mutex::new(emptied),
            back,
            is_given_up: AtomicBool::new(false),
        })))
    }

    /// Returns the structures of the open window.
    pub(crate) fn open(&self) -> Arc<LentStates> {
        Arc::clone(&self.open.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Opens the other structures, once what was counted in them is answered. No worker may be counting.
    pub fn change(&self) {
        let emptied = self.emptied.lock().unwrap_or_else(PoisonError::into_inner);
        let states = loop {
            match emptied.recv_timeout(LOOK) {
                Ok(states) => break states,
                Err(RecvTimeoutError::Timeout) if !self.is_given_up.load(Relaxed) => {}
                Err(_) => return,
            }
        };
        let next = Arc::new(LentStates { states, back: self.back.clone() });
        let mut open = self.open.write().unwrap_or_else(PoisonError::into_inner);
        let before = std::mem::replace(&mut *open, next);
        drop(open);
        // If its window is answered already, it is emptied here.
        drop(before);
    }

    /// Ends the wait of changes for answers, which no longer come.
    pub fn give_up(&self) {
        self.is_given_up.store(true, Relaxed);
    }
}
