//! Any sequence of bursts, turns, sweeps and limits on a flow table: every packet is in exactly one record and one
//! window of its own flow, or was refused by name. Keys choose their own hashes, so that buckets overflow.
#![no_main]

use arena::Limits;
use flow::{FlowRecord, WindowRow};
use flowtable::{FlowSink, FlowTable, TableConfig, Timeouts};
use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;
use packet::{FlowKey, Key, KeyBurst, KeySpec, KeyV4, PacketFields, Seed};
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::net::{IpAddr, Ipv4Addr};
use tcp::LossCounts;

/// Enough for the index to grow several times: under a fuzzer it starts growing at 192 flows.
const MOST_PACKETS: usize = 600;
/// Long histories find what short ones find, and each costs many of those.
const MOST_STEPS: usize = 40;
/// Unit of the memory limit: a step of an arena under a fuzzer.
const STEP_BYTES: usize = 64 << 10;

#[derive(Arbitrary, Clone, Copy, Debug)]
enum Hashing {
    Seeded,
    /// As many positions as this, any tags.
    Positions(u8),
    /// As many hashes as this.
    Hashes(u8),
}

#[derive(Arbitrary, Debug)]
enum Step {
    Burst { first: u16, flows: u16, later: i16, bytes: u16, flags: u8 },
    Advance(u16),
    Sweep(u8),
    Turn,
}

#[derive(Arbitrary, Debug)]
struct Input {
    hashing: Hashing,
    idle: Option<u16>,
    active: Option<u16>,
    max_flows: Option<u16>,
    memory_steps: u8,
    steps: Vec<Step>,
}

/// A key with the hash that the input chooses.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd, Ord, Eq)]
struct SteeredKey {
    number: u64,
    hash: u64,
}

fn address(number: u16) -> [u8; 8] {
    let [high, low] = number.to_be_bytes();
    [10, 0, 0, 1, 10, 1, high, low]
}

impl SteeredKey {
    fn new(number: u16, hashing: Hashing) -> Self {
        let seeded = KeyV4::new(address(number), [0; 4], 17).hash(&Seed::new(1));
        let hash = match hashing {
            Hashing::Seeded => seeded,
            Hashing::Positions(count) => (seeded & !0xffff_ffff) | (seeded % (u64::from(count) + 1)),
            Hashing::Hashes(count) => (seeded % (u64::from(count) + 1)).wrapping_mul(0x9e37_79b9_7f4a_7c15),
        };
        Self { number: number.into(), hash }
    }
}

impl Key for SteeredKey {
    fn hash(&self, _: &Seed) -> u64 {
        self.hash
    }

    fn reversed(&self) -> Self {
        *self
    }

    fn flow_key(&self, _: &KeySpec) -> FlowKey {
        let [.., high, low] = self.number.to_be_bytes();
        let address = |a, b, c| IpAddr::V4(Ipv4Addr::new(10, a, b, c));
        FlowKey::five_tuple((address(0, 0, 1), 0), (address(1, high, low), 0), 17)
    }
}

/// What is known of a flow: by packets sent and not refused, or by records emitted.
#[derive(Debug, Default, PartialEq, Eq)]
struct Sum {
    packets: u64,
    bytes: u64,
    wire: u64,
    flags: u8,
    first: u64,
    last: u64,
}

impl Sum {
    fn add(&mut self, packets: u64, bytes: u64, wire: u64, flags: u8, [first, last]: [u64; 2]) {
        self.first = if self.packets == 0 { first } else { self.first.min(first) };
        self.last = self.last.max(last);
        (self.packets, self.bytes, self.wire) =
            (self.packets + packets, self.bytes + bytes, self.wire + wire);
        self.flags |= flags;
    }
}

/// Hashes one number. The usual hasher, which coverage instruments, took most of an execution.
#[derive(Default)]
struct NumberHasher(u64);

impl Hasher for NumberHasher {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u64((*byte).into()));
    }
    fn write_u64(&mut self, number: u64) {
        self.0 = (self.0 ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
    }
    fn finish(&self) -> u64 {
        self.0
    }
}

/// Sums by a key's number, and by window where they are of one.
type Sums = HashMap<u64, Sum, BuildHasherDefault<NumberHasher>>;

/// The number of the key that the table emits as this one.
fn number_of(key: &FlowKey) -> u64 {
    let Some(IpAddr::V4(address)) = key.dst_addr else { panic!("another key: {key:?}") };
    let [.., high, low] = address.octets();
    u16::from_be_bytes([high, low]).into()
}

fn of_window(window: u16, number: u64) -> u64 {
    u64::from(window) << 16 | number
}

#[derive(Default)]
struct Given {
    records: Vec<FlowRecord>,
    windows: Sums,
    /// By `tcp_seq` of the refused packets, which is their number.
    refused: Vec<bool>,
}

impl FlowSink for Given {
    fn window_sealed<K: Key>(&mut self, window: u16, row: WindowRow<K>, _: Option<&LossCounts>) {
        assert!(row.packets > 0);
        let mut sum = Sum::default();
        // The latest time is the flow's, not the window's, where packets were late.
        sum.add(row.packets, row.bytes, row.wire_bytes, row.tcp_flags, [row.first_ns; 2]);
        let number = number_of(&row.key.flow_key(&KeySpec::FIVE_TUPLE));
        let known = self.windows.insert(of_window(window, number), sum);
        assert_eq!(known, None, "two rows of a key and window");
    }
    fn flow_ended(&mut self, record: FlowRecord) {
        self.records.push(record);
    }
    fn table_full<K: Key>(&mut self, _: &K, packet: &PacketFields) {
        let at = packet.tcp_seq as usize;
        self.refused.resize(self.refused.len().max(at + 1), false);
        assert!(!std::mem::replace(&mut self.refused[at], true), "refused twice");
    }
}

fuzz_target!(|input: Input| {
    let timeout = |ticks: Option<u16>| ticks.map_or(u64::MAX, |ticks| u64::from(ticks) << 26);
    let timeouts = Timeouts { idle_ns: timeout(input.idle), active_ns: timeout(input.active) };
    let max_flows = input.max_flows.map_or(usize::MAX, usize::from);
    let memory = usize::from(input.memory_steps) * STEP_BYTES;
    let limits = Limits::new(memory, max_flows);
    let seed = Seed::new(1);
    let mut table = FlowTable::new(TableConfig::plain(seed, timeouts), &limits).expect("address space");
    let mut given = Given::default();
    let mut burst = KeyBurst::with_capacity(64);
    let mut sent: Vec<(u16, SteeredKey, PacketFields)> = Vec::new();
    let mut clock = 1u64 << 60;
    let mut stream = clock;
    for step in input.steps.iter().take(MOST_STEPS) {
        match *step {
            Step::Burst { first, flows, later, bytes, flags } => {
                burst.clear();
                clock = clock.saturating_add_signed(i64::from(later) << 20);
                stream = stream.max(clock);
                for n in 0..(flows % 256).min((MOST_PACKETS - sent.len()) as u16) {
                    let key = SteeredKey::new(first.wrapping_add(n), input.hashing);
                    let fields = PacketFields {
                        time_ns: clock,
                        total_byte: bytes.into(),
                        wire_byte: u32::from(bytes) + 14,
                        tcp_seq: sent.len() as u32,
                        tcp_flags: flags,
                        ..Default::default()
                    };
                    burst.push(key, fields, &seed);
                    if clock < stream {
                        burst.set_arrival(stream);
                    }
                    sent.push((table.window(), key, fields));
                }
                table.update_burst(&burst, &mut given);
            }
            Step::Advance(ticks) => table.advance(clock + (u64::from(ticks) << 20)),
            Step::Sweep(entries) => {
                table.sweep(usize::from(entries) * 16 + 1, &mut given);
            }
            Step::Turn => {
                while !table.sweep(1000, &mut given) {}
                table.turn();
            }
        }
        assert_eq!(limits.flows_used(), table.len());
        assert!(table.len() <= max_flows && limits.bytes_used() <= memory);
        assert_eq!(limits.bytes_used(), table.bytes());
    }
    table.end_all(&mut given);
    assert!(table.is_empty());
    drop(table);
    assert_eq!((limits.bytes_used(), limits.flows_used()), (0, 0));

    let (mut expected, mut windows) = (Sums::default(), Sums::default());
    let nothing_ends = timeouts == Timeouts { idle_ns: u64::MAX, active_ns: u64::MAX };
    for (window, key, fields) in &sent {
        if given.refused.get(fields.tcp_seq as usize) == Some(&true) {
            assert!(
                !nothing_ends || !expected.contains_key(&key.number),
                "a packet of a known flow was refused"
            );
            continue;
        }
        let (bytes, wire) = (fields.total_byte.into(), fields.wire_byte.into());
        expected.entry(key.number).or_default().add(1, bytes, wire, fields.tcp_flags, [fields.time_ns; 2]);
        let sum = windows.entry(of_window(*window, key.number)).or_default();
        let first = if sum.packets == 0 { fields.time_ns } else { sum.first.min(fields.time_ns) };
        sum.add(1, bytes, wire, fields.tcp_flags, [fields.time_ns; 2]);
        (sum.first, sum.last) = (first, first);
    }
    assert!(given.refused.len() <= sent.len(), "packets refused that were never sent");
    assert_eq!(given.windows, windows);
    let mut records = Sums::default();
    for record in &given.records {
        let key = record.key.expect("a record of the table has a key");
        let times = [record.stime, record.ltime];
        let sum = records.entry(number_of(&key)).or_default();
        assert!(sum.packets == 0 || !nothing_ends, "two records of one flow");
        sum.add(record.total_count, record.total_byte, record.wire_byte, record.tcp_flags, times);
    }
    assert_eq!(records, expected);
});
