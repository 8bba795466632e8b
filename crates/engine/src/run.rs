//! A run: receivers and workers on their threads, and their reports, merged.
//!
//! The threads' [`events`] are collected at the [`hub`], on the calling thread; [`threads`] starts them all.

mod events;
mod hub;
mod outcome;
mod threads;

use crate::admission;
use crate::collector::RecordSink;
use crate::config::MeasurementConfig;
use crate::idle_vote::IdleVote;
use crate::keeping::Keepings;
use crate::plan::ResolvedDesign;
use crate::tally::Tally;
use flowtable::MeasuredParts;
use port::{Filter, PacketSource, TimeBase};
use std::sync::atomic::AtomicBool;
use threads::ThreadContext;

pub use outcome::{Observer, RunOutcome, Snapshot, StartError};

/// Measures `sources`, all of the same time base, by a plan made for as many queues: each source is one. With
/// one receiver, replays are read in sequence and live sources in turn; several receivers divide the sources
/// among them. The run must be admitted ([`crate::admission`]).
///
/// # Errors
/// If tables or tasks cannot be made; everything else is in the [`RunOutcome`].
pub fn run<R: RecordSink + Send + 'static>(
    sources: &mut [Box<dyn PacketSource>],
    filter: Option<&Filter>,
    config: &MeasurementConfig,
    plan: &ResolvedDesign,
    stop: &AtomicBool,
    records: R,
    observer: &mut dyn Observer,
) -> Result<RunOutcome<R>, StartError> {
    debug_assert_eq!(admission::check_order(config, plan), []);
    let config = &MeasurementConfig {
        parts: MeasuredParts { shares: plan.merges(), ..config.parts },
        ..config.clone()
    };
    let keepings = Keepings::new(plan, config, plan.counting())?;
    let quiet = &IdleVote::new(plan.receivers);
    let run = ThreadContext {
        filter,
        config,
        plan,
        stop,
        quiet,
        merges: plan.merges(),
        time_base: time_base(sources),
    };
    run.measure(sources, keepings, records, observer)
}

/// Measures with the caller's structures instead of flow tables, one for each of [`ResolvedDesign::counting`]. There are no records then, and windows
/// count only packets.
///
/// # Errors
/// Returns the errors of [`run`].
pub fn run_tallies<R: RecordSink + Send + 'static>(
    sources: &mut [Box<dyn PacketSource>],
    config: &MeasurementConfig,
    plan: &ResolvedDesign,
    records: R,
    observer: &mut dyn Observer,
    tallies: Vec<Box<dyn Tally>>,
) -> Result<RunOutcome<R>, StartError> {
    let (stop, quiet) = (&AtomicBool::new(false), &IdleVote::new(plan.receivers));
    let run = ThreadContext {
        filter: None,
        config,
        plan,
        stop,
        quiet,
        merges: false,
        time_base: time_base(sources),
    };
    run.measure(sources, Keepings::from_tallies(tallies), records, observer)
}

fn time_base(sources: &[Box<dyn PacketSource>]) -> TimeBase {
    sources.first().map_or(TimeBase::Packets, |source| source.time_base())
}
