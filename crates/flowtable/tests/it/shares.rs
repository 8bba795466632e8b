//! Shares of flows, counted apart or by many threads in one table, add up to the records of one table, and to sums by a
//! `HashMap`.

use crate::header_values::header_values;
use arena::Limits;
use flow::{FlowRecord, WindowRow};
use flowtable::{Counts, FlowSink, FlowTable, MeasuredParts, SharedTable, TableConfig, Timeouts};
use packet::{Key, KeyBurst, KeySpec, KeyV4, KeyedPacket, PacketFields, Seed};
use proptest::prelude::*;
use std::collections::HashMap;
use std::thread;

const MEMORY: usize = 1 << 30;

/// Keeps records, and packets that found no place.
#[derive(Debug, Default)]
struct Recorder {
    records: Vec<FlowRecord>,
    windows: Counts,
    /// Keys, first and last times, TCP flags and header fields of windows' rows.
    rows: Vec<String>,
    full: Counts,
}

impl FlowSink for Recorder {
    fn window_sealed<K: Key>(&mut self, _: u16, row: WindowRow<K>, _: Option<&tcp::LossCounts>) {
        add(&mut self.windows, Counts { packets: row.packets, bytes: row.bytes, wire: row.wire_bytes });
        // Without its key, whose type is any.
        let WindowRow { first_ns, last_ns, tcp_flags, headers, .. } = row;
        let key = row.key.flow_key(&KeySpec::FIVE_TUPLE);
        self.rows.push(format!("{key:?} {first_ns} {last_ns} {tcp_flags} {headers:?}"));
    }
    fn flow_ended(&mut self, record: FlowRecord) {
        self.records.push(record);
    }
    fn table_full<K: Key>(&mut self, _: &K, packet: &PacketFields) {
        let (bytes, wire) = (packet.total_byte.into(), packet.wire_byte.into());
        add(&mut self.full, Counts { packets: 1, bytes, wire });
    }
}

fn add(sum: &mut Counts, more: Counts) {
    sum.packets += more.packets;
    sum.bytes += more.bytes;
    sum.wire += more.wire;
}

/// Packet number `number` of a stream of this many flows: all fields differ between packets.
fn packet(number: u64, flows: u64) -> KeyedPacket<KeyV4> {
    let draw = (number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20) % flows;
    let key = KeyV4::new([10, 0, (draw >> 8) as u8, draw as u8, 10, 9, 9, 9], [1, 2, 3, 4], 6);
    let fields = PacketFields {
        // Some come late.
        time_ns: 1_000_000 + number * 1000 - (number % 7) * 2500,
        total_byte: 40 + (number % 1400) as u32,
        wire_byte: 60 + (number % 1400) as u32,
        number: number as u32 + 1,
        tcp_seq: number as u32,
        tcp_ack: !number as u32,
        tcp_win: (number % 60_000) as u16,
        vlan: (number % 4000) as u16,
        tcp_flags: 1 << ((draw + number) % 8),
        direction: 0,
        ip_ttl: number as u8,
        ip_tos: (number >> 8) as u8,
        macs: std::array::from_fn(|i| (number >> i) as u8),
    };
    KeyedPacket::new(key, fields, false, &Seed::new(1))
}

/// The values of a flow in a window: its first time, its TCP flags, and the label and the time to live of each packet.
type OfWindow = (u64, u8, Vec<(u32, u8)>);

/// A label of the flow; some packets have another one.
fn label(packet: &KeyedPacket<KeyV4>) -> u32 {
    packet.hash as u32 % 1000 + u32::from(packet.fields.number.is_multiple_of(97))
}

fn burst_of(numbers: impl Iterator<Item = u64>, flows: u64) -> KeyBurst<KeyV4> {
    let mut burst = KeyBurst::with_capacity(64);
    for number in numbers {
        let packet = packet(number, flows);
        burst.push_keyed(&packet, None);
        let ip_ttl = Some(packet.fields.ip_ttl.into());
        burst.add_headers(header_values(Some(label(&packet)), [ip_ttl; 2]));
    }
    burst
}

fn table(parts: MeasuredParts) -> FlowTable<KeyV4> {
    let timeouts = Timeouts { idle_ns: u64::MAX, active_ns: u64::MAX };
    let config = TableConfig { parts, ..TableConfig::plain(Seed::new(1), timeouts) };
    FlowTable::new(config, &Limits::new(MEMORY, usize::MAX)).expect("there is address space")
}

const SHARES: MeasuredParts = MeasuredParts {
    shares: true,
    statistics: [None; 3],
    window_statistics: [None; 3],
    biflow: false,
    loss: false,
    headers: true,
};

/// Records that one table makes of the whole stream, in order of their keys.
fn expected(packets: u64, flows: u64) -> Vec<FlowRecord> {
    let (mut table, mut kept) = (table(MeasuredParts { shares: false, ..SHARES }), Recorder::default());
    table.update_burst(&burst_of(0..packets, flows), &mut kept);
    table.end_all(&mut kept);
    sorted(kept.records)
}

fn sorted(mut records: Vec<FlowRecord>) -> Vec<FlowRecord> {
    records.sort_unstable_by_key(|record| record.key);
    records
}

/// Puts shares together, and gives the records.
struct Merged {
    table: FlowTable<KeyV4>,
    kept: Recorder,
}

impl Merged {
    fn new() -> Self {
        Self { table: table(SHARES), kept: Recorder::default() }
    }

    fn add(&mut self, share: &flowtable::FlowShare<KeyV4>) {
        assert!(self.table.add_share(share, &mut self.kept), "there is room");
    }

    fn records(mut self) -> Vec<FlowRecord> {
        self.table.end_all(&mut self.kept);
        sorted(self.kept.records)
    }
}

/// Lets `workers` threads count the numbers below `packets` in bursts, in whichever order they get on.
fn by_threads(
    shared: &SharedTable<KeyV4>,
    packets: std::ops::Range<u64>,
    flows: u64,
    workers: u64,
) -> Counts {
    let mut full = Counts::default();
    thread::scope(|scope| {
        let threads: Vec<_> = (0..workers)
            .map(|worker| {
                let numbers = packets.clone().filter(move |number| number % workers == worker);
                scope.spawn(move || {
                    let (mut kept, mut numbers) = (Recorder::default(), numbers.peekable());
                    while numbers.peek().is_some() {
                        shared.update_burst(&burst_of(numbers.by_ref().take(100), flows), &mut kept);
                    }
                    kept.full
                })
            })
            .collect();
        threads.into_iter().for_each(|thread| add(&mut full, thread.join().expect("it goes well")));
    });
    full
}

#[test]
fn threads_on_one_table_make_the_records_of_one_core() {
    let (packets, flows) = (200_000, 3000);
    let limits = Limits::new(MEMORY, usize::MAX);
    let mut shared = SharedTable::new(flows as usize, &limits).expect("there is memory");
    assert_eq!(limits.bytes_used(), SharedTable::<KeyV4>::bytes_for(flows as usize));
    // The table is reused for each window.
    let mut merged = Merged::new();
    for window in 0..4 {
        let part = window * packets / 4..(window + 1) * packets / 4;
        assert_eq!(by_threads(&shared, part, flows, 4), Counts::default());
        shared.take_shares(|share| merged.add(share));
        shared.take_shares(|_| panic!("it is empty"));
    }
    let mut sums: HashMap<_, (u64, u64, u64)> = HashMap::new();
    for packet in (0..packets).map(|number| packet(number, flows)) {
        let sum = sums.entry(packet.key.flow_key(&packet::KeySpec::FIVE_TUPLE)).or_default();
        sum.0 += 1;
        sum.1 += u64::from(packet.fields.total_byte);
        sum.2 += u64::from(packet.fields.wire_byte);
    }
    let records = merged.records();
    assert_eq!(records.len(), sums.len());
    for record in &records {
        let sum = sums[&record.key.expect("a flow")];
        assert_eq!((record.total_count, record.total_byte, record.wire_byte), sum);
    }
    assert_eq!(records, expected(packets, flows));
    drop(shared);
    assert_eq!(limits.bytes_used(), 0);
}

#[test]
fn what_a_full_shared_table_refuses_is_counted() {
    let limits = Limits::new(MEMORY, usize::MAX);
    let (packets, flows) = (20_000, 500);
    // Slots for 64 keys at half load: 128.
    let mut shared = SharedTable::new(64, &limits).expect("there is memory");
    let mut sum = by_threads(&shared, 0..packets, flows, 3);
    assert_ne!(sum.packets, 0);
    let (mut found, whole) = (0, expected(packets, flows));
    shared.take_shares(|share| {
        found += 1;
        // A flow is counted whole or not at all: who found a place keeps it.
        let key = share.key.flow_key(&packet::KeySpec::FIVE_TUPLE);
        let record = whole.iter().find(|record| record.key == Some(key)).expect("a flow");
        assert_eq!(share.counts.packets, record.total_count);
        add(&mut sum, share.counts);
    });
    assert_eq!(found, 128);
    let all = whole.iter().fold(Counts::default(), |mut sum, record| {
        let (packets, bytes, wire) = (record.total_count, record.total_byte, record.wire_byte);
        add(&mut sum, Counts { packets, bytes, wire });
        sum
    });
    assert_eq!(sum, all);
}

#[test]
fn no_memory_for_a_shared_table() {
    let limits = Limits::new(SharedTable::<KeyV4>::bytes_for(1000) - 1, usize::MAX);
    assert!(SharedTable::<KeyV4>::new(1000, &limits).is_err_and(|e| e.cause().is_none()));
    assert_eq!(limits.bytes_used(), 0);
    assert!(SharedTable::<KeyV4>::new(100, &limits).is_ok());
}

#[test]
fn a_share_that_finds_no_place_is_given_back() {
    let limits = Limits::new(MEMORY, 10);
    let timeouts = Timeouts { idle_ns: u64::MAX, active_ns: u64::MAX };
    let config = TableConfig { parts: SHARES, ..TableConfig::plain(Seed::new(1), timeouts) };
    let mut few = FlowTable::new(config, &limits).expect("there is address space");
    let (mut all, mut kept) = (table(SHARES), Recorder::default());
    all.update_burst(&burst_of(0..1000, 30), &mut kept);
    let (mut placed, mut refused) = (0, 0);
    // Twice, so that known flows find their places again.
    for _ in 0..2 {
        all.take_shares(|share| {
            *if few.add_share(share, &mut kept) { &mut placed } else { &mut refused } += 1
        });
        assert_eq!(all.len(), 0);
        all.update_burst(&burst_of(0..1000, 30), &mut kept);
    }
    assert_eq!((placed, refused, few.len(), limits.flows_used()), (20, 40, 10, 10));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: testbed::cases(64), ..ProptestConfig::default() })]

    #[test]
    fn shares_in_any_order_make_the_records_of_one_core(
        (packets, flows, workers) in (1u64..3000, 1u64..400, 1u64..6),
        // Who counts a packet, and who is merged when.
        (luck, windows) in (any::<u64>(), 1u64..5),
    ) {
        let drawn = |number: u64| (number ^ luck).wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33;
        let mut tables: Vec<_> = (0..workers).map(|_| table(SHARES)).collect();
        let (mut merged, mut kept) = (Merged::new(), Recorder::default());
        let (mut rows, mut latest) = (Vec::new(), HashMap::new());
        for window in 0..windows {
            let part = window * packets / windows..(window + 1) * packets / windows;
            let mut of_window: HashMap<_, OfWindow> = HashMap::new();
            for packet in part.clone().map(|number| packet(number, flows)) {
                let (time_ns, flags) = (packet.fields.time_ns, packet.fields.tcp_flags);
                let last: &mut u64 = latest.entry(packet.key).or_default();
                *last = time_ns.max(*last);
                let row = of_window.entry(packet.key).or_insert((time_ns, 0, Vec::new()));
                (row.0, row.1) = (row.0.min(time_ns), row.1 | flags);
                row.2.push((label(&packet), packet.fields.ip_ttl));
            }
            rows.extend(of_window.into_iter().map(|(key, (first_ns, flags, headers))| {
                let of_first = headers[0].0;
                let label = headers.iter().all(|(label, _)| *label == of_first).then_some(of_first);
                let ttl = || headers.iter().map(|(_, ttl)| u32::from(*ttl));
                let headers = header_values(label, [ttl().min(), ttl().max()]);
                let last_ns = latest[&key];
                format!("{:?} {first_ns} {last_ns} {flags} {headers:?}", key.flow_key(&KeySpec::FIVE_TUPLE))
            }));
            for (worker, table) in (0..).zip(&mut tables) {
                let numbers = part.clone().filter(|&number| drawn(number) % workers == worker);
                table.update_burst(&burst_of(numbers, flows), &mut kept);
            }
            for at in 0..workers {
                let at = (at + luck % workers) % workers;
                tables[at as usize].take_shares(|share| merged.add(share));
            }
            merged.table.turn();
            while !merged.table.sweep(usize::MAX, &mut merged.kept) {}
        }
        prop_assert_eq!(merged.kept.windows.packets, packets);
        rows.sort_unstable();
        merged.kept.rows.sort_unstable();
        prop_assert_eq!(&merged.kept.rows, &rows);
        prop_assert_eq!(merged.records(), expected(packets, flows));
    }
}
