//! Figure 4: one simple hash table for two cores, whose counters they update by compare-and-swap or under spinlocks (Wu et al. 2016, section
//! 3.2), against a table for each.

use super::BENCH;
use super::cas_table::CasTable;
use super::clock::{TickCalibration, ticks, wait_for_loads};
use super::packets::{FlowNumbers, NoKey, key_of};
use super::percentile::percentile;
use super::spin_table::SpinTable;
use crate::BenchResult;
use crate::compare::{in_turn, thread_time};
use crate::line::to_digits;
use arena::shared::Section;
use packet::{Key, KeyV4, Seed};
use serde_json::json;
use sketch::{GridConfig, SimpleHashTable, Summary, Update, UpdateBurst};
use std::sync::Barrier;
use std::thread;

/// The number of cores, which is the paper's.
const CORES: usize = 2;
/// Flows of the traffic of both cores.
const FLOWS: u32 = 10_000_000;
/// Packets of each part of a round: the first reloads the caches, the second is timed as a whole, the third packet by packet.
const PART: usize = 50_000;
/// The weight of a packet, as in the other figures: counters have 32 bits.
const WEIGHT: u64 = 2;
type Simple = SimpleHashTable<NoKey>;

/// The tables that the cores count in.
enum CoreTables {
    Separate(Vec<Simple>),
    /// Counters by compare-and-swap.
    Shared(CasTable),
    /// A table of one core, behind one lock.
    OneLock(Section<Simple>),
    /// Counters, each behind its own lock.
    LockPerCounter(SpinTable),
}

/// A variant, and each core's packets.
struct TwoCoreVariant {
    name: &'static str,
    tables: CoreTables,
    packets: Vec<FlowNumbers>,
    seed: Seed,
    ticks: Vec<u64>,
}

/// The measurement of a core: nanoseconds of a part, and ticks of each packet of another.
type CoreTimes = (f64, Vec<u64>);

/// Measures all variants with tables of this many bytes each, in turn for about `seconds`.
pub(super) fn run(
    bytes: u64,
    skew: f64,
    seconds: f64,
    out: &mut dyn FnMut(BenchResult),
) -> Result<(), String> {
    let there = engine::allowed_cores().len();
    if there < CORES {
        return Err(format!("it needs {CORES} cores, this machine has {there}"));
    }
    let clock = TickCalibration::calibrated();
    let mut variants = variants(bytes as usize, skew)?;
    let times = in_turn(&mut variants, seconds, TwoCoreVariant::round);
    for (mut variant, rounds_ns) in variants.into_iter().zip(times) {
        variant.ticks.sort_unstable();
        let at = |share: f64| json!(to_digits(clock.ns(percentile(&variant.ticks, share)), 1));
        out(BenchResult {
            bench: BENCH,
            variant: variant.name.to_owned(),
            params: vec![
                ("bytes", json!(bytes)),
                ("flows", json!(FLOWS)),
                ("zipf", json!(skew)),
                ("cores", json!(CORES)),
            ],
            packets: PART as u64,
            rounds_ns,
            memory_bytes: Some(variant.bytes()),
            checked: variant.is_right()?,
            more: vec![("p50_ns", at(0.5)), ("p95_ns", at(0.95)), ("p99_ns", at(0.99))],
        });
    }
    Ok(())
}

fn variants(bytes: usize, skew: f64) -> Result<[TwoCoreVariant; 4], String> {
    let seed = Seed::new(7);
    let text = |error: sketch::SketchError| error.to_string();
    let own = GridConfig::with_width((bytes / size_of::<u32>()).max(1), seed);
    let separate = (0..CORES).map(|_| Simple::new(&own)).collect::<Result<_, _>>().map_err(text)?;
    // Of as many counters, of as many bits.
    let shared = CasTable::new((bytes / size_of::<u32>()).max(1));
    let locked = Section::new(Simple::new(&own).map_err(text)?);
    let locks = SpinTable::new((bytes / SpinTable::ENTRY).max(1), &seed);
    let variant = |name, tables| {
        let packets = (1..).take(CORES).map(|seed| FlowNumbers::new(FLOWS, skew, seed)).collect();
        TwoCoreVariant { name, tables, packets, seed, ticks: Vec::new() }
    };
    Ok([
        variant("separate", CoreTables::Separate(separate)),
        variant("shared", CoreTables::Shared(shared)),
        variant("spinlock", CoreTables::OneLock(locked)),
        variant("spinlock_per_counter", CoreTables::LockPerCounter(locks)),
    ])
}

impl TwoCoreVariant {
    /// Lets all cores count at the same time; returns the mean of their times.
    fn round(&mut self) -> f64 {
        let Self { tables, packets, seed, ticks, .. } = self;
        let (start, seed) = (&Barrier::new(CORES), &*seed);
        // Drawn beforehand: the cores do nothing but count.
        let flows: Vec<_> = packets.iter_mut().map(|packets| packets.next(3 * PART).to_vec()).collect();
        let times: Vec<CoreTimes> = thread::scope(|scope| {
            let threads: Vec<_> = match tables {
                CoreTables::Separate(tables) => (tables.iter_mut().zip(&flows))
                    .map(|(table, flows)| {
                        scope.spawn(move || one_core(flows, seed, start, |update| table.update_burst(update)))
                    })
                    .collect(),
                CoreTables::Shared(table) => {
                    let table = &*table;
                    let count = |[update]: &[Update<NoKey>; 1]| table.add(update.hash, update.weight as u32);
                    let core = |flows| move || one_core(flows, seed, start, count);
                    flows.iter().map(|flows| scope.spawn(core(flows))).collect()
                }
                CoreTables::OneLock(table) => {
                    let table = &*table;
                    let count = |update: &[Update<NoKey>; 1]| table.enter(|table| table.update_burst(update));
                    let core = |flows| move || one_core(flows, seed, start, count);
                    flows.iter().map(|flows| scope.spawn(core(flows))).collect()
                }
                CoreTables::LockPerCounter(table) => {
                    let table = &*table;
                    let core =
                        |flows| move || one_core(flows, seed, start, |update| table.update_burst(update));
                    flows.iter().map(|flows| scope.spawn(core(flows))).collect()
                }
            };
            let join = |thread: thread::ScopedJoinHandle<'_, CoreTimes>| match thread.join() {
                Ok(times) => times,
                Err(panic) => std::panic::resume_unwind(panic),
            };
            threads.into_iter().map(join).collect()
        });
        let mean = times.iter().map(|(ns, _)| ns).sum::<f64>() / times.len() as f64;
        times.into_iter().for_each(|(_, taken)| ticks.extend(taken));
        mean
    }

    fn bytes(&self) -> u64 {
        match &self.tables {
            CoreTables::Separate(tables) => tables.iter().map(|table| table.bytes() as u64).sum(),
            CoreTables::Shared(table) => table.bytes() as u64,
            CoreTables::OneLock(table) => table.enter(|table| table.bytes()) as u64,
            CoreTables::LockPerCounter(table) => table.bytes() as u64,
        }
    }

    /// True if all packets of both cores were counted, and no known flow has fewer than arrived.
    fn is_right(&self) -> Result<bool, String> {
        use sketch::Merge;
        let asked = |table: Simple| -> (u64, Box<dyn Fn(u64) -> u64 + '_>) {
            (table.total(), Box::new(move |hash| table.estimate_hash(hash).value as u64))
        };
        let (counted, estimate) = match &self.tables {
            CoreTables::Separate(tables) => {
                let mut sum = Simple::new(tables[0].configuration()).map_err(|error| error.to_string())?;
                tables.iter().try_for_each(|table| sum.merge(table)).map_err(|error| error.to_string())?;
                asked(sum)
            }
            CoreTables::Shared(table) => {
                let count = |hash| u64::from(table.counter(hash));
                (table.total(), Box::new(count) as Box<dyn Fn(u64) -> u64 + '_>)
            }
            CoreTables::OneLock(table) => asked(table.enter(|table| table.clone())),
            CoreTables::LockPerCounter(table) => {
                (table.total(), Box::new(|hash| table.estimate_hash(hash)) as Box<dyn Fn(u64) -> u64 + '_>)
            }
        };
        let arrived: u64 = self.packets.iter().map(FlowNumbers::total).sum();
        let count = |key: &KeyV4| estimate(key.hash(&self.seed));
        let mut sums = std::collections::HashMap::<KeyV4, u64>::new();
        for (key, packets) in self.packets.iter().flat_map(FlowNumbers::known) {
            *sums.entry(key).or_default() += packets;
        }
        Ok(counted == WEIGHT * arrived && sums.iter().all(|(key, packets)| count(key) >= WEIGHT * packets))
    }
}

/// Counts three parts, each of which all cores begin together.
fn one_core(
    flows: &[u32],
    seed: &Seed,
    start: &Barrier,
    mut count: impl FnMut(&[Update<NoKey>; 1]),
) -> CoreTimes {
    let update = |flow: &u32| {
        let Update { hash, weight, .. } = Update::new(key_of(*flow), WEIGHT, seed);
        [Update { key: NoKey, hash, weight }]
    };
    let (warm, rest) = flows.split_at(PART);
    let (together, singly) = rest.split_at(PART);
    start.wait();
    warm.iter().for_each(|flow| count(&update(flow)));
    start.wait();
    let began = thread_time();
    for flow in together {
        count(&update(flow));
        wait_for_loads();
    }
    let ns = thread_time() - began;
    start.wait();
    let one = |flow| {
        let began = ticks();
        count(&update(flow));
        ticks() - began
    };
    (ns, singly.iter().map(one).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_count_everything_and_what_is_missing_is_seen() {
        for mut variant in variants(32 << 10, 1.0).expect("tables") {
            assert!(variant.is_right().expect("an answer"));
            assert!(variant.round() > 0.0);
            assert_eq!(variant.ticks.len(), CORES * PART);
            assert!(variant.is_right().expect("an answer"), "{}", variant.name);
            // Of these nothing was counted.
            variant.packets[1].next(1);
            assert!(!variant.is_right().expect("an answer"), "{}", variant.name);
        }
    }
}
