//! Bounds contain the truth, however many groups there are and however parts are merged.

use super::amounts::{Amounts, WEIGHTS};
use super::bounds::GroupBounds;
use super::counter::{CAPACITY, SummaryCounter};
use super::summary::GroupSummary;
use super::{BURST, SummaryPlan, UnplacedPacket};
use crate::query::Comparison;
use crate::rows::grouping::GroupKeyParts;
use crate::rows::predicate::{KeyNumber, KeyPredicate};
use crate::rows::program::{NetworkMask, RowKeyMember};
use arena::Limits;
use packet::{KeySpec, KeyV4, KeyV6, MaskedKey, Seed};
use std::collections::HashMap;

fn limits() -> Limits {
    Limits::new(1 << 30, usize::MAX)
}

fn by_source() -> SummaryPlan {
    let plain = KeySpec::parse("src_addr").expect("a field");
    let parts = GroupKeyParts { plain, either: None, is_conversation: false, extras: Vec::new() };
    SummaryPlan { filter: KeyPredicate::Always(true), parts: Some(parts) }
}

fn v4(source: u32, port: u16) -> KeyV4 {
    let mut addresses = [9; 8];
    addresses[..4].copy_from_slice(&source.to_be_bytes());
    let mut ports = [0; 4];
    ports[2..].copy_from_slice(&port.to_be_bytes());
    KeyV4::new(addresses, ports, 6)
}

fn v6(source: u32) -> KeyV6 {
    let mut address = [0x20; 16];
    address[12..].copy_from_slice(&source.to_be_bytes());
    KeyV6::new(&address, &[1; 16], [0, 1, 0, 2], 17)
}

/// Sources of which some are frequent and most come once, each with its weights.
fn sources(seed: u64, len: u64) -> impl Iterator<Item = (u32, [u64; WEIGHTS])> {
    let seed = Seed::new(seed);
    (0..len).map(move |number| {
        let word = seed.hash_words(&[number]);
        let source = if word & 3 == 0 { word as u32 >> 28 } else { word as u32 >> 15 };
        let bytes = 40 + (word >> 40) % 1460;
        (source, [1, bytes, bytes + 14])
    })
}

/// Counts sources in both families, and adds them to the truth.
fn count(
    counter: &mut SummaryCounter,
    sources: impl Iterator<Item = (u32, [u64; WEIGHTS])>,
    truth: &mut HashMap<u32, [u64; WEIGHTS]>,
) -> GroupSummary {
    let sources: Vec<_> = sources.collect();
    for sources in sources.chunks(BURST) {
        let v4 = sources.iter().map(|(at, counts)| UnplacedPacket { key: v4(*at, 1), counts: *counts });
        let v6 = sources.iter().map(|(at, counts)| UnplacedPacket { key: v6(*at), counts: *counts });
        counter.count(&v4.collect::<Vec<_>>(), &v6.collect::<Vec<_>>());
        for (source, counts) in sources {
            let sum = truth.entry(*source).or_default();
            sum.iter_mut().zip(counts).for_each(|(sum, more)| *sum += more);
        }
    }
    counter.take()
}

fn check(summary: &GroupSummary, truth: &HashMap<u32, [u64; WEIGHTS]>) -> GroupBounds {
    let bounds = GroupBounds::new(summary);
    let spec = KeySpec::parse("src_addr").expect("a field");
    for (source, counts) in truth {
        for amounts in [
            bounds.get(false, v4(*source, 1).masked(&spec).words()),
            bounds.get(true, v6(*source).masked(&spec).words()),
        ] {
            for (weight, count) in counts.iter().enumerate() {
                let (lower, upper) = (amounts.lower[weight], amounts.upper[weight]);
                assert!(lower <= *count && *count <= upper, "{source} {weight}: {count} {amounts:?}");
            }
        }
    }
    bounds
}

#[test]
fn parts_of_many_groups_merge_to_bounds_that_contain_the_truth() {
    let limits = limits();
    let mut counter = SummaryCounter::new(&by_source(), Seed::new(5), &limits);
    for seed in 0..4 {
        let (mut truth, mut merged) = (HashMap::new(), GroupSummary::default());
        for part in 0..3 {
            // The counter of a window is that of the next one.
            let len = 3000 + 9000 * part;
            merged.merge(&count(&mut counter, sources(10 * seed + part, len), &mut truth));
        }
        assert!(truth.len() > 3 * CAPACITY, "{}", truth.len());
        let bounds = check(&merged, &truth);
        assert!(!bounds.others.is_nothing(), "some groups are not known");
        // A frequent source is bounded closely.
        let spec = KeySpec::parse("src_addr").expect("a field");
        let frequent = bounds.get(false, v4(7, 1).masked(&spec).words());
        assert!(frequent.upper[0] < frequent.lower[0] + frequent.lower[0] / 10, "{frequent:?}");
    }
}

#[test]
fn few_groups_are_exact_in_whichever_order_parts_merge() {
    let limits = limits();
    let mut counter = SummaryCounter::new(&by_source(), Seed::new(6), &limits);
    let mut truth = HashMap::new();
    let parts: Vec<_> = (0..3).map(|seed| count(&mut counter, sources(seed, 300), &mut truth)).collect();
    let sums = [[0, 1, 2], [2, 0, 1]].map(|order| {
        let mut sum = GroupSummary::default();
        order.iter().for_each(|at| sum.merge(&parts[*at]));
        sum
    });
    let bounds = check(&sums[0], &truth);
    assert!(bounds.others.is_nothing());
    assert!(sums[0].groups.iter().all(|(_, amounts)| amounts.lower == amounts.upper));
    assert_eq!(sums[0], sums[1]);
}

#[test]
fn without_memory_bounds_are_wide_and_contain_the_truth() {
    let limits = Limits::new(30_000, usize::MAX);
    let mut counter = SummaryCounter::new(&by_source(), Seed::new(7), &limits);
    let mut truth = HashMap::new();
    let summary = count(&mut counter, sources(1, 3000), &mut truth);
    assert!(limits.bytes_used() <= 30_000 && summary.groups.len() < truth.len());
    check(&summary, &truth);
}

#[test]
fn a_filter_counts_what_it_lets_through_and_what_it_may() {
    let port = KeyNumber::Member(RowKeyMember::DestinationPort);
    let is_low = KeyPredicate::Compare(port, Comparison::Less, KeyNumber::Constant(1024));
    let filter = KeyPredicate::And(vec![is_low, KeyPredicate::IsIn(port, vec![53, 80, 5000])]);
    let or_unknown = KeyPredicate::Or(vec![filter.clone(), KeyPredicate::Unknown]);
    let and_unknown = KeyPredicate::And(vec![KeyPredicate::Unknown, filter.clone()]);
    for (filter, [lower, upper]) in [
        (filter.clone(), [2, 2]),
        (KeyPredicate::Not(Box::new(filter)), [1, 1]),
        (or_unknown, [2, 3]),
        (and_unknown, [0, 2]),
    ] {
        let plan = SummaryPlan { filter, parts: None };
        let mut counter = SummaryCounter::new(&plan, Seed::new(8), &limits());
        let packets = [53, 80, 5000].map(|port| UnplacedPacket { key: v4(1, port), counts: [1, 100, 114] });
        counter.count(&packets, &[]);
        let [lower, upper] = [lower, upper].map(|packets| [packets, 100 * packets, 114 * packets]);
        assert_eq!(GroupBounds::new(&counter.take()).get(false, &[]), Amounts { lower, upper });
    }
}

#[test]
fn networks_are_of_one_family() {
    let within = |text: &str, length| {
        let address = text.parse().expect("an address");
        KeyPredicate::InNetworks(&[0, 1], vec![NetworkMask::new((address, length))])
    };
    assert_eq!(within("10.0.0.0", 8).holds(&v4(0x0a01_0203, 1)), Some(true));
    assert_eq!(within("9.9.9.9", 32).holds(&v4(0x0a01_0203, 1)), Some(true), "the destination");
    assert_eq!(within("11.0.0.0", 8).holds(&v4(0x0a01_0203, 1)), Some(false));
    assert_eq!(within("0.0.0.0", 0).holds(&v6(1)), Some(false));
    assert_eq!(within("2020::", 16).holds(&v6(1)), Some(true));
    assert_eq!(KeyPredicate::SameAddress.holds(&v4(0x0909_0909, 1)), Some(true));
}
