//! The report of what was changed, and why.

use super::knobs::{KnobSetting, KnobValues};

/// A change of a setting.
#[derive(Clone, Debug, PartialEq)]
pub struct SettingChange {
    /// The first window that the change applies to.
    pub window: u64,
    /// The stream time of the end of the window that led to the change, nanoseconds since the epoch.
    pub at_ns: u64,
    /// The setting that changes.
    pub setting: KnobSetting,
    /// The value before, as [`KnobValues::value`] has it.
    pub from: f64,
    /// The value from then on.
    pub to: f64,
    /// The reason for the change.
    pub reason: String,
}

/// Loss is above the bound with everything given up, or is below it again.
#[derive(Clone, Debug, PartialEq)]
pub struct Unmet {
    /// The window in which loss was above the bound, or below it again.
    pub window: u64,
    /// The stream time of the window's end, nanoseconds since the epoch.
    pub at_ns: u64,
    /// The share of the window's frames that was lost.
    pub loss: f64,
    /// True if loss is below the bound again.
    pub is_over: bool,
    /// The reason in words.
    pub reason: String,
}

/// The report of what tuning did in a run.
#[derive(Clone, Debug, PartialEq)]
pub struct TunerReport {
    /// The bound, as a share.
    pub bound: f64,
    /// The changes, oldest first.
    pub changes: Vec<SettingChange>,
    /// The number of earlier changes that were not kept.
    pub changes_unlisted: u64,
    /// The times when the bound could not be kept.
    pub unmet: Vec<Unmet>,
    /// The settings by which the last windows are measured.
    pub settings: KnobValues,
    /// Windows that lost more than the bound while the receiver was off its core and not otherwise.
    pub windows_off_core: u64,
    /// Windows that lost more than the bound.
    pub windows_above: u64,
    /// Windows that were looked at.
    pub windows: u64,
}
