//! FloWatcher's tables as what the workers of a run count in: what is lost with each (figure 7a).

use super::flows::HashedPackets;
use super::hash_tables::{Combined, Double, LinkedList};
use super::table::{BenchFlowTable, Entries};
use arena::OutOfMemory;
use engine::Tally;
use flowtable::by_hash::HashTableKind;
use packet::Bursts;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Makes a table.
fn table(kind: HashTableKind) -> Result<Box<dyn BenchFlowTable + Send>, OutOfMemory> {
    Ok(match kind {
        HashTableKind::Double => Box::new(Double::new()?),
        HashTableKind::Combined => Box::new(Combined::new()?),
        HashTableKind::List => Box::new(LinkedList::new()?),
    })
}

/// The packets that the tables of a run's workers have counted, together, by their entries.
#[derive(Clone, Debug, Default)]
pub(crate) struct CountedPackets(Arc<AtomicU64>);

impl CountedPackets {
    /// Makes a table for each worker.
    ///
    /// # Errors
    /// If there is no memory for them.
    pub(crate) fn tallies(
        &self,
        kind: HashTableKind,
        workers: usize,
    ) -> Result<Vec<Box<dyn Tally>>, OutOfMemory> {
        let tally = |_| {
            let all = self.clone();
            Ok(Box::new(TableTally { table: table(kind)?, hashes: Vec::new(), all }) as Box<dyn Tally>)
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
