//! Wakes a thread that waits for something to do.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

/// Wakes the thread of a sink. Clones are of the same bell.
#[derive(Clone, Debug, Default)]
pub struct Bell(Arc<(Mutex<bool>, Condvar)>);

impl Bell {
    /// Tells the sink that there is something to do.
    pub fn ring(&self) {
        let (rung, condition) = &*self.0;
        *rung.lock().unwrap_or_else(PoisonError::into_inner) = true;
        condition.notify_all();
    }

    /// Waits until it is rung, or has been since the last call, for this long at most.
    pub(crate) fn wait(&self, most: Duration) {
        let (rung, condition) = &*self.0;
        let guard = rung.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = condition.wait_timeout_while(guard, most, |rung| !*rung);
        *waited.unwrap_or_else(PoisonError::into_inner).0 = false;
    }
}
