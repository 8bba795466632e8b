//! The reports of a run while it runs, and its outcome at the end.

use crate::closed::{STOPPED, unread};
use crate::merger::RunTotals;
use crate::steps::StepTimes;
use crate::tuning::Tuned;
use arena::OutOfMemory;
use model::Counters;
use port::SourceError;
use sketch::SketchError;
use std::fmt;
use std::time::Duration;

/// The progress of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Snapshot {
    /// Frames received.
    pub received: u64,
    /// Flows in the tables.
    pub flows: u64,
    /// Bytes of the sources read.
    pub done_bytes: u64,
    /// Total bytes, if known.
    pub total_bytes: Option<u64>,
    /// The nanoseconds of rounds of polls of live receivers that returned frames, summed over the receivers.
    pub busy_ns: u64,
    /// The nanoseconds of all rounds of polls of live receivers.
    pub polled_ns: u64,
}

/// Observes a run, on the calling thread. Windows wait for it, measuring does not.
pub trait Observer {
    /// Takes the progress of the run. Called every few thousand bursts, and when nothing arrives.
    fn progress(&mut self, snapshot: Snapshot);
    /// Tuning has changed a setting ([`crate::MeasurementConfig::adaption`]).
    fn tuned(&mut self, _tuned: Tuned) {}
    /// A warning for the user.
    fn warning(&mut self, line: String);
}

/// The reason why a run cannot begin.
#[derive(Debug)]
pub enum StartError {
    /// The memory for flow tables is not there.
    Tables(OutOfMemory),
    /// The memory for tasks is not there.
    Tasks(SketchError),
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tables(error) => error.fmt(f),
            Self::Tasks(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for StartError {}

impl From<OutOfMemory> for StartError {
    fn from(error: OutOfMemory) -> Self {
        Self::Tables(error)
    }
}

/// The outcome of a run.
#[derive(Debug)]
pub struct RunOutcome<R> {
    /// The totals of what was measured.
    pub ended: RunTotals,
    /// The losses of the sources and rings; `None` if a source cannot know.
    pub loss: Option<Counters>,
    /// The number of times that links were found to have gone down; `None` if no source has a link.
    pub link_downs: Option<u64>,
    /// The errors of sources.
    pub errors: Vec<SourceError>,
    /// Receivers and workers that failed, one line each.
    pub faults: Vec<String>,
    /// True if `stop` ended the run.
    pub stopped: bool,
    /// Reports that the observer could not pass on.
    pub unreported: u64,
    /// The time that the run took.
    pub elapsed: Duration,
    /// The time of each thread by step, receivers first, if [`crate::MeasurementConfig::timed`] is set.
    pub steps: Vec<StepTimes>,
    /// Processor time of all receivers and workers.
    pub processor_time: Duration,
    /// The record sink, to be finished.
    pub records: R,
}

impl<R> RunOutcome<R> {
    /// Returns the remark that all answers of the run get; `None` if the sources were read to their ends. `have_ends`: the sources are captures,
    /// of which a run that is stopped leaves a part unread.
    pub fn unread(&self, have_ends: bool) -> Option<String> {
        let stopped = (self.stopped && have_ends).then(|| STOPPED.to_owned());
        self.errors.first().map(ToString::to_string).or(stopped).map(|why| unread(&why))
    }
}
