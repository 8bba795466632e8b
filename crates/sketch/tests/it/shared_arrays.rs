//! One counter array for several cores against one of a single core.

use crate::sketch_support::{Random, hash, key, skewed, summarise, updates};
use packet::{KeyV4, Seed};
use sketch::{
    ArrayConfig, CountMin, CountSketch, CounterArray, KAry, Linear, SharedArray, Tracked, TrackedConfig,
    Turnstile, Update,
};
use std::thread;

/// Flows scattered over four threads by position, as no separate array could answer without merging.
fn counts_all<P: Linear>() {
    let seed = Seed::new(3);
    let configuration = ArrayConfig::<P>::new(3, 300, seed).expect("a size");
    let packets = skewed(40_000, 2000, &mut Random::new(1));
    let alone: CounterArray<P> = summarise(&configuration, &packets);
    let mut shared = SharedArray::<KeyV4, P>::new(&configuration).expect("memory");
    for _ in 0..2 {
        thread::scope(|scope| {
            for part in packets.chunks(10_000) {
                let shared = &shared;
                scope.spawn(move || {
                    updates(part, &seed).chunks(64).for_each(|burst| shared.update_burst(burst));
                });
            }
        });
        let answer = shared.snapshot().expect("memory");
        for flow in 0..2000 {
            let hash = hash(flow, &seed);
            assert_eq!(answer.estimate_hash(hash), alone.estimate_hash(hash), "{} flow {flow}", P::KIND);
        }
        let (heaviest, estimate) = shared.heaviest().expect("packets");
        assert_eq!(heaviest, key(0));
        assert!(estimate > 0);
        // And once more after a reset.
        shared.reset();
        assert_eq!(shared.heaviest(), None);
        assert_eq!(shared.snapshot().expect("memory").total(), 0.0);
    }
}

/// One flow with more than any counter holds: its answer has no bound, and stays where a smaller one follows.
fn stops_at_the_limit<P: Linear>() {
    let configuration = ArrayConfig::<P>::new(3, 50, Seed::new(3)).expect("a size");
    let shared = SharedArray::<KeyV4, P>::new(&configuration).expect("memory");
    let update = Update::new(key(1), u64::MAX, &Seed::new(3));
    shared.update_burst(&[update; 2]);
    shared.update_burst(&[update, Update { weight: 5, ..update }]);
    let answer = shared.snapshot().expect("memory");
    assert_eq!(answer.total(), u64::MAX as f64, "{}", P::KIND);
    let estimate = answer.estimate_hash(update.hash);
    assert!(estimate.value >= f64::from(i32::MAX) && estimate.bounds.is_none(), "{}: {estimate:?}", P::KIND);
    assert_eq!(shared.heaviest().map(|(key, _)| key), Some(key(1)), "{}", P::KIND);
}

#[test]
fn what_no_counter_holds_has_no_bound() {
    stops_at_the_limit::<CountMin>();
    stops_at_the_limit::<CountMin<u64>>();
    stops_at_the_limit::<CountSketch>();
    stops_at_the_limit::<CountSketch<i64>>();
    stops_at_the_limit::<KAry<i64>>();
    stops_at_the_limit::<Turnstile<i64>>();
}

#[test]
fn all_cores_together_count_what_one_would() {
    counts_all::<CountMin>();
    counts_all::<CountSketch>();
    counts_all::<KAry>();
    counts_all::<Turnstile>();
}

#[test]
fn the_global_heavy_hitter_is_that_of_one_core() {
    for seed in 0..20 {
        let packets = skewed(5000, 500, &mut Random::new(seed));
        let array = ArrayConfig::<CountMin<u64>>::new(3, 200, Seed::new(seed)).expect("a size");
        let shared = SharedArray::<KeyV4, _>::new(&array).expect("memory");
        shared.update_burst(&updates(&packets, &Seed::new(seed)));
        let separate: Tracked<KeyV4, CountMin<u64>> =
            summarise(&TrackedConfig::new(array, 1).expect("a size"), &packets);
        let (key, estimate) = separate.heaviest().expect("packets");
        assert_eq!(shared.heaviest().map(|(key, _)| key), Some(key));
        assert!(shared.heaviest().is_some_and(|(_, then)| then as f64 <= estimate.value));
    }
}
