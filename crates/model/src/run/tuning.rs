//! The changes that `--adapt` made.

use crate::{Integer, Positive, Span, Time};
use serde::{Deserialize, Serialize};

/// The settings of a run that tunes itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TuningSettings {
    /// The number of workers of each receiver in use; 0 where receivers count themselves.
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
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TuningChange {
    /// The first window that the change applies to.
    pub window: Span,
    /// The stream time of the end of the window that led to it.
    #[serde(rename = "at", with = "Time")]
    pub at_ns: u64,
    /// The setting that changes.
    #[cfg_attr(feature = "schema", schemars(extend("enum" = ["workers", "idle_timeout", "task_memory", "share"])))]
    pub setting: String,
    /// The value before.
    pub from: f64,
    /// The value from then on.
    pub to: f64,
    /// The reason.
    pub reason: String,
}

/// A time at which loss was above the bound with everything given up, or was below it again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TuningUnmet {
    /// The window that told it.
    pub window: Span,
    /// The share of its frames that was lost.
    pub loss: f64,
    /// True if the loss is below the bound again.
    pub is_over: bool,
    /// The reason, in words.
    pub reason: String,
}

/// The changes that `--adapt` made.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TuningReport {
    /// The share of the frames that may be lost.
    pub bound: f64,
    /// The changes of settings, the oldest first.
    pub changes: Vec<TuningChange>,
    /// The number of earlier changes, which are not in `changes`.
    #[serde(default, skip_serializing_if = "Positive::is_zero", with = "Positive")]
    pub changes_unlisted: u64,
    /// The times at which the bound could not be kept.
    pub unmet: Vec<TuningUnmet>,
    /// The last settings.
    pub settings: TuningSettings,
    /// The number of windows that were looked at.
    #[serde(with = "Integer")]
    pub windows: u64,
    /// The number of windows that lost more than the bound.
    #[serde(with = "Integer")]
    pub windows_above: u64,
    /// The number of windows that lost more than the bound only while a receiver was off its core.
    #[serde(with = "Integer")]
    pub windows_off_core: u64,
}
