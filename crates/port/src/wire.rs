//! A wire in software: it replays frames that are held in memory as a network card would deliver them.
//!
//! Packets *arrive* by a schedule on the clock, are spread over receive queues by their hash, wait in
//! descriptor rings, and are dropped and counted if a ring is full. No core is spent on generating: at each
//! poll a queue computes which of its packets have arrived since the last one and which of them found room.
//! `docs/wire.md` describes what that models and what not.

mod buffers;
mod clock;
mod counters;
mod memory;
mod preemption;
mod queue;
mod ring;
mod spec;
mod trace;

pub use buffers::Buffers;
pub use clock::{SystemClock, ThreadTime, WireClock};
pub use counters::WireCounters;
pub use queue::WireQueue;
pub use spec::{ReplayLength, WireSpec};
pub use trace::Trace;

use crate::{SourceError, SourceSetting};
use counters::SharedCounters;
use queue::TimedQueue;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use traffic::Schedule;

/// The part that the queues of a wire share: its clock's start and their counters. Any thread may hold one.
#[derive(Clone, Debug)]
pub struct Wire(Arc<WireState>);

#[derive(Debug)]
struct WireState {
    /// The start on the queues' clock; `UNSET` before it.
    start_ns: AtomicU64,
    epoch_offset_ns: u64,
    /// Packets of all queues, over all laps.
    packets: u64,
    counters: Box<[SharedCounters]>,
}

const UNSET: u64 = u64::MAX;

impl WireState {
    /// The start, which is `now` unless there was one before.
    fn start(&self, now: u64) -> u64 {
        match self.start_ns.compare_exchange(UNSET, now, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => now,
            Err(start) => start,
        }
    }
}

impl Wire {
    /// The queues of a wire over this trace, which must have been loaded for as many, in bursts of at most `burst`
    /// frames. With a rate the clock starts with the first poll of any of them, or with [`Wire::start`].
    ///
    /// # Errors
    /// Returns `Refused` with what is not possible, and what is.
    pub fn open(
        name: &str,
        spec: &WireSpec,
        trace: &Arc<Trace>,
        burst: usize,
    ) -> Result<Vec<WireQueue>, SourceError> {
        if spec.mbufs.is_some() {
            return Err(SourceError::Refused(
                SourceSetting::Wire,
                "mbufs= hands frames out in DPDK's mbufs, which this wire was not opened with: leave it out"
                    .into(),
            ));
        }
        Self::open_with(name, spec, trace, burst, || SystemClock)
    }

    /// Opens the queues of a wire with the caller's clocks, one per queue.
    ///
    /// # Errors
    /// Returns the errors of [`Wire::open`].
    pub fn open_with<C: WireClock>(
        name: &str,
        spec: &WireSpec,
        trace: &Arc<Trace>,
        burst: usize,
        mut clock: impl FnMut() -> C,
    ) -> Result<Vec<WireQueue<C>>, SourceError> {
        if spec.queues != trace.queues() {
            return Err(SourceError::Refused(
                SourceSetting::Wire,
                format!("it has {} queues, but its frames were spread over {}", spec.queues, trace.queues()),
            ));
        }
        let (schedule, packets) = match spec.rate {
            None => (None, replayed(spec, trace)?),
            Some(rate) => {
                let wire_lens = trace.wire_lens();
                let schedule = match &spec.steps {
                    Some(steps) => Schedule::from_steps(steps, wire_lens.len() as u64),
                    None => Schedule::new(spec.arrivals, rate, wire_lens.iter().copied(), spec.seed),
                };
                let packets = packets(spec, &schedule, trace)?;
                (Some(Arc::new(schedule)), packets)
            }
        };
        let epoch_offset_ns = clock().epoch_offset_ns();
        let counters = (0..spec.queues).map(|_| SharedCounters::default()).collect();
        let shared =
            Arc::new(WireState { start_ns: AtomicU64::new(UNSET), epoch_offset_ns, packets, counters });
        Ok((0..spec.queues)
            .map(|number| {
                let line = schedule.as_ref().map(|schedule| TimedQueue::new(schedule.clone(), spec.ring));
                WireQueue::new(name, number, trace.clone(), shared.clone(), burst, line, clock())
            })
            .collect())
    }

    /// Starts the clock of a wire that follows the machine's clock, if it does not run yet. To be called when
    /// all receivers are ready, because packets that are not polled are dropped.
    pub fn start(&self) {
        self.0.start(SystemClock.now_ns());
    }

    /// The counters of each queue, as of its last poll.
    pub fn counters(&self) -> Vec<WireCounters> {
        self.0.counters.iter().map(SharedCounters::read).collect()
    }

    /// The counters of all queues together.
    pub fn total(&self) -> WireCounters {
        WireCounters::sum(self.counters())
    }
}

/// Returns how many packets a replay has.
fn replayed(spec: &WireSpec, trace: &Trace) -> Result<u64, SourceError> {
    match spec.length {
        ReplayLength::Once => Ok(trace.frames()),
        ReplayLength::Packets(packets) if trace.can_replay(packets) => Ok(packets),
        ReplayLength::Packets(packets) => Err(SourceError::Refused(
            SourceSetting::Wire,
            format!(
                "packets={packets}: each lap over the {} frames is later than the one before by {} ns, which leads beyond the last \
             time there is; give fewer packets, or a rate",
                trace.frames(),
                trace.lap_ns()
            ),
        )),
        ReplayLength::Nanoseconds(_) => Err(SourceError::Refused(
            SourceSetting::Wire,
            "seconds= needs a rate: a replay goes as fast as it is taken; give packets=".into(),
        )),
    }
}

/// Returns how many packets a wire with a rate has.
fn packets(spec: &WireSpec, schedule: &Schedule, trace: &Trace) -> Result<u64, SourceError> {
    let packets = match spec.length {
        ReplayLength::Once => trace.frames(),
        ReplayLength::Packets(packets) => packets,
        ReplayLength::Nanoseconds(ns) => {
            schedule.arrived(ns.min(Schedule::MOST_NS).saturating_sub(1), &mut 0)
        }
    };
    let possible = schedule.arrived(Schedule::MOST_NS, &mut 0);
    if packets > possible {
        return Err(SourceError::Refused(
            SourceSetting::Wire,
            format!("{packets} packets at this rate last longer than ten days: there is time for {possible}"),
        ));
    }
    Ok(packets)
}
