//! Every design gives the counter arrays of one core and names the same heaviest flow, however packets are split, and
//! whether there is an array for each core or one for all.

use crate::support::{BURST, Recorder, Watch, config, generated, on_queues, plan};
use engine::{ResolvedDesign, Split, StatePlacement, Tally, run_tallies};
use packet::{Bursts, KeyBurst, KeyV4, Seed};
use sketch::{
    ArrayConfig, CountMin, CountSketch, Frequency, KAry, Linear, Merge, SharedArray, Summary, Tracked,
    TrackedConfig, Turnstile, Update, UpdateBurst,
};
use std::collections::HashMap;
use std::sync::{Arc, Mutex};

const DESIGNS: [&str; 7] = ["rss/1", "rss/3", "sync/3", "async/4", "cooperative/1", "1x3", "2x2"];
const SPEC: &str = "packets=20k,flows=3k,zipf=1.1";

/// The seed of the run, by which keys are hashed.
fn seed() -> Seed {
    config().seed
}

fn updates(burst: &KeyBurst<KeyV4>) -> Vec<Update<KeyV4>> {
    burst.packets().iter().map(|packet| Update { key: packet.key, hash: packet.hash, weight: 1 }).collect()
}

/// Packets of every flow: what arrays are compared with.
#[derive(Debug, Default)]
struct Exact(Arc<Mutex<HashMap<KeyV4, u64>>>);

impl Tally for Exact {
    fn count(&mut self, bursts: &Bursts) {
        let mut counts = self.0.lock().expect("one worker");
        bursts.v4.packets().iter().for_each(|packet| *counts.entry(packet.key).or_default() += 1);
    }
    fn end(self: Box<Self>) {}
}

/// A worker's own array.
#[derive(Debug)]
struct Own<P: Linear> {
    array: Tracked<KeyV4, P>,
    ended: Arc<Mutex<Vec<Tracked<KeyV4, P>>>>,
}

impl<P: Linear> Tally for Own<P> {
    fn count(&mut self, bursts: &Bursts) {
        self.array.update_burst(&updates(&bursts.v4));
    }
    fn end(self: Box<Self>) {
        self.ended.lock().expect("no worker fails").push(self.array);
    }
}

/// The array of all workers.
#[derive(Debug)]
struct Common<P: Linear>(Arc<SharedArray<KeyV4, P>>);

impl<P: Linear> Tally for Common<P> {
    fn count(&mut self, bursts: &Bursts) {
        self.0.update_burst(&updates(&bursts.v4));
    }
    fn end(self: Box<Self>) {}
}

/// Measures the same traffic by a plan.
fn count(plan: &ResolvedDesign, tallies: Vec<Box<dyn Tally>>) {
    let mut sources = match plan.receivers {
        1 => generated(SPEC, BURST),
        queues => on_queues(SPEC, queues, BURST),
    };
    let kept = Recorder::new(|_, _| ());
    let outcome = run_tallies(&mut sources, &config(), plan, kept, &mut Watch::default(), tallies);
    let outcome = outcome.expect("there is memory");
    assert!(outcome.errors.is_empty() && outcome.faults.is_empty(), "{}", plan.design);
    assert_eq!(outcome.ended.packets.measured, 20_000, "{}", plan.design);
}

/// A design's answers: each flow's estimate, the total and the heaviest flow.
#[derive(Debug, PartialEq)]
struct Answers {
    estimates: Vec<f64>,
    total: f64,
    heaviest: Option<KeyV4>,
}

fn ask<P: Linear>(plan: &ResolvedDesign, configuration: &TrackedConfig<KeyV4, P>, keys: &[KeyV4]) -> Answers {
    match plan.state {
        StatePlacement::Separate => {
            let ended = Arc::default();
            let own = |_| {
                let array = Tracked::new(configuration).expect("memory");
                Box::new(Own { array, ended: Arc::clone(&ended) }) as Box<dyn Tally>
            };
            count(plan, (0..plan.counting()).map(own).collect());
            let mut arrays = std::mem::take(&mut *ended.lock().expect("no worker fails"));
            let mut all = arrays.pop().expect("a worker");
            arrays.iter().for_each(|array| all.merge(array).expect("one configuration"));
            Answers {
                estimates: keys.iter().map(|key| all.estimate(key).value).collect(),
                total: all.array().total(),
                heaviest: all.heaviest().map(|(key, _)| key),
            }
        }
        StatePlacement::Shared => {
            let array = Arc::new(SharedArray::new(configuration.array()).expect("memory"));
            let common = |_| Box::new(Common(Arc::clone(&array))) as Box<dyn Tally>;
            count(plan, (0..plan.counting()).map(common).collect());
            let all = array.snapshot().expect("memory");
            Answers {
                estimates: keys.iter().map(|key| all.estimate(key).value).collect(),
                total: all.total(),
                heaviest: array.heaviest().map(|(key, _)| key),
            }
        }
    }
}

/// In every design the array is that of one pass over the flows, whose order is another one.
fn all_alike<P: Linear>() {
    let exact = Exact::default();
    let counts = Arc::clone(&exact.0);
    count(&ResolvedDesign::single(), vec![Box::new(exact)]);
    let counts = counts.lock().expect("no worker fails").clone();
    let keys: Vec<KeyV4> = counts.keys().copied().collect();
    let array = ArrayConfig::<P>::new(4, 1 << 14, seed()).expect("a size");
    let configuration = TrackedConfig::new(array, 1).expect("a candidate");
    let mut one = Tracked::new(&configuration).expect("memory");
    counts.iter().for_each(|(key, count)| one.update_burst(&[Update::new(*key, *count, &seed())]));
    let expected = Answers {
        estimates: keys.iter().map(|key| one.estimate(key).value).collect(),
        total: 20_000.0,
        heaviest: counts.iter().max_by_key(|(_, count)| **count).map(|(key, _)| *key),
    };
    let off: f64 = keys
        .iter()
        .zip(&expected.estimates)
        .map(|(key, estimate)| (estimate - counts[key] as f64).abs())
        .sum();
    assert!(off < 0.3 * 20_000.0, "{configuration}: estimates are off by {off} packets together");
    for design in DESIGNS {
        for split in [Split::Hash, Split::Position] {
            for state in [StatePlacement::Separate, StatePlacement::Shared] {
                let plan = ResolvedDesign { split, state, ..plan(design) };
                let what = format!("{configuration}: {design}, split by {split}, {state} state");
                assert!(ask(&plan, &configuration, &keys) == expected, "{what}");
            }
        }
    }
}

#[test]
fn count_min() {
    all_alike::<CountMin>();
}

#[test]
fn count_sketch() {
    all_alike::<CountSketch>();
}

#[test]
fn k_ary() {
    all_alike::<KAry>();
}

#[test]
fn turnstile() {
    all_alike::<Turnstile>();
}
