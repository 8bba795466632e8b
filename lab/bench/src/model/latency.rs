//! Figure 1: mean and 95th percentile of the time per packet, by size, of three structures.

use super::clock::TickCalibration;
use super::counted::{PointQuery, SummaryHarness};
use super::packets::{FlowNumbers, ModelKey, NoKey};
use super::percentile::percentile;
use super::points::WARM;
use super::{BENCH, points};
use crate::compare::in_turn;
use crate::line::to_digits;
use crate::{BenchResult, Points};
use packet::{KeyV4, Seed};
use serde_json::json;
use sketch::{
    ArrayConfig, Configuration, CountMin, CounterArray, GridConfig, SimpleHashTable, SpaceSavingHeap,
    UpdateBurst,
};

/// Sizes of the structures, bytes; those that `--flows` requests have one counter per flow.
const SIZES: [u64; 5] = [32 << 10, 256 << 10, 2 << 20, 16 << 20, 128 << 20];
/// Flows of the traffic, for every size.
const FLOWS: u32 = 10_000_000;
/// Packets of each part of a round: the first part reloads the structure into the caches, the second is timed
/// as a whole, the third packet by packet.
const ROUND: usize = 100_000;
/// Rows of Count-Min.
const DEPTH: usize = 3;

/// Runs it.
pub(super) fn run(points: &Points, out: &mut dyn FnMut(BenchResult)) -> Result<(), String> {
    let clock = TickCalibration::calibrated();
    let skew = points.zipf.unwrap_or(1.0);
    let sizes = points.flows.map_or(SIZES.to_vec(), |flows| vec![(flows * points::ENTRY_BYTES).max(4 << 10)]);
    for bytes in sizes {
        let mut structures = structures(bytes as usize, skew)?;
        for structure in &mut structures {
            structure.counted.warm(WARM);
        }
        let times = in_turn(&mut structures, points.seconds / 10.0, |structure| {
            structure.counted.warm(ROUND);
            let time = structure.counted.together(ROUND);
            structure.counted.one_by_one(ROUND, &mut structure.ticks);
            time
        });
        for (mut structure, rounds_ns) in structures.into_iter().zip(times) {
            structure.ticks.sort();
            let at = |share: f64| json!(to_digits(clock.ns(percentile(&structure.ticks, share)), 1));
            out(BenchResult {
                bench: BENCH,
                variant: structure.name.to_owned(),
                params: vec![
                    ("bytes", json!(bytes)),
                    ("flows", json!(FLOWS)),
                    ("zipf", json!(skew)),
                    ("cores", json!(1)),
                ],
                packets: ROUND as u64,
                rounds_ns,
                memory_bytes: Some(structure.counted.bytes()),
                checked: structure.counted.is_right(),
                more: vec![
                    ("p50_ns", at(0.5)),
                    ("p95_ns", at(0.95)),
                    ("p99_ns", at(0.99)),
                    ("timer_ns", json!(to_digits(clock.own_ns(), 1))),
                ],
            });
        }
    }
    Ok(())
}

/// A structure that is compared, and the ticks of its packets.
struct ComparedStructure {
    name: &'static str,
    counted: Box<dyn Single>,
    ticks: Vec<u64>,
}

/// Makes the structures, each with its own stream of the same packets.
fn structures(bytes: usize, skew: f64) -> Result<[ComparedStructure; 3], String> {
    let (seed, width) = (Seed::new(7), bytes / size_of::<u32>());
    let table = GridConfig::with_width(width, seed);
    let count_min = ArrayConfig::new(DEPTH, width / DEPTH, seed).map_err(|error| error.to_string())?;
    let heap = GridConfig::with_bytes(bytes, seed).map_err(|error| error.to_string())?;
    let packets = || FlowNumbers::new(FLOWS, skew, 1);
    let structure = |name, counted| ComparedStructure { name, counted, ticks: Vec::new() };
    Ok([
        structure(
            "simple_hash_table",
            Box::new(SummaryHarness::<SimpleHashTable<NoKey>, NoKey>::new(&table, packets())?),
        ),
        structure(
            "count_min",
            Box::new(SummaryHarness::<CounterArray<CountMin>, NoKey>::new(&count_min, packets())?),
        ),
        structure(
            "space_saving_heap",
            Box::new(SummaryHarness::<SpaceSavingHeap<KeyV4>, KeyV4>::new(&heap, packets())?),
        ),
    ])
}

/// A structure of whatever kind.
trait Single {
    fn warm(&mut self, packets: usize);
    /// Nanoseconds of all packets, processed one at a time.
    fn together(&mut self, packets: usize) -> f64;
    fn one_by_one(&mut self, packets: usize, ticks: &mut Vec<u64>);
    fn is_right(&self) -> bool;
    fn bytes(&self) -> u64;
}

impl<K: ModelKey, S: UpdateBurst<K> + PointQuery> Single for SummaryHarness<S, K> {
    fn warm(&mut self, packets: usize) {
        self.in_bursts(packets);
    }

    fn together(&mut self, packets: usize) -> f64 {
        self.one_at_a_time(packets)
    }

    fn one_by_one(&mut self, packets: usize, ticks: &mut Vec<u64>) {
        self.ticks_of_each(packets, ticks);
    }

    fn is_right(&self) -> bool {
        self.is_right()
    }

    fn bytes(&self) -> u64 {
        self.bytes()
    }
}
