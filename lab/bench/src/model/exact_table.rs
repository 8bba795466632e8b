//! Edison's exact table in the same model: two accesses a packet, to the index and to the flow.

use super::BENCH;
use super::equation::StructureCost;
use super::machine::MachineModel;
use super::packets::{FlowNumbers, key_of};
use super::points::{LEAST_ROUNDS, MOST_ROUNDS, compared};
use super::popularity::Popularity;
use crate::compare::{median, spread, thread_time};
use crate::cuckoo::Cuckoo;
use crate::line::to_digits;
use crate::{BenchResult, Points};
use hashbrown::HashMap;
use packet::{Key, KeySpec, KeyV4};
use serde_json::json;
use std::time::Instant;

/// Bytes that packets of a known flow touch: its hot line, and of the index 8 bytes a slot at a load between
/// 3/8 and 3/4.
pub(super) const FLOW: f64 = 64.0 + 16.0;
/// A line of the index, a line of the flow.
pub(super) const ACCESSES: f64 = 2.0;
/// Flows of the table that lies in L2, uniform; flows and skew of the one that the model is fitted to, far
/// beyond L3; and the others.
const NEAR: u64 = 4_000;
const FAR: (u64, f64) = (1_000_000, 0.0);
const POINTS: [(u64, f64); 5] =
    [(64_000, 0.0), (64_000, 1.0), (1_000_000, 1.0), (2_000_000, 0.0), (2_000_000, 1.0)];
/// The most flows: all of them are compared with the truth, in another table.
const MOST: u64 = 2_000_000;
const WARM: usize = 1_000_000;
const ROUND: usize = 100_000;

/// Returns the time that a packet waits for, all accesses together, nanoseconds.
pub(super) fn waits(machine: &MachineModel, flows: u64, popularity: &Popularity, felt_l3: f64) -> f64 {
    let latencies = machine.latencies(FLOW * flows as f64);
    ACCESSES * latencies.waits(machine.hits(popularity, FLOW, felt_l3))
}

/// Measures it, with a line for each point, and fits it.
pub(super) fn run(
    points: &Points,
    machine: &MachineModel,
    out: &mut dyn FnMut(BenchResult),
) -> Result<StructureCost, String> {
    let mut near = ExactTableHarness::new(NEAR, 0.0);
    let near_waits = waits(machine, NEAR, &Popularity::zipf(NEAR, 0.0), machine.caches.l3 as f64);
    let far = TablePoint::measured(points, machine, &mut near, FAR);
    // By the fastest rounds: what disturbs only adds.
    let at = |rounds: &[f64]| spread(rounds)[0] / ROUND as f64;
    let overlap =
        StructureCost::in_bursts((at(&far.references), near_waits), (at(&far.rounds_ns), far.waits)).overlap;
    let mut references = vec![far.reference()];
    far.give_out(near_waits, overlap, true, out);
    for (flows, skew) in others(points) {
        let point = TablePoint::measured(points, machine, &mut near, (flows, skew));
        references.push(point.reference());
        point.give_out(near_waits, overlap, false, out);
    }
    Ok(StructureCost::at(median(&references), near_waits, overlap))
}

/// Returns the points that are measured in addition to the one that the model is fitted to.
fn others(points: &Points) -> Vec<(u64, f64)> {
    match (points.flows, points.zipf) {
        (None, None) => POINTS.to_vec(),
        (flows, skew) => vec![(flows.unwrap_or(MOST).min(MOST), skew.unwrap_or(1.0))],
    }
}

/// A table and its packets.
struct ExactTableHarness {
    flows: u64,
    table: Cuckoo,
    packets: FlowNumbers,
    keys: Vec<KeyV4>,
}

impl ExactTableHarness {
    /// Every flow exists already, with one packet.
    fn new(flows: u64, skew: f64) -> Self {
        let mut table = Cuckoo::new();
        table.renew();
        let all: Vec<KeyV4> = (0..flows as u32).map(key_of).collect();
        table.count(&all);
        Self { flows, table, packets: FlowNumbers::new(flows as u32, skew, 1), keys: Vec::new() }
    }

    /// Counts this many packets. Returns nanoseconds.
    fn count(&mut self, packets: usize) -> f64 {
        let Self { table, keys, packets: source, .. } = self;
        source.each_piece(packets, |flows| {
            keys.clear();
            keys.extend(flows.iter().map(|flow| key_of(*flow)));
            let began = thread_time();
            table.count(keys);
            thread_time() - began
        })
    }

    /// True if each flow has all its packets. The table is empty afterwards.
    fn is_right(&mut self) -> bool {
        let mut counts = HashMap::new();
        self.table.end(|record| {
            counts.extend(record.key.map(|key| (key, record.total_count)));
        });
        let of = |key: &KeyV4| counts.get(&key.flow_key(&KeySpec::FIVE_TUPLE)).copied();
        counts.len() as u64 == self.flows
            && counts.values().sum::<u64>() == self.flows + self.packets.total()
            && self.packets.known().all(|(key, count)| of(&key) == Some(count + 1))
    }
}

struct TablePoint {
    flows: u64,
    skew: f64,
    /// Nanoseconds of rounds, sorted.
    rounds_ns: Vec<f64>,
    /// Nanoseconds of rounds of the table that lies in L2, in turn with those.
    references: Vec<f64>,
    memory: u64,
    checked: bool,
    waits: f64,
}

impl TablePoint {
    fn measured(
        points: &Points,
        machine: &MachineModel,
        near: &mut ExactTableHarness,
        (flows, skew): (u64, f64),
    ) -> Self {
        let mut counting = ExactTableHarness::new(flows, skew);
        let felt_l3 = machine.felt_l3();
        counting.count(WARM);
        let (mut rounds_ns, mut references) = (Vec::new(), Vec::new());
        let began = Instant::now();
        while rounds_ns.len() < LEAST_ROUNDS
            || (rounds_ns.len() < MOST_ROUNDS && began.elapsed().as_secs_f64() < points.seconds / 20.0)
        {
            near.count(ROUND / 4);
            references.push(near.count(ROUND));
            counting.count(ROUND / 4);
            rounds_ns.push(counting.count(ROUND));
        }
        let waits = waits(machine, flows, &Popularity::zipf(flows, skew), felt_l3);
        let memory = counting.table.memory_bytes();
        Self { flows, skew, rounds_ns, references, memory, checked: counting.is_right(), waits }
    }

    /// Median time per packet in the table that lies in L2.
    fn reference(&self) -> f64 {
        median(&self.references) / ROUND as f64
    }

    fn give_out(self, near_waits: f64, overlap: f64, is_fitted: bool, out: &mut dyn FnMut(BenchResult)) {
        let reference = self.reference();
        let measured = median(&self.rounds_ns) / ROUND as f64;
        let predicted = StructureCost::at(reference, near_waits, overlap).predicted(self.waits);
        let mut more = compared(["predicted_ns", "error_percent"], predicted, measured);
        more.extend([
            ("reference_ns", json!(to_digits(reference, 2))),
            ("overlap", json!(to_digits(overlap, 1))),
            ("fitted", json!(is_fitted)),
        ]);
        out(BenchResult {
            bench: BENCH,
            variant: "flow_table".to_owned(),
            params: vec![("flows", json!(self.flows)), ("zipf", json!(self.skew)), ("cores", json!(1))],
            packets: ROUND as u64,
            rounds_ns: self.rounds_ns,
            memory_bytes: Some(self.memory),
            checked: self.checked,
            more,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_counted_is_seen() {
        let counted = || {
            let mut counting = ExactTableHarness::new(5_000, 1.0);
            counting.count(20_000);
            counting
        };
        assert!(ExactTableHarness::new(5_000, 1.0).is_right());
        assert!(counted().is_right());
        let mut counting = counted();
        counting.packets.next(10);
        assert!(!counting.is_right(), "ten packets came that were not counted");
        // The same number of packets, but of a flow that had none of them.
        counting = counted();
        counting.packets.next(10);
        counting.table.count(&[key_of(4_999); 10]);
        assert!(!counting.is_right());
        let mut counting = counted();
        counting.table.count(&[key_of(4_999)]);
        assert!(!counting.is_right(), "a packet that never came, of a flow that nobody looks at");
        let mut counting = counted();
        counting.table.count(&[key_of(5_000)]);
        assert!(!counting.is_right(), "a flow that never came");
    }
}
