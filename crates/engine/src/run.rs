//! A run: receivers and workers on their threads, and their reports, merged.
//!
//! The threads' [`events`] are collected at the [`hub`], on the calling thread; [`threads`] starts them all.

mod events;
mod hub;
mod outcome;
mod threads;

use crate::admission;
use crate::collector::RecordSink;
use crate::config::Config;
use crate::idle_vote::IdleVote;
use crate::keeping::Keepings;
use crate::plan::Plan;
use crate::tally::Tally;
use flowtable::Parts;
use port::{Filter, PacketSource, TimeBase};
use std::sync::atomic::AtomicBool;
use threads::Run;

pub use outcome::{Observer, Outcome, Snapshot, StartError};

/// Measures `sources`, all of the same time base, by a plan made for as many queues: each source is one. With
/// one receiver, replays are read in sequence and live sources in turn; several receivers divide the sources
/// among them. The run must be admitted ([`crate::admission`]).
///
/// # Errors
/// If tables or tasks cannot be made; everything else is in the [`Outcome`].
pub fn run<R: RecordSink + Send + 'static>(
    sources: &mut [Box<dyn PacketSource>],
    filter: Option<&Filter>,
    config: &Config,
    plan: &Plan,
    stop: &AtomicBool,
    records: R,
    observer: &mut dyn Observer,
) -> Result<Outcome<R>, StartError> {
    debug_assert_eq!(admission::of_order(config, plan), []);
    let config = &Config { parts: Parts { shares: plan.merges(), ..config.parts }, ..config.clone() };
    let keepings = Keepings::new(plan, config, plan.counting())?;
    let quiet = &IdleVote::new(plan.receivers);
    let run = Run { filter, config, plan, stop, quiet, merges: plan.merges(), time_base: time_base(sources) };
    run.measure(sources, keepings, records, observer)
}

/// Measures with the caller's structures instead of flow tables, one for each of [`Plan::counting`]. There are no records then, and windows
/// count only packets.
///
/// # Errors
/// Returns the errors of [`run`].
pub fn run_tallies<R: RecordSink + Send + 'static>(
    sources: &mut [Box<dyn PacketSource>],
    config: &Config,
    plan: &Plan,
    records: R,
    observer: &mut dyn Observer,
    tallies: Vec<Box<dyn Tally>>,
) -> Result<Outcome<R>, StartError> {
    let (stop, quiet) = (&AtomicBool::new(false), &IdleVote::new(plan.receivers));
    let run = Run { filter: None, config, plan, stop, quiet, merges: false, time_base: time_base(sources) };
    run.measure(sources, Keepings::of_tallies(tallies), records, observer)
}

fn time_base(sources: &[Box<dyn PacketSource>]) -> TimeBase {
    sources.first().map_or(TimeBase::Packets, |source| source.time_base())
}
