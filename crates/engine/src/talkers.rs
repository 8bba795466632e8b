//! Flows per address, from finished records: who scans, and who is flooded.

use flow::FlowRecord;
use hashbrown::HashTable;
use packet::{Key, KeyV4, KeyV6, Seed};
use record::Ranking;
use record::report::{RankedAddress, Talkers, Totals};
use std::net::IpAddr;
use summary::{Lease, Limits};

/// Exact sums per source and per destination address, within the run's memory.
#[derive(Debug)]
pub(crate) struct TalkerTable {
    sources: Addresses,
    destinations: Addresses,
    memory: Lease,
    /// Addresses for which memory was taken.
    room: usize,
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
            memory: limits.empty_lease(),
            room: 0,
            unlisted: 0,
        }
    }

    pub(crate) fn add(&mut self, record: &FlowRecord) {
        let Some(key) = record.key else { return };
        if self.sources.table.len() + self.destinations.table.len() + 2 > self.room {
            if !self.memory.grow(STEP * BYTES_PER_ADDRESS) {
                self.unlisted += 1;
                return;
            }
            self.room += STEP;
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

fn by_flows(addresses: &Addresses, lines: usize) -> Vec<RankedAddress> {
    let mut ranking = Ranking::new(lines);
    for &(address, totals) in &addresses.table {
        ranking.offer(totals.flows, address, totals);
    }
    ranking.take(|key, totals| RankedAddress { key, totals })
}

#[cfg(test)]
mod tests {
    use super::*;
    use flow::EndReason;
    use packet::FlowKey;
    use proptest::prelude::*;
    use std::collections::HashMap;

    fn record(src: IpAddr, dst: IpAddr, packets: u64) -> FlowRecord {
        FlowRecord {
            key: Some(FlowKey::five_tuple((src, 1), (dst, 2), 17)),
            stime: 0,
            ltime: 0,
            total_count: packets,
            total_byte: 50 * packets,
            wire_byte: 64 * packets,
            tcp_seq: 0,
            tcp_ack: 0,
            tcp_win: 0,
            vlan: None,
            smac: [0; 6],
            dmac: [0; 6],
            tcp_flags: 0,
            ip_ttl: 0,
            ip_tos: 0,
            end_reason: EndReason::Idle,
            more: None,
        }
    }

    fn addresses() -> impl Strategy<Value = IpAddr> {
        // Few enough to meet again; the two families have the same numbers.
        (any::<bool>(), 0..300_u32).prop_map(|(is_v4, number)| match is_v4 {
            true => IpAddr::from(number.to_be_bytes()),
            false => IpAddr::from(u128::from(number).to_be_bytes()),
        })
    }

    proptest! {
        /// Every address of both families has the sums of its records, by a plain map.
        #[test]
        fn sums_are_those_of_a_map(
            flows in prop::collection::vec((addresses(), addresses(), 1..1_000_u64), 0..2_000),
            seed: u64,
        ) {
            let mut table = TalkerTable::new(&Limits::new(usize::MAX >> 1, 0), Seed::new(seed));
            let mut expected = [HashMap::new(), HashMap::new()];
            for &(src, dst, packets) in &flows {
                table.add(&record(src, dst, packets));
                for (sums, address) in expected.iter_mut().zip([src, dst]) {
                    let sum: &mut [u64; 4] = sums.entry(address).or_default();
                    let more = [packets, 50 * packets, 64 * packets, 1];
                    sum.iter_mut().zip(more).for_each(|(sum, more)| *sum += more);
                }
            }
            let Talkers { sources, destinations, unlisted } = table.finish(usize::MAX);
            prop_assert_eq!(unlisted, 0);
            for (rows, expected) in [sources, destinations].into_iter().zip(expected) {
                prop_assert!(rows.windows(2).all(|rows| rows[0].totals.flows >= rows[1].totals.flows));
                let found = rows.iter().map(|row| {
                    let Totals { packets, total_byte, wire_byte, flows } = row.totals;
                    (row.key, [packets, total_byte, wire_byte, flows])
                });
                prop_assert_eq!(rows.len(), expected.len());
                prop_assert_eq!(found.collect::<HashMap<_, _>>(), expected);
            }
        }
    }

    /// What finds no memory is counted, and what was taken is given back.
    #[test]
    fn records_beyond_the_memory_are_counted() {
        let limits = Limits::new(STEP * BYTES_PER_ADDRESS, 0);
        let mut table = TalkerTable::new(&limits, Seed::new(1));
        let records = STEP as u32;
        for number in 0..records {
            table.add(&record(IpAddr::from(number.to_be_bytes()), IpAddr::from((!number).to_be_bytes()), 1));
        }
        let Talkers { sources, destinations, unlisted } = table.finish(usize::MAX);
        assert_eq!(
            (sources.len(), destinations.len(), unlisted),
            (STEP / 2, STEP / 2, u64::from(records) / 2)
        );
        assert_eq!(limits.bytes_used(), STEP * BYTES_PER_ADDRESS);
        drop(table);
        assert_eq!(limits.bytes_used(), 0);
    }
}
