//! What the threads of a notifier share.

use crate::Book;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// What threads share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) book: Book,
    /// There is something new in it since a thread looked, by its number.
    pub(crate) is_new: Vec<bool>,
    /// When the threads end at the latest.
    pub(crate) ends: Option<Instant>,
    /// What is to be said.
    pub(crate) lines: Vec<String>,
}

#[derive(Debug)]
pub(crate) struct Desk {
    shared: Mutex<Shared>,
    bell: Condvar,
}

impl Desk {
    pub(crate) fn new(shared: Shared) -> Self {
        Self { shared: Mutex::new(shared), bell: Condvar::new() }
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until something is new for this thread, for so long at most.
    pub(crate) fn wait(&self, number: usize, most: Duration) {
        let guard = self.lock();
        let waited = self.bell.wait_timeout_while(guard, most, |shared| !shared.is_new[number]);
        waited.unwrap_or_else(PoisonError::into_inner).0.is_new[number] = false;
    }

    /// Tells all threads that something is new.
    pub(crate) fn ring(&self, mut shared: MutexGuard<'_, Shared>) {
        shared.is_new.fill(true);
        drop(shared);
        self.bell.notify_all();
    }
}
