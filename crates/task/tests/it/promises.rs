//! The bounds of an answer's rows hold as often as they promise: in every structure of every task, however many workers counted
//! and however packets were split between them. Truth comes from maps and sorted values.

use crate::support::*;
use packet::{FlowKey, KeySpec, Seed};
use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use task::{
    Point, RunProperties, Structure, TaskAnswer, TaskKind, TaskRows, TaskRunner, Tasks, WindowId, WorkerId,
    catalog,
};

const SEEDS: u64 = 6;

/// How packets come to workers.
#[derive(Clone, Copy, Debug)]
struct Layout {
    workers: usize,
    /// Each flow is on one worker.
    by_hash: bool,
}

/// One receiver with one, two and four workers.
const LAYOUTS: [Layout; 4] = [
    Layout { workers: 1, by_hash: true },
    Layout { workers: 2, by_hash: true },
    Layout { workers: 4, by_hash: true },
    Layout { workers: 4, by_hash: false },
];

/// Which flows there are.
#[derive(Clone, Copy, Debug)]
enum Traffic {
    /// By Zipf's law, in any order.
    Zipf,
    /// Many flows of the same size, in any order.
    Uniform,
    /// Fewer of them than structures have counters, so that a flow that shares one stands out.
    Sparse,
    /// Still fewer.
    Sparser,
    /// Small flows, and then large ones.
    LateElephants,
}

const TRAFFIC: [Traffic; 5] =
    [Traffic::Zipf, Traffic::Uniform, Traffic::Sparse, Traffic::Sparser, Traffic::LateElephants];

fn shuffle(packets: &mut [Packet], random: &mut Random) {
    for at in (1..packets.len()).rev() {
        packets.swap(at, random.below(at as u64 + 1) as usize);
    }
}

impl Traffic {
    fn packets(self, number: u64) -> Vec<Packet> {
        let mut random = Random(number.wrapping_mul(977) + self as u64);
        // The same flows in each window, under numbers that do not follow each other.
        let flow = |rank: u64| (rank as u32).wrapping_mul(0x9e37_79b1);
        let flows: Vec<u32> = match self {
            Self::Zipf => {
                let sum: f64 = (1..=3_000).map(|rank| 1.0 / f64::from(rank)).sum();
                let counts =
                    (1..=3_000_u64).map(|rank| (rank, (12_000.0 / sum / rank as f64).round() as usize));
                counts.flat_map(|(rank, count)| vec![flow(rank); count.max(1)]).collect()
            }
            Self::Uniform => (0..12_000).map(|at| flow(at % 2_400)).collect(),
            Self::Sparse => (0..9_000).map(|at| flow(at % 450)).collect(),
            Self::Sparser => (0..4_800).map(|at| flow(at % 120)).collect(),
            Self::LateElephants => {
                (0..12_000).map(|at| flow(if at < 9_000 { at % 3_000 } else { 5_000 + at % 20 })).collect()
            }
        };
        let packet = |flow| Packet { key: v4(flow, 1, 1), bytes: 40 };
        let mut packets: Vec<Packet> = flows.into_iter().map(packet).collect();
        let mixed = if matches!(self, Self::LateElephants) { 9_000 } else { packets.len() };
        shuffle(&mut packets[..mixed], &mut random);
        packets.iter_mut().for_each(|packet| packet.bytes += random.below(1_400) as u32);
        packets
    }

    /// Returns packets of sources, each with the number of destinations that this kind of traffic gives it.
    fn contacts(self, number: u64) -> Vec<Packet> {
        let mut random = Random(number.wrapping_mul(613) + self as u64);
        let (sources, of): (u32, fn(u32) -> u32) = match self {
            Self::Zipf => (400, |source| 2_400 / (source + 1)),
            Self::Uniform => (300, |_| 40),
            Self::Sparse => (60, |_| 150),
            Self::Sparser => (1_500, |_| 12),
            Self::LateElephants => (400, |source| if source < 390 { 10 } else { 600 }),
        };
        let one = |source, peer: u32| Packet {
            key: v4(source * 7_919, peer.wrapping_mul(0x9e37_79b1), 1),
            bytes: 40,
        };
        let mut packets: Vec<Packet> = (0..sources)
            .flat_map(|source| (0..of(source).max(1)).map(move |peer| one(source, peer)))
            .collect();
        if !matches!(self, Self::LateElephants) {
            shuffle(&mut packets, &mut random);
        }
        packets
    }
}

impl Layout {
    /// The packets of each worker.
    fn split(self, packets: &[Packet], number: u64) -> Vec<Vec<Packet>> {
        let spread = BuildHasherDefault::<DefaultHasher>::default();
        let (mut random, mut parts) = (Random(number), vec![Vec::new(); self.workers]);
        for packet in packets {
            let hash = spread.hash_one(packet.flow_key(&KeySpec::FIVE_TUPLE));
            let at =
                if self.by_hash { hash % self.workers as u64 } else { random.below(self.workers as u64) };
            parts[at as usize].push(*packet);
        }
        parts
    }
}

/// Windows, and in each the packets of each worker.
type Windows = Vec<Vec<Vec<Packet>>>;

/// The answer about the last of the windows; `None` where the layout does not allow the structure.
fn answer_of(text: &str, windows: &Windows, layout: Layout, number: u64) -> Option<TaskAnswer> {
    let seed = Seed::new(number);
    let most = windows.iter().map(|parts| parts.iter().map(Vec::len).sum()).max().unwrap_or(0_usize);
    let setting = RunProperties { seed, ..setting(most as u64, layout.workers, !layout.by_hash) };
    let tasks = Tasks::plan(&[spec(text)], &setting).ok()?;
    let mut desk = TaskRunner::new(tasks.clone(), layout.workers);
    let mut counters: Vec<_> = (0..layout.workers).map(|_| counter(&tasks)).collect();
    let mut last = None;
    for (window, parts) in (0..).map(WindowId::new).zip(windows) {
        for (worker, (counter, part)) in counters.iter_mut().zip(parts).enumerate() {
            count_by(counter, part, seed);
            let empty = Box::new(tasks.states().expect("memory"));
            desk.part(WorkerId::new(worker), window, counter.turn(empty));
        }
        last = desk.report(window, Some(0)).pop();
    }
    last
}

/// Rows of many answers to one question, and how many of them had the truth outside of their bounds.
#[derive(Debug, Default)]
struct Promise {
    rows: u64,
    missed: u64,
    least: f64,
}

impl Promise {
    fn row(&mut self, confidence: f64, holds: bool) {
        self.least = if self.rows == 0 { confidence } else { self.least.min(confidence) };
        self.rows += 1;
        self.missed += u64::from(!holds);
    }

    /// What is wrong with it; five standard deviations are chance.
    fn broken(&self) -> bool {
        let (rows, failing) = (self.rows as f64, 1.0 - self.least);
        self.missed as f64 > failing * rows + 5.0 * (failing * (1.0 - failing) * rows).sqrt()
    }
}

/// All of them, by question.
#[derive(Debug, Default)]
struct Promises {
    kept: Vec<String>,
    broken: Vec<String>,
    without_bounds: Vec<Structure>,
}

impl Promises {
    fn add(&mut self, structure: Structure, what: &str, promise: &Promise) {
        if promise.rows == 0 {
            self.without_bounds.push(structure);
            return;
        }
        let text =
            format!("{what}: {} of {} outside, promised {:.3}", promise.missed, promise.rows, promise.least);
        if promise.broken() { &mut self.broken } else { &mut self.kept }.push(text);
    }

    /// Every structure was asked for bounds, but those that have none by theory.
    fn must_be_kept(&self, asked: usize) {
        assert!(self.broken.is_empty(), "{:#?}", self.broken);
        assert!(self.kept.len() >= asked, "{} of {asked}: {:?}", self.kept.len(), self.without_bounds);
    }
}

/// Asks a task of each structure, of all traffic, in all layouts.
fn flows_of(
    kind: TaskKind,
    limits: &[&str],
    windows: impl Fn(Traffic, u64) -> Vec<Vec<Packet>>,
    truth: impl Fn(&[Vec<Packet>], bool) -> HashMap<FlowKey, f64>,
) -> Promises {
    let mut promises = Promises::default();
    for traffic in TRAFFIC {
        let streams: Vec<_> = (0..SEEDS).map(|number| windows(traffic, number)).collect();
        for by_bytes in [false, true] {
            let truths: Vec<_> = streams.iter().map(|windows| truth(windows, by_bytes)).collect();
            let split = |layout: Layout| -> Vec<Windows> {
                let of = |(number, windows): (u64, &Vec<Vec<Packet>>)| {
                    windows.iter().map(|packets| layout.split(packets, number)).collect()
                };
                (0..).zip(&streams).map(of).collect()
            };
            let split = LAYOUTS.map(|layout| (layout, split(layout)));
            // The Reversible sketch takes other keys; `reversible.rs` holds it to its bounds.
            let structures =
                catalog::structures(kind).filter(|structure| *structure != Structure::Reversible);
            for structure in structures {
                for limit in limits {
                    let by = if by_bytes { ",by=bytes" } else { "" };
                    let text = format!("{kind}:{limit}{by},structure={},memory=32KiB", structure.name());
                    if text.parse::<task::TaskSpec>().is_err() {
                        assert!(by_bytes, "{text}");
                        continue;
                    }
                    for (layout, streams) in &split {
                        let mut promise = Promise::default();
                        for (number, (windows, truth)) in (0..).zip(streams.iter().zip(&truths)) {
                            let Some(answer) = answer_of(&text, windows, *layout, number) else { continue };
                            for flow in flows(&answer) {
                                let Some(bounds) = flow.estimate.bounds else { continue };
                                let truth = truth.get(&flow.key).copied().unwrap_or(0.0);
                                // The rounding of a division is no error.
                                let holds = bounds.lower - 1e-6 <= truth && truth <= bounds.upper + 1e-6;
                                promise.row(bounds.confidence, holds);
                            }
                        }
                        promises.add(structure, &format!("{traffic:?} {text} {layout:?}"), &promise);
                    }
                }
            }
        }
    }
    promises
}

fn totals(packets: &[Packet], by_bytes: bool) -> HashMap<FlowKey, f64> {
    let weights = weights(packets, &KeySpec::FIVE_TUPLE, by_bytes);
    weights.into_iter().map(|(key, weight)| (key, weight as f64)).collect()
}

#[test]
fn bounds_of_heavy_hitters_hold_as_often_as_promised() {
    let promises = flows_of(
        TaskKind::HeavyHitters,
        &["top=20", "share=0.5%"],
        |traffic, number| vec![traffic.packets(number)],
        |windows, by_bytes| totals(&windows[0], by_bytes),
    );
    promises.must_be_kept(200);
}

#[test]
fn bounds_of_changes_hold_as_often_as_promised() {
    let promises = flows_of(
        TaskKind::Change,
        &["top=20", "share=0.5%"],
        |traffic, number| {
            // Other numbers of the same flows, and some that come and go.
            let half = |number| traffic.packets(number).into_iter().step_by(2).collect();
            vec![half(2 * number), traffic.packets(2 * number + 1)]
        },
        |windows, by_bytes| {
            let [earlier, mut changes] = [0, 1].map(|at| totals(&windows[at], by_bytes));
            earlier.into_iter().for_each(|(key, total)| *changes.entry(key).or_default() -= total);
            changes
        },
    );
    promises.must_be_kept(50);
}

#[test]
fn bounds_of_super_spreaders_hold_as_often_as_promised() {
    let promises = flows_of(
        TaskKind::SuperSpreaders,
        &["key=src_addr,of=dst_addr,top=20", "key=src_addr,of=dst_addr,count=50"],
        |traffic, number| vec![traffic.contacts(number)],
        |windows, _| {
            let contacts = contacts(&windows[0], &key("src_addr"), &key("dst_addr"));
            contacts.into_iter().map(|(key, count)| (key, count as f64)).collect()
        },
    );
    promises.must_be_kept(50);
}

/// One row an answer; of both families.
#[test]
fn bounds_of_distinct_values_hold_as_often_as_promised() {
    let mut promises = Promises::default();
    let of = key("src_addr,dst_addr");
    for traffic in TRAFFIC {
        for layout in LAYOUTS {
            for structure in catalog::structures(TaskKind::Distinct) {
                for memory in ["512B", "4KiB"] {
                    let text = format!(
                        "distinct:of=src_addr+dst_addr,structure={},memory={memory}",
                        structure.name()
                    );
                    let mut promise = Promise::default();
                    for number in 0..2 * SEEDS {
                        let mut packets = traffic.contacts(number);
                        // Some values of the other family too, as often as not.
                        packets.extend(
                            (0..number % 2 * 300).map(|at| Packet { key: v6(7, at.into(), 1), bytes: 60 }),
                        );
                        let truth: HashSet<FlowKey> =
                            packets.iter().map(|packet| packet.flow_key(&of)).collect();
                        let Some(answer) =
                            answer_of(&text, &vec![layout.split(&packets, number)], layout, number)
                        else {
                            continue;
                        };
                        let TaskRows::Distinct(values) = answer.rows else { panic!("{text}") };
                        let Some(bounds) = values.bounds else { break };
                        promise.row(bounds.confidence, bounds.contain(truth.len() as f64));
                    }
                    promises.add(structure, &format!("{traffic:?} {text} {layout:?}"), &promise);
                }
            }
        }
    }
    promises.must_be_kept(100);
}

/// One row an answer: of two streams, and of one with itself.
#[test]
fn bounds_of_inner_products_hold_as_often_as_promised() {
    let mut promises = Promises::default();
    let of = key("dst_addr");
    let is_low = |packet: &&Packet| match packet.key {
        AnyKey::V4(key) => key.to_bytes()[0] == 0 && key.to_bytes()[1] < 64,
        AnyKey::V6(_) => false,
    };
    for traffic in TRAFFIC {
        for layout in LAYOUTS {
            for structure in catalog::structures(TaskKind::Inner) {
                for (sides, is_joined) in [("a=src_addr=0.0.0.0/10", true), ("", false)] {
                    let text =
                        format!("inner:key=dst_addr,{sides},structure={},memory=8KiB", structure.name());
                    let mut promise = Promise::default();
                    for number in 0..3 * SEEDS {
                        let packets = traffic.contacts(number);
                        let low: Vec<Packet> = packets.iter().filter(is_low).copied().collect();
                        let (all, low) = (weights(&packets, &of, false), weights(&low, &of, false));
                        let of_key = |(key, weight): (&FlowKey, &u64)| match is_joined {
                            true => weight * low.get(key).copied().unwrap_or(0),
                            false => weight * weight,
                        };
                        let truth = all.iter().map(of_key).sum::<u64>() as f64;
                        let text = text.replace(",,", ",");
                        let Some(answer) =
                            answer_of(&text, &vec![layout.split(&packets, number)], layout, number)
                        else {
                            continue;
                        };
                        let TaskRows::Inner { product, .. } = answer.rows else { panic!("{text}") };
                        // A table that is too small has none.
                        let Some(bounds) = product.bounds else { break };
                        promise.row(bounds.confidence, bounds.contain(truth));
                    }
                    promises.add(structure, &format!("{traffic:?} {text} {layout:?}"), &promise);
                }
            }
        }
    }
    promises.must_be_kept(100);
}

/// One row an answer.
#[test]
fn bounds_of_entropy_and_quantiles_hold_as_often_as_promised() {
    let mut promises = Promises::default();
    for traffic in TRAFFIC {
        for layout in LAYOUTS {
            for structure in catalog::structures(TaskKind::Entropy) {
                let text = format!("entropy:structure={},memory=16KiB", structure.name());
                let mut promise = Promise::default();
                for number in 0..5 * SEEDS {
                    let packets = traffic.packets(number);
                    let all = packets.len() as f64;
                    let shares = totals(&packets, false).into_values().map(|total| total / all);
                    let truth: f64 = shares.map(|share| -share * share.log2()).sum();
                    let Some(answer) =
                        answer_of(&text, &vec![layout.split(&packets, number)], layout, number)
                    else {
                        continue;
                    };
                    let TaskRows::Entropy(Some(bits)) = answer.rows else { panic!("{text}") };
                    // Where theory gives none, no seed does.
                    let Some(bounds) = bits.bounds else { break };
                    promise
                        .row(bounds.confidence, bounds.lower - 1e-9 <= truth && truth <= bounds.upper + 1e-9);
                }
                promises.add(structure, &format!("{traffic:?} {text} {layout:?}"), &promise);
            }
            for structure in catalog::structures(TaskKind::Quantiles) {
                for of in ["size", "dst_addr"] {
                    let at = "at=1%/25%/50%/90%/99%";
                    let text = format!("quantiles:key={of},{at},structure={},memory=16KiB", structure.name());
                    if text.parse::<task::TaskSpec>().is_err() {
                        continue;
                    }
                    let mut promise = Promise::default();
                    for number in 0..SEEDS {
                        // Of addresses those of the contacts, which are many.
                        let packets =
                            if of == "size" { traffic.packets(number) } else { traffic.contacts(number) };
                        let value = |packet: &Packet| match of {
                            "size" => Point::Number(packet.bytes.into()),
                            _ => Point::Address(
                                packet.flow_key(&key("dst_addr")).dst_addr.expect("an address"),
                            ),
                        };
                        let mut sorted: Vec<Point> = packets.iter().map(value).collect();
                        sorted.sort();
                        let Some(answer) =
                            answer_of(&text, &vec![layout.split(&packets, number)], layout, number)
                        else {
                            continue;
                        };
                        let TaskRows::Quantiles { quantiles, .. } = answer.rows else { panic!("{text}") };
                        for row in quantiles {
                            let rank = (row.share * sorted.len() as f64).ceil() as usize;
                            let truth = sorted[rank.clamp(1, sorted.len()) - 1];
                            let Some((lower, upper, confidence)) = row.bounds else { continue };
                            promise.row(confidence, lower <= truth && truth <= upper);
                        }
                    }
                    promises.add(structure, &format!("{traffic:?} {text} {layout:?}"), &promise);
                }
            }
        }
    }
    promises.must_be_kept(100);
}
