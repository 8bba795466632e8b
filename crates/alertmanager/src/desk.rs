//! The state that the threads of a notifier share.

use crate::Book;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The state that the threads share, behind the lock of [`NotifierMonitor`].
#[derive(Debug)]
pub(crate) struct NotifierState {
    pub(crate) book: Book,
    /// True for each thread, by its number, if something in the book is new since it looked.
    pub(crate) is_new: Vec<bool>,
    /// The time when the threads end at the latest.
    pub(crate) ends: Option<Instant>,
    /// The messages that are still to be said.
    pub(crate) lines: Vec<String>,
}

#[derive(Debug)]
pub(crate) struct NotifierMonitor {
    shared: Mutex<NotifierState>,
    bell: Condvar,
}

impl NotifierMonitor {
    pub(crate) fn new(shared: NotifierState) -> Self {
        Self { shared: Mutex::new(shared), bell: Condvar::new() }
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, NotifierState> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until something is new for this thread, for so long at most.
    pub(crate) fn wait(&self, number: usize, most: Duration) {
        let guard = self.lock();
        let waited = self.bell.wait_timeout_while(guard, most, |shared| !shared.is_new[number]);
        waited.unwrap_or_else(PoisonError::into_inner).0.is_new[number] = false;
    }

    /// Tells all threads that something is new.
    pub(crate) fn ring(&self, mut shared: MutexGuard<'_, NotifierState>) {
        shared.is_new.fill(true);
        drop(shared);
        self.bell.notify_all();
    }
}
