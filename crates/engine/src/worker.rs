//! The state of one core: flow tables, and their output, sorted into windows and records. Reads no clock and
//! no frame.

use crate::collector::{FlowAccumulator, RecordSink, WindowStatistics};
use crate::config::MeasurementConfig;
use crate::idle_timeout::IdleTimeout;
use crate::ids::WindowId;
use crate::keeping::{Keeping, SealedWindow};
use crate::receiver::Downstream;
use crate::shared::SharedTableSets;
use crate::tables::FlowTables;
use crate::worker_tasks::{TaskOutlet, WorkerTasks};
use arena::Limits;
use flow::FlowRecord;
use flowtable::by_hash::Miscounts;
use flowtable::{RequestedMetrics, Timeouts, Zoom};
use packet::{BurstParser, Bursts, Packets, Pins, Seed};
use port::TimeBase;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use task::{Generation, TaskSet};

/// Frames of a replay per swept entry: a slice of 8 for a burst of 64 costs under a nanosecond a packet.
const FRAMES_PER_SWEPT: usize = 8;
/// The number of times that a replay's sweep restarts within the shorter timeout in stream time: no reader waits for the records, they only
/// take memory.
const SWEEPS_PER_TIMEOUT: u64 = 4;
/// The period of a live source's sweep: records are emitted within a second of being due, including the time
/// for writing them.
const LIVE_SWEEP_NS: u64 = 500_000_000;
/// The least number of entries worth sweeping at once.
const SWEEP_SLICE: usize = 64;

/// Counts packets, independently of where flows are kept.
#[derive(Debug)]
pub(crate) struct Worker<R> {
    keeping: Keeping,
    tasks: Option<WorkerTasks>,
    /// The set whose queries ask for the groups of packets without a place.
    generation: Option<Generation>,
    collector: FlowAccumulator<R>,
    time_base: TimeBase,
    /// Stream time, as given by the receiver.
    now: u64,
    sweep: Sweep,
    /// The window that has been turned away from and is being sealed.
    closing: Option<WindowId>,
    /// Windows whose flows are all sealed, oldest first.
    sealed: Vec<SealedWindow>,
    limits: Limits,
    seed: Seed,
    timeouts: Timeouts,
    /// The idle timeout of the tables, where it changes.
    idle_timeout: Option<IdleTimeout>,
    /// Stream time between the sweeps of a replay.
    sweep_period_ns: u64,
    /// True if this is the only worker: all records of the run end here.
    is_only: bool,
}

/// The position of the sweep over both tables.
#[derive(Debug)]
struct Sweep {
    v4_done: bool,
    v6_done: bool,
    /// True if the sweep over the connections of pinned flows is done.
    pinned_done: bool,
    /// The stream time when the sweep last began (replay) or continued (live).
    at: u64,
}

impl Sweep {
    fn is_done(&self) -> bool {
        self.v4_done && self.v6_done && self.pinned_done
    }
}

/// The final result of a worker.
#[derive(Debug)]
pub(crate) struct WorkerEnd<R> {
    /// Windows that were not taken yet.
    pub(crate) sealed: Vec<SealedWindow>,
    /// The record of all packets without a place.
    pub(crate) other: Option<FlowRecord>,
    /// Records that ended, without `other`.
    pub(crate) records_ended: u64,
    /// Records that were still open.
    pub(crate) active: u64,
    /// The packets that are known to be counted wrongly; `None` where the tables are exact.
    pub(crate) miscounts: Option<Miscounts>,
    /// Memory of all tables and queues, before this worker's were released.
    pub(crate) memory_bytes: u64,
    /// The record sink.
    pub(crate) records: R,
}

impl<R: RecordSink> Worker<R> {
    pub(crate) fn new(keeping: Keeping, config: &MeasurementConfig, time_base: TimeBase, records: R) -> Self {
        let MeasurementConfig { timeouts, seed, .. } = *config;
        Self {
            keeping,
            tasks: None,
            generation: None,
            collector: FlowAccumulator::new(records),
            time_base,
            now: 0,
            sweep: Sweep { v4_done: true, v6_done: true, pinned_done: true, at: 0 },
            closing: None,
            sealed: Vec::new(),
            limits: config.limits.clone(),
            seed,
            timeouts,
            idle_timeout: config.idle_timeout.clone(),
            sweep_period_ns: timeouts.idle_ns.min(timeouts.active_ns) / SWEEPS_PER_TIMEOUT,
            is_only: false,
        }
    }

    /// Makes the worker the only one: all records of the run end here.
    pub(crate) fn make_only(self) -> Self {
        Self { is_only: true, ..self }
    }

    /// Counts the tasks of the control's sets in addition to flows.
    pub(crate) fn set_tasks(&mut self, tasks: WorkerTasks) {
        self.tasks = Some(tasks);
    }

    /// Sets the destination of what tasks counted, and the flag that is set while they wait for answers.
    pub(crate) fn set_outlet(&mut self, outlet: TaskOutlet, waits: Arc<AtomicBool>) {
        if let Some(tasks) = &mut self.tasks {
            tasks.set_outlet(outlet, waits);
        }
    }

    /// Prefetches the index lines of these packets, which are counted next.
    #[inline]
    pub(crate) fn prefetch_index(&self, packets: Packets<'_>) {
        if let Keeping::Own(tables) | Keeping::Shares { open: tables, .. } = &self.keeping {
            tables.prefetch_index(packets);
        }
    }

    /// Counts parsed packets whose index lines were prefetched. `now`: stream time before the first of them.
    #[inline]
    pub(crate) fn count(&mut self, bursts: &Bursts, now: u64) {
        self.now = self.now.max(now);
        if let Some(tasks) = &mut self.tasks {
            tasks.count(bursts);
        }
        match &mut self.keeping {
            Keeping::Own(tables) => {
                tables.advance(self.now);
                tables.count(bursts, &mut self.collector);
                self.collector.count_pinned(bursts);
            }
            Keeping::Shares { open, .. } => open.count(bursts, &mut self.collector),
            Keeping::Shared(shared) => shared.count(bursts, &mut self.collector),
            Keeping::ByHash(flows) => self.collector.count_by_hash(flows, bursts),
            Keeping::Tally(tally) => {
                tally.count(bursts);
                self.collector.tallied(bursts.len());
            }
        }
    }

    /// Counts other tasks from this window on.
    pub(crate) fn enter(&mut self, window: WindowId) {
        if let Some(tasks) = &mut self.tasks {
            tasks.enter(window);
            let set = tasks.set(window);
            self.count_overflow(&set);
            self.set_pins(&set);
        }
    }

    /// Follows the flows that the queries of this set pin from here on, as they ask, and gives rows the statistics that these read.
    fn set_pins(&mut self, set: &TaskSet) {
        let Self { seed, timeouts, limits, .. } = self;
        let followed = RequestedMetrics { losses: set.follows_losses(), statistics: set.statistics() };
        let new = || Zoom::new(*seed, *timeouts, limits);
        self.collector.set_pins(set.pins(), followed, new, || Pins::none(*seed));
        let (of_all, of_pinned) = (set.reads_row_statistics(), set.statistics().len());
        self.collector.read_statistics(WindowStatistics { of_all, of_pinned });
    }

    /// The queries of this set ask for the groups of packets without a place.
    pub(crate) fn count_overflow(&mut self, set: &TaskSet) {
        if self.generation != Some(set.generation()) {
            self.generation = Some(set.generation());
            // What a table that knows flows by a hash has no entry for is in none of its answers.
            let counter = match self.keeping {
                Keeping::ByHash(_) => None,
                _ => set.rows().overflow_counter(),
            };
            self.collector.count_overflow(counter);
        }
    }

    /// The window is over: its flows are sealed from now on, or passed on to be merged. Numbers increase.
    pub(crate) fn turn(&mut self, window: WindowId, now: u64) {
        self.finish_closing();
        self.now = self.now.max(now);
        self.closing = Some(window);
        if let Some(tasks) = &mut self.tasks {
            tasks.turn(window);
        }
        self.collector.turn(window);
        match &mut self.keeping {
            Keeping::Own(tables) => {
                self.idle_timeout.iter().for_each(|timeout| tables.set_idle_timeout(timeout.ns()));
                tables.v4.turn();
                tables.v6.turn();
                self.begin_sweep();
            }
            Keeping::Shares { open, spare } => {
                // Nothing is returned if the merging worker has failed, and the run with it.
                let shares = spare.recv().ok().map(|spare| std::mem::replace(open, spare));
                self.seal(shares);
            }
            Keeping::Shared(_) | Keeping::ByHash(_) | Keeping::Tally(_) => self.seal(None),
        }
    }

    /// Ends all flows: no packets come until further notice. The open window has none yet.
    pub(crate) fn park(&mut self, now: u64) {
        self.finish_closing();
        self.now = self.now.max(now);
        if let Keeping::Own(tables) = &mut self.keeping {
            tables.advance(self.now);
            tables.v4.end_all(&mut self.collector);
            tables.v6.end_all(&mut self.collector);
        }
        self.collector.records.hand_over();
    }

    /// Adds shares of flows to the open window.
    pub(crate) fn merge(&mut self, shares: &mut FlowTables) {
        if let Keeping::Own(tables) = &mut self.keeping {
            tables.merge(shares, &mut self.collector);
        }
    }

    /// Adds what all cores counted in their common tables.
    pub(crate) fn merge_shared(&mut self, shared: &SharedTableSets) {
        if let Keeping::Own(tables) = &mut self.keeping {
            shared.merge_into(tables, &mut self.collector);
        }
    }

    /// Turns away from the window and seals it at once.
    pub(crate) fn close(&mut self, window: WindowId) -> Option<SealedWindow> {
        self.turn(window, self.now);
        self.finish_closing();
        self.sealed.pop()
    }

    fn begin_sweep(&mut self) {
        self.sweep = Sweep { v4_done: false, v6_done: false, pinned_done: false, at: self.now };
    }

    /// Sweeps some entries; at the end of a pass, the closing window is sealed. Tables that are merged are
    /// not swept: they are sealed at once, without timeouts.
    fn sweep(&mut self, entries: usize) {
        if let Keeping::Own(tables) = &mut self.keeping {
            tables.advance(self.now);
            if !self.sweep.v4_done {
                self.sweep.v4_done = tables.v4.sweep(entries, &mut self.collector);
            } else if !self.sweep.v6_done {
                self.sweep.v6_done = tables.v6.sweep(entries, &mut self.collector);
            }
            // Rows have been sealed, with what was found of them.
            if self.sweep.v4_done && self.sweep.v6_done && !self.sweep.pinned_done {
                self.sweep.pinned_done = self.collector.sweep_pinned(entries, self.now);
            }
            if self.sweep.is_done() {
                self.seal(None);
            }
        }
    }

    /// Stream time is `now`. A replay sweeps without a deadline: a few entries for each of the `frames`, from
    /// the start again when stream time has advanced.
    pub(crate) fn sweep_replay(&mut self, frames: usize, now: u64) {
        self.now = self.now.max(now);
        if self.sweep.is_done() {
            if self.now < self.sweep.at.saturating_add(self.sweep_period_ns) {
                return;
            }
            self.begin_sweep();
        }
        self.sweep(frames / FRAMES_PER_SWEPT + 1);
    }

    /// The clock is at `now`. A live source's sweep follows the clock, independently of the number of flows.
    pub(crate) fn sweep_live(&mut self, now: u64) {
        self.now = self.now.max(now);
        let Keeping::Own(tables) = &self.keeping else { return };
        let passed = self.now - self.sweep.at;
        let entries = tables.v4.sweep_len() + tables.v6.sweep_len();
        let due = (entries as u128 * u128::from(passed) / u128::from(LIVE_SWEEP_NS)) as usize;
        if due < SWEEP_SLICE && passed < LIVE_SWEEP_NS / 64 {
            return;
        }
        if self.sweep.is_done() {
            self.begin_sweep();
        }
        self.sweep.at = self.now;
        self.sweep(due.max(SWEEP_SLICE));
        self.collector.records.hand_over();
    }

    /// Emits now what a replay would finish eventually: there are no packets at the moment.
    pub(crate) fn idle(&mut self) {
        if self.time_base == TimeBase::Packets {
            self.finish_closing();
            self.collector.records.hand_over();
        }
    }

    /// Seals what the last window left open.
    fn finish_closing(&mut self) {
        if self.closing.is_some() {
            while !self.sweep.is_done() {
                self.sweep(usize::MAX);
            }
        }
    }

    /// All flows of the closing window are sealed, or are in `shares`.
    fn seal(&mut self, shares: Option<Box<FlowTables>>) {
        if let Some(window) = self.closing.take() {
            let (sums, overflow) = (self.collector.take_closing(), self.collector.take_overflow());
            self.sealed.push(SealedWindow { window, sums, overflow, shares });
        }
    }

    /// Ends every flow, because the source has ended. The last window must have been turned away from.
    pub(crate) fn end(mut self, now: u64) -> WorkerEnd<R> {
        let mut active = 0;
        self.now = self.now.max(now);
        self.collector.records.may_wait();
        if let Keeping::Own(tables) = &mut self.keeping {
            tables.advance(self.now);
            if self.is_only {
                self.collector.records.begin_last_record_rows();
            }
            self.collector.end_pinned();
            active += tables.v4.end_all(&mut self.collector);
            active += tables.v6.end_all(&mut self.collector);
            self.collector.sweep_pinned(usize::MAX, self.now);
        }
        self.sweep = Sweep { v4_done: true, v6_done: true, pinned_done: true, ..self.sweep };
        self.seal(None);
        let memory_bytes = self.limits.bytes_used() as u64;
        let miscounts = match self.keeping {
            Keeping::ByHash(flows) => Some(self.collector.end_by_hash(*flows, self.is_only)),
            Keeping::Tally(tally) => {
                tally.end();
                None
            }
            Keeping::Own(_) | Keeping::Shares { .. } | Keeping::Shared(_) => None,
        };
        WorkerEnd {
            sealed: self.sealed,
            other: self.collector.take_other(),
            records_ended: self.collector.ended,
            active,
            miscounts,
            memory_bytes,
            records: self.collector.records,
        }
    }
}

/// Counts on the receiver's own core.
impl<R: RecordSink> Downstream for Worker<R> {
    #[inline]
    fn prefetch_index(&mut self, packets: Packets<'_>) {
        Self::prefetch_index(self, packets);
    }

    #[inline]
    fn count(&mut self, parser: &mut BurstParser, now: u64) {
        Self::count(self, &parser.bursts, now);
        parser.clear();
    }

    fn enter(&mut self, window: WindowId) {
        Self::enter(self, window);
    }

    fn turn(&mut self, window: WindowId, now: u64) {
        Self::turn(self, window, now);
    }

    #[inline]
    fn sweep_replay(&mut self, frames: usize, now: u64) {
        Self::sweep_replay(self, frames, now);
    }

    #[inline]
    fn sweep_live(&mut self, now: u64) {
        Self::sweep_live(self, now);
    }

    fn idle(&mut self) {
        Self::idle(self);
    }

    fn take_sealed(&mut self) -> Option<SealedWindow> {
        (!self.sealed.is_empty()).then(|| self.sealed.remove(0))
    }
}
