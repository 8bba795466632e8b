//! Predicted and measured, by size and skew.

use super::BENCH;
use super::counted::SummaryHarness;
use super::equation::{Hits, Latencies, StructureCost};
use super::hits::published;
use super::machine::{MachineModel, mib};
use super::packets::{FlowNumbers, NoKey};
use super::popularity::Popularity;
use crate::compare::{median, spread};
use crate::line::to_digits;
use crate::{BenchResult, Points};
use packet::Seed;
use serde_json::{Value, json};
use sketch::{GridConfig, SimpleHashTable};
use std::time::Instant;

/// Bytes of an entry: a counter.
pub(super) const ENTRY_BYTES: u64 = 4;
const ENTRY: f64 = ENTRY_BYTES as f64;
/// Pairs of addresses between the tasks of a rack (48 servers with 9 tasks each) and those of a cluster (10,000 servers), every task with every
/// other one (Alipourfard et al., section 3.2).
const RACK_PAIRS: u64 = 48 * 9 * 10_000 * 9;
/// Entries of the tables, and as many flows: 128 KiB to 512 MiB.
const ENTRIES: [u64; 8] = [1 << 15, 1 << 17, 1 << 19, 1 << 21, 1 << 23, 1 << 25, RACK_PAIRS, 1 << 27];
const SKEWS: [f64; 5] = [0.0, 0.5, 1.0, 1.5, 2.0];
/// The entries of the tables that the model is fitted to, uniform: one that lies in L2, measured with every point, and one that does not fit
/// into L3, once.
const NEAR: u64 = 1 << 15;
const FAR: u64 = 1 << 25;
/// The most entries: 512 MiB.
pub(super) const MOST: u64 = 1 << 27;
/// Packets before those that are timed: with them the caches are as they stay.
pub(super) const WARM: usize = 2_000_000;
const ROUND: u64 = 250_000;
/// Packets of a round in the table that lies in L2.
const REFERENCE: usize = 50_000;
pub(super) const LEAST_ROUNDS: usize = 3;
pub(super) const MOST_ROUNDS: usize = 21;

/// Entries of the table that does not fit into L3: the largest if a core may have this much L3.
fn far(machine: &MachineModel) -> u64 {
    if 2 * machine.caches.l3 <= FAR * ENTRY_BYTES { FAR } else { MOST }
}

type CountedTable = SummaryHarness<SimpleHashTable<NoKey>, NoKey>;

/// The simple hash table, fitted.
pub(super) struct FittedHashTable {
    /// The time of a packet in a table in L2, one at a time: the paper's `T_process`, nanoseconds.
    pub(super) process: f64,
    pub(super) one_at_a_time: StructureCost,
    pub(super) in_bursts: StructureCost,
    /// Bytes of L3 that this core had, by its median over all points.
    pub(super) felt_l3: f64,
}

/// The results of one point.
struct ModelPoint {
    entries: u64,
    skew: f64,
    /// Nanoseconds of rounds: one at a time, in bursts.
    rounds: [Vec<f64>; 2],
    /// Nanoseconds of rounds in the table that lies in L2, in turn with those: a slowdown of the processor affects both.
    references: [Vec<f64>; 2],
    packets: u64,
    memory: u64,
    checked: bool,
    felt_l3: f64,
    /// The share of hits of L3, as published.
    p: f64,
    hits: Hits,
    latencies: Latencies,
}

/// Measures all points, and emits a line for each way of counting.
pub(super) fn run(
    points: &Points,
    machine: &MachineModel,
    out: &mut dyn FnMut(BenchResult),
) -> Result<FittedHashTable, String> {
    let mut measured = PointRunner::new(points, machine)?;
    let far_entries = far(machine);
    let far = measured.point(far_entries, 0.0)?;
    // By the fastest rounds: what disturbs only adds.
    let fastest = [&far.references[1], &far.rounds[1]].map(|rounds| spread(rounds)[0]);
    let fastest = (fastest[0], fastest[1] / far.packets as f64);
    let overlap =
        StructureCost::in_bursts((fastest.0, measured.near_waits), (fastest.1, far.waits())).overlap;
    let mut felt = vec![far.felt_l3];
    let mut references = vec![far.reference()];
    far.give_out(measured.near_waits, overlap, true, out);
    let entries = points.flows.map_or(ENTRIES.to_vec(), |flows| vec![flows]);
    for entries in entries {
        for skew in SKEWS.into_iter().filter(|skew| is_asked(points, *skew)).chain(other_skew(points)) {
            if (entries, skew) == (far_entries, 0.0) {
                continue;
            }
            let point = measured.point(entries, skew)?;
            felt.push(point.felt_l3);
            references.push(point.reference());
            point.give_out(measured.near_waits, overlap, false, out);
        }
    }
    let [alone, bursts] =
        [0, 1].map(|way| median(&references.iter().map(|reference| reference[way]).collect::<Vec<_>>()));
    let fitted = FittedHashTable {
        process: alone,
        one_at_a_time: StructureCost::at(alone, measured.near_waits, 1.0),
        in_bursts: StructureCost::at(bursts, measured.near_waits, overlap),
        felt_l3: median(&felt),
    };
    out(BenchResult {
        bench: BENCH,
        variant: "fitted".to_owned(),
        params: vec![("cores", json!(1))],
        packets: 0,
        rounds_ns: Vec::new(),
        memory_bytes: None,
        checked: false,
        more: vec![
            ("process_ns", json!(to_digits(alone, 2))),
            ("process_in_bursts_ns", json!(to_digits(bursts, 2))),
            ("overlap", json!(to_digits(overlap, 1))),
            ("felt_l3_mib", mib(fitted.felt_l3)),
            ("felt_l3_least_mib", mib(felt.iter().copied().fold(f64::INFINITY, f64::min))),
            ("felt_l3_most_mib", mib(felt.iter().copied().fold(0.0, f64::max))),
            ("l3_mib", mib(machine.caches.l3 as f64)),
        ],
    });
    Ok(fitted)
}

/// Returns true if a skew is among those that the bench is restricted to.
fn is_asked(points: &Points, skew: f64) -> bool {
    points.zipf.is_none_or(|asked| asked == skew)
}

/// The requested skew, if it is not one of the bench's own.
fn other_skew(points: &Points) -> Option<f64> {
    points.zipf.filter(|skew| !SKEWS.contains(skew))
}

/// The measurement of points, which keeps the last table for the next point.
struct PointRunner<'a> {
    points: &'a Points,
    machine: &'a MachineModel,
    /// The table that lies in L2, with uniform traffic.
    near: CountedTable,
    near_waits: f64,
    table: Option<(u64, CountedTable)>,
}

fn table(entries: u64, skew: f64) -> Result<CountedTable, String> {
    let packets = FlowNumbers::new(entries as u32, skew, 1);
    CountedTable::new(&GridConfig::with_width(entries as usize, Seed::new(7)), packets)
}

impl<'a> PointRunner<'a> {
    fn new(points: &'a Points, machine: &'a MachineModel) -> Result<Self, String> {
        // In L2 whole, and in L1 as much as fits.
        let popularity = Popularity::zipf(NEAR, 0.0);
        let hits = machine.hits(&popularity, ENTRY, machine.caches.l3 as f64);
        let near_waits = machine.latencies(NEAR as f64 * ENTRY).waits(Hits { l2: 1.0, ..hits });
        Ok(Self { points, machine, near: table(NEAR, 0.0)?, near_waits, table: None })
    }

    fn point(&mut self, entries: u64, skew: f64) -> Result<ModelPoint, String> {
        let mut table = match self.table.take().filter(|(of, _)| *of == entries) {
            Some((_, mut table)) => {
                table.renew(FlowNumbers::new(entries as u32, skew, 1));
                table
            }
            None => table(entries, skew)?,
        };
        let felt_l3 = self.machine.felt_l3();
        table.in_bursts(WARM);
        let packets = self.points.packets.unwrap_or(ROUND).clamp(1, 1 << 24);
        let (mut rounds, mut references) = ([Vec::new(), Vec::new()], [Vec::new(), Vec::new()]);
        let began = Instant::now();
        while rounds[0].len() < LEAST_ROUNDS
            || (rounds[0].len() < MOST_ROUNDS && began.elapsed().as_secs_f64() < self.points.seconds / 10.0)
        {
            // The first packets reload the table into L2.
            self.near.in_bursts(REFERENCE);
            references[0].push(self.near.one_at_a_time(REFERENCE) / REFERENCE as f64);
            references[1].push(self.near.in_bursts(REFERENCE) / REFERENCE as f64);
            table.in_bursts(REFERENCE);
            rounds[0].push(table.one_at_a_time(packets as usize));
            rounds[1].push(table.in_bursts(packets as usize));
        }
        let popularity = Popularity::zipf(entries, skew);
        let point = ModelPoint {
            entries,
            skew,
            rounds,
            references,
            packets,
            memory: table.bytes(),
            checked: table.is_right() && self.near.is_right(),
            felt_l3,
            p: published(&popularity, ENTRY, felt_l3),
            hits: self.machine.hits(&popularity, ENTRY, felt_l3),
            latencies: self.machine.latencies(entries as f64 * ENTRY),
        };
        self.table = Some((entries, table));
        Ok(point)
    }
}

impl ModelPoint {
    /// Median time per packet.
    fn ns(&self, way: usize) -> f64 {
        median(&self.rounds[way]) / self.packets as f64
    }

    /// Returns the median time per packet in the table that lies in L2, one at a time and in bursts.
    fn reference(&self) -> [f64; 2] {
        [0, 1].map(|way| median(&self.references[way]))
    }

    fn waits(&self) -> f64 {
        self.latencies.waits(self.hits)
    }

    fn give_out(self, near_waits: f64, overlap: f64, is_fitted: bool, out: &mut dyn FnMut(BenchResult)) {
        let variants = ["one_at_a_time", "bursts_of_64"];
        for (way, overlap) in [1.0, overlap].into_iter().enumerate() {
            let (reference, measured) = (self.reference()[way], self.ns(way));
            let predicted = StructureCost::at(reference, near_waits, overlap).predicted(self.waits());
            let mut more = compared(["predicted_ns", "error_percent"], predicted, measured);
            if way == 0 {
                let published = self.latencies.published(reference, self.p);
                more.extend(compared(["published_ns", "published_error_percent"], published, measured));
                more.push(("p", share(self.p)));
            }
            more.extend([
                ("l1_hits", share(self.hits.l1)),
                ("l2_hits", share(self.hits.l2)),
                ("l3_hits", share(self.hits.l3)),
                ("reference_ns", json!(to_digits(reference, 2))),
                ("felt_l3_mib", mib(self.felt_l3)),
                ("fitted", json!(is_fitted && way == 1)),
            ]);
            out(BenchResult {
                bench: BENCH,
                variant: variants[way].to_owned(),
                params: vec![
                    ("entries", json!(self.entries)),
                    ("zipf", json!(self.skew)),
                    ("cores", json!(1)),
                ],
                packets: self.packets,
                rounds_ns: self.rounds[way].clone(),
                memory_bytes: Some(self.memory),
                checked: self.checked,
                more,
            });
        }
    }
}

/// A prediction, and how far it is from what was measured.
pub(super) fn compared(
    names: [&'static str; 2],
    predicted: f64,
    measured: f64,
) -> Vec<(&'static str, Value)> {
    let error = 100.0 * (predicted / measured - 1.0);
    vec![(names[0], json!(to_digits(predicted, 2))), (names[1], json!(to_digits(error, 1)))]
}

/// Three digits.
pub(super) fn share(share: f64) -> Value {
    json!(to_digits(share, 3))
}
