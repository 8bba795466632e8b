//! Seeded traffic with a known truth: packets of flows drawn by Zipf's law, planted events among them, and
//! the exact counts of what was generated; and schedules of arrivals.
//!
//! A [`TrafficSpec`] is read from one line of text; the same specification gives the same bytes on every machine.
//! The drawing uses integers and the floating-point operations that IEEE 754 rounds exactly (`+ − × ÷ √`),
//! never a platform's mathematical library. The crate does not know ports or tables.
//!
//! ```
//! use traffic::{Generator, TrafficSpec};
//!
//! let spec: TrafficSpec = "packets=1k,flows=10,zipf=1.0,seed=1".parse().expect("a specification");
//! let mut generator = Generator::with_truth(spec);
//! let mut buffer = vec![0; generator.longest_frame()];
//! let mut bytes = 0;
//! while let Some(frame) = generator.next_frame(&mut buffer) {
//!     bytes += u64::from(frame.total_byte);
//! }
//! let truth = generator.truth().expect("all frames were taken");
//! assert_eq!((truth.totals.count.packets, truth.totals.count.total_byte), (1000, bytes));
//! ```
#![forbid(unsafe_code)]

mod arrival;
mod event;
mod event_kind;
mod flow;
mod frame;
mod generator;
mod headers;
mod key_stream;
mod loss_truth;
mod path;
mod permutation;
mod ranks;
mod spec;
mod tcp;
mod truth;

pub use arrival::{
    ArrivalProcess, ArrivalTable, ArrivalTimes, BurstSchedule, Even, RateSteps, Schedule, StepArrivals,
    line_bytes,
};
pub use event_kind::PlantedEventKind;
pub use frame::{FrameOrigin, GeneratedFrame};
pub use generator::Generator;
pub use key_stream::KeyStream;
pub use loss_truth::LossTruth;
pub use path::{PathSimulation, PathSpec, PathTruth, TapFrame, TapTruth};
pub use ranks::RankDraw;
pub use spec::{EventSpec, SizeShare, TcpStyle, TrafficSpec};
pub use truth::{EventTruth, FlowCount, FlowTruth, TrafficTotals, Truth};
