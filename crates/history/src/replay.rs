//! Recorded rows window by window, for each node, in the order of time: what takes the place of a measurement.
//!
//! [`Recording::open`] reads what files contain. [`Recording::survey`] reads the times of all rows once, and finds out which windows each
//! node has and how many rows of each there are. [`NodeRecording::replay`] then gives the rows: no window before it is entered, and none
//! closed before all its rows have come, in whichever order the files have them.

mod gathered;
mod held;
mod node;
mod plan;
mod recording;
mod survey;
mod work;

pub use held::{BufferedWindow, RowMemory};
pub use node::{FinishedWindow, NodeRecording, Replayed, WindowSink};
pub use recording::{Named, Recording, Surveyed};
pub use work::shortfall_reasons;
