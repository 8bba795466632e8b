//! Tests of counting as cores count: a stream in parts, by flow or by position, each into its own structure. If nothing is left out, the
//! merged structures answer as one that saw everything.

use super::oracle::{OracleStream, check_merged_flows, check_merged_parts};
use super::*;
use packet::{KeyV4, Seed};

/// 400 flows at most.
fn stream() -> OracleStream {
    OracleStream::zipf(5_000, 400, 1)
}

fn seed() -> Seed {
    Seed::new(1)
}

#[test]
fn structures_with_room_for_all_flows_have_them_whoever_counted() {
    let stream = stream();
    check_merged_flows::<SpaceSavingHeap<KeyV4>>(&GridConfig::with_width(1_000, seed()), &stream);
    check_merged_flows::<SpaceSavingSummary<KeyV4>>(&GridConfig::with_width(1_000, seed()), &stream);
    check_merged_flows::<SimpleHashTable<KeyV4>>(&GridConfig::with_width(1 << 20, seed()), &stream);
    check_merged_flows::<MvSketch<KeyV4>>(&GridConfig::new(2, 1 << 16, seed()), &stream);
    check_merged_flows::<CocoSketch<KeyV4>>(&GridConfig::new(2, 100_000, seed()), &stream);
    check_merged_flows::<ReversibleSets<KeyV4>>(&GridConfig::new(3, 1 << 14, seed()), &stream);
    check_merged_flows::<ExactCounts<KeyV4>>(
        &ExactConfig::with_bytes(1 << 17, seed()).expect("memory"),
        &stream,
    );
    check_merged_flows::<PacketSample<KeyV4>>(&SampleConfig::new(1, 1_000, seed()), &stream);
    check_merged_flows::<FlowSample<KeyV4>>(&SampleConfig::new(1, 1_000, seed()), &stream);
    check_merged_flows::<SampleAndHold<KeyV4>>(&SampleConfig::new(1, 1_000, seed()), &stream);
}

#[test]
fn addresses_are_found_whoever_counted() {
    let updates: Vec<_> =
        (0..6_000_u32).map(|i| Update { key: (i * i) % 97 + 0x0a00_0000, hash: 0, weight: 1 }).collect();
    check_merged_parts(&GridConfig::new(5, 4_096, seed()), &updates, |sketch: &ReversibleSketch| {
        let found = sketch.heavy_hitters(20);
        assert!(found.keys.len() > 40 && !found.is_cut_short);
        found
    });
}

#[test]
fn distinct_flows_are_as_many_whoever_counted() {
    let stream = stream();
    let updates = &stream.updates;
    check_merged_parts(&GridConfig::with_width(1_024, seed()), updates, HyperLogLog::distinct);
    check_merged_parts(&GridConfig::with_width(4_096, seed()), updates, LinearBitmap::distinct);
    let config = Configuration::with_bytes(1_024, seed()).expect("memory");
    check_merged_parts(&config, updates, MultiResolutionBitmap::distinct);
    check_merged_parts(&SampleConfig::new(8, 1_000, seed()), updates, FlowSample::<KeyV4>::distinct);
}

#[test]
fn quantiles_are_the_same_whoever_counted() {
    let values: Vec<_> =
        (0..3_000_u64).map(|i| Update { key: i * i % 1_461 + 40, hash: 0, weight: 1 }).collect();
    let shares = [0.0, 0.05, 0.5, 0.9, 0.99, 1.0];
    let dyadic = DyadicConfig::new(16, 3, 500, seed()).expect("a size");
    check_merged_parts(&dyadic, &values, |array: &DyadicArray| shares.map(|share| array.quantile(share)));
}
