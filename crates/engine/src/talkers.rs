//! Flows per address, from finished records: who scans, and who is flooded.

use record::report::{RankedAddress, Talkers, Totals};
use record::{FlowRecord, Ranking};
use std::collections::HashMap;
use std::net::IpAddr;
use summary::Limits;

/// Exact sums per source and per destination address, within the run's memory.
#[derive(Debug)]
pub(crate) struct TalkerTable {
    sources: HashMap<IpAddr, Totals>,
    destinations: HashMap<IpAddr, Totals>,
    limits: Limits,
    taken: usize,
    unlisted: u64,
}

/// Addresses that memory is asked for at a time.
const STEP: usize = 1 << 14;
/// What an address takes in a `HashMap` that has just doubled, old table included.
const BYTES_PER_ADDRESS: usize = (size_of::<(IpAddr, Totals)>() + 1) * 3;

impl TalkerTable {
    pub(crate) fn new(limits: &Limits) -> Self {
        Self {
            sources: HashMap::new(),
            destinations: HashMap::new(),
            limits: limits.clone(),
            taken: 0,
            unlisted: 0,
        }
    }

    pub(crate) fn add(&mut self, record: &FlowRecord) {
        let Some(key) = record.key else { return };
        if self.sources.len() + self.destinations.len() + 2 > self.taken {
            if !self.limits.take_bytes(STEP * BYTES_PER_ADDRESS) {
                self.unlisted += 1;
                return;
            }
            self.taken += STEP;
        }
        for (table, address) in [(&mut self.sources, key.src_addr), (&mut self.destinations, key.dst_addr)] {
            let Some(address) = address else { continue };
            let totals = table.entry(address).or_default();
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

fn by_flows(table: &HashMap<IpAddr, Totals>, lines: usize) -> Vec<RankedAddress> {
    let mut ranking = Ranking::new(lines);
    for (&address, &totals) in table {
        ranking.offer(totals.flows, address, totals);
    }
    ranking.take(|key, totals| RankedAddress { key, totals })
}
