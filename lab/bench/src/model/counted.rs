//! A structure that packets are counted into, one at a time or in bursts, and whether it counted them.

use super::clock::{ticks, wait_for_loads};
use super::packets::{FlowNumbers, ModelKey, NoKey, key_of};
use crate::compare::thread_time;
use packet::{KeyV4, Seed};
use sketch::{
    Configuration, CountMin, CounterArray, Frequency, HeavyHitters, SimpleHashTable, SpaceSavingHeap,
    Summary, Update, UpdateBurst,
};

/// Packets of a burst, as in the engine.
const BURST: usize = 64;

/// The weight of a packet: packets of weight 1 would be counted in bytes if there are many counters, but the
/// model is about counters of 4 bytes.
const WEIGHT: u64 = 2;

/// A structure's answers about what it counted.
pub(super) trait PointQuery: Summary {
    /// Weight of all that it counted.
    fn total(&self) -> u64;
    /// Returns its count of a flow. None of these structures underestimates.
    fn count_of(&self, key: &KeyV4) -> f64;
}

impl PointQuery for SimpleHashTable<NoKey> {
    fn total(&self) -> u64 {
        self.total()
    }

    fn count_of(&self, key: &KeyV4) -> f64 {
        use packet::Key;
        self.estimate_hash(key.hash(self.configuration().seed())).value
    }
}

impl PointQuery for CounterArray<CountMin> {
    fn total(&self) -> u64 {
        self.total() as u64
    }

    fn count_of(&self, key: &KeyV4) -> f64 {
        self.estimate(key).value
    }
}

impl PointQuery for SpaceSavingHeap<KeyV4> {
    /// Returns the sum of all its counters: one that is taken over keeps its count.
    fn total(&self) -> u64 {
        self.heavy_hitters(1).keys.iter().map(|(_, estimate)| estimate.value as u64).sum()
    }

    /// A flow without a counter had no more than the least.
    fn count_of(&self, key: &KeyV4) -> f64 {
        self.estimate(key).bounds.map_or(0.0, |bounds| bounds.upper)
    }
}

/// A structure and the packets that it counts.
pub(super) struct SummaryHarness<S: Summary, K> {
    summary: S,
    seed: Seed,
    packets: FlowNumbers,
    burst: [Update<K>; BURST],
}

#[inline(always)]
fn update<K: ModelKey>(flow: u32, seed: &Seed) -> Update<K> {
    let Update { key, hash, weight } = Update::new(key_of(flow), WEIGHT, seed);
    Update { key: K::from_v4(key), hash, weight }
}

impl<K: ModelKey, S: UpdateBurst<K> + PointQuery> SummaryHarness<S, K> {
    pub(super) fn new(configuration: &S::Configuration, packets: FlowNumbers) -> Result<Self, String> {
        let summary = S::new(configuration).map_err(|error| error.to_string())?;
        Ok(Self { summary, seed: *configuration.seed(), packets, burst: [Update::default(); BURST] })
    }

    /// Empties the structure for other packets; its memory stays.
    pub(super) fn renew(&mut self, packets: FlowNumbers) {
        self.summary.reset();
        self.packets = packets;
    }

    /// Memory of the structure.
    pub(super) fn bytes(&self) -> u64 {
        self.summary.bytes() as u64
    }

    /// Counts this many more packets in bursts, whose waits overlap. Nanoseconds.
    pub(super) fn in_bursts(&mut self, packets: usize) -> f64 {
        let Self { summary, seed, packets: source, burst } = self;
        source.each_piece(packets, |flows| {
            let began = thread_time();
            for flows in flows.chunks(BURST) {
                let burst = &mut burst[..flows.len()];
                for (to, flow) in burst.iter_mut().zip(flows) {
                    *to = update(*flow, seed);
                }
                summary.update_burst(burst);
            }
            thread_time() - began
        })
    }

    /// Counts this many more packets, each after the one before it is done. Nanoseconds.
    pub(super) fn one_at_a_time(&mut self, packets: usize) -> f64 {
        let Self { summary, seed, packets: source, .. } = self;
        source.each_piece(packets, |flows| {
            let began = thread_time();
            for flow in flows {
                summary.update_burst(&[update(*flow, seed)]);
                wait_for_loads();
            }
            thread_time() - began
        })
    }

    /// Ticks of each of this many packets, one at a time, into `taken`.
    pub(super) fn ticks_of_each(&mut self, packets: usize, taken: &mut Vec<u64>) {
        let Self { summary, seed, packets: source, .. } = self;
        source.each_piece(packets, |flows| {
            for flow in flows {
                let began = ticks();
                summary.update_burst(&[update(*flow, seed)]);
                taken.push(ticks() - began);
            }
            0.0
        });
    }

    /// True if all packets were counted, and no known flow has fewer than arrived.
    pub(super) fn is_right(&self) -> bool {
        let mut known = self.packets.known();
        self.summary.total() == WEIGHT * self.packets.total()
            && known.all(|(key, count)| self.summary.count_of(&key) >= (WEIGHT * count) as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sketch::{ArrayConfig, GridConfig};

    fn counts<K: ModelKey, S: UpdateBurst<K> + PointQuery>(configuration: &S::Configuration) {
        let mut counted =
            SummaryHarness::<S, K>::new(configuration, FlowNumbers::new(3_000, 1.0, 1)).expect("a structure");
        assert!(counted.is_right(), "nothing came");
        counted.in_bursts(10_001);
        counted.one_at_a_time(777);
        let mut taken = Vec::new();
        counted.ticks_of_each(333, &mut taken);
        assert_eq!(taken.len(), 333);
        assert_eq!(counted.packets.total(), 11_111);
        assert!(counted.is_right());
        // Of these nothing was counted.
        counted.packets.next(1);
        assert!(!counted.is_right());
        counted.renew(FlowNumbers::new(3_000, 0.0, 2));
        assert!(counted.is_right());
        counted.in_bursts(500);
        assert!(counted.is_right());
        // As many, but of other flows.
        counted.packets = FlowNumbers::new(1, 0.0, 3);
        counted.packets.next(500);
        assert!(!counted.is_right());
    }

    #[test]
    fn what_was_not_counted_is_seen() {
        let seed = Seed::new(7);
        counts::<NoKey, SimpleHashTable<NoKey>>(&GridConfig::with_width(2_000, seed));
        counts::<NoKey, CounterArray<CountMin>>(&ArrayConfig::new(3, 2_000, seed).expect("a configuration"));
        counts::<KeyV4, SpaceSavingHeap<KeyV4>>(&GridConfig::with_width(500, seed));
    }
}
