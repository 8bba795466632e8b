//! Seeded traffic with a known truth: packets of flows drawn by Zipf's law, planted events among them, and what
//! was generated, counted exactly; and schedules of arrivals.
//!
//! A [`Spec`] is read from one line of text; the same specification gives the same bytes on every machine. The
//! drawing uses integers and the floating-point operations that IEEE 754 rounds exactly (`+ − × ÷ √`), never
//! a platform's mathematical library. The crate knows nothing of ports and tables.
#![forbid(unsafe_code)]

mod arrival;
mod event;
mod flow;
mod generator;
mod headers;
mod key_stream;
mod path;
mod permutation;
mod ranks;
mod spec;
mod tcp;
mod truth;

pub use arrival::{ArrivalTimes, Arrivals, Bursts, Even, Schedule, Table, line_bytes};
pub use event::EventKind;
pub use generator::{GeneratedFrame, Generator, Origin};
pub use key_stream::KeyStream;
pub use path::{Path, PathSpec, PathTruth, TapFrame, TapTruth};
pub use ranks::RankDraw;
pub use spec::{EventSpec, SizeShare, Spec, TcpStyle};
pub use truth::{EventTruth, FlowCount, FlowTruth, LossTruth, Totals, Truth};
