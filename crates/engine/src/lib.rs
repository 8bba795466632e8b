//! Measuring: frames from sources through parser and flow tables to windows, records and the report, with every
//! packet accounted for.
//!
//! The crate does not depend on DPDK, query text or transport.
//!
//! ```
//! use engine::{MeasurementConfig, Observer, ResolvedDesign, RecordSink, Snapshot};
//! use flow::FlowRecord;
//! use port::SyntheticSource;
//! use std::sync::atomic::AtomicBool;
//!
//! /// Counts records.
//! struct Counter(u64);
//!
//! impl RecordSink for Counter {
//!     fn record(&mut self, _: FlowRecord) {
//!         self.0 += 1;
//!     }
//!     fn sibling(&self) -> Self {
//!         Self(0)
//!     }
//!     fn absorb(&mut self, sibling: Self) {
//!         self.0 += sibling.0;
//!     }
//! }
//!
//! struct Silent;
//!
//! impl Observer for Silent {
//!     fn progress(&mut self, _: Snapshot) {}
//!     fn warning(&mut self, _: String) {}
//! }
//!
//! let source = SyntheticSource::open("packets=1k,flows=10", 256)?;
//! let stop = AtomicBool::new(false);
//! let (config, plan) = (MeasurementConfig::default(), ResolvedDesign::single());
//! let outcome = engine::run(&mut [Box::new(source)], None, &config, &plan, &stop, Counter(0), &mut Silent)?;
//! assert_eq!((outcome.ended.packets.measured, outcome.records.0), (1000, 10));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! `examples/count.rs` adds a query whose answer is printed for each window.
#![forbid(unsafe_code)]

pub mod admission;
mod backoff;
mod captures;
mod closed;
mod collector;
mod config;
mod control;
mod cooperative;
mod cores;
mod counting;
mod design;
mod end_barrier;
mod hand_over;
mod hardware;
mod idle_timeout;
mod idle_vote;
mod ids;
mod keeping;
mod live_clock;
mod memory;
mod merger;
mod outputs;
mod plan;
mod poller;
mod preset;
mod receiver;
mod recent_windows;
mod refusal;
mod refused;
mod ring;
mod run;
mod sampling;
mod shared;
mod skips;
mod start_barrier;
mod steps;
mod tables;
mod tally;
mod thread_setup;
mod tracked_flows;
pub mod tuning;
mod window;
mod window_answers;
mod window_barrier;
mod work;
mod worker;
mod worker_tasks;
mod worker_use;

pub use captures::{CaptureOrder, CaptureSettings, FinishedCapture, FlowCaptures, NotCaptured, Snap};
pub use closed::{ClosedWindow, PacketTotals};
pub use collector::RecordSink;
pub use config::{Every, HAND_OVER_PACKETS, MeasurementConfig, TUNED_HAND_OVER_PACKETS};
pub use control::{Control, Gate, TaskInstallError};
pub use cores::{Nearness, NumaTopology, allowed as allowed_cores, pin as pin_thread};
pub use design::{Cores, Design, Split, StatePlacement};
pub use hardware::{HardwareCounts, hardware_counters};
pub use idle_timeout::IdleTimeout;
pub use ids::{ReceiverId, WindowId, WorkerId};
pub use memory::{merging_bytes, ring_bytes};
pub use merger::RunTotals;
pub use outputs::{Destinations, Outputs, OutputsResult, RowOutput, WindowOutlet, totals};
pub use plan::ResolvedDesign;
pub use preset::{DesignCase, OfferedLoad, PRESETS, Preset, Room};
pub use recent_windows::{LookBackCounts, NoRoom, NotKept, RecentWindows, recent_windows_bytes};
pub use run::{Observer, RunOutcome, Snapshot, StartError, run, run_tallies};
pub use sampling::SamplingControl;
pub use steps::{StepNs, StepTimes, StepTiming, ThreadRole};
pub use tally::Tally;
pub use thread_setup::ThreadSetup;
pub use work::ThreadLoad;
pub use worker_use::WorkerUse;
