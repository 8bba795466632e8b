//! The flow table against a model made of a `HashMap`, on random packets, turns, sweeps and limits.

use packet::{FlowKey, Key, KeyBurst, KeyV4, KeyV6, PacketFields, Seed};
use proptest::prelude::*;
use record::{EndReason, FlowRecord};
use std::collections::HashMap;
use summary::{Counts, FlowSink, FlowTable, Limits, Timeouts};

/// Everything that a table gave out.
#[derive(Default)]
struct Given {
    windows: HashMap<(u16, FlowKey), (u64, u64, u64)>,
    records: Vec<FlowRecord>,
    refused: u64,
}

impl FlowSink for Given {
    fn window_counts<K: Key>(&mut self, window: u16, key: &K, counts: Counts) {
        let sum = self.windows.entry((window, key.flow_key())).or_default();
        *sum = (sum.0 + counts.packets, sum.1 + counts.bytes, sum.2 + counts.wire);
    }
    fn flow_ended(&mut self, record: FlowRecord) {
        self.records.push(record);
    }
    fn table_full(&mut self, _: &PacketFields) {
        self.refused += 1;
    }
}

/// What the documentation says of records, written down as simply as it goes.
struct Model {
    timeouts: Timeouts,
    max_flows: usize,
    now: u64,
    window: u16,
    flows: HashMap<FlowKey, FlowRecord>,
    given: Given,
}

impl Model {
    fn due(&self, flow: &FlowRecord) -> Option<EndReason> {
        // Each timeout as the last instant at which the flow still lives.
        let idle = flow.ltime.saturating_add(self.timeouts.idle_ns);
        let active = flow.stime.saturating_add(self.timeouts.active_ns).saturating_sub(1);
        let first = idle.min(active);
        (self.now > first).then_some(if idle <= active { EndReason::Idle } else { EndReason::Active })
    }

    fn packet(&mut self, key: FlowKey, p: &PacketFields) {
        self.now = self.now.max(p.time_ns);
        if let Some(reason) = self.flows.get(&key).and_then(|flow| self.due(flow)) {
            let mut flow = self.flows.remove(&key).expect("it was found");
            flow.end_reason = reason;
            self.given.records.push(flow);
        } else if !self.flows.contains_key(&key) && self.flows.len() >= self.max_flows {
            self.given.refused += 1;
            return;
        }
        let flow = self.flows.entry(key).or_insert(FlowRecord {
            key: Some(key),
            stime: p.time_ns,
            ltime: p.time_ns,
            total_count: 0,
            total_byte: 0,
            wire_byte: 0,
            tcp_seq: 0,
            tcp_ack: 0,
            tcp_win: 0,
            vlan: (p.vlan != PacketFields::NO_VLAN).then_some(p.vlan),
            smac: p.smac(),
            dmac: p.dmac(),
            tcp_flags: 0,
            ip_ttl: 0,
            ip_tos: 0,
            end_reason: EndReason::End,
        });
        flow.stime = flow.stime.min(p.time_ns);
        flow.ltime = flow.ltime.max(p.time_ns);
        flow.total_count += 1;
        flow.total_byte += u64::from(p.total_byte);
        flow.wire_byte += u64::from(p.wire_byte);
        flow.tcp_flags |= p.tcp_flags;
        (flow.tcp_seq, flow.tcp_ack, flow.tcp_win) = (p.tcp_seq, p.tcp_ack, p.tcp_win);
        (flow.ip_ttl, flow.ip_tos) = (p.ip_ttl, p.ip_tos);
        let sum = self.given.windows.entry((self.window, key)).or_default();
        *sum = (sum.0 + 1, sum.1 + u64::from(p.total_byte), sum.2 + u64::from(p.wire_byte));
    }

    /// A whole sweep.
    fn sweep(&mut self) {
        let due: Vec<_> = self.flows.iter().filter_map(|(key, flow)| Some((*key, self.due(flow)?))).collect();
        for (key, reason) in due {
            let mut flow = self.flows.remove(&key).expect("it was listed");
            flow.end_reason = reason;
            self.given.records.push(flow);
        }
    }
}

fn sorted(mut records: Vec<FlowRecord>) -> Vec<String> {
    let mut lines: Vec<_> = records.drain(..).map(|record| format!("{record:?}")).collect();
    lines.sort();
    lines
}

#[derive(Clone, Debug)]
enum Step {
    Packets(Vec<(u32, u8, i64, u32)>),
    Turn,
    Sweep,
    PartOfASweep(usize),
}

fn step(keys: u32) -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => prop::collection::vec((0..keys, any::<u8>(), -30i64..60, 0u32..2000), 1..200).prop_map(Step::Packets),
        1 => Just(Step::Turn),
        1 => Just(Step::Sweep),
        1 => (1usize..200).prop_map(Step::PartOfASweep),
    ]
}

const TICK: u64 = 1 << 28;

fn fields(now: u64, flags: u8, size: u32) -> PacketFields {
    PacketFields {
        time_ns: now,
        total_byte: size,
        wire_byte: size + 14,
        tcp_seq: size.wrapping_mul(77),
        tcp_ack: size ^ 5,
        tcp_win: flags.into(),
        vlan: if flags & 1 == 0 { PacketFields::NO_VLAN } else { flags.into() },
        tcp_flags: flags,
        ip_ttl: flags,
        ip_tos: !flags,
        macs: std::array::from_fn(|i| flags.wrapping_add(i as u8)),
    }
}

fn key_v4(n: u32) -> KeyV4 {
    KeyV4::new([10, 0, 0, 1, (n >> 24) as u8, (n >> 16) as u8, (n >> 8) as u8, n as u8], [0, 80, 1, 0], 6)
}

fn key_v6(n: u32) -> KeyV6 {
    let mut dst = [0; 16];
    dst[12..].copy_from_slice(&n.to_be_bytes());
    KeyV6::new(&[7; 16], &dst, [0, 80, 1, 0], 17)
}

/// Runs the steps through a table and the model and compares all that they give out.
fn compare<K: Key>(key: fn(u32) -> K, steps: &[Step], timeouts: Timeouts, max_flows: usize, seed: u64) {
    let limits = Limits::new(1 << 30, max_flows);
    let seed = Seed::new(seed);
    let mut table = FlowTable::<K>::new(seed, timeouts, &limits).expect("address space");
    let mut given = Given::default();
    let mut model =
        Model { timeouts, max_flows, now: 0, window: 0, flows: HashMap::new(), given: Given::default() };
    let mut burst = KeyBurst::with_capacity(64);
    let mut clock = 1_000_000 * TICK;
    for step in steps {
        match step {
            Step::Packets(packets) => {
                burst.clear();
                for &(number, flags, later, size) in packets {
                    clock = clock.saturating_add_signed(later * TICK as i64 / 16);
                    let packet = fields(clock, flags, size);
                    burst.push(key(number), packet, &seed);
                    model.packet(key(number).flow_key(), &packet);
                }
                table.update_burst(&burst, &mut given);
            }
            Step::Turn => {
                while !table.sweep(100, &mut given) {}
                model.sweep();
                table.turn();
                model.window += 1;
            }
            Step::Sweep => {
                // From wherever the last one stood to the end, and once more all the way.
                while !table.sweep(70, &mut given) {}
                while !table.sweep(usize::MAX, &mut given) {}
                model.sweep();
            }
            // Where the table may be full, when a record leaves it matters; a part of a sweep is not in the model.
            Step::PartOfASweep(entries) if max_flows == usize::MAX => {
                table.sweep(*entries, &mut given);
            }
            Step::PartOfASweep(_) => {}
        }
        if max_flows != usize::MAX {
            assert_eq!(table.len(), model.flows.len());
        }
        assert_eq!(limits.flows_used(), table.len());
    }
    table.end_all(&mut given);
    model.sweep();
    model.given.records.extend(model.flows.drain().map(|(_, flow)| flow));
    assert!(table.is_empty());
    assert_eq!(given.refused, model.given.refused);
    assert_eq!(given.windows, model.given.windows);
    assert_eq!(sorted(given.records), sorted(model.given.records));
    drop(table);
    assert_eq!((limits.bytes_used(), limits.flows_used()), (0, 0));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn agrees_with_the_model(
        steps in prop::collection::vec(step(300), 1..40),
        idle in prop_oneof![Just(u64::MAX), 1..40 * TICK],
        active in prop_oneof![Just(u64::MAX), 1..100 * TICK],
        max_flows in prop_oneof![Just(usize::MAX), 0usize..200],
        seed: u64,
    ) {
        let timeouts = Timeouts { idle_ns: idle, active_ns: active };
        compare(key_v4, &steps, timeouts, max_flows, seed);
        compare(key_v6, &steps, timeouts, max_flows, seed);
    }
}

const OFF: Timeouts = Timeouts { idle_ns: u64::MAX, active_ns: u64::MAX };

/// Growth from the first bucket through many doublings, deletes, and growth again into the freed entries.
fn grows_and_shrinks<K: Key>(key: fn(u32) -> K, flows: u32) {
    let limits = Limits::new(4 << 30, usize::MAX);
    let seed = Seed::new(9);
    let timeouts = Timeouts { idle_ns: 10, active_ns: u64::MAX };
    let mut table = FlowTable::<K>::new(seed, timeouts, &limits).expect("address space");
    let mut given = Given::default();
    let mut burst = KeyBurst::with_capacity(1000);
    for round in 0..2u64 {
        let start = 1000 + round * 1000;
        for repeat in 0..2 {
            for chunk in (0..flows).collect::<Vec<_>>().chunks(1000) {
                burst.clear();
                for &n in chunk {
                    let n = n.wrapping_mul(2_654_435_761);
                    burst.push(key(n), fields(start + repeat, 0, n % 1000), &seed);
                }
                table.update_burst(&burst, &mut given);
            }
            assert_eq!(table.len(), flows as usize);
        }
        // Every second flow goes on, the others time out.
        for n in (0..flows).step_by(2) {
            burst.clear();
            burst.push(key(n.wrapping_mul(2_654_435_761)), fields(start + 11, 0, 1), &seed);
            table.update_burst(&burst, &mut given);
        }
        table.advance(start + 12);
        assert!(table.sweep(usize::MAX, &mut given));
        assert_eq!(table.len(), flows.div_ceil(2) as usize);
        table.advance(start + 100);
        assert!(table.sweep(usize::MAX, &mut given));
        assert!(table.is_empty());
    }
    assert_eq!(given.refused, 0);
    let mut counts = HashMap::new();
    for record in &given.records {
        *counts.entry(record.key.expect("no record is `other`")).or_insert(0u64) += record.total_count;
    }
    let expected: HashMap<_, _> = (0..flows)
        .map(|n| (key(n.wrapping_mul(2_654_435_761)).flow_key(), if n % 2 == 0 { 6 } else { 4 }))
        .collect();
    assert_eq!(counts, expected);
}

#[test]
fn grows_over_many_doublings() {
    grows_and_shrinks(key_v4, 700_001);
    grows_and_shrinks(key_v6, 100_001);
}

/// With memory for the first steps only, every flow that has a place stays exact and the rest is refused by count.
#[test]
fn memory_bounds_it() {
    let limits = Limits::new(9 << 20, usize::MAX);
    let seed = Seed::new(3);
    let mut table = FlowTable::<KeyV4>::new(seed, OFF, &limits).expect("address space");
    let mut given = Given::default();
    let mut burst = KeyBurst::with_capacity(64);
    for round in 0..2 {
        for n in 0..200_000 {
            burst.clear();
            burst.push(key_v4(n), fields(round + 1, 0, 10), &seed);
            table.update_burst(&burst, &mut given);
        }
    }
    assert!(limits.bytes_used() <= 9 << 20);
    let kept = table.len() as u64;
    // 9 MiB are one step for the index, one for cold lines and two for hot ones: 32,768 flows of 64 bytes in the
    // smaller arena.
    assert!((30_000..=65_536).contains(&kept), "{kept} flows");
    table.end_all(&mut given);
    assert!(given.records.iter().all(|r| r.total_count == 2 && r.total_byte == 20));
    assert_eq!((given.records.len() as u64, given.refused), (kept, 400_000 - 2 * kept));
}

/// The index itself is the first to be refused where there is no memory at all.
#[test]
fn without_memory_everything_is_refused() {
    let limits = Limits::new(0, usize::MAX);
    let mut table = FlowTable::<KeyV6>::new(Seed::new(1), OFF, &limits).expect("address space");
    let mut given = Given::default();
    let mut burst = KeyBurst::with_capacity(1);
    burst.push(key_v6(1), fields(1, 0, 10), &Seed::new(1));
    table.update_burst(&burst, &mut given);
    assert_eq!((given.refused, table.len(), limits.bytes_used()), (1, 0, 0));
}
