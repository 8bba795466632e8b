//! Workers that count packets and nothing else: what measuring costs before any flow is kept.

use engine::Tally;
use packet::Bursts;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The number of packets that the workers of a run counted together.
#[derive(Clone, Debug, Default)]
pub(super) struct PacketsOnly(Arc<AtomicU64>);

impl PacketsOnly {
    /// Makes a tally for each worker.
    pub(super) fn tallies(&self, workers: usize) -> Vec<Box<dyn Tally>> {
        let tally = |_| Box::new(PacketTally { packets: 0, all: self.clone() }) as Box<dyn Tally>;
        (0..workers).map(tally).collect()
    }

    /// Packets of all workers that ended.
    pub(super) fn total(&self) -> u64 {
        self.0.load(Ordering::Acquire)
    }
}

#[derive(Debug)]
struct PacketTally {
    packets: u64,
    all: PacketsOnly,
}

impl Tally for PacketTally {
    fn count(&mut self, bursts: &Bursts) {
        self.packets += bursts.len() as u64;
    }

    fn end(self: Box<Self>) {
        self.all.0.fetch_add(self.packets, Ordering::AcqRel);
    }
}
