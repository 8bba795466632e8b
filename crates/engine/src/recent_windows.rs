//! Look-back: the rows of recent windows, kept for queries that come after them.
//!
//! The outputs' thread keeps copies of the rows that it reads, up to a number of windows and of bytes. A query reads the copies on the
//! caller's thread: measuring goes on meanwhile, and a run that waits, for packets or at a gate, answers too. An answer is the one
//! that the query would have had in the window's set.

mod kept;
mod ring;

use crate::closed::ClosedWindow;
use crate::ids::WindowId;
use arena::Limits;
use flow::{LossCounts, Rows, WindowRow};
use model::{Answer, Span};
use packet::{KeyV4, KeyV6};
use record::Anonymizer;
use ring::WindowRing;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use task::TaskSet;
use task::rows::RowQueries;

/// Bytes that the rows of this many windows take, each with this many flows of IPv4.
pub fn recent_windows_bytes(windows: u64, flows: u64, tracked: flow::TrackedParts) -> u64 {
    let row = size_of::<WindowRow<KeyV4>>() + if tracked.loss { size_of::<LossCounts>() } else { 0 };
    windows.saturating_mul(flows).saturating_mul(row as u64)
}

/// The memory for kept windows is not there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoRoom {
    /// The memory that kept windows take, bytes.
    pub bytes: usize,
    /// The memory that is left of the run's for kept windows, bytes.
    pub left: usize,
}

impl fmt::Display for NoRoom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { bytes, left } = self;
        write!(f, "look-back takes {bytes} bytes, and {left} are left of the run's memory")
    }
}

impl std::error::Error for NoRoom {}

/// The reason why windows cannot be looked back at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotKept {
    /// No windows are kept.
    Off,
    /// The windows are no longer kept, or never were.
    Gone,
    /// The windows are not closed.
    NotYet,
    /// Windows of the run begin and end at other times.
    OtherWindows,
}

impl NotKept {
    /// Returns the name under which the reason is reported.
    pub fn name(self) -> &'static str {
        match self {
            Self::Off => "look_back_off",
            Self::Gone => "not_kept",
            Self::NotYet => "not_closed",
            Self::OtherWindows => "other_windows",
        }
    }
}

impl fmt::Display for NotKept {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Off => "look_back_off: no windows are kept here",
            Self::Gone => "not_kept: the window is not kept, or no longer",
            Self::NotYet => "not_closed: the window is not closed",
            Self::OtherWindows => "other_windows: windows begin and end at other times here",
        })
    }
}

impl std::error::Error for NotKept {}

/// Counts of the windows that are kept, with their bytes, and of those that are not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LookBackCounts {
    /// Closed windows that are kept.
    pub windows: usize,
    /// The bytes of the rows of kept windows, and of rows of windows that are not closed.
    pub bytes: usize,
    /// Windows that went before others took their places, because the bytes were full.
    pub dropped_early: u64,
    /// Windows whose rows alone take more than all bytes.
    pub too_large: u64,
}

/// The recent windows of a run. Cloning gives another handle to the same ones.
#[derive(Clone, Debug)]
pub struct RecentWindows {
    shared: Arc<SharedWindowRing>,
}

#[derive(Debug)]
struct SharedWindowRing {
    /// The first window that is kept; [`OFF`] where none is. Measuring threads read it once a window.
    from: AtomicU64,
    ring: Mutex<WindowRing>,
}

/// No window has this number.
const OFF: u64 = u64::MAX;

impl Default for RecentWindows {
    fn default() -> Self {
        Self { shared: Arc::new(SharedWindowRing { from: AtomicU64::new(OFF), ring: Mutex::default() }) }
    }
}

impl RecentWindows {
    fn ring(&self) -> MutexGuard<'_, WindowRing> {
        self.shared.ring.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps windows as [`crate::Control::keep_windows`] does, which then says where keeping begins.
    pub(crate) fn keep(&self, windows: usize, bytes: usize, limits: &Limits) -> Result<(), NoRoom> {
        let mut ring = self.ring();
        ring.resize(windows, bytes, limits)?;
        if !ring.is_on() {
            self.shared.from.store(OFF, Relaxed);
        }
        Ok(())
    }

    /// Windows are kept from this one on, which no receiver has entered, if none were so far.
    pub(crate) fn start(&self, next: WindowId) {
        // What the others read of it is a number by itself.
        let _ = self.shared.from.compare_exchange(OFF, next.number(), Relaxed, Relaxed);
    }

    /// A replay is about to enter `window` after `before`, the only receiver.
    pub(crate) fn reach(&self, before: WindowId, window: WindowId) {
        if self.keeps(before) {
            self.ring().reach(before, window);
        }
    }

    /// Makes ready for another run: its first window is kept too.
    pub(crate) fn restart(&self) {
        let mut ring = self.ring();
        ring.restart();
        self.shared.from.store(if ring.is_on() { 0 } else { OFF }, Relaxed);
    }

    /// Sets what answers say of the observation point, and how addresses leave it.
    pub(crate) fn begin(&self, node: &str, anonymizer: Option<&Anonymizer>) {
        self.ring().begin(node, anonymizer);
    }

    /// Returns true if the rows of this window are wanted.
    pub(crate) fn keeps(&self, window: WindowId) -> bool {
        window.number() >= self.shared.from.load(Relaxed)
    }

    /// Takes rows of a window.
    pub(crate) fn rows(&self, window: WindowId, v4: &Rows<KeyV4>, v6: &Rows<KeyV6>) {
        if self.keeps(window) {
            self.ring().rows(window, v4, v6);
        }
    }

    /// A window, all rows of which have come, is closed, and this set answers it.
    pub(crate) fn close(&self, closed: &ClosedWindow, set: &Arc<TaskSet>) {
        if self.keeps(closed.window) {
            self.ring().close(closed, set);
        }
    }

    /// Returns what the queries would have answered in the windows of this time: of each window with packets, of each run of windows
    /// without, and of windows of other lengths that lie in it. The call takes as long as reading the rows does, and blocks no other thread.
    ///
    /// # Errors
    /// If one of the windows is not kept.
    pub fn ask(&self, span: Span, queries: &RowQueries) -> Result<Vec<Answer>, NotKept> {
        let found = self.ring().find(span)?;
        Ok(found.answers(span, queries))
    }

    /// Returns the counts of the windows that are kept and of those that are not.
    pub fn counts(&self) -> LookBackCounts {
        self.ring().counts()
    }

    /// A line for the user, where less was kept than was to be.
    pub(crate) fn warning(&self) -> Option<String> {
        let LookBackCounts { dropped_early, too_large, .. } = self.counts();
        let line = format!(
            "look-back: {dropped_early} windows went early and {too_large} were too large: its memory was full"
        );
        (dropped_early + too_large != 0).then_some(line)
    }
}
