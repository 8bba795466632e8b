//! Memory of what waits to be written: what does not fit waits itself, or is not taken.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// The bytes that may wait.
#[derive(Debug)]
pub(crate) struct Budget {
    most: usize,
    state: Mutex<BudgetState>,
    freed: Condvar,
}

#[derive(Debug)]
struct BudgetState {
    used: usize,
    is_closed: bool,
}

impl Budget {
    pub(crate) fn new(most: usize) -> Self {
        Self { most, state: Mutex::new(BudgetState { used: 0, is_closed: false }), freed: Condvar::new() }
    }

    fn state(&self) -> MutexGuard<'_, BudgetState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes bytes; false where they are not free, or nothing is taken any more. `waits`: until they are. What is larger than all is taken where
    /// nothing waits, so that it is not waited for in vain.
    pub(crate) fn take(&self, bytes: usize, waits: bool) -> bool {
        let fits = |state: &BudgetState| state.used == 0 || state.used.saturating_add(bytes) <= self.most;
        let mut state = self.state();
        while waits && !fits(&state) && !state.is_closed {
            state = self.freed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        let is_free = fits(&state) && !state.is_closed;
        state.used += if is_free { bytes } else { 0 };
        is_free
    }

    pub(crate) fn give(&self, bytes: usize) {
        self.state().used -= bytes;
        self.freed.notify_all();
    }

    /// Closes the budget: nothing is taken any more.
    pub(crate) fn close(&self) {
        self.state().is_closed = true;
        self.freed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn what_waits_goes_on_when_there_is_room_or_the_end() {
        let budget = Arc::new(Budget::new(10));
        assert!(budget.take(8, false));
        assert!(!budget.take(3, false));
        let other = Arc::clone(&budget);
        let waiting = std::thread::spawn(move || other.take(3, true));
        budget.give(1);
        assert!(waiting.join().expect("no panic"));
        budget.give(10);
        assert!(budget.take(30, true) && !budget.take(1, false), "alone it is taken");
        let other = Arc::clone(&budget);
        let waiting = std::thread::spawn(move || other.take(1, true));
        budget.close();
        assert!(!waiting.join().expect("no panic"));
        budget.give(30);
        assert!(!budget.take(1, false));
    }
}
