//! Measuring: frames from sources through parser and flow tables to windows, records and the report, with every
//! packet accounted for.
//!
//! The crate knows nothing of DPDK, query text and transport.
#![forbid(unsafe_code)]

mod collector;
mod config;
mod meter;
mod outputs;
mod ranking;
mod run;
mod talkers;
mod window;

pub use collector::RecordSink;
pub use config::{Config, Every};
pub use meter::{Ended, Meter};
pub use outputs::{Outputs, OutputsResult};
pub use run::{Observer, Outcome, Snapshot, run};
