//! Dynamic tuning: from load and skew to the settings that keep loss below a bound, window by window (Alipourfard, Moshref, Yu:
//! Re-evaluating Measurement Algorithms in Software, HotNets 2015, section 4, leave it as future work).
//!
//! [`Tuner`] decides. It is a state machine without clock and thread: what a window tells goes in, what later windows are to be
//! measured by comes out, so that thousands of windows of a modelled machine can be simulated. [`Adaption`] applies what it decides to
//! a run. `docs/adapt.md` explains the policy.

mod adaption;
mod cost;
mod knobs;
mod report;
mod seen;
#[cfg(test)]
mod simulation;
mod tuner;

pub use adaption::{Adaption, Handles, Retask, Tuned};
pub use knobs::{KnobRange, KnobSetting, KnobValues};
pub use report::{SettingChange, TunerReport, Unmet};
pub use seen::TuningObservation;
pub use tuner::{Decision, Tuner};
