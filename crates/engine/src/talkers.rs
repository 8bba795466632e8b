//! Flows per address, from finished records: who scans, and who is flooded.

use hashbrown::HashTable;
use packet::{Key, KeyV4, KeyV6, Seed};
use record::report::{RankedAddress, Talkers, Totals};
use record::{FlowRecord, Ranking};
use std::net::IpAddr;
use summary::Limits;

/// Exact sums per source and per destination address, within the run's memory.
#[derive(Debug)]
pub(crate) struct TalkerTable {
    sources: Addresses,
    destinations: Addresses,
    limits: Limits,
    taken: usize,
    unlisted: u64,
}

/// The sums of each address.
#[derive(Debug)]
struct Addresses {
    table: HashTable<(IpAddr, Totals)>,
    seed: Seed,
}

impl Addresses {
    fn new(seed: Seed) -> Self {
        Self { table: HashTable::new(), seed }
    }

    /// Seeded as flows' keys are, so that nobody can choose addresses that collide. An address takes two lines of memory, far away where
    /// there are many: the quicker the hash, the more of them are on their way at once. With std's SipHash a replay of 10 million
    /// packets of 763,000 flows took a third longer, all of it.
    #[inline]
    fn hash(address: &IpAddr, seed: &Seed) -> u64 {
        match address {
            IpAddr::V4(address) => {
                let [a, b, c, d] = address.octets();
                KeyV4::new([a, b, c, d, 0, 0, 0, 0], [0; 4], 0).hash(seed)
            }
            IpAddr::V6(address) => KeyV6::new(&address.octets(), &[0; 16], [0; 4], 0).hash(seed),
        }
    }

    #[inline]
    fn totals(&mut self, address: IpAddr) -> &mut Totals {
        let Self { table, seed } = self;
        let hash = Self::hash(&address, seed);
        let entry = table.entry(hash, |(known, _)| *known == address, |(known, _)| Self::hash(known, seed));
        &mut entry.or_insert_with(|| (address, Totals::default())).into_mut().1
    }
}

/// Addresses that memory is asked for at a time.
const STEP: usize = 1 << 14;
/// What an address takes in a table that has just doubled, old table included.
const BYTES_PER_ADDRESS: usize = (size_of::<(IpAddr, Totals)>() + 1) * 3;

impl TalkerTable {
    pub(crate) fn new(limits: &Limits, seed: Seed) -> Self {
        Self {
            sources: Addresses::new(seed),
            destinations: Addresses::new(seed),
            limits: limits.clone(),
            taken: 0,
            unlisted: 0,
        }
    }

    pub(crate) fn add(&mut self, record: &FlowRecord) {
        let Some(key) = record.key else { return };
        if self.sources.table.len() + self.destinations.table.len() + 2 > self.taken {
            if !self.limits.take_bytes(STEP * BYTES_PER_ADDRESS) {
                self.unlisted += 1;
                return;
            }
            self.taken += STEP;
        }
        for (table, address) in [(&mut self.sources, key.src_addr), (&mut self.destinations, key.dst_addr)] {
            let Some(address) = address else { continue };
            let totals = table.totals(address);
            totals.packets += record.total_count;
            totals.total_byte += record.total_byte;
            totals.wire_byte += record.wire_byte;
            totals.flows += 1;
        }
    }

    pub(crate) fn finish(&self, lines: usize) -> Talkers {
        Talkers {
            sources: by_flows(&self.sources, lines),
            destinations: by_flows(&self.destinations, lines),
            unlisted: self.unlisted,
        }
    }
}

impl Drop for TalkerTable {
    fn drop(&mut self) {
        self.limits.give_back_bytes(self.taken * BYTES_PER_ADDRESS);
    }
}

fn by_flows(addresses: &Addresses, lines: usize) -> Vec<RankedAddress> {
    let mut ranking = Ranking::new(lines);
    for &(address, totals) in &addresses.table {
        ranking.offer(totals.flows, address, totals);
    }
    ranking.take(|key, totals| RankedAddress { key, totals })
}
