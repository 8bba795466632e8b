//! `edison-lab bench iblt`: the invertible Bloom lookup table at loads at which it gives all flows, and at loads at which it cannot. What it
//! gives is compared with a hash map of the same packets.

use crate::compare::{in_turn, median, median_ratio, thread_time};
use crate::line::to_digits;
use crate::{BenchResult, Points};
use hashbrown::HashMap;
use packet::{KeyV4, Seed};
use serde_json::{Value, json};
use sketch::{GridConfig, Summary, UpdateBurst};
use structures::{Iblt, NotRecovered};
use traffic::{KeyStream, TrafficSpec};

const BENCH: &str = "iblt";
/// Rows of a table: the fewest cells for each flow are needed with three (Goodrich, Mitzenmacher 2011, table 1).
const ROWS: usize = 3;
/// Flows for each cell. With three rows the threshold is 0.818 (theorem 1: 1.222 cells a flow).
const LOADS: [f64; 6] = [0.5, 0.7, 0.75, 0.9, 1.0, 2.0];
/// The load up to which a table of many flows must give all of them.
const GIVES_ALL: f64 = 0.75;
/// The load from which on it cannot.
const CANNOT: f64 = 0.9;
/// The flows from which on chance does not decide at these loads; fewer may be given or not.
const MANY: usize = 5_000;
/// One packet in this many is lost between the two points.
const LOST: usize = 500;

/// All flows with their packets, or that they are not all.
type Decoded = Result<Vec<(KeyV4, i64)>, NotRecovered<KeyV4>>;

/// Packets, and the truth about them.
struct CountedKeys {
    keys: Vec<KeyV4>,
    flows: HashMap<KeyV4, u64>,
}

impl CountedKeys {
    fn draw(packets: u64, flows: u64, zipf: f64) -> Result<Self, String> {
        let spec = format!("packets={packets},flows={flows},zipf={zipf},seed=1");
        let spec: TrafficSpec = spec.parse().map_err(|error| format!("{error}"))?;
        Ok(Self::from_keys(KeyStream::ipv4(&spec).keys().to_vec()))
    }

    fn from_keys(keys: Vec<KeyV4>) -> Self {
        let mut flows = HashMap::new();
        keys.iter().for_each(|key| *flows.entry(*key).or_default() += 1);
        Self { keys, flows }
    }
}

/// Compares what a table gives with the truth: all flows or, where it says that they are not all, no wrong one. At a load at which theory
/// leaves no doubt it must be what theory says.
fn is_right(decoded: &Decoded, truth: &HashMap<KeyV4, u64>, load: f64) -> bool {
    let are_true = |flows: &[(KeyV4, i64)]| {
        flows.iter().all(|(key, packets)| truth.get(key).is_some_and(|count| *count as i64 == *packets))
    };
    let are_many = truth.len() >= MANY;
    match decoded {
        Ok(flows) => {
            let cannot = are_many && load >= CANNOT;
            flows.len() == truth.len() && are_true(flows) && !cannot
        }
        Err(error) => {
            let must = are_many && load <= GIVES_ALL;
            error.flows.len() < truth.len() && are_true(&error.flows) && error.cells_left > 0 && !must
        }
    }
}

/// A table for this many flows a cell.
fn table(flows: usize, load: f64) -> Result<Iblt<KeyV4>, String> {
    let width = (flows as f64 / load / ROWS as f64).ceil().max(1.0) as usize;
    let config = GridConfig::new(ROWS, width, Seed::new(7));
    Iblt::new(&config).map_err(|error| error.to_string())
}

/// A variant that takes turns with the others.
enum IbltContender {
    Map(HashMap<KeyV4, u64>),
    Table { table: Box<Iblt<KeyV4>>, load: f64, outcome: DecodeOutcome },
}

/// The decoding of all rounds of a table.
#[derive(Default)]
struct DecodeOutcome {
    rounds_ns: Vec<f64>,
    is_wrong: bool,
    /// Flows that were given, and true if they are all.
    given: (usize, bool),
}

impl DecodeOutcome {
    /// Decodes a table once, and checks what it gives.
    fn decode(&mut self, table: &Iblt<KeyV4>, truth: &HashMap<KeyV4, u64>, load: f64) {
        let began = thread_time();
        let decoded = table.flows();
        self.rounds_ns.push(thread_time() - began);
        self.is_wrong |= !is_right(&decoded, truth, load);
        self.given = match &decoded {
            Ok(flows) => (flows.len(), true),
            Err(error) => (error.flows.len(), false),
        };
    }

    fn members(&self) -> Vec<(&'static str, Value)> {
        vec![
            ("gives_all", json!(self.given.1)),
            ("flows_given", json!(self.given.0)),
            ("decode_ms", json!(to_digits(median(&self.rounds_ns) / 1e6, 3))),
        ]
    }
}

/// Runs both parts: all flows of a stream, and the flows that two points differ in.
pub(crate) fn run(points: &Points, out: &mut dyn FnMut(BenchResult)) -> Result<(), String> {
    let (flows, zipf) = (points.flows.unwrap_or(20_000), points.zipf.unwrap_or(1.0));
    let stream = CountedKeys::draw(points.packets.unwrap_or(1_000_000), flows, zipf)?;
    let params = vec![("flows", json!(flows)), ("zipf", json!(zipf)), ("cores", json!(1))];
    all_flows(&stream, &params, points.seconds, out)?;
    difference(&stream, &params, points.seconds, out)
}

/// Times counting of all packets, in turn with a hash map, and decoding.
fn all_flows(
    stream: &CountedKeys,
    params: &[(&'static str, Value)],
    seconds: f64,
    out: &mut dyn FnMut(BenchResult),
) -> Result<(), String> {
    let truth = &stream.flows;
    let mut turns = vec![IbltContender::Map(HashMap::with_capacity(truth.len()))];
    for load in LOADS {
        let (table, outcome) = (Box::new(table(truth.len(), load)?), DecodeOutcome::default());
        turns.push(IbltContender::Table { table, load, outcome });
    }
    let mut is_map_right = true;
    let times = in_turn(&mut turns, seconds, |turn| match turn {
        IbltContender::Map(map) => {
            map.clear();
            let began = thread_time();
            stream.keys.iter().for_each(|key| *map.entry(*key).or_default() += 1);
            let time = thread_time() - began;
            is_map_right &= map == truth;
            time
        }
        IbltContender::Table { table, load, outcome } => {
            Summary::reset(&mut **table);
            let began = thread_time();
            table.count_keys(&stream.keys);
            let time = thread_time() - began;
            outcome.decode(table, truth, *load);
            time
        }
    });
    let map_ns = times[0].clone();
    for (turn, rounds_ns) in turns.into_iter().zip(times) {
        let mut params = params.to_vec();
        let mut more = vec![("times_map", json!(to_digits(median_ratio(&rounds_ns, &map_ns), 2)))];
        let (variant, memory_bytes, checked) = match turn {
            IbltContender::Map(map) => ("hash_map", map.allocation_size(), is_map_right),
            IbltContender::Table { table, load, outcome } => {
                params.push(("load", json!(load)));
                more.extend(outcome.members());
                ("iblt", Summary::bytes(&*table), !outcome.is_wrong)
            }
        };
        out(BenchResult {
            bench: BENCH,
            variant: variant.to_owned(),
            params,
            packets: stream.keys.len() as u64,
            rounds_ns,
            memory_bytes: Some(memory_bytes as u64),
            checked,
            more,
        });
    }
    Ok(())
}

/// Times what a collector does with the tables of two points: subtracting and decoding. `packets` of a line are the flows that differ.
fn difference(
    stream: &CountedKeys,
    params: &[(&'static str, Value)],
    seconds: f64,
    out: &mut dyn FnMut(BenchResult),
) -> Result<(), String> {
    let is_lost = |at: usize| at % LOST == LOST / 2;
    let keys = |lost: bool| -> Vec<KeyV4> {
        let of = stream.keys.iter().enumerate().filter(|(at, _)| is_lost(*at) == lost);
        of.map(|(_, key)| *key).collect()
    };
    let (lost, arrived) = (CountedKeys::from_keys(keys(true)), keys(false));
    let mut turns = Vec::new();
    for load in LOADS {
        let (mut sent, mut received) = (table(lost.flows.len(), load)?, table(lost.flows.len(), load)?);
        sent.count_keys(&stream.keys);
        received.count_keys(&arrived);
        turns.push((sent, received, load, DecodeOutcome::default()));
    }
    let times = in_turn(&mut turns, seconds, |(sent, received, load, outcome)| {
        let mut difference = sent.clone();
        let began = thread_time();
        let subtracted = difference.subtract(received);
        let time = thread_time() - began;
        outcome.is_wrong |= subtracted.is_err();
        outcome.decode(&difference, &lost.flows, *load);
        time + outcome.rounds_ns.last().copied().unwrap_or_default()
    });
    for ((sent, _, load, outcome), rounds_ns) in turns.into_iter().zip(times) {
        let mut params = params.to_vec();
        params.push(("load", json!(load)));
        out(BenchResult {
            bench: BENCH,
            variant: "iblt_difference".to_owned(),
            params,
            packets: lost.flows.len() as u64,
            rounds_ns,
            memory_bytes: Some(Summary::bytes(&sent) as u64),
            checked: !outcome.is_wrong,
            more: outcome.members(),
        });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_flows_up_to_the_threshold_and_none_invented_beyond() {
        let points = Points { packets: Some(300_000), flows: Some(6_000), seconds: 0.1, ..Points::default() };
        let mut lines = Vec::new();
        run(&points, &mut |line| lines.push(line.json())).expect("a stream");
        assert!(lines.iter().all(|line| line["checked"] == true), "{lines:#?}");
        for variant in ["iblt", "iblt_difference"] {
            let of = lines.iter().filter(|line| line["variant"] == variant);
            let gives: Vec<bool> = of.map(|line| line["gives_all"] == true).collect();
            assert_eq!(gives.len(), LOADS.len(), "{variant}");
            assert_eq!(gives[0..1], [true], "{variant}");
            assert_eq!(gives[4..], [false; 2], "{variant}");
        }
        assert_eq!(lines.len(), 1 + 2 * LOADS.len());
    }

    #[test]
    fn what_is_wrong_is_seen() {
        let stream = CountedKeys::draw(60_000, 8_000, 0.5).expect("a stream");
        let truth: Vec<(KeyV4, i64)> =
            stream.flows.iter().map(|(key, count)| (*key, *count as i64)).collect();
        assert!(truth.len() >= MANY);
        let given = |flows: &[(KeyV4, i64)]| -> Decoded { Ok(flows.to_vec()) };
        let not_all = |flows: &[(KeyV4, i64)], cells_left| -> Decoded {
            Err(NotRecovered { flows: flows.to_vec(), cells_left, cells: 9, is_too_heavy: false })
        };
        let off = |at: usize| {
            let mut flows = truth.clone();
            flows[at].1 += 1;
            flows
        };
        for (decoded, load, right) in [
            (given(&truth), 0.7, true),
            (given(&truth), 1.0, false),
            (given(&truth[1..]), 0.7, false),
            (given(&off(5)), 0.7, false),
            (not_all(&truth[..3], 4), 1.0, true),
            (not_all(&truth[..3], 4), 0.7, false),
            (not_all(&truth[..3], 4), 0.8, true),
            (not_all(&truth[..3], 0), 1.0, false),
            (not_all(&off(1)[..3], 4), 1.0, false),
        ] {
            assert_eq!(is_right(&decoded, &stream.flows, load), right, "{load}");
        }
    }
}
