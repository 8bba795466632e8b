//! FloWatcher's tables against models that count packet by packet, as the paper describes.

use super::counted::EntryCounts;
use super::direct::DirectArray;
use super::flows::{Arrival, HashedPackets, PointTraffic, StreamFlow};
use super::hash_tables::{Combined, Double, LinkedList, LinkedListFullKeys};
use super::miscount::{Miscount, TableModel};
use super::table::{BenchFlowTable, Entries};
use crate::cuckoo::Cuckoo;
use packet::KeyV4;
use proptest::prelude::*;
use std::collections::{BTreeMap, HashMap};

/// Few buckets and few flows in each, so that all that can happen does; a high half of 0 is one like the others.
fn hashes() -> impl Strategy<Value = Vec<u32>> {
    let hash = (0_u32..5, prop::sample::select(vec![0_u32, 1, 77, 0xffff]));
    prop::collection::vec(hash.prop_map(|(high, low)| high << 16 | low), 0..300)
}

/// Which keys the packets of these hashes have: two flows to each hash.
fn keys(hashes: &[u32]) -> Vec<KeyV4> {
    let key = |(at, hash): (usize, &u32)| KeyV4::new([10; 8], hash.to_be_bytes(), (at % 3 / 2) as u8);
    hashes.iter().enumerate().map(key).collect()
}

fn sorted(table: &mut dyn BenchFlowTable) -> Vec<(u32, EntryCounts)> {
    let Entries::ByHash(mut entries) = table.entries() else { panic!("knows hashes") };
    entries.sort_by_key(|&(hash, _)| hash);
    entries
}

fn by_hash(hashes: &[u32]) -> Vec<(u32, EntryCounts)> {
    let mut counts: BTreeMap<u32, u64> = BTreeMap::new();
    hashes.iter().for_each(|&hash| *counts.entry(hash).or_default() += 1);
    counts.into_iter().map(|(hash, packets)| (hash, EntryCounts::from_packets(packets))).collect()
}

proptest! {
    #[test]
    fn the_third_flow_of_a_bucket_is_not_tracked(hashes in hashes()) {
        let keys = keys(&hashes);
        let mut model: HashMap<u16, Vec<u32>> = HashMap::new();
        let (mut tracked, mut untracked) = (Vec::new(), 0);
        for &hash in &hashes {
            let bucket = model.entry(hash as u16).or_default();
            if bucket.len() < 2 && !bucket.contains(&hash) {
                bucket.push(hash);
            }
            if bucket.contains(&hash) { tracked.push(hash) } else { untracked += 1 }
        }
        let mut table = Double::new().expect("memory");
        table.count(HashedPackets { keys: &keys, hashes: &hashes });
        prop_assert_eq!(sorted(&mut table), by_hash(&tracked));
        prop_assert_eq!(table.untracked(), untracked);
        table.renew();
        prop_assert_eq!(sorted(&mut table), vec![]);
        prop_assert_eq!(table.untracked(), 0);
    }

    #[test]
    fn lists_know_hashes_and_full_keys_know_flows(hashes in hashes()) {
        let keys = keys(&hashes);
        let packets = HashedPackets { keys: &keys, hashes: &hashes };
        let (mut list, mut combined) = (LinkedList::new().expect("memory"), Combined::new().expect("memory"));
        list.count(packets);
        combined.count(packets);
        prop_assert_eq!(sorted(&mut list), by_hash(&hashes));
        prop_assert_eq!(sorted(&mut combined), by_hash(&hashes));
        prop_assert_eq!((list.untracked(), combined.untracked()), (0, 0));

        let mut full = LinkedListFullKeys::new().expect("memory");
        full.count(packets);
        let Entries::ByKey(entries) = full.entries() else { panic!("knows keys") };
        let mut truth: HashMap<KeyV4, u64> = HashMap::new();
        keys.iter().for_each(|&key| *truth.entry(key).or_default() += 1);
        prop_assert_eq!(entries.len(), truth.len());
        for (key, counted) in entries {
            prop_assert_eq!(truth.get(&key).map(|&packets| EntryCounts::from_packets(packets)), Some(counted));
        }
    }

    /// A table that is loaded is the table that counted, entry by entry in the same order.
    #[test]
    fn loading_is_counting(hashes in hashes()) {
        let keys = keys(&hashes);
        let mut flows: Vec<StreamFlow> = Vec::new();
        for (&key, &hash) in keys.iter().zip(&hashes) {
            match flows.iter_mut().find(|flow| flow.key == key) {
                Some(flow) => flow.packets += 1,
                None => flows.push(StreamFlow { key, hash, packets: 1, sampled: 0 }),
            }
        }
        let pairs: [[Box<dyn BenchFlowTable>; 2]; 3] = [
            [Box::new(LinkedList::new().expect("memory")), Box::new(LinkedList::new().expect("memory"))],
            [Box::new(LinkedListFullKeys::new().expect("memory")), Box::new(LinkedListFullKeys::new().expect("memory"))],
            [Box::new(Combined::new().expect("memory")), Box::new(Combined::new().expect("memory"))],
        ];
        for [mut counted, mut loaded] in pairs {
            counted.count(HashedPackets { keys: &keys, hashes: &hashes });
            loaded.load(&flows);
            prop_assert_eq!(counted.entries(), loaded.entries());
            prop_assert_eq!(counted.memory_bytes(), loaded.memory_bytes());
        }
    }
}

/// The truth by a loop over packets that tracks which flow is counted where; the model derives the same by
/// sorting.
fn by_packet(traffic: &PointTraffic, entry_of: impl Fn(usize) -> Option<u32>) -> (u64, u64) {
    let flows = &traffic.flows;
    let mut owners: HashMap<u32, usize> = HashMap::new();
    let mut sharers: HashMap<u32, u64> = HashMap::new();
    for place in 0..flows.len() {
        if let Some(entry) = entry_of(place) {
            owners.entry(entry).or_insert(place);
            *sharers.entry(entry).or_default() += 1;
        }
    }
    let lost =
        (0..flows.len()).filter(|&place| entry_of(place).is_none_or(|entry| sharers[&entry] > 1)).count();
    let packets = traffic.packets();
    let miscounted = packets.keys.iter().filter(|key| {
        let place = traffic.place(key).unwrap();
        entry_of(place).is_none_or(|entry| owners[&entry] != place)
    });
    (lost as u64, miscounted.count() as u64)
}

#[test]
fn the_miscount_is_what_packets_say() {
    let mut traffic = PointTraffic::draw(400_000, 150_000, 1.0, Arrival::Drawn).unwrap();
    // As few bits as make hashes collide, in both halves.
    traffic.rehash(|hash| hash & 0x0007_ffff);
    traffic.sample(1_000);
    let hash = |place: usize| traffic.flows[place].hash;
    let model = TableModel::new(&traffic);
    let filled = |mut table: Box<dyn BenchFlowTable>| {
        table.renew();
        table.count(traffic.packets());
        table.count(traffic.sampled());
        let (agrees, miscount) = model.compare(&mut *table, 1);
        assert!(agrees, "{}", table.name());
        assert_eq!((miscount.flows_true, miscount.packets), (traffic.flows.len() as u64, 400_000));
        miscount
    };
    let exact = filled(Box::new(Cuckoo::new()));
    assert_eq!(
        exact,
        Miscount { flows_lost: 0, packets_miscounted: 0, flows_counted: exact.flows_true, ..exact }
    );
    assert_eq!(exact, filled(Box::new(LinkedListFullKeys::new().expect("memory"))));

    let list = filled(Box::new(LinkedList::new().expect("memory")));
    assert_eq!((list.flows_lost, list.packets_miscounted), by_packet(&traffic, |place| Some(hash(place))));
    assert!(list.flows_lost > 5_000 && list.packets_miscounted > 5_000, "too easy a test: {list:?}");
    assert_eq!(list, filled(Box::new(Combined::new().expect("memory"))));
    assert_eq!(list, filled(Box::new(DirectArray::new(&traffic.flows).expect("addresses"))));

    let mut tracked: HashMap<u16, Vec<u32>> = HashMap::new();
    for flow in &traffic.flows {
        let bucket = tracked.entry(flow.hash as u16).or_default();
        if bucket.len() < 2 && !bucket.contains(&flow.hash) {
            bucket.push(flow.hash);
        }
    }
    let double = filled(Box::new(Double::new().expect("memory")));
    let entry = |place: usize| Some(hash(place)).filter(|hash| tracked[&(*hash as u16)].contains(hash));
    assert_eq!((double.flows_lost, double.packets_miscounted), by_packet(&traffic, entry));
    assert!(double.flows_lost > list.flows_lost, "{double:?}");
}

/// A wrong answer is not called checked.
#[test]
fn a_wrong_answer_is_noticed() {
    let mut traffic = PointTraffic::draw(5_000, 2_000, 0.7, Arrival::AnyOrder).unwrap();
    traffic.sample(100);
    let model = TableModel::new(&traffic);
    let tables: [Box<dyn BenchFlowTable>; 6] = [
        Box::new(Cuckoo::new()),
        Box::new(DirectArray::new(&traffic.flows).expect("addresses")),
        Box::new(Double::new().expect("memory")),
        Box::new(Combined::new().expect("memory")),
        Box::new(LinkedList::new().expect("memory")),
        Box::new(LinkedListFullKeys::new().expect("memory")),
    ];
    for mut table in tables {
        table.renew();
        table.count(traffic.packets());
        let sampled = traffic.sampled();
        table.count(HashedPackets { keys: &sampled.keys[1..], hashes: &sampled.hashes[1..] });
        assert!(!model.compare(&mut *table, 1).0, "{}: one packet is missing", table.name());
        table.renew();
        table.count(traffic.packets());
        table.count(traffic.sampled());
        assert!(model.compare(&mut *table, 1).0, "{}", table.name());
    }
}
