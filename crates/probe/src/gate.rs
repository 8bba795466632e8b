//! The gate that decides when a replay enters windows.

use engine::{Gate, WindowId};
use protocol::{FromProbe, ProbeLink};
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The interval at which a receiver that waits checks whether the user has ended the run.
const STOP_LOOK: Duration = Duration::from_millis(50);

/// Lets a replay enter windows as the controller says.
pub struct ReplayGate {
    window_ns: u64,
    link: Arc<dyn ProbeLink>,
    stop: Arc<AtomicBool>,
    /// Windows that begin up to this time may be entered.
    until_ns: Mutex<Option<u64>>,
    changed: Condvar,
}

impl fmt::Debug for ReplayGate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReplayGate").field("until_ns", &self.until_ns).finish_non_exhaustive()
    }
}

impl ReplayGate {
    /// A gate that is closed until the controller opens it, or `stop` is set. `window_ns`: the length of windows.
    pub fn new(window_ns: u64, link: Arc<dyn ProbeLink>, stop: Arc<AtomicBool>) -> Arc<Self> {
        Arc::new(Self { window_ns, link, stop, until_ns: Mutex::new(None), changed: Condvar::new() })
    }

    fn until_ns(&self) -> MutexGuard<'_, Option<u64>> {
        self.until_ns.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until all windows may be entered: the controller asks no more of those that are over.
    pub(crate) fn await_end(&self) {
        let mut until_ns = self.until_ns();
        while *until_ns < Some(u64::MAX) && !self.stop.load(Relaxed) {
            let waited = self.changed.wait_timeout(until_ns, STOP_LOOK);
            until_ns = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Lets windows that begin up to this time be entered.
    pub(crate) fn open(&self, until_ns: u64) {
        let mut now = self.until_ns();
        *now = (*now).max(Some(until_ns));
        self.changed.notify_all();
    }
}

impl Gate for ReplayGate {
    fn enter(&self, window: WindowId) {
        let at_ns = window.number().saturating_mul(self.window_ns);
        if self.link.send(FromProbe::Reached { at_ns }).is_err() {
            return;
        }
        let mut until_ns = self.until_ns();
        while *until_ns < Some(at_ns) && !self.stop.load(Relaxed) {
            let waited = self.changed.wait_timeout(until_ns, STOP_LOOK);
            until_ns = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}
