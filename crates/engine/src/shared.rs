//! Flow tables that all workers of a run count in.

use crate::backoff::Backoff;
use crate::collector::{FlowAccumulator, RecordSink};
use crate::config::MeasurementConfig;
use crate::tables::FlowTables;
use arena::{Limits, OutOfMemory};
use flowtable::{FlowSink, SharedTable};
use packet::{Bursts, KeyV4, KeyV6};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{PoisonError, RwLock};

/// Two sets of tables: one that is open, and one whose window is over, which is merged meanwhile. Receivers agree on when to
/// change them ([`crate::window_barrier`]), when no worker has anything left to count.
#[derive(Debug)]
pub(crate) struct SharedTableSets {
    /// Workers lock theirs for reading, a burst at a time and without ever waiting; the merger locks it for
    /// writing.
    sets: [RwLock<Set>; 2],
    open: AtomicUsize,
    /// True if the other set is empty.
    is_merged: AtomicBool,
    /// True if the workers have stopped merging.
    is_given_up: AtomicBool,
}

#[derive(Debug)]
struct Set {
    v4: SharedTable<KeyV4>,
    v6: SharedTable<KeyV6>,
}

/// Share of the memory that both sets take at most.
const MEMORY_SHARE: usize = 4;

/// Flows of each address family for which shared tables have room: the run's limit, or what fits into a
/// quarter of the memory.
fn room(limits: &Limits) -> usize {
    let bytes = |flows| {
        let set = SharedTable::<KeyV4>::bytes_for(flows) + SharedTable::<KeyV6>::bytes_for(flows);
        2 * set
    };
    let left = limits.bytes_allowed() - limits.bytes_used().min(limits.bytes_allowed());
    // Each has room for up to twice as many: tables have a power of two of slots.
    let most = (0..40).map(|bits| 1 << bits).take_while(|&flows| bytes(flows) <= left / MEMORY_SHARE).last();
    most.unwrap_or(1).min(limits.flow_limit())
}

impl SharedTableSets {
    pub(crate) fn new(config: &MeasurementConfig) -> Result<Self, OutOfMemory> {
        let flows = room(&config.limits);
        let set = || {
            Ok(RwLock::new(Set {
                v4: SharedTable::new(flows, &config.limits)?,
                v6: SharedTable::new(flows, &config.limits)?,
            }))
        };
        Ok(Self {
            sets: [set()?, set()?],
            open: AtomicUsize::new(0),
            is_merged: AtomicBool::new(true),
            is_given_up: AtomicBool::new(false),
        })
    }

    /// Counts parsed packets, concurrently with other workers.
    #[inline]
    pub(crate) fn count(&self, bursts: &Bursts, sink: &mut impl FlowSink) {
        let open = &self.sets[self.open.load(Ordering::Acquire)];
        let set = open.read().unwrap_or_else(PoisonError::into_inner);
        set.v4.update_burst(&bursts.v4, sink);
        set.v6.update_burst(&bursts.v6, sink);
    }

    /// Opens the other set, once that is merged. No core may be counting.
    pub(crate) fn change(&self) {
        let mut backoff = Backoff::default();
        while !self.is_merged.load(Ordering::Acquire) && !self.is_given_up.load(Ordering::Relaxed) {
            backoff.wait();
        }
        self.is_merged.store(false, Ordering::Relaxed);
        self.open.fetch_xor(1, Ordering::Release);
    }

    /// The merging worker has failed: the other workers stop waiting for it.
    pub(crate) fn give_up(&self) {
        self.is_given_up.store(true, Ordering::Relaxed);
    }

    /// Adds the flows of the set that is not open to `tables`.
    pub(crate) fn merge_into<R: RecordSink>(&self, tables: &mut FlowTables, sink: &mut FlowAccumulator<R>) {
        let closed = &self.sets[self.open.load(Ordering::Acquire) ^ 1];
        let mut set = closed.write().unwrap_or_else(PoisonError::into_inner);
        let Set { v4, v6 } = &mut *set;
        v4.take_shares(|share| sink.merge(&mut tables.v4, share));
        v6.take_shares(|share| sink.merge(&mut tables.v6, share));
        drop(set);
        self.is_merged.store(true, Ordering::Release);
    }
}
