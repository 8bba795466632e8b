//! Throughput, latency, frame loss rate and back-to-back frames of a device between two ports, by RFC 2544.
//!
//! ```text
//! settings ─▶ run ─▶ the tests ─▶ search ─▶ DeviceUnderTest ─▶ report ─▶ text · JSON
//!                                             Tester: two ports, a stream of test frames, arrivals
//! ```
//!
//! The tests are functions over [`DeviceUnderTest`], which performs a trial: simulated devices stand behind it in tests, and [`Tester`]
//! with two ports in the program. Every test frame has a signature, so that each is counted once, foreign ones apart. What the sender
//! cannot offer, and what the tester's ports lose, never counts as a loss of the device.
//!
//! It must not know which options were given, nor how ports are opened.
//!
//! ```
//! use rfc2544::{DeviceUnderTest, SentCounts, ArrivalCounts, Test, TestSettings, TrialEnd, TrialOutcome, TrialPlan};
//!
//! /// A device that forwards 1,000 frames a second.
//! struct Slow;
//! impl DeviceUnderTest for Slow {
//!     fn trial(&mut self, plan: &TrialPlan) -> Result<TrialOutcome, TrialEnd> {
//!         let sent = SentCounts { frames: plan.frames, elapsed_ns: plan.length_ns(), ..SentCounts::default() };
//!         let received = plan.frames.min(plan.length_ns() / 1_000_000);
//!         let arrived = ArrivalCounts { received, ..ArrivalCounts::default() };
//!         Ok(TrialOutcome::new(plan, &sent, &arrived, 0))
//!     }
//! }
//!
//! let settings = TestSettings { tests: vec![Test::Throughput], sizes: vec![64], resolution_ppm: 1, ..TestSettings::of_rfc(10_000_000) };
//! let (sizes, end) = rfc2544::run(&mut Slow, &settings, &mut |_| {});
//! assert_eq!(end, Ok(()));
//! assert_eq!(sizes[0].throughput.as_ref().unwrap().frames_per_second, 1000);
//! ```
#![forbid(unsafe_code)]

mod arrivals;
mod frame;
mod procedures;
mod receiver;
mod report;
mod run;
#[cfg(feature = "schema")]
pub mod schema;
mod search;
mod settings;
mod stream;
mod tester;
mod text;
mod trial;

pub use arrivals::{ArrivalCounter, ArrivalCounts, Delays};
pub use frame::{Addressing, CHECK_SEQUENCE, FrameSignature, LARGEST, ReadSignature, SIZES, SMALLEST};
pub use report::{
    BackToBack, BurstSearch, FigureSummary, FrameLoss, Latency, LossStep, Rfc2544Report, SCHEMA, SizeFigures,
    Throughput,
};
pub use run::{TrialStep, run};
pub use search::{FigureLimit, LoadSearch};
pub use settings::{Test, TestSettings};
pub use tester::Tester;
pub use text::report_text;
pub use trial::{
    DelaySummary, DeviceUnderTest, LinkLoad, SentCounts, TrialEnd, TrialOutcome, TrialPlan, Verdict,
};
