//! The machine: its caches, the latencies of these and of its memory, and how much of the shared cache a core
//! has.

use super::BENCH;
use super::caches::{Caches, SYSFS};
use super::chase::Cycle;
use super::equation::{Hits, Latencies};
use super::hits::by_line;
use super::popularity::Popularity;
use crate::BenchResult;
use crate::line::to_digits;
use serde_json::json;
use std::path::Path;

/// Loads of a round, and rounds.
const STEPS: u64 = 500_000;
const ROUNDS: usize = 5;
/// Memory that is traversed, for tables much larger than L3: the least and the most.
const FAR: (u64, u64) = (512 << 20, 1 << 30);

/// The properties that the model takes from the machine.
pub(super) struct MachineModel {
    pub(super) caches: Caches,
    /// The latencies, with the memory of tables that are just too large for L3.
    latencies: Latencies,
    /// Bytes of such a table, and of one that is much larger.
    near: f64,
    far: f64,
    /// A load from memory of that, nanoseconds: including address translation.
    far_memory: f64,
    lines: Cycle,
}

impl MachineModel {
    /// Makes a machine with these caches and latencies, whose memory is everywhere as far.
    #[cfg(test)]
    pub(super) fn made_up(caches: Caches, latencies: Latencies) -> Self {
        let far_memory = latencies.memory;
        Self { caches, latencies, near: 1e6, far: 1e9, far_memory, lines: Cycle::new(4_096) }
    }

    /// Measures it, with a line for each place.
    pub(super) fn measured(out: &mut dyn FnMut(BenchResult)) -> Result<Self, String> {
        let caches = Caches::read(Path::new(SYSFS))?;
        let Caches { l1d, l2, l3 } = caches;
        let far = (4 * l3).clamp(FAR.0, FAR.1);
        let near = (2 * l3).min(far / 2);
        // A cycle of twice the size of a cache finds nothing in it. L3 is shared, and others leave less than
        // all of it.
        let places = [
            ("latency_l1", l1d / 2),
            ("latency_l2", (l2 / 4).max(2 * l1d)),
            ("latency_l3", (2 * l2).min(l3)),
            ("latency_memory", near),
            ("latency_far_memory", far),
        ];
        let mut medians = [0.0; 5];
        for ((name, bytes), median) in places.into_iter().zip(&mut medians) {
            let cycle = Cycle::new(bytes);
            let checked = cycle.is_whole();
            let rounds_ns = (0..ROUNDS).map(|_| cycle.walk(STEPS)).collect();
            let line = BenchResult {
                bench: BENCH,
                variant: name.to_owned(),
                params: vec![("cores", json!(1))],
                packets: STEPS,
                rounds_ns,
                memory_bytes: Some(bytes),
                checked,
                more: vec![("l1d_bytes", json!(l1d)), ("l2_bytes", json!(l2)), ("l3_bytes", json!(l3))],
            };
            *median = line.ns_per_packet();
            out(line);
        }
        // Disturbed, a nearer place may seem slower than a farther one.
        for place in 1..medians.len() {
            medians[place] = medians[place].max(medians[place - 1]);
        }
        let [l1, l2, l3, memory, far_memory] = medians;
        let latencies = Latencies { l1, l2, l3, memory };
        Ok(Self {
            caches,
            latencies,
            near: near as f64,
            far: far as f64,
            far_memory,
            lines: Cycle::new(caches.l3),
        })
    }

    /// Returns the latencies of a table of this many bytes. Between what was measured that of memory goes by the logarithm, as the levels do
    /// through which an address is translated; beyond it is that of the largest.
    pub(super) fn latencies(&self, bytes: f64) -> Latencies {
        let share = ((bytes / self.near).ln() / (self.far / self.near).ln()).clamp(0.0, 1.0);
        let memory = self.latencies.memory + share * (self.far_memory - self.latencies.memory);
        Latencies { memory, ..self.latencies }
    }

    /// Returns how many bytes L3 and the nearer caches keep for this core, now: others use L3 too, and a virtual machine does not report its
    /// share. It is measured by loads from anywhere in an eighth, a quarter, half and all of what there should be.
    pub(super) fn felt_l3(&self) -> f64 {
        let jump = |bytes: u64| {
            self.lines.jump(bytes, (4 * bytes / 64).min(400_000));
            self.lines.jump(bytes, 100_000) / 100_000.0
        };
        // Drawing takes the same everywhere.
        let drawing = jump(self.caches.l1d / 2) - self.latencies.l1;
        let walks = [8, 4, 2, 1].map(|part| (self.caches.l3 / part, jump(self.caches.l3 / part) - drawing));
        fitted_l3(&self.caches, &self.latencies, &walks)
    }

    /// Returns where the accesses to a table find their entries, with an L3 of this many bytes.
    pub(super) fn hits(&self, popularity: &Popularity, entry_bytes: f64, felt_l3: f64) -> Hits {
        let hits = |bytes: f64| by_line(popularity, entry_bytes, bytes);
        Hits { l1: hits(self.caches.l1d as f64), l2: hits(self.caches.l2 as f64), l3: hits(felt_l3) }
    }
}

/// The size of L3 that best explains the measured time of loads from anywhere in this many bytes.
fn fitted_l3(caches: &Caches, latencies: &Latencies, walks: &[(u64, f64)]) -> f64 {
    let error = |l3: f64| -> f64 {
        let of_one = walks.iter().map(|&(bytes, measured)| {
            let held = |cache: f64| (cache / bytes as f64).min(1.0);
            let hits = Hits { l1: held(caches.l1d as f64), l2: held(caches.l2 as f64), l3: held(l3) };
            (latencies.l1 + latencies.waits(hits) - measured).powi(2)
        });
        of_one.sum()
    };
    let (least, most) = (caches.l2 as f64, caches.l3 as f64);
    let steps = 400;
    let sizes = (0..=steps).map(|step| least * (most / least).powf(f64::from(step) / f64::from(steps)));
    sizes.min_by(|a, b| error(*a).total_cmp(&error(*b))).unwrap_or(most)
}

/// Mebibytes, for people.
pub(super) fn mib(bytes: f64) -> serde_json::Value {
    json!(to_digits(bytes / f64::from(1 << 20), 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    const CACHES: Caches = Caches { l1d: 32 << 10, l2: 1 << 20, l3: 36 << 20 };
    const LATENCIES: Latencies = Latencies { l1: 2.0, l2: 5.0, l3: 24.0, memory: 108.0 };

    #[test]
    fn the_size_of_l3_is_found_from_how_long_loads_took() {
        for truth in [1 << 20, 3 << 20, 7 << 20, 20 << 20, 36 << 20] {
            let walks = [8, 4, 2, 1].map(|part| {
                let bytes = CACHES.l3 / part;
                let held = |cache: u64| (cache as f64 / bytes as f64).min(1.0);
                let hits = Hits { l1: held(CACHES.l1d), l2: held(CACHES.l2), l3: held(truth) };
                (bytes, LATENCIES.l1 + LATENCIES.waits(hits))
            });
            let felt = fitted_l3(&CACHES, &LATENCIES, &walks);
            assert!((felt / truth as f64 - 1.0).abs() < 0.02, "{felt}, not {truth}");
        }
    }
}
