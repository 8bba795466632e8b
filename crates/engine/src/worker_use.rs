//! The number of workers that are given packets in each window.
//!
//! As the set of tasks of a window, their number is a function of the window's number, so that all receivers agree on it. Receivers take
//! the lock once a window.

use crate::ids::WindowId;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Sets how many workers of each receiver are given packets, while packets flow. The flows of those that are not are the others'.
///
/// A window's flows are on one worker each, whatever the number was before. A flow that goes to another worker between two windows
/// gets a record there. On a worker that gets no more packets all records end, by `end` (IPFIX: forced end); where a worker is put to use
/// again, the flows that come to it leave records behind that end by their timeouts. Sums over records and windows are exact either way. Cloning
/// gives another handle to the same number.
#[derive(Clone, Debug)]
pub struct WorkerUse(Arc<Mutex<WorkerSchedule>>);

#[derive(Debug)]
struct WorkerSchedule {
    /// The latest window that a receiver has entered.
    entered: Option<WindowId>,
    /// Numbers by the first window of each, in order. The first one is that of all windows before the second.
    numbers: Vec<(WindowId, usize)>,
}

impl WorkerSchedule {
    fn number(&self, window: WindowId) -> usize {
        let after = self.numbers.partition_point(|(first, _)| *first <= window);
        self.numbers[after.saturating_sub(1)].1
    }
}

impl WorkerUse {
    /// A run begins with this many workers of each receiver, at least one.
    pub fn new(workers: usize) -> Self {
        let numbers = vec![(WindowId::default(), workers.max(1))];
        Self(Arc::new(Mutex::new(WorkerSchedule { entered: None, numbers })))
    }

    fn schedule(&self) -> MutexGuard<'_, WorkerSchedule> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives packets to this many workers of each receiver, at least one, from the returned window on, the first that no receiver has
    /// entered.
    pub fn set(&self, workers: usize) -> WindowId {
        let mut schedule = self.schedule();
        let first = schedule.entered.map_or(WindowId::default(), WindowId::next);
        schedule.numbers.retain(|(window, _)| *window < first);
        schedule.numbers.push((first, workers.max(1)));
        first
    }

    /// A receiver enters this window. Returns how many workers it is to use.
    pub(crate) fn enter(&self, window: WindowId) -> usize {
        let mut schedule = self.schedule();
        schedule.entered = schedule.entered.max(Some(window));
        schedule.number(window)
    }

    /// No receiver is in a window before this one.
    pub(crate) fn forget_before(&self, window: WindowId) {
        let mut schedule = self.schedule();
        let after = schedule.numbers.partition_point(|(first, _)| *first <= window);
        schedule.numbers.drain(..after.saturating_sub(1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_holds_from_the_first_window_that_is_not_entered() {
        let workers = WorkerUse::new(4);
        let enter = |number| workers.enter(WindowId::new(number));
        assert_eq!(workers.set(3), WindowId::new(0));
        assert_eq!((enter(7), enter(5)), (3, 3));
        assert_eq!(workers.set(1), WindowId::new(8));
        // Replaced before a window began with it; none is not possible.
        assert_eq!(workers.set(0), WindowId::new(8));
        assert_eq!((enter(7), enter(8)), (3, 1));
        workers.forget_before(WindowId::new(8));
        assert_eq!(enter(9), 1);
    }
}
