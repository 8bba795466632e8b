//! Packets that never repeat, and how often each of the most popular flows is among them.

use super::draw::ZipfSampler;
use packet::{Key, KeySpec, KeyV4, Seed};

/// Flows whose packets are counted, to compare with.
const KNOWN: usize = 1_000;

/// The most packets that are drawn at once: 64 KiB, which stay out of the way of the table that is measured.
pub(super) const PIECE: usize = 1 << 14;

/// The 5-tuple of a flow.
#[inline(always)]
pub(super) fn key_of(flow: u32) -> KeyV4 {
    let [a, b, c, d] = flow.to_be_bytes();
    KeyV4::new([10, b, c, d, 192, 0, 2, a], [c, d, 0, 80], 6)
}

/// The key of a table that keeps no keys: the paper's simple hash table has one counter at each entry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct NoKey;

impl Key for NoKey {
    fn hash(&self, _: &Seed) -> u64 {
        0
    }

    fn reversed(&self) -> Self {
        Self
    }

    fn flow_key(&self, _: &KeySpec) -> packet::FlowKey {
        packet::FlowKey::default()
    }
}

/// The form in which a structure takes a key.
pub(super) trait ModelKey: Key {
    fn from_v4(key: KeyV4) -> Self;
}

impl ModelKey for KeyV4 {
    #[inline(always)]
    fn from_v4(key: KeyV4) -> Self {
        key
    }
}

impl ModelKey for NoKey {
    #[inline(always)]
    fn from_v4(_: KeyV4) -> Self {
        Self
    }
}

/// A stream of flow numbers: four bytes a packet, so that the stream takes little of the caches.
pub(super) struct FlowNumbers {
    draw: ZipfSampler,
    drawn: Vec<u32>,
    /// Packets of the first flows.
    known: Vec<u64>,
    total: u64,
}

impl FlowNumbers {
    pub(super) fn new(flows: u32, skew: f64, seed: u64) -> Self {
        let known = vec![0; KNOWN.min(flows as usize)];
        Self { draw: ZipfSampler::new(flows, skew, seed), drawn: Vec::new(), known, total: 0 }
    }

    /// Draws this many packets, and has `take` count each piece of them; what that gives is added up.
    pub(super) fn each_piece(&mut self, packets: usize, mut take: impl FnMut(&[u32]) -> f64) -> f64 {
        let (mut left, mut sum) = (packets, 0.0);
        while left > 0 {
            let piece = left.min(PIECE);
            sum += take(self.next(piece));
            left -= piece;
        }
        sum
    }

    /// The next packets. All of them must be counted.
    pub(super) fn next(&mut self, packets: usize) -> &[u32] {
        self.drawn.resize(packets, 0);
        self.draw.fill(&mut self.drawn);
        for flow in &self.drawn {
            if let Some(known) = self.known.get_mut(*flow as usize) {
                *known += 1;
            }
        }
        self.total += packets as u64;
        &self.drawn
    }

    /// The number of packets.
    pub(super) fn total(&self) -> u64 {
        self.total
    }

    /// Returns each of the first flows, and its number of packets.
    pub(super) fn known(&self) -> impl Iterator<Item = (KeyV4, u64)> + '_ {
        (0..).zip(&self.known).map(|(flow, count)| (key_of(flow), *count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::{HashMap, HashSet};

    #[test]
    fn what_came_is_known() {
        let mut packets = FlowNumbers::new(5_000, 1.0, 7);
        let mut truth = HashMap::<u32, u64>::new();
        for size in [10_000, 1, 70_000] {
            packets.next(size).iter().for_each(|flow| *truth.entry(*flow).or_default() += 1);
        }
        assert_eq!(packets.total(), 80_001);
        let pieces = packets.each_piece(40_000, |flows| {
            assert!(flows.len() <= PIECE);
            flows.iter().for_each(|flow| *truth.entry(*flow).or_default() += 1);
            flows.len() as f64
        });
        assert_eq!((pieces, packets.total()), (40_000.0, 120_001));
        let known: Vec<_> = packets.known().collect();
        assert_eq!(known.len(), KNOWN);
        for (flow, (key, count)) in (0..).zip(known) {
            assert_eq!((key, count), (key_of(flow), truth.get(&flow).copied().unwrap_or(0)));
        }
    }

    #[test]
    fn every_flow_has_a_key_of_its_own() {
        let flows = (0..100_000).chain((0..100_000).map(|flow| flow * 1_301)).chain([u32::MAX]);
        let flows: HashSet<u32> = flows.collect();
        let keys: HashSet<KeyV4> = flows.iter().map(|flow| key_of(*flow)).collect();
        assert_eq!(keys.len(), flows.len());
    }
}
