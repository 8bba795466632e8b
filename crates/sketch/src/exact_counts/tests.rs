use super::super::oracle::{self, BoundTally, OracleStream};
use super::*;
use packet::{KeyV4, KeyV6};
use std::collections::BTreeMap;

type Counts = ExactCounts<KeyV4>;

fn config(capacity: usize, number: u64) -> ExactConfig<KeyV4> {
    ExactConfig::new(capacity, Seed::new(number))
}

#[test]
fn room_is_made_as_flows_come_and_within_the_memory_of_the_run() {
    let stream = OracleStream::bytes(30_000, 5_000, 3);
    let limits = arena::Limits::new(1 << 20, usize::MAX);
    let mut memory = limits.empty_lease();
    let mut counts = Counts::new(&config(3, 3)).expect("memory");
    for burst in stream.updates.chunks(100) {
        assert!(counts.make_room(burst.len(), &mut memory));
        counts.update_burst(burst);
    }
    let kept: BTreeMap<_, _> = counts.iter().map(|(key, sum)| (*key, sum)).collect();
    assert_eq!(kept, stream.counts.iter().map(|(key, sum)| (*key, *sum)).collect());
    assert_eq!((counts.not_kept(), counts.total()), (0, stream.total));
    assert!(counts.bytes() <= memory.bytes(), "{} {}", counts.bytes(), memory.bytes());
    // Without memory what is kept stays exact, and the rest is refused.
    let limits = arena::Limits::new(40_000, usize::MAX);
    let mut memory = limits.empty_lease();
    let mut counts = Counts::new(&config(3, 3)).expect("memory");
    let all_had_room = stream.updates.chunks(100).fold(true, |had, burst| {
        let has = counts.make_room(burst.len(), &mut memory);
        counts.update_burst(burst);
        had && has
    });
    assert!(!all_had_room && counts.not_kept() > 0 && limits.bytes_used() <= 40_000);
    assert_eq!(counts.total() + counts.not_kept(), stream.total);
    assert!(counts.iter().all(|(key, sum)| stream.counts[key] == sum));
}

#[test]
fn with_room_all_answers_are_exact() {
    for number in 0..5 {
        let stream = OracleStream::bytes(30_000, 5_000, number);
        let counts: Counts = oracle::summary_of(&config(stream.counts.len(), number), &stream.updates);
        assert_eq!((counts.not_kept(), counts.total()), (0, stream.total));
        assert_eq!(counts.distinct(), Estimate::exact(stream.counts.len() as f64));
        let kept: BTreeMap<_, _> = counts.iter().map(|(key, sum)| (*key, sum)).collect();
        assert_eq!(kept, stream.counts.iter().map(|(key, sum)| (*key, *sum)).collect());
        for (key, count) in &stream.counts {
            assert_eq!(counts.estimate(key), Estimate::exact(*count as f64));
        }
        assert!(stream.strangers().all(|key| counts.estimate(&key) == Estimate::exact(0.0)));
        let heavy = counts.heavy_hitters(10_000);
        assert!(!heavy.is_cut_short);
        let mut keys: Vec<_> = heavy.keys.iter().map(|(key, _)| *key).collect();
        keys.sort();
        assert_eq!(keys, stream.heavy(10_000));
    }
}

#[test]
fn what_finds_no_room_is_counted_and_bounds_stay_certain() {
    for number in 0..20 {
        let stream = OracleStream::bytes(9_000, 3_000, number);
        let config = config(300, number);
        let counts: Counts = oracle::summary_of(&config, &stream.updates);
        assert_eq!(counts.len(), 300);
        assert_eq!(counts.total() + counts.not_kept(), stream.total);
        assert!(counts.iter().all(|(key, sum)| counts.estimate(key) == Estimate::exact(sum as f64)));
        let (first, second) = stream.updates.split_at(3_000);
        let mut merged: Counts = oracle::summary_of(&config, first);
        merged.merge(&oracle::summary_of(&config, second)).expect("equal configurations");
        assert_eq!(merged.total() + merged.not_kept(), stream.total);
        for counts in [counts, merged] {
            let mut promise = BoundTally::default();
            stream.counts.iter().for_each(|(key, count)| promise.count(counts.estimate(key), *count as f64));
            stream.strangers().for_each(|key| promise.count(counts.estimate(&key), 0.0));
            promise.count(counts.distinct(), stream.counts.len() as f64);
            promise.must_hold();
            assert!(counts.heavy_hitters(1).is_cut_short);
        }
    }
}

/// The flow that one table refused and the other one kept, in either direction of merging.
#[test]
fn a_kept_flow_may_lack_what_the_other_table_refused() {
    let config = config(1, 1);
    let [a, b] = [6, 17].map(|protocol| KeyV4::new([1; 8], [2; 4], protocol));
    let of = |keys: &[(KeyV4, u64)]| {
        let updates: Vec<_> =
            keys.iter().map(|(key, weight)| Update::new(*key, *weight, &config.seed)).collect();
        oracle::summary_of::<Counts, _>(&config, &updates)
    };
    let (full, other) = (of(&[(a, 5), (b, 7)]), of(&[(b, 2)]));
    let (mut one, mut two) = (full.clone(), other.clone());
    one.merge(&other).expect("equal configurations");
    two.merge(&full).expect("equal configurations");
    for merged in [one, two] {
        assert_eq!(merged.estimate(&a), Estimate::bounded(5.0, 5.0, 12.0, 1.0));
        assert_eq!(merged.estimate(&b), Estimate::bounded(0.0, 0.0, 9.0, 1.0));
    }
}

#[test]
fn merged_beyond_the_capacity_the_heaviest_stay() {
    let stream = OracleStream::zipf(20_000, 3_000, 3);
    // Each half has its own flows, as where flows are split by hash.
    let halves: [Vec<_>; 2] =
        [0, 1].map(|half| stream.updates.iter().filter(|u| u.hash & 1 == half).copied().collect());
    let config = config(1_792, 3);
    let mut merged: Counts = oracle::summary_of(&config, &halves[0]);
    let theirs: Counts = oracle::summary_of(&config, &halves[1]);
    let counted = merged.total() + theirs.total();
    assert!(merged.len() + theirs.len() > config.capacity && merged.not_kept() + theirs.not_kept() == 0);
    let mut otherwise = theirs.clone();
    otherwise.merge(&merged).expect("equal configurations");
    merged.merge(&theirs).expect("equal configurations");
    assert_eq!((merged.len(), merged.total() + merged.not_kept()), (config.capacity, counted));
    let mut counts: Vec<u64> = stream.counts.values().copied().collect();
    counts.sort_by(|a, b| b.cmp(a));
    let mut kept: Vec<u64> = merged.iter().map(|(_, sum)| sum).collect();
    kept.sort_by(|a, b| b.cmp(a));
    assert_eq!(kept, counts[..config.capacity]);
    let heavy = |counts: &Counts| counts.heavy_hitters(1).keys;
    assert_eq!(heavy(&merged), heavy(&otherwise), "in either order of merging");
    // Flows that were dropped find no room when they occur again.
    merged.update_burst(&stream.updates[..5_000]);
    for (key, estimate) in heavy(&merged) {
        let again = stream.updates[..5_000].iter().filter(|update| update.key == key).count() as f64;
        assert!(estimate.bounds.expect("bounds").contain(stream.counts[&key] as f64 + again));
    }
}

#[test]
fn merges_resets_and_refusals() {
    let (stream, second) = (OracleStream::zipf(9_000, 3_000, 1), OracleStream::bytes(5_000, 900, 2));
    let answers = |counts: &Counts| {
        (oracle::all_answers(counts, &stream), counts.total(), counts.not_kept(), counts.distinct())
    };
    oracle::merge_equals_one_pass(&config(3_000, 1), &stream.updates, answers);
    for capacity in [3_000, 500] {
        oracle::reset_equals_new(&config(capacity, 1), &stream.updates, &second.updates, answers);
    }
    oracle::do_not_merge::<Counts>(&config(500, 1), &config(501, 1));
    oracle::do_not_merge::<Counts>(&config(500, 1), &config(500, 2));
    for capacity in [0, usize::MAX] {
        assert!(Counts::new(&config(capacity, 1)).is_err());
    }
}

#[test]
fn memory_is_what_the_configuration_says_and_never_grows() {
    oracle::check_sizes::<Counts>();
    oracle::check_sizes::<ExactCounts<KeyV6>>();
    fn of<K: Key>(capacity: usize) {
        let config = ExactConfig::<K>::new(capacity, Seed::new(1));
        assert_eq!(ExactCounts::new(&config).expect("memory").bytes(), config.bytes(), "{config}");
    }
    (1..300).chain([447, 448, 449, 896, 897, 7_168, 7_169]).for_each(|capacity| {
        of::<KeyV4>(capacity);
        of::<KeyV6>(capacity);
    });
    // All of the memory is of use.
    let stream = OracleStream::zipf(9_000, 3_000, 1);
    for bytes in [200, 1_000, 10_000, 30_000] {
        let config = ExactConfig::with_bytes(bytes, Seed::new(1)).expect("enough memory");
        assert_eq!(room(places(config.capacity)), config.capacity);
        let counts: Counts = oracle::summary_of(&config, &stream.updates);
        assert_eq!((counts.len(), counts.bytes()), (config.capacity, config.bytes()));
    }
    assert!(ExactConfig::<KeyV4>::with_bytes(usize::MAX, Seed::new(1)).expect("enough").capacity <= MOST);
}

#[test]
fn keys_of_ipv6_are_told_apart_by_all_of_their_bits() {
    let config = ExactConfig::<KeyV6>::new(320, Seed::new(3));
    let keys: Vec<_> = (0..320)
        .map(|bit| {
            let mut bytes = [0x5a; 40];
            bytes[bit / 8] ^= 1 << (bit % 8);
            KeyV6::from_bytes(bytes)
        })
        .collect();
    let updates: Vec<_> =
        (1..).zip(&keys).map(|(weight, key)| Update::new(*key, weight, &config.seed)).collect();
    let counts: ExactCounts<KeyV6> = oracle::summary_of(&config, &updates);
    for (weight, key) in (1..).zip(&keys) {
        assert_eq!(counts.estimate(key), Estimate::exact(f64::from(weight)));
    }
}

#[test]
fn sums_at_their_end_stay_and_a_flow_without_weight_counts() {
    let config = config(1, 1);
    let [a, b] = [6, 17].map(|protocol| KeyV4::new([1; 8], [2; 4], protocol));
    let update = |key, weight| Update::new(key, weight, &config.seed);
    let mut counts: Counts = oracle::summary_of(&config, &[update(a, u64::MAX - 1), update(b, 0)]);
    assert_eq!((counts.not_kept(), counts.saturated()), (0, 0));
    assert_eq!(counts.distinct().bounds.expect("bounds").upper, f64::INFINITY);
    assert!(counts.heavy_hitters(0).is_cut_short);
    counts.update_burst(&[update(a, 2), update(b, u64::MAX), update(b, 1)]);
    assert_eq!((counts.total(), counts.not_kept(), counts.saturated()), (u64::MAX, u64::MAX, 1));
    for key in [a, b] {
        assert_eq!(counts.estimate(&key).bounds.expect("bounds").upper, f64::INFINITY);
    }
}
