//! Measuring: frames from sources through parser and flow tables to windows, records and the report, with every
//! packet accounted for.
//!
//! The crate knows nothing of DPDK, query text and transport.
#![forbid(unsafe_code)]

pub mod admission;
mod closed;
mod collector;
mod config;
mod control;
mod cooperative;
mod cores;
mod counting;
mod design;
mod finish;
mod gate;
mod hand_over;
mod hardware;
mod ids;
mod keeping;
mod lane;
mod memory;
mod merger;
mod outputs;
mod patience;
mod plan;
mod poller;
mod quiet;
mod receiver;
mod refusal;
mod run;
mod shared;
mod steps;
mod tables;
mod tally;
mod window;
mod window_gate;
mod worker;
mod worker_tasks;

pub use closed::{ClosedWindow, Totals};
pub use collector::RecordSink;
pub use config::{Config, Every, HAND_OVER_PACKETS};
pub use control::{Control, NotInstalled};
pub use cores::{Nearness, Topology, allowed as allowed_cores};
pub use design::{Cores, Design, Split, State};
pub use hardware::{HardwareCounts, hardware_counters};
pub use ids::{ReceiverId, WindowId, WorkerId};
pub use memory::{merging_bytes, ring_bytes};
pub use merger::Ended;
pub use outputs::{Destinations, Outputs, OutputsResult, RowOutput, WindowOutlet, totals};
pub use plan::Plan;
pub use run::{Observer, Outcome, Snapshot, StartError, run, run_tallies};
pub use steps::{Role, Steps};
pub use tally::Tally;
