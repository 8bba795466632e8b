//! The way from a receiver to workers on other cores: whole bursts of parsed packets; small ones are gathered first. Nothing is allocated
//! while measuring, and a packet is copied at most once: not at all to the only worker.

mod choices;

use crate::backoff::Backoff;
use crate::config::MeasurementConfig;
use crate::design::Split;
use crate::ids::WindowId;
use crate::receiver::{Downstream, EXPECTED};
use crate::refused::UncountedPackets;
use crate::ring::{Parcel, ReceiverRings, WorkerCommand, WorkerRings};
use arena::prefetch_for_writing;
use choices::Choices;
use packet::{BurstParser, Key, KeyBurst};
use port::TimeBase;
use std::fmt;
use std::time::{Duration, Instant};

/// The interval at which a worker is given the time while it gets no packets, nanoseconds.
const TICK_NS: u64 = 1_000_000;
/// Packets of a live source that are gathered for each worker before they are sent, at most one burst for all
/// together: the batch that a table takes through its stages. At 6 Mpps a poll finds one or two; handed over
/// like that each cost 29 ns, took the worker 130 ns instead of 35 and filled the ring with next to nothing,
/// so that an eighth of them was refused.
const GATHERED: usize = 64;
/// The longest time for which packets are held to be gathered, in nanoseconds of stream time: an eighth of what a ring of 4,096 holds at 25
/// Mpps.
const HELD_NS: u64 = 20_000;
/// The number of waiting parcels from which handing over to a worker at once gains nothing: its next parcels are filled completely.
/// Otherwise a ring for 4,096 packets was full, of parcels of 64, with a third of that.
const BEHIND: u64 = 2;

/// A wait for one worker.
#[derive(Debug, Default)]
struct Wait {
    backoff: Backoff,
    /// The number of parcels that each worker has completed, and the time since which it is unchanged; empty until the wait is long.
    seen: Vec<(u64, Instant)>,
}

/// A function that is called at once when a worker is declared failed: others may wait for its reports.
pub(crate) type GaveUp = Box<dyn Fn(usize) + Send>;

/// The settings by which a receiver hands over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct HandOver {
    /// Parcels per worker.
    pub(crate) batches: usize,
    /// Waits until all workers are done with a burst before the next one is received (Wu et al. 2016, Algorithm 1).
    pub(crate) in_lock_step: bool,
    /// Waits if a ring is full; otherwise packets that it refuses are counted as lost.
    pub(crate) waits: bool,
    /// A worker that leaves its ring untouched for this long, and waits for nothing, counts as failed,
    /// permanently.
    pub(crate) gives_up_after: Option<Duration>,
    /// The rule by which packets are split among workers.
    pub(crate) split: Split,
}

/// Spreads parsed packets over workers: by the hash of their keys, so that all of a flow, and of a pair, go
/// to one; or divides each burst into portions.
pub(crate) struct Fan {
    rings: Vec<ReceiverRings>,
    gave_up: GaveUp,
    hand_over: HandOver,
    time_base: TimeBase,
    /// Packets that are gathered before they are sent; 1: none waits for others.
    gathered: usize,
    choices: Choices,
    refused: UncountedPackets,
    /// The time that the workers were given last.
    told: u64,
    /// The worker whose turn it is to get the next burst's first portion.
    turn: usize,
    /// Workers that are given packets: the first ones.
    in_use: usize,
    /// Bursts since the last query, and at how many of them each worker had others waiting: of no worker unless the run tunes itself.
    bursts: u64,
    bursts_busy: Vec<u64>,
}

impl fmt::Debug for Fan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fan").field("lanes", &self.rings).finish_non_exhaustive()
    }
}

impl Fan {
    /// Rings to `workers` workers, and their other ends.
    pub(crate) fn new(
        workers: usize,
        hand_over: HandOver,
        gave_up: GaveUp,
        config: &MeasurementConfig,
        time_base: TimeBase,
    ) -> (Self, Vec<WorkerRings>) {
        let rings = || ReceiverRings::new(hand_over.batches, config.burst);
        let (lanes, inboxes) = (0..workers).map(|_| rings()).unzip();
        // A replay's bursts are full, and in lock step there are no further packets to wait for.
        let gathers = time_base == TimeBase::Clock && !hand_over.in_lock_step;
        let gathered = if gathers { (GATHERED * workers).min(config.burst) } else { 1 };
        let refused = UncountedPackets::default();
        let fan = Self {
            rings: lanes,
            gave_up,
            hand_over,
            time_base,
            gathered,
            choices: Choices::new(workers, config.burst),
            refused,
            told: 0,
            turn: 0,
            in_use: workers,
            bursts: 0,
            // It reads a line that each worker writes: only a run that tunes itself asks.
            bursts_busy: vec![0; if config.adaption.is_some() { workers } else { 0 }],
        };
        (fan, inboxes)
    }

    /// Orders all workers to end their flows.
    pub(crate) fn end(&mut self, now: u64) {
        self.order(WorkerCommand::End, now);
    }

    /// Sends an order to all workers, after all packets so far. It is never lost as long as they live.
    fn order(&mut self, order: WorkerCommand, now: u64) {
        (0..self.rings.len()).for_each(|lane| self.order_one(lane, order, now));
    }

    fn order_one(&mut self, lane: usize, order: WorkerCommand, now: u64) {
        if let Some(mut parcel) = self.take(lane, true) {
            (parcel.order, parcel.now) = (order, now);
            self.rings[lane].send(parcel);
        }
    }

    /// A parcel for this worker, or the one that is being filled. `may_wait`: waits until one is free, or the
    /// worker has failed.
    #[inline]
    fn take(&mut self, lane: usize, may_wait: bool) -> Option<Box<Parcel>> {
        match self.rings[lane].take() {
            None if may_wait => self.await_empty(lane),
            parcel => parcel,
        }
    }

    #[cold]
    fn await_empty(&mut self, lane: usize) -> Option<Box<Parcel>> {
        let mut wait = Wait::default();
        while !self.rings[lane].has_failed {
            if let Some(parcel) = self.rings[lane].take() {
                return Some(parcel);
            }
            self.wait(&mut wait);
        }
        None
    }

    /// Waits until all workers have processed all that they were sent.
    #[inline]
    fn await_done(&mut self) {
        for lane in 0..self.rings.len() {
            let mut wait = Wait::default();
            while !self.rings[lane].has_settled() {
                self.wait(&mut wait);
            }
        }
    }

    /// Waits briefly. In a long wait all workers are checked: the awaited one may itself wait for one that
    /// hangs.
    fn wait(&mut self, wait: &mut Wait) {
        wait.backoff.wait();
        let Some(limit) = self.hand_over.gives_up_after.filter(|_| wait.backoff.is_long()) else { return };
        let now = Instant::now();
        wait.seen.resize(self.rings.len(), (0, now));
        for ((number, lane), (seen, since)) in (0..).zip(&mut self.rings).zip(&mut wait.seen) {
            let done = lane.done();
            if done != *seen || done == lane.sent || lane.awaits_others() {
                (*seen, *since) = (done, now);
            } else if !lane.has_failed && now.duration_since(*since) > limit {
                lane.has_failed = true;
                (self.gave_up)(number);
            }
        }
    }

    /// Gives the only worker the parser's own memory, in exchange for memory that it has emptied.
    #[inline]
    fn pass_on(&mut self, parser: &mut BurstParser, now: u64) {
        match self.take(0, self.hand_over.waits) {
            Some(mut parcel) => {
                swap(&mut parcel.bursts.v4, &mut parser.bursts.v4);
                swap(&mut parcel.bursts.v6, &mut parser.bursts.v6);
                self.rings[0].keep(parcel, now);
            }
            None => self.refuse(0, parser.bursts.len() as u64),
        }
    }

    fn refuse(&mut self, lane: usize, packets: u64) {
        let counter = match self.rings[lane].has_failed {
            true => &mut self.refused.worker_failed,
            false => &mut self.refused.ring_full,
        };
        *counter += packets;
    }

    /// Puts every packet of one family into an open parcel: first all of them choose a worker, then each worker's are copied together.
    #[inline]
    fn scatter<K: Key>(
        &mut self,
        burst: &KeyBurst<K>,
        now: u64,
        of: impl Fn(&mut Parcel) -> &mut KeyBurst<K>,
    ) {
        let (packets, lanes, in_use) = (burst.packets(), self.rings.len(), self.in_use);
        if packets.is_empty() {
            return;
        }
        match self.hand_over.split {
            Split::Hash if in_use == lanes => {
                self.choices.choose(packets, |_, hash| Split::by_hash(hash, lanes));
            }
            Split::Hash => self.choices.choose(packets, |_, hash| Split::by_hash_among(hash, lanes, in_use)),
            Split::Position => {
                let (turn, count) = (self.turn, packets.len());
                self.choices.choose(packets, |at, _| Split::by_position(at, count, turn, lanes));
                self.turn = (turn + count.min(lanes)) % lanes;
            }
        }
        for lane in 0..lanes {
            let count = self.choices.of(lane).len();
            if count == 0 {
                continue;
            }
            match self.take(lane, self.hand_over.waits) {
                Some(mut parcel) => {
                    of(&mut parcel).append(burst, self.choices.of(lane));
                    self.rings[lane].keep(parcel, now);
                }
                None => self.refuse(lane, count as u64),
            }
        }
    }
}

/// Exchanges a burst for an empty one, whose memory the worker had last.
#[inline]
fn swap<K: Key>(empty: &mut KeyBurst<K>, burst: &mut KeyBurst<K>) {
    std::mem::swap(empty, burst);
    // A family that had packets is expected to have more.
    if !empty.packets().is_empty() {
        prefetch_for_writing(burst.next_places(2 * EXPECTED));
    }
}

/// Prefetches the places after those that are filled next, which were prefetched before.
#[inline]
fn ready_behind<K: Key>(burst: &KeyBurst<K>, packets: usize) {
    if !burst.packets().is_empty() {
        let places = burst.next_places(EXPECTED + packets);
        prefetch_for_writing(places.get(EXPECTED..).unwrap_or_default());
    }
}

/// Prefetches the places that the packets after those of a burst will take, this many in one of the workers' parcels at a time, in turn.
#[inline]
fn ready_share<K: Key>(parcel: &KeyBurst<K>, burst: &KeyBurst<K>, workers: usize, packets: usize) {
    let before = burst.packets().len();
    let first = before / (EXPECTED * workers) * EXPECTED + before % EXPECTED;
    prefetch_for_writing(parcel.next_places(first + packets).get(first..).unwrap_or_default());
}

impl Downstream for Fan {
    #[inline]
    fn make_ready(&mut self, parser: &BurstParser, frames: usize) {
        if self.rings.len() == 1 {
            ready_behind(&parser.bursts.v4, frames);
            ready_behind(&parser.bursts.v6, frames);
            return;
        }
        // With several workers only the receiver touches the parser's memory. By the time that the burst is parsed, each worker's parcel
        // was asked for its share.
        let (bursts, workers) = (&parser.bursts, self.in_use);
        if let Some(parcel) = self.rings[bursts.len() / EXPECTED % workers].open_early() {
            let has_v6 = !bursts.v6.packets().is_empty();
            if has_v6 {
                ready_share(&parcel.bursts.v6, &bursts.v6, workers, frames);
            }
            if !has_v6 || !bursts.v4.packets().is_empty() {
                ready_share(&parcel.bursts.v4, &bursts.v4, workers, frames);
            }
        }
    }

    #[inline]
    fn waits_for_more(&self, packets: usize, held_ns: u64) -> bool {
        let is_early = packets < self.gathered && held_ns < HELD_NS;
        self.gathered > 1
            && (is_early || self.rings[..self.in_use].iter().all(|lane| lane.waiting() >= BEHIND))
    }

    #[inline]
    fn count(&mut self, parser: &mut BurstParser, now: u64) {
        self.bursts += 1;
        for (lane, busy) in self.rings.iter().zip(&mut self.bursts_busy) {
            *busy += u64::from(lane.waiting() != 0);
        }
        if self.rings.len() == 1 {
            self.pass_on(parser, now);
        } else {
            self.scatter(&parser.bursts.v4, now, |parcel| &mut parcel.bursts.v4);
            self.scatter(&parser.bursts.v6, now, |parcel| &mut parcel.bursts.v6);
        }
        self.rings.iter_mut().for_each(ReceiverRings::send_open);
        parser.clear();
        if self.hand_over.in_lock_step {
            self.await_done();
        }
    }

    fn count_last(&mut self, parser: &mut BurstParser, now: u64) {
        let waits = std::mem::replace(&mut self.hand_over.waits, true);
        self.count(parser, now);
        self.hand_over.waits = waits;
    }

    fn enter(&mut self, window: WindowId) {
        self.order(WorkerCommand::Enter(window), 0);
    }

    fn turn(&mut self, window: WindowId, now: u64) {
        self.order(WorkerCommand::Turn(window), now);
    }

    fn use_workers(&mut self, workers: usize, now: u64) {
        let in_use = workers.clamp(1, self.rings.len());
        let before = std::mem::replace(&mut self.in_use, in_use);
        (in_use..before).for_each(|lane| self.order_one(lane, WorkerCommand::Park, now));
    }

    fn take_busy(&mut self) -> Option<f64> {
        let (bursts, in_use) = (std::mem::take(&mut self.bursts), self.in_use);
        let busiest = self.bursts_busy.iter().take(in_use).copied().max();
        self.bursts_busy.fill(0);
        busiest.map(|busy| busy as f64 / bursts.max(1) as f64)
    }

    /// Workers sweep themselves.
    fn sweep_replay(&mut self, _: usize, _: u64) {}

    fn sweep_live(&mut self, now: u64) {
        if now.saturating_sub(self.told) < TICK_NS {
            return;
        }
        self.told = now;
        for lane in &mut self.rings {
            // A worker with waiting parcels gets the time from these.
            if let Some(mut parcel) = lane.take() {
                (parcel.order, parcel.now) = (WorkerCommand::GoOn, now);
                lane.send(parcel);
            }
        }
    }

    fn idle(&mut self) {
        if self.time_base == TimeBase::Packets {
            self.order(WorkerCommand::Idle, 0);
        }
    }

    fn settle(&mut self) {
        self.await_done();
    }

    fn take_failed(&mut self) -> Vec<usize> {
        let new = |lane: &mut ReceiverRings| {
            lane.has_failed && !std::mem::replace(&mut lane.is_known, lane.has_failed)
        };
        (0..).zip(&mut self.rings).filter_map(|(number, lane)| new(lane).then_some(number)).collect()
    }

    fn take_handed_over(&mut self) -> Vec<u64> {
        self.rings.iter_mut().map(|lane| std::mem::take(&mut lane.handed_over)).collect()
    }

    fn refused(&self) -> UncountedPackets {
        self.refused
    }
}

#[cfg(test)]
mod tests;
