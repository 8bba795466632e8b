//! Keys alone, for benches and tests of tables.

use crate::flow::Flows;
use crate::generator::{DRAWN_AHEAD, Draws};
use crate::spec::TrafficSpec;
use packet::{Key, KeyV4, KeyV6, Seed};

/// The keys of a run's packets in order, all of one address family, with the exact count of each flow.
///
/// It uses the specification's `packets` (below 2³², all held in memory), `flows`, `zipf` and `seed`.
#[derive(Clone, Debug)]
pub struct KeyStream<K> {
    keys: Vec<K>,
    /// Packets by rank.
    counts: Vec<u32>,
    flows: Flows,
    key_of: fn(&Flows, u32) -> K,
}

impl KeyStream<KeyV4> {
    /// A stream of IPv4 keys: those of a generator with the same specification, if it has `ipv6=0%`.
    pub fn ipv4(spec: &TrafficSpec) -> Self {
        Self::draw(spec, Flows::key_v4)
    }
}

impl KeyStream<KeyV6> {
    /// A stream of IPv6 keys, as a generator's with `ipv6=100%`.
    pub fn ipv6(spec: &TrafficSpec) -> Self {
        Self::draw(spec, Flows::key_v6)
    }
}

impl<K: Key> KeyStream<K> {
    fn draw(spec: &TrafficSpec, key_of: fn(&Flows, u32) -> K) -> Self {
        let Draws { flows, mut ranks, .. } = Draws::new(spec);
        let mut counts = vec![0u32; spec.flows() as usize];
        let mut keys = vec![K::default(); spec.packets() as usize];
        let mut drawn = [0; DRAWN_AHEAD];
        for keys in keys.chunks_mut(DRAWN_AHEAD) {
            let drawn = &mut drawn[..keys.len()];
            ranks.draw(drawn);
            for &rank in drawn.iter() {
                counts[rank as usize] += 1;
            }
            for (key, &rank) in keys.iter_mut().zip(drawn.iter()) {
                *key = key_of(&flows, rank);
            }
        }
        Self { keys, counts, flows, key_of }
    }

    /// The same stream after one packet of every flow there is, drawn or not, in an order independent of the
    /// flows' frequencies.
    #[must_use]
    pub fn after_each_flow(mut self) -> Self {
        let seed = Seed::new(0);
        let mut first: Vec<K> =
            (0..self.counts.len() as u32).map(|rank| (self.key_of)(&self.flows, rank)).collect();
        first.sort_unstable_by_key(|key| key.hash(&seed));
        first.append(&mut self.keys);
        self.keys = first;
        self.counts.iter_mut().for_each(|count| *count += 1);
        self
    }

    /// The keys, one per packet.
    pub fn keys(&self) -> &[K] {
        &self.keys
    }

    /// Every key that was drawn and how often.
    pub fn counts(&self) -> impl Iterator<Item = (K, u32)> + '_ {
        let drawn = (0..).zip(&self.counts).filter(|(_, count)| **count > 0);
        drawn.map(|(rank, count)| ((self.key_of)(&self.flows, rank), *count))
    }

    /// The number of distinct keys that were drawn.
    pub fn distinct(&self) -> usize {
        self.counts.iter().filter(|count| **count > 0).count()
    }
}
