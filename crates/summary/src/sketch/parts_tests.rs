//! As cores count: a stream in parts, by flow or by position, each into its own structure. If nothing is left
//! out, the merged structures answer as one that saw everything.

use super::oracle::{self, Stream};
use super::*;
use packet::{KeyV4, Seed};
use std::fmt::Debug;

const PARTS: usize = 3;

fn parts_answer_as_one<S, K, A>(config: &S::Configuration, updates: &[Update<K>], answers: impl Fn(&S) -> A)
where
    S: UpdateBurst<K> + Merge,
    K: Copy + Debug,
    A: PartialEq + Debug,
{
    let whole = answers(&oracle::summary_of(config, updates));
    let by_flow = |(_, update): &(usize, &Update<K>)| {
        let text = format!("{:?}", update.key);
        let hash =
            text.bytes().fold(0, |hash: u64, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
        (hash >> 32) as usize
    };
    let by_position = |(number, _): &(usize, &Update<K>)| *number;
    for part_of in [&by_flow as &dyn Fn(&(usize, &Update<K>)) -> usize, &by_position] {
        let mut parts: [Vec<Update<K>>; PARTS] = Default::default();
        for packet in updates.iter().enumerate() {
            parts[part_of(&packet) % PARTS].push(*packet.1);
        }
        assert!(parts.iter().all(|part| part.len() > updates.len() / 10), "a part of nothing shows nothing");
        for order in [[0, 1, 2], [2, 0, 1], [1, 2, 0]] {
            let [mut merged, second, third]: [S; PARTS] =
                order.map(|part| oracle::summary_of(config, &parts[part]));
            merged.merge(&second).expect("equal configurations");
            merged.merge(&third).expect("equal configurations");
            assert_eq!(answers(&merged), whole, "{config}");
        }
    }
}

/// 400 flows at most.
fn stream() -> Stream {
    Stream::zipf(5_000, 400, 1)
}

fn seed() -> Seed {
    Seed::new(1)
}

/// With room for each flow the answers are the truth, which is shown too.
fn with_room<S>(config: &S::Configuration)
where
    S: UpdateBurst<KeyV4> + Merge + Frequency<KeyV4> + HeavyHitters<KeyV4>,
{
    let stream = stream();
    let answers = |summary: &S| {
        let listed = summary.heavy_hitters(1);
        assert_eq!((listed.keys.len(), listed.is_cut_short), (stream.counts.len(), false), "{config}");
        let values: Vec<_> = listed.keys.into_iter().map(|(key, estimate)| (key, estimate.value)).collect();
        assert!(values.iter().all(|(key, value)| stream.counts[key] as f64 == *value), "{config}");
        values
    };
    parts_answer_as_one(config, &stream.updates, answers);
}

#[test]
fn structures_with_room_for_all_flows_have_them_whoever_counted() {
    with_room::<SpaceSavingHeap<KeyV4>>(&GridConfig::with_width(1_000, seed()));
    with_room::<SpaceSavingSummary<KeyV4>>(&GridConfig::with_width(1_000, seed()));
    with_room::<CheckedHashTable<KeyV4>>(&GridConfig::with_width(1 << 20, seed()));
    with_room::<SimpleHashTable<KeyV4>>(&GridConfig::with_width(1 << 20, seed()));
    with_room::<MvSketch<KeyV4>>(&GridConfig::new(2, 1 << 16, seed()));
    with_room::<CocoSketch<KeyV4>>(&GridConfig::new(2, 100_000, seed()));
    with_room::<ReversibleSets<KeyV4>>(&GridConfig::new(3, 1 << 14, seed()));
    with_room::<ExactCounts<KeyV4>>(&ExactConfig::with_bytes(1 << 17, seed()).expect("memory"));
    with_room::<PacketSample<KeyV4>>(&SampleConfig::new(1, 1_000, seed()));
    with_room::<FlowSample<KeyV4>>(&SampleConfig::new(1, 1_000, seed()));
    with_room::<SampleAndHold<KeyV4>>(&SampleConfig::new(1, 1_000, seed()));
}

#[test]
fn the_iblt_gives_all_flows_whoever_counted() {
    let stream = stream();
    parts_answer_as_one(&GridConfig::with_width(400, seed()), &stream.updates, |table: &Iblt<KeyV4>| {
        let mut flows = table.flows().expect("room for all");
        flows.sort();
        assert_eq!(flows.len(), stream.counts.len());
        flows
    });
}

#[test]
fn addresses_are_found_whoever_counted() {
    let updates: Vec<_> =
        (0..6_000_u32).map(|i| Update { key: (i * i) % 97 + 0x0a00_0000, hash: 0, weight: 1 }).collect();
    parts_answer_as_one(&GridConfig::new(5, 4_096, seed()), &updates, |sketch: &ReversibleSketch| {
        let found = sketch.heavy_hitters(20);
        assert!(found.keys.len() > 40 && !found.is_cut_short);
        found
    });
}

#[test]
fn distinct_flows_are_as_many_whoever_counted() {
    let stream = stream();
    let updates = &stream.updates;
    parts_answer_as_one(&GridConfig::with_width(4_096, seed()), updates, LinearBitmap::distinct);
    let config =
        <MultiResolutionBitmap as Summary>::Configuration::with_bytes(1_024, seed()).expect("memory");
    parts_answer_as_one(&config, updates, MultiResolutionBitmap::distinct);
    parts_answer_as_one(&GridConfig::with_width(1_024, seed()), updates, HyperLogLog::distinct);
    parts_answer_as_one(&SampleConfig::new(8, 1_000, seed()), updates, FlowSample::<KeyV4>::distinct);
}

#[test]
fn quantiles_are_the_same_whoever_counted() {
    let values: Vec<_> =
        (0..3_000_u64).map(|i| Update { key: i * i % 1_461 + 40, hash: 0, weight: 1 }).collect();
    let shares = [0.0, 0.05, 0.5, 0.9, 0.99, 1.0];
    let dyadic = DyadicConfig::new(16, 3, 500, seed()).expect("a size");
    parts_answer_as_one(&dyadic, &values, |array: &DyadicArray| shares.map(|share| array.quantile(share)));
}
