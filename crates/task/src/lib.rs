//! Measurement tasks (Alipourfard et al., HotNets 2015, table 1): what a user wants to know of traffic, which
//! structure answers it, and how.
//!
//! A [`TaskSpec`] is what was requested. [`Tasks::plan`] picks a structure and its size for each
//! (`planner.rs`), and reports why. Each worker counts in its own [`TaskCounter`]; those of one window are
//! combined at a [`TaskRunner`], which answers.
//!
//! Queries that say how they are to be counted become tasks too ([`sketched`]).
//!
//! In a run whose windows give rows, [`Tasks::plan_with_rows`] leaves to these what they tell; a [`RowDesk`] answers it.
//!
//! The crate knows nothing of frames, threads and clocks.
//!
//! ```
//! use packet::{KeySpec, Seed};
//! use task::{RunProperties, TaskSpec, Tasks};
//!
//! let spec: TaskSpec = "heavy-hitters:key=src_addr,share=1%".parse()?;
//! let setting = RunProperties {
//!     key: KeySpec::FIVE_TUPLE,
//!     is_paired: false,
//!     packets: Some(1_000_000),
//!     workers: 1,
//!     scatters: false,
//!     shares: false,
//!     seed: Seed::new(1),
//! };
//! let tasks = Tasks::plan(&[spec], &setting)?;
//! let (_, choice) = tasks.choices().next().expect("one task");
//! println!("{}, because {}", choice.structure.name(), choice.why);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

mod answer;
mod answering;
mod by_packets;
pub mod catalog;
mod changing_fields;
mod desk;
mod dialect;
mod feed;
mod forecast;
mod generation;
mod kind;
mod packet_needs;
mod past;
mod pins;
mod plan_context;
mod planner;
pub mod query;
mod ranking;
mod reported;
mod row_desk;
mod row_refusal;
pub mod rows;
mod selection;
mod shape;
mod shared;
mod size_bins;
pub mod sketched;
mod spec;
mod state;
mod structure;
mod task_answer;
mod task_memory;
mod task_set;
mod tasks;
mod watermark;
mod worker_id;

pub use by_packets::{SplitQuery, SplitRows, SplitWindow, refused_by_packets};
pub use changing_fields::ChangingFields;
pub use desk::{EmptiedStates, TaskRunner};
pub use dialect::Dialect;
pub use flow::WindowId;
pub use generation::{Generation, OtherGeneration};
pub use pins::pins_of;
pub use planner::{Choice, RunProperties, is_from_rows};
pub use reported::ReportedFacts;
pub use row_desk::{RowDesk, RowTaskStates};
pub use selection::Selection;
pub use shape::Shape;
pub use shared::SharedCounting;
pub use size_bins::{SizeBins, SizeClass};
/// The rows of a structure, as a user gives them.
pub use sketch::RowSizes;
pub use spec::{Against, Limit, Quantity, Size, TaskKind, TaskSpec, Weight};
pub use structure::Structure;
pub use task_answer::{EstimatedFlow, Point, QuantileRow, TaskAnswer, TaskRows, network_of};
pub use task_memory::TaskMemory;
pub use task_set::TaskSet;
pub use tasks::{CannotMerge, TaskCounter, TaskStates, Tasks};
pub use watermark::{Watermark, Watermarks};
pub use worker_id::WorkerId;
