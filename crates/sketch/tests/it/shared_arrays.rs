//! One counter array for several cores against one of a single core.

use crate::sketch_support::{Random, hash, key, skewed, summarise, updates};
use packet::{KeyV4, Seed};
use sketch::{
    ArrayConfig, CoreCandidates, CountMin, CountSketch, CounterArray, HeavyHitters, KAry, Linear,
    SharedArray, Tracked, TrackedConfig, Turnstile, Update,
};
use std::thread;

/// Flows scattered over four threads by position, as no separate array could answer without merging.
fn counts_all<P: Linear>() {
    let seed = Seed::new(3);
    let configuration = ArrayConfig::<P>::new(3, 300, seed).expect("a size");
    let packets = skewed(40_000, 2000, &mut Random::new(1));
    let alone: CounterArray<P> = summarise(&configuration, &packets);
    let shared = SharedArray::<KeyV4, P>::new(&configuration).expect("memory");
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

/// Cores with candidates of their own list together what one core lists, with its estimates.
#[test]
fn candidates_of_cores_are_those_of_one() {
    for by_position in [false, true] {
        let seed = Seed::new(3);
        let array = ArrayConfig::<CountMin>::new(4, 3000, seed).expect("a size");
        let config = TrackedConfig::new(array, 100).expect("a size");
        let packets = skewed(40_000, 2000, &mut Random::new(5));
        let alone: Tracked<KeyV4, CountMin> = summarise(&config, &packets);
        let shared = SharedArray::<KeyV4, CountMin>::new(config.array()).expect("memory");
        let mut cores: Vec<_> =
            (0..4).map(|_| CoreCandidates::new(config.candidates()).expect("memory")).collect();
        thread::scope(|scope| {
            for (core, candidates) in cores.iter_mut().enumerate() {
                let all = updates(&packets, &seed);
                let shared = &shared;
                scope.spawn(move || {
                    let is_its = |(at, update): &(usize, Update<KeyV4>)| {
                        core == if by_position { at % 4 } else { update.hash as usize % 4 }
                    };
                    let own = all.into_iter().enumerate().filter(is_its).map(|(_, update)| update);
                    let own: Vec<_> = own.collect();
                    own.chunks(64).for_each(|burst| shared.update_burst_of_core(burst, candidates));
                });
            }
        });
        let together = Tracked::from_cores(&config, &shared, &cores).expect("memory");
        // The first sixty are well above what the least of a hundred candidates has.
        let heavy =
            |of: &Tracked<KeyV4, CountMin>| of.heavy_hitters(1).keys.into_iter().take(60).collect::<Vec<_>>();
        assert_eq!(heavy(&together), heavy(&alone), "by position: {by_position}");
        assert!(!heavy(&alone).is_empty());
    }
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
