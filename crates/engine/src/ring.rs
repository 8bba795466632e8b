//! A ring each way between a receiver and one of its workers: parcels of parsed packets go through one and
//! return empty through the other.

use crate::backoff::Backoff;
use crate::ids::WindowId;
use packet::{Bursts, KeyV4, KeyV6};
use rtrb::{Consumer, Producer, RingBuffer};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The order of a parcel: what a worker is to do after it has counted the parcel's packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WorkerCommand {
    /// Continue: sweep for this many frames (replay), or by the clock (live).
    GoOn,
    /// Count by another task set, that of this window.
    Enter(WindowId),
    /// Turn away from this window.
    Turn(WindowId),
    /// End every flow: no packets come until further notice.
    Park,
    /// Finish what waits to be finished: no packets at the moment.
    Idle,
    /// End every flow.
    End,
}

/// The unit that goes through a ring: packets and an order.
#[derive(Debug)]
pub(crate) struct Parcel {
    pub(crate) bursts: Bursts,
    /// Stream time before the first of the packets, or of the order; [`Parcel::NO_TIME`] in an empty one.
    pub(crate) now: u64,
    pub(crate) order: WorkerCommand,
}

impl Parcel {
    const NO_TIME: u64 = u64::MAX;

    fn new(burst: usize) -> Box<Self> {
        Box::new(Self {
            bursts: Bursts::with_capacity(burst),
            now: Self::NO_TIME,
            order: WorkerCommand::GoOn,
        })
    }

    fn clear(&mut self) {
        self.bursts.clear();
        self.now = Self::NO_TIME;
        self.order = WorkerCommand::GoOn;
    }

    pub(crate) fn packets(&self) -> u64 {
        self.bursts.len() as u64
    }
}

/// The worker's end of the rings.
#[derive(Debug)]
pub(crate) struct WorkerRings {
    full: Consumer<Box<Parcel>>,
    empty: Producer<Box<Parcel>>,
    done: Arc<AtomicU64>,
    awaits_others: Arc<AtomicBool>,
}

impl WorkerRings {
    /// Returns the flag to be set while the worker waits for others: it does not count as hanging then.
    pub(crate) fn waiting_flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.awaits_others)
    }

    /// Calls `work` with each parcel up to one that orders the end. False if the receiver is gone without
    /// that order.
    pub(crate) fn serve(&mut self, mut work: impl FnMut(&Parcel)) -> bool {
        let mut backoff = Backoff::default();
        loop {
            let Ok(mut parcel) = self.full.pop() else {
                // Read before the ring is polled once more: the last parcel may have arrived in between.
                let is_left = self.full.is_abandoned();
                if is_left && self.full.is_empty() {
                    return false;
                }
                backoff.wait();
                continue;
            };
            backoff.reset();
            work(&parcel);
            let is_end = parcel.order == WorkerCommand::End;
            parcel.clear();
            // There is room for all existing parcels.
            let _ = self.empty.push(parcel);
            self.done.fetch_add(1, Ordering::Release);
            if is_end {
                return true;
            }
        }
    }
}

/// The receiver's end of one worker's rings.
#[derive(Debug)]
pub(crate) struct ReceiverRings {
    full: Producer<Box<Parcel>>,
    empty: Consumer<Box<Parcel>>,
    /// The parcel that is being filled.
    open: Option<Box<Parcel>>,
    /// Parcels sent, and those that the worker is done with.
    pub(crate) sent: u64,
    done: Arc<AtomicU64>,
    /// Packets handed over since the last query.
    pub(crate) handed_over: u64,
    pub(crate) has_failed: bool,
    /// True if the failure was reported.
    pub(crate) is_known: bool,
    /// True while the worker waits for others, as in [`WorkerRings`].
    awaits_others: Arc<AtomicBool>,
}

impl ReceiverRings {
    /// Returns both ends of a worker's rings, with this many parcels, each for this many packets.
    pub(crate) fn new(parcels: usize, burst: usize) -> (Self, WorkerRings) {
        // Without parcels nothing could ever be handed over.
        let parcels = parcels.max(1);
        let (full, inbox_full) = RingBuffer::new(parcels);
        let (mut inbox_empty, empty) = RingBuffer::new(parcels);
        for _ in 0..parcels {
            let _ = inbox_empty.push(Parcel::new(burst));
        }
        let (done, awaits_others) = (Arc::new(AtomicU64::new(0)), Arc::<AtomicBool>::default());
        let inbox = WorkerRings {
            full: inbox_full,
            empty: inbox_empty,
            done: Arc::clone(&done),
            awaits_others: Arc::clone(&awaits_others),
        };
        let lane = Self {
            full,
            empty,
            open: None,
            sent: 0,
            done,
            handed_over: 0,
            has_failed: false,
            is_known: false,
            awaits_others,
        };
        (lane, inbox)
    }

    /// Bytes that this many parcels take.
    pub(crate) fn bytes(parcels: usize, burst: usize) -> usize {
        let besides = 2 * (size_of::<packet::TcpSegment>() + size_of::<packet::OutOfOrder>());
        let packets =
            size_of::<packet::KeyedPacket<KeyV4>>() + size_of::<packet::KeyedPacket<KeyV6>>() + besides;
        parcels * (size_of::<Parcel>() + burst * packets + 2 * size_of::<Box<Parcel>>())
    }

    /// The parcel that is being filled, or an empty one, if any.
    #[inline]
    pub(crate) fn take(&mut self) -> Option<Box<Parcel>> {
        if let Some(parcel) = self.open.take() {
            return Some(parcel);
        }
        if self.has_failed {
            return None;
        }
        let parcel = self.empty.pop().ok();
        if parcel.is_none() {
            self.has_failed = self.full.is_abandoned();
        }
        parcel
    }

    /// The parcel that is filled next, where it needs no waiting: to prefetch its memory.
    #[inline]
    pub(crate) fn open_early(&mut self) -> Option<&Parcel> {
        if self.open.is_none() && !self.has_failed {
            self.open = self.empty.pop().ok();
        }
        self.open.as_deref()
    }

    /// Puts a parcel back that is to be filled further. `now`: stream time before the packets that it got.
    #[inline]
    pub(crate) fn keep(&mut self, mut parcel: Box<Parcel>, now: u64) {
        parcel.now = parcel.now.min(now);
        self.open = Some(parcel);
    }

    /// Sends the parcel that is being filled, if it has packets.
    #[inline]
    pub(crate) fn send_open(&mut self) {
        if let Some(parcel) = self.open.take_if(|parcel| parcel.packets() != 0) {
            self.send(parcel);
        }
    }

    /// Parcels that the worker was sent and is not done with.
    #[inline]
    pub(crate) fn waiting(&self) -> u64 {
        self.sent - self.done()
    }

    #[inline]
    pub(crate) fn send(&mut self, parcel: Box<Parcel>) {
        self.handed_over += parcel.packets();
        // There is room for all existing parcels.
        let _ = self.full.push(parcel);
        self.sent += 1;
    }

    /// True if the worker is done with all that it was sent, or has failed.
    #[inline]
    pub(crate) fn has_settled(&mut self) -> bool {
        if self.has_failed || self.done.load(Ordering::Acquire) == self.sent {
            return true;
        }
        self.has_failed = self.full.is_abandoned();
        self.has_failed
    }

    /// Parcels that the worker is done with.
    pub(crate) fn done(&self) -> u64 {
        self.done.load(Ordering::Relaxed)
    }

    /// The worker waits for others.
    pub(crate) fn awaits_others(&self) -> bool {
        self.awaits_others.load(Ordering::Relaxed)
    }
}
