//! The tables against maps that count packet by packet, as the paper describes.

use super::*;
use crate::{Counts, FlowSink};
use arena::Limits;
use flow::{FlowKey, FlowRecord, LossCounts, NULL, OpenFields, WindowRow};
use packet::{Bursts, FamilyKey, Key, KeySpec, KeyV4, KeyV6, KeyedPacket, Numbers, PacketFields};
use proptest::prelude::*;
use std::collections::{BTreeMap, HashMap, HashSet};

#[test]
fn a_bucket_and_an_entry_of_a_list_are_a_cache_line() {
    // Of the entries of a run, as `flows` has them.
    #[derive(Clone, Copy, Default)]
    struct OfRun([u64; 4]);
    impl HashedEntry for OfRun {
        type Packet = ();
        fn is_free(&self) -> bool {
            self.0[0] == 0
        }
        fn is_of(&self, (): &()) -> bool {
            true
        }
        fn begin((): &()) -> Self {
            Self([1; 4])
        }
        fn count(&mut self, (): &()) -> bool {
            true
        }
    }
    let limits = Limits::new(1 << 30, usize::MAX);
    let double = DoubleHash::<OfRun>::new(&limits).expect("room");
    assert_eq!(HashedTable::<OfRun>::bytes(&double), 64 * BUCKETS);
    let mut list = ListHash::<OfRun>::new(&limits).expect("room");
    let heads = HashedTable::<OfRun>::bytes(&list);
    assert_eq!(list.count(7, &(), |_| true), CountedIn::Begun(0));
    assert_eq!(HashedTable::<OfRun>::bytes(&list) - heads, 64);
}

/// What was given out.
#[derive(Default)]
struct Given {
    records: Vec<FlowRecord>,
    rows: Vec<(FlowKey, Counts, (u64, u64))>,
    without_place: Vec<(FlowKey, u32)>,
}

impl FlowSink for Given {
    fn window_sealed<K: Key>(&mut self, _: u16, _: WindowRow<K>, _: Option<&LossCounts>) {
        panic!("such a table has no windows");
    }

    fn flow_ended(&mut self, record: FlowRecord) {
        self.records.push(record);
    }

    fn takes_record_rows(&self) -> bool {
        true
    }

    fn record_row<K: Key>(&mut self, row: WindowRow<K>) {
        let counts = Counts { packets: row.packets, bytes: row.bytes, wire: row.wire_bytes };
        self.rows.push((row.key.flow_key(&KeySpec::FIVE_TUPLE), counts, (row.first_ns, row.last_ns)));
    }

    fn table_full<K: Key>(&mut self, key: &K, packet: &PacketFields) {
        self.without_place.push((key.flow_key(&KeySpec::FIVE_TUPLE), packet.total_byte));
    }
}

/// A packet of a test: the number of its flow, its bytes, and whether it is older than the one before.
type TestPacket = (u8, u16, bool);

/// Few buckets with few flows in each, so that all that can happen does. Some flows have one low half of 32 bits, and differ in the high one.
fn hash_of(flow: u8) -> u64 {
    let bucket = u64::from(flow % 3) * 77;
    let high = u64::from(flow / 3 % 5) << 16;
    u64::from(flow) << 32 | high | bucket
}

/// Flows with odd numbers are of IPv6.
fn key_of(flow: u8) -> FamilyKey {
    match flow % 2 {
        0 => FamilyKey::V4(KeyV4::new([10; 8], [0, flow, 0, 80], 6)),
        _ => FamilyKey::V6(KeyV6::new(&[20; 16], &[21; 16], [0, flow, 0, 80], 6)),
    }
}

fn flow_key(flow: u8) -> FlowKey {
    match key_of(flow) {
        FamilyKey::V4(key) => key.flow_key(&KeySpec::FIVE_TUPLE),
        FamilyKey::V6(key) => key.flow_key(&KeySpec::FIVE_TUPLE),
    }
}

/// Times of the packets: those that are late are older than all before.
fn times(packets: &[TestPacket]) -> Vec<u64> {
    let late = packets.iter().scan(1_000_000, |oldest, (_, _, is_late)| {
        *oldest -= u64::from(*is_late);
        Some(*oldest)
    });
    packets
        .iter()
        .zip(late)
        .zip(2_000_000..)
        .map(|((packet, late), time)| if packet.2 { late } else { time })
        .collect()
}

/// Counts the packets in bursts of this length.
fn count(
    kind: HashTableKind,
    packets: &[TestPacket],
    burst: usize,
    limits: &Limits,
) -> (Given, Counts, Miscounts) {
    let mut table = FlowsByHash::new(kind, KeySpec::FIVE_TUPLE, limits).expect("room");
    let (mut given, mut sums) = (Given::default(), Counts::default());
    let times = times(packets);
    // Numbers wrap within the test.
    let numbered: Vec<_> = packets.iter().zip(times).zip(u64::from(u32::MAX) - 40..).collect();
    for part in numbered.chunks(burst) {
        let mut bursts = Bursts::with_capacity(burst);
        bursts.set_numbers(Numbers::near(part[0].1));
        for &((&(flow, bytes, is_late), time_ns), number) in part {
            let fields = PacketFields {
                time_ns,
                total_byte: bytes.into(),
                wire_byte: u32::from(bytes) + 14,
                number: number as u32,
                ..PacketFields::default()
            };
            match key_of(flow) {
                FamilyKey::V4(key) => {
                    bursts.v4.push_keyed(&KeyedPacket { key, hash: hash_of(flow), fields }, None);
                    if is_late {
                        bursts.v4.set_arrival(3_000_000);
                    }
                }
                FamilyKey::V6(key) => {
                    bursts.v6.push_keyed(&KeyedPacket { key, hash: hash_of(flow), fields }, None);
                    if is_late {
                        bursts.v6.set_arrival(3_000_000);
                    }
                }
            }
        }
        let counted = table.count(&bursts, &mut given);
        sums.packets += counted.counts.packets;
        sums.bytes += counted.counts.bytes;
        sums.wire += counted.counts.wire;
    }
    let miscounts = table.end(&mut given);
    (given, sums, miscounts)
}

/// What a map knows of a flow or an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Truth {
    packets: u64,
    bytes: u64,
    times: (u64, u64),
}

impl Truth {
    fn add(map: &mut HashMap<u8, Self>, flow: u8, bytes: u16, time: u64) {
        let truth = map.entry(flow).or_insert(Self { packets: 0, bytes: 0, times: (time, time) });
        truth.packets += 1;
        truth.bytes += u64::from(bytes);
        truth.times = (truth.times.0.min(time), truth.times.1.max(time));
    }
}

/// The entries that a table should have, by the flow that began each, and the packets that it should have no entry for.
struct Expected {
    entries: HashMap<u8, Truth>,
    without_place: Vec<(FlowKey, u32)>,
    shared_packets: u64,
    shared: HashSet<u8>,
}

/// Counts packet by packet, with room for `most` entries at each bucket and `of_run` in all.
fn expected(packets: &[TestPacket], most: usize, of_run: usize) -> Expected {
    let mut owners: BTreeMap<u32, u8> = BTreeMap::new();
    let mut of_bucket: HashMap<u32, usize> = HashMap::new();
    let mut expected = Expected {
        entries: HashMap::new(),
        without_place: Vec::new(),
        shared_packets: 0,
        shared: HashSet::new(),
    };
    for (&(flow, bytes, _), time) in packets.iter().zip(times(packets)) {
        let hash = hash_of(flow) as u32;
        let begun = of_bucket.entry(hash & 0xffff).or_default();
        let owner = match owners.get(&hash) {
            Some(owner) => *owner,
            None if *begun < most && owners.len() < of_run => {
                *begun += 1;
                owners.insert(hash, flow);
                flow
            }
            None => {
                expected.without_place.push((flow_key(flow), bytes.into()));
                continue;
            }
        };
        if owner != flow {
            expected.shared_packets += 1;
            expected.shared.insert(owner);
        }
        Truth::add(&mut expected.entries, owner, bytes, time);
    }
    expected
}

fn check(kind: HashTableKind, packets: &[TestPacket], burst: usize, of_run: usize) {
    let limits = Limits::new(1 << 28, of_run);
    let most = if kind == HashTableKind::Double { 2 } else { usize::MAX };
    let Expected { entries, without_place, shared_packets, shared } = expected(packets, most, of_run);
    let (given, sums, miscounts) = count(kind, packets, burst, &limits);
    assert_eq!(given.without_place, without_place, "{kind}");
    assert_eq!(miscounts, Miscounts { shared_packets, shared_entries: shared.len() as u64 }, "{kind}");
    assert_eq!((given.records.len(), given.rows.len()), (entries.len(), entries.len()), "{kind}");
    for (flow, truth) in &entries {
        let key = Some(flow_key(*flow));
        let record = given.records.iter().find(|record| record.key == key).expect("a record");
        assert_eq!((record.total_count, record.total_byte), (truth.packets, truth.bytes), "{kind}");
        assert_eq!((record.stime, record.ltime), truth.times, "{kind}");
        assert_eq!(record.wire_byte, NULL);
        assert!(
            record.open.has_any(OpenFields::from_field("ip_ttl"))
                && record.open.has_any(OpenFields::from_field("vlan"))
        );
        let row = given.rows.iter().find(|(known, ..)| Some(*known) == key).expect("a row");
        assert_eq!((row.1.packets, row.1.bytes, row.2), (truth.packets, truth.bytes, truth.times));
    }
    // Nothing is counted twice, and nothing nowhere.
    let listed: u64 = given.records.iter().map(|record| record.total_count).sum();
    assert_eq!((sums.packets, listed + without_place.len() as u64), (listed, packets.len() as u64));
    let bytes: u64 = without_place.iter().map(|(_, bytes)| u64::from(*bytes)).sum();
    assert_eq!(sums.bytes + bytes, packets.iter().map(|packet| u64::from(packet.1)).sum::<u64>());
    assert_eq!(sums.wire, sums.bytes + 14 * sums.packets);
    assert_eq!((limits.flows_used(), limits.bytes_used()), (0, 0), "all went back");
    // A flow whose hash is its own, and that has an entry, is exact.
    let mut truth = HashMap::new();
    packets
        .iter()
        .zip(times(packets))
        .for_each(|(packet, time)| Truth::add(&mut truth, packet.0, packet.1, time));
    let alone = entries.iter().filter(|(flow, _)| !shared.contains(flow));
    alone.for_each(|(flow, counted)| assert_eq!(truth.get(flow), Some(counted), "{kind}"));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]
    #[test]
    fn each_table_is_what_the_paper_says(
        packets in prop::collection::vec((0_u8..40, 20_u16..1500, any::<bool>()), 1..200),
        burst in 1_usize..70,
        of_run in prop::sample::select(vec![1_usize, 5, usize::MAX]),
    ) {
        HashTableKind::ALL.into_iter().for_each(|kind| check(kind, &packets, burst, of_run));
    }
}

/// The random test covers what it is about: flows without an entry, and flows that share one.
#[test]
fn the_tables_differ_where_they_should() {
    let packets: Vec<TestPacket> = (0..40).chain(0..40).map(|flow| (flow, 100, false)).collect();
    let whole = Limits::new(1 << 28, usize::MAX);
    let [double, list, combined] = HashTableKind::ALL.map(|kind| count(kind, &packets, 16, &whole));
    // Three buckets of five hashes each: of those the double hash keeps two.
    assert_eq!(double.0.records.len(), 6);
    assert_eq!((list.0.records.len(), combined.0.records.len()), (15, 15));
    assert!(double.0.without_place.len() > 40 && list.0.without_place.is_empty());
    assert_eq!((list.2, combined.2.shared_entries), (combined.2, 15));
    assert_eq!(list.2.shared_packets, 80 - 15 - 15, "of each hash one flow has its packets for itself");
}

#[test]
fn what_finds_no_memory_has_no_entry() {
    assert!(FlowsByHash::new(HashTableKind::Double, KeySpec::FIVE_TUPLE, &Limits::new(1 << 20, 9)).is_err());
    // Heads of lists, and some steps of entries and labels.
    let limits = Limits::new(8 << 20, usize::MAX);
    let mut table = FlowsByHash::new(HashTableKind::List, KeySpec::FIVE_TUPLE, &limits).expect("room");
    let (mut given, mut counted) = (Given::default(), 0);
    let flows = 200_000_u32;
    for first in (0..flows).step_by(100) {
        let mut bursts = Bursts::with_capacity(100);
        for flow in first..first + 100 {
            let key = KeyV4::new([10; 8], flow.to_be_bytes(), 6);
            let fields = PacketFields { total_byte: 100, number: flow, ..PacketFields::default() };
            bursts.v4.push_keyed(
                &KeyedPacket { key, hash: u64::from(flow).wrapping_mul(0x9e37_79b9_7f4a_7c15), fields },
                None,
            );
        }
        counted += table.count(&bursts, &mut given).counts.packets;
        assert!(limits.bytes_used() <= limits.bytes_allowed());
    }
    assert!(counted > 10_000 && counted < flows.into(), "{counted}");
    assert_eq!(counted + given.without_place.len() as u64, u64::from(flows));
    let miscounts = table.end(&mut given);
    assert_eq!(given.records.iter().map(|record| record.total_count).sum::<u64>(), counted);
    assert_eq!(given.records.len() as u64 + miscounts.shared_packets, counted);
}

#[test]
fn names_are_read_as_they_are_written() {
    for kind in HashTableKind::ALL {
        assert_eq!(kind.to_string().parse(), Ok(kind));
    }
    assert!(
        "cuckoo".parse::<HashTableKind>().expect_err("no such one").contains("double, list and combined")
    );
}
