//! What `--adapt` changed.

use crate::{Integer, Positive, Span, Time};
use serde::{Deserialize, Serialize};

/// The settings of a run that tunes itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TuningSettings {
    /// Workers of each receiver in use; 0 where receivers count themselves.
    #[serde(with = "Integer")]
    pub workers: u64,
    /// The share of the idle timeout after which flow records end.
    pub idle_timeout: f64,
    /// The share of the memory that tasks were asked to have.
    pub task_memory: f64,
    /// The share of the packets that is measured.
    pub share: f64,
}

/// A change of a setting.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TuningChange {
    /// The first window that it applies to.
    pub window: Span,
    /// Stream time of the end of the window that led to it.
    #[serde(rename = "at", with = "Time")]
    pub at_ns: u64,
    /// `workers`, `idle_timeout`, `task_memory` or `share`.
    pub setting: String,
    /// Its value before, as in [`TuningSettings`].
    pub from: f64,
    /// Its value from then on.
    pub to: f64,
    /// Why.
    pub reason: String,
}

/// A time at which loss was above the bound with everything given up, or was below it again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TuningUnmet {
    /// The window that told it.
    pub window: Span,
    /// The share of its frames that was lost.
    pub loss: f64,
    /// It is below the bound again.
    pub is_over: bool,
    /// In words.
    pub reason: String,
}

/// What `--adapt` did.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TuningReport {
    /// The bound: a share of the frames.
    pub bound: f64,
    /// The changes, oldest first.
    pub changes: Vec<TuningChange>,
    /// Earlier ones that were not kept.
    #[serde(default, skip_serializing_if = "Positive::is_zero", with = "Positive")]
    pub changes_unlisted: u64,
    /// When the bound could not be kept.
    pub unmet: Vec<TuningUnmet>,
    /// The last settings.
    pub settings: TuningSettings,
    /// Windows that were looked at.
    #[serde(with = "Integer")]
    pub windows: u64,
    /// Those that lost more than the bound.
    #[serde(with = "Integer")]
    pub windows_above: u64,
    /// Those that lost more than the bound only while a receiver was off its core.
    #[serde(with = "Integer")]
    pub windows_off_core: u64,
}
