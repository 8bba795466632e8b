//! FloWatcher's tables as what the workers of a run count in: what is lost with each (figure 7a).

use super::combined::Combined;
use super::double::Double;
use super::flows::HashedPackets;
use super::linked_list::LinkedList;
use super::table::{BenchFlowTable, Entries};
use engine::Tally;
use packet::Bursts;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// One of FloWatcher's tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HashTableKind {
    /// Two entries at each bucket; packets of further flows are counted together.
    Double,
    /// Two entries at each bucket, and a list of later ones.
    Combined,
    /// A list at each bucket.
    LinkedList,
}

impl HashTableKind {
    fn table(self, flows: usize) -> Box<dyn BenchFlowTable + Send> {
        match self {
            Self::Double => Box::new(Double::new()),
            Self::Combined => Box::new(Combined::new(flows)),
            Self::LinkedList => Box::new(LinkedList::new(flows)),
        }
    }
}

/// The packets that the tables of a run's workers have counted, together, by their entries.
#[derive(Clone, Debug, Default)]
pub(crate) struct CountedPackets(Arc<AtomicU64>);

impl CountedPackets {
    /// Makes a table with room for this many flows for each worker.
    pub(crate) fn tallies(&self, kind: HashTableKind, flows: usize, workers: usize) -> Vec<Box<dyn Tally>> {
        let tally = |_| {
            let table = kind.table(flows);
            Box::new(TableTally { table, hashes: Vec::new(), all: self.clone() }) as Box<dyn Tally>
        };
        (0..workers).map(tally).collect()
    }

    /// Packets in the tables of all workers that ended.
    pub(crate) fn total(&self) -> u64 {
        self.0.load(Ordering::Acquire)
    }
}

struct TableTally {
    table: Box<dyn BenchFlowTable + Send>,
    /// The hashes of a burst: 32 bits of the run's take the place of those that a card computes.
    hashes: Vec<u32>,
    all: CountedPackets,
}

impl fmt::Debug for TableTally {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.debug_struct("TableTally").field("table", &self.table.name()).finish()
    }
}

impl Tally for TableTally {
    fn count(&mut self, bursts: &Bursts) {
        let packets = bursts.packets();
        self.hashes.clear();
        self.hashes.extend(packets.v4.iter().map(|packet| packet.hash as u32));
        self.hashes.extend(packets.v6.iter().map(|packet| packet.hash as u32));
        self.table.count(HashedPackets { keys: &[], hashes: &self.hashes });
    }

    fn end(mut self: Box<Self>) {
        let counted: u64 = match self.table.entries() {
            Entries::ByHash(entries) => entries.iter().map(|(_, counted)| counted.packets).sum(),
            Entries::ByKey(entries) => entries.iter().map(|(_, counted)| counted.packets).sum(),
        };
        self.all.0.fetch_add(counted + self.table.untracked(), Ordering::AcqRel);
    }
}
