//! A probe: the engine of one node, driven by the task list of a controller.
//!
//! A [`Probe`] receives lists ([`protocol::TaskList`]) on a thread of its own and installs each task for the windows of its time
//! ([`engine::Control::install_at`]). It sends the answers of each window, and in a replay enters no window before the controller lets it, so
//! that the answers of all nodes decide what each measures next. Questions about history are answered from the probe's store on another
//! thread. It knows no query text.
#![forbid(unsafe_code)]

mod captures;
mod gate;
mod history;
mod history_reading;
mod leases;
mod planner;
mod probe;
mod recent_windows;
mod reporter;
mod task_file;

pub use gate::ReplayGate;
pub use history_reading::{HistoryJob, StoreReading};
pub use planner::TaskSetPlanner;
pub use probe::Probe;
pub use reporter::{Reporter, Vitals};
pub use task_file::{TaskFile, TaskFileState};
