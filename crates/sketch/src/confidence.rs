//! The confidence at which bounds are given, where theory leaves the choice.

/// The least probability with which both bounds hold.
pub const CONFIDENCE: f64 = 0.95;
/// The standard deviations to either side that contain a normal variable with [`CONFIDENCE`].
pub const DEVIATIONS: f64 = 1.959_964;
