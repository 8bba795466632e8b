//! What was changed, and why.

use super::knobs::{Setting, Settings};

/// A change of a setting.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// The first window that it applies to.
    pub window: u64,
    /// Stream time of the end of the window that led to it, nanoseconds since the epoch.
    pub at_ns: u64,
    /// What changes.
    pub setting: Setting,
    /// The value before, as [`Settings::value`] has it.
    pub from: f64,
    /// The value from then on.
    pub to: f64,
    /// Why.
    pub reason: String,
}

/// Loss is above the bound with everything given up, or is below it again.
#[derive(Clone, Debug, PartialEq)]
pub struct Unmet {
    /// The window that told it.
    pub window: u64,
    /// Stream time of its end, nanoseconds since the epoch.
    pub at_ns: u64,
    /// The share of its frames that was lost.
    pub loss: f64,
    /// It is below the bound again.
    pub is_over: bool,
    /// In words.
    pub reason: String,
}

/// What tuning did in a run.
#[derive(Clone, Debug, PartialEq)]
pub struct TuningReport {
    /// The bound, as a share.
    pub bound: f64,
    /// The changes, oldest first.
    pub changes: Vec<Change>,
    /// Earlier ones that were not kept.
    pub changes_unlisted: u64,
    /// When the bound could not be kept.
    pub unmet: Vec<Unmet>,
    /// What the last windows are measured by.
    pub settings: Settings,
    /// Windows that lost more than the bound while the receiver was off its core and not otherwise.
    pub windows_off_core: u64,
    /// Windows that lost more than the bound.
    pub windows_above: u64,
    /// Windows that were looked at.
    pub windows: u64,
}
