//! The flow table against a model made of a `HashMap`, on random packets, turns, sweeps and limits.

use crate::header_values::header_values;
use arena::Limits;
use flow::{EndReason, FlowRecord, HeaderValues, Loss, MAX_STATISTICS, Metric, More, WindowRow};
use flowtable::{FlowSink, FlowTable, MeasuredParts, StatisticBlock, StatisticSpec, TableConfig, Timeouts};
use packet::{
    FlowKey, Key, KeyBurst, KeySpec, KeyV4, KeyV6, KeyedPacket, Numbers, PacketFields, Seed, TcpSegment,
};
use proptest::prelude::*;
use std::collections::{HashMap, HashSet};
use tcp::{ColdStream, HotStream, LossCounts, Segment, SegmentOutcome, finish, track, track_rare};

/// The complete output of a table.
#[derive(Default)]
struct Given {
    windows: HashMap<(u16, FlowKey), WindowRow<()>>,
    /// Statistics of the packets of each row, as bits, so that NaN equals NaN.
    statistics: HashMap<(u16, FlowKey), Vec<u64>>,
    /// Those of the row that comes next.
    next_statistics: Option<(FlowKey, Vec<u64>)>,
    /// Keys and windows that had a row.
    rows: HashSet<(u16, FlowKey)>,
    records: Vec<FlowRecord>,
    /// The totals of records, as rows.
    record_rows: Vec<String>,
    /// Booked in all windows together.
    loss: LossCounts,
    refused: u64,
    refused_keys: HashMap<FlowKey, u64>,
}

impl FlowSink for Given {
    fn window_sealed<K: Key>(&mut self, window: u16, row: WindowRow<K>, loss: Option<&LossCounts>) {
        if let Some(loss) = loss {
            self.loss.add(loss);
        }
        let key = (window, row.key.flow_key(&KeySpec::FIVE_TUPLE));
        assert!(self.rows.insert(key), "one row for each key and window");
        if row.packets == 0 {
            assert!(loss.is_some_and(|loss| !loss.is_empty()));
            assert_eq!(self.next_statistics, None);
            return;
        }
        if let Some((of, values)) = self.next_statistics.take() {
            assert_eq!(of, key.1, "statistics are of the row that comes next");
            self.statistics.insert(key, values);
        }
        self.windows.insert(key, row.with_key(()));
    }
    fn row_statistics<K: Key>(&mut self, key: K, values: &[f64]) {
        let bits = values.iter().map(|value| value.to_bits()).collect();
        assert_eq!(self.next_statistics.replace((key.flow_key(&KeySpec::FIVE_TUPLE), bits)), None);
    }
    fn flow_ended(&mut self, record: FlowRecord) {
        self.records.push(record);
    }
    fn takes_record_rows(&self) -> bool {
        true
    }
    fn record_row<K: Key>(&mut self, row: WindowRow<K>) {
        let key = row.key.flow_key(&KeySpec::FIVE_TUPLE);
        self.record_rows.push(format!("{key:?} {:?}", row.with_key(())));
    }
    fn table_full<K: Key>(&mut self, key: &K, _: &PacketFields) {
        self.refused += 1;
        *self.refused_keys.entry(key.flow_key(&KeySpec::FIVE_TUPLE)).or_default() += 1;
    }
}

/// The flow label of a packet, if it has one, and its time to live.
type LabelAndTtl = (Option<u32>, u32);

/// A flow of the model: its record, what its statistics are of, and its place in its pair.
#[derive(Clone, Debug)]
struct ModelFlow {
    record: FlowRecord,
    /// Stream time when the first packet and the last one arrived.
    began: u64,
    arrived: u64,
    samples: Samples,
    headers: Vec<LabelAndTtl>,
    is_second: bool,
    loss: Option<Loss>,
}

/// The samples of a key's packets, and the number and the time of the last one.
#[derive(Clone, Debug, Default)]
struct Samples {
    samples: [Vec<u64>; 3],
    last: Option<(u64, u64)>,
}

impl Samples {
    fn add(&mut self, number: u64, p: &PacketFields) {
        self.samples[Metric::Size as usize].push(p.total_byte.into());
        if let Some((last_number, last_time)) = self.last.replace((number, p.time_ns)) {
            self.samples[Metric::Gap as usize].push(number - last_number - 1);
            self.samples[Metric::InterArrival as usize].push(p.time_ns.saturating_sub(last_time));
        }
    }

    /// What is requested of these samples.
    fn values(&self, requested: &[Option<(Metric, StatisticSpec)>; 3]) -> Vec<f64> {
        let mut values = Vec::new();
        for (metric, spec) in requested.iter().flatten() {
            let mut state = vec![StatisticBlock::EMPTY; spec.blocks()];
            self.samples[*metric as usize].iter().for_each(|sample| spec.add(&mut state, *sample));
            values.extend(&spec.values(&state)[..spec.statistics().len()]);
        }
        values
    }
}

/// What the tracker has of a pair, the smaller key first.
#[derive(Default)]
struct Connection {
    hot: [HotStream; 2],
    cold: [ColdStream; 2],
    booked: [LossCounts; 2],
}

/// What the documentation says of records, implemented as simply as possible.
struct Model {
    timeouts: Timeouts,
    max_flows: usize,
    parts: MeasuredParts,
    now: u64,
    window: u16,
    flows: HashMap<FlowKey, ModelFlow>,
    /// The header fields of each packet of a window.
    headers: HashMap<(u16, FlowKey), Vec<LabelAndTtl>>,
    /// The samples of a window.
    samples: HashMap<(u16, FlowKey), Samples>,
    /// By the smaller key of a pair: what the tracker has of it and what it booked, smaller key first.
    connections: HashMap<FlowKey, Connection>,
    /// By the smaller key of a pair without a record: the initiator of the one that ended by the active timeout, and its last packet.
    initiators: HashMap<FlowKey, (FlowKey, u64)>,
    /// Booked of a direction while it had no record: windows have it, records do not.
    unrecorded: LossCounts,
    given: Given,
}

/// A record as a row has it.
fn row_of(record: &FlowRecord) -> String {
    let row = record.row();
    format!("{:?} {row:?}", record.key.expect("a record of the table has a key"))
}

fn reversed(key: FlowKey) -> FlowKey {
    FlowKey {
        src_addr: key.dst_addr,
        dst_addr: key.src_addr,
        src_port: key.dst_port,
        dst_port: key.src_port,
        ..key
    }
}

impl Model {
    /// The first and the last of these times of a flow, or of a pair that is one record.
    fn span(&self, key: &FlowKey, times: impl Fn(&ModelFlow) -> (u64, u64)) -> (u64, u64) {
        let other = self.flows.get(&reversed(*key)).filter(|_| self.parts.biflow);
        let spans: Vec<_> = self.flows.get(key).into_iter().chain(other).map(times).collect();
        (spans.iter().map(|span| span.0).min().unwrap(), spans.iter().map(|span| span.1).max().unwrap())
    }

    fn due_at(&self, now: u64, (first, last): (u64, u64)) -> Option<EndReason> {
        // Each timeout as the last instant at which the flow still lives.
        let idle = last.saturating_add(self.timeouts.idle_ns);
        let active = first.saturating_add(self.timeouts.active_ns).saturating_sub(1);
        (now > idle.min(active)).then_some(if idle <= active { EndReason::Idle } else { EndReason::Active })
    }

    /// By stream time.
    fn due(&self, key: &FlowKey) -> Option<EndReason> {
        self.due_at(self.now, self.span(key, |flow| (flow.began, flow.arrived)))
    }

    /// By the time of its next packet.
    fn due_before(&self, key: &FlowKey, time_ns: u64) -> Option<EndReason> {
        self.due_at(time_ns, self.span(key, |flow| (flow.record.stime, flow.record.ltime)))
    }

    /// The flow's record with all its parts.
    fn close(&self, flow: ModelFlow, reason: EndReason) -> FlowRecord {
        let mut record = FlowRecord { end_reason: reason, headers: of_all(&flow.headers), ..flow.record };
        let mut values = [f64::NAN; MAX_STATISTICS];
        let known = flow.samples.values(&self.parts.statistics);
        let at = known.len();
        values[..at].copy_from_slice(&known);
        let loss = flow.loss.filter(|_| self.parts.loss && flow.record.key.unwrap().protocol == Some(6));
        if at != 0 || loss.is_some() {
            let mut more = More { loss, ..More::default() };
            more.statistics = if at != 0 { values } else { more.statistics };
            record.more = Some(Box::new(more));
        }
        record
    }

    /// Takes a flow out, with what its connection booked.
    fn take(&mut self, key: FlowKey) -> Option<ModelFlow> {
        let mut flow = self.flows.remove(&key)?;
        if let Some(Connection { hot, cold, booked }) = self.connections.get_mut(&key.min(reversed(key))) {
            let at = usize::from(reversed(key) < key);
            finish(&mut hot[at], &mut cold[at], &mut booked[at]);
            flow.loss = Some((&std::mem::take(&mut booked[at])).into());
        }
        if !self.flows.contains_key(&reversed(key)) {
            let connection = self.connections.remove(&key.min(reversed(key)));
            for (mut hot, mut booked) in connection.into_iter().flat_map(|c| c.hot.into_iter().zip(c.booked))
            {
                hot.book_rtt(&mut booked);
                self.unrecorded.add(&booked);
            }
        }
        Some(flow)
    }

    /// Ends a flow, or a pair.
    fn end(&mut self, key: FlowKey, reason: EndReason) {
        let flow = self.take(key).expect("it was found");
        let other = if self.parts.biflow { self.take(reversed(key)) } else { None };
        let pair = key.min(reversed(key));
        self.initiators.remove(&pair);
        if self.parts.biflow && reason == EndReason::Active {
            let initiator = if flow.is_second { reversed(key) } else { key };
            let ltime = flow.record.ltime.max(other.as_ref().map_or(0, |other| other.record.ltime));
            self.initiators.insert(pair, (initiator, ltime));
        }
        let record = match other {
            None => self.close(flow, reason),
            Some(other) => {
                let (first, second) = if flow.is_second { (other, flow) } else { (flow, other) };
                let reverse = self.close(second, reason);
                let mut record = self.close(first, reason);
                record.more.get_or_insert_default().reverse = Some(reverse);
                record
            }
        };
        self.given.records.push(record);
    }

    fn end_if_due(&mut self, key: FlowKey) {
        if self.flows.contains_key(&key)
            && let Some(reason) = self.due(&key)
        {
            self.end(key, reason);
        }
    }

    /// Whether a record of `key` that begins by this packet is of the direction that answers.
    fn is_second(&self, key: FlowKey, p: &PacketFields) -> bool {
        let other = self.flows.get(&reversed(key));
        let came_second = other.is_some_and(|other| !other.is_second);
        match p.tcp_flags & (SYN | ACK) {
            SYN => came_second && other.is_some_and(|other| other.record.tcp_flags & SYN != 0),
            both if both == SYN | ACK => true,
            _ if other.is_some() => came_second,
            _ => {
                let keep = self.timeouts.idle_ns.min(self.timeouts.active_ns);
                let goes_on = |ltime| self.now.max(p.time_ns) <= u64::saturating_add(ltime, keep);
                let before = self.initiators.get(&key.min(reversed(key)));
                before.is_some_and(|(initiator, ltime)| goes_on(*ltime) && *initiator != key)
            }
        }
    }

    fn packet(&mut self, key: FlowKey, number: u64, p: &PacketFields, arrived: u64) {
        self.now = self.now.max(arrived);
        let before = self.given.records.len();
        self.end_if_due(key);
        if self.flows.contains_key(&key)
            && let Some(reason) = self.due_before(&key, p.time_ns)
        {
            self.end(key, reason);
        }
        if self.parts.loss || self.parts.are_paired() && !self.flows.contains_key(&key) {
            // A pair's other direction ends too if it is due.
            self.end_if_due(reversed(key));
        }
        let has_ended = self.given.records.len() != before;
        if !has_ended && !self.flows.contains_key(&key) && self.flows.len() >= self.max_flows {
            self.given.refused += 1;
            *self.given.refused_keys.entry(key).or_default() += 1;
            return;
        }
        if !self.flows.contains_key(&key)
            && let Some(Connection { hot, booked, .. }) = self.connections.get_mut(&key.min(reversed(key)))
        {
            let at = usize::from(reversed(key) < key);
            hot[at].book_rtt(&mut booked[at]);
            self.unrecorded.add(&std::mem::take(&mut booked[at]));
        }
        let is_second = self.is_second(key, p);
        if self.parts.are_paired()
            && !self.flows.contains_key(&key)
            && let Some(other) = self.flows.get_mut(&reversed(key))
        {
            other.is_second = !is_second;
        }
        let flow = self.flows.entry(key).or_insert(ModelFlow {
            record: FlowRecord {
                key: Some(key),
                vlan: (p.vlan != PacketFields::NO_VLAN).then_some(p.vlan),
                smac: p.smac(),
                dmac: p.dmac(),
                ..FlowRecord::without_packets(p.time_ns, p.time_ns)
            },
            began: arrived,
            arrived,
            samples: Samples::default(),
            headers: Vec::new(),
            is_second,
            loss: None,
        });
        flow.arrived = arrived;
        let record = &mut flow.record;
        record.stime = record.stime.min(p.time_ns);
        record.ltime = record.ltime.max(p.time_ns);
        record.total_count += 1;
        record.total_byte += u64::from(p.total_byte);
        record.wire_byte += u64::from(p.wire_byte);
        record.tcp_flags |= p.tcp_flags;
        (record.tcp_seq, record.tcp_ack, record.tcp_win) = (p.tcp_seq, p.tcp_ack, p.tcp_win);
        (record.ip_ttl, record.ip_tos) = (p.ip_ttl, p.ip_tos);
        let (ltime, vlan) = (record.ltime, record.vlan);
        let record = record.clone();
        if self.parts.loss && key.protocol == Some(6) {
            let connection = self.connections.entry(key.min(reversed(key))).or_default();
            let segment = Segment {
                time_ns: p.time_ns,
                seq: p.tcp_seq,
                ack: p.tcp_ack,
                payload: payload(p),
                window: p.tcp_win,
                flags: p.tcp_flags,
                ..Segment::default()
            };
            let Connection { hot, cold, booked } = connection;
            let at = usize::from(reversed(key) < key);
            if track(hot, at, &segment, false) == SegmentOutcome::Rare {
                track_rare(hot, cold, at, &segment, booked);
            }
        }
        flow.samples.add(number, p);
        let of_window = self.samples.entry((self.window, key)).or_default();
        of_window.add(number, p);
        if self.parts.window_statistics.iter().any(Option::is_some) {
            let values = of_window.values(&self.parts.window_statistics).into_iter();
            self.given.statistics.insert((self.window, key), values.map(f64::to_bits).collect());
        }
        if self.parts.headers {
            flow.headers.push(headers(p));
            self.headers.entry((self.window, key)).or_default().push(headers(p));
        }
        let macs = std::array::from_fn(|i| if i < 6 { record.dmac[i] } else { record.smac[i - 6] });
        let row = self.given.windows.entry((self.window, key)).or_default();
        if row.packets == 0 {
            row.first_ns = p.time_ns;
            (row.vlan, row.macs) = (vlan.unwrap_or(PacketFields::NO_VLAN), macs);
        }
        row.first_ns = row.first_ns.min(p.time_ns);
        row.packets += 1;
        row.bytes += u64::from(p.total_byte);
        row.wire_bytes += u64::from(p.wire_byte);
        row.tcp_flags |= p.tcp_flags;
        row.last_ns = ltime;
        (row.tcp_seq, row.tcp_ack, row.tcp_win) = (p.tcp_seq, p.tcp_ack, p.tcp_win);
        (row.ip_ttl, row.ip_tos) = (p.ip_ttl, p.ip_tos);
        row.headers = self.headers.get(&(self.window, key)).map_or(HeaderValues::NONE, |all| of_all(all));
    }

    /// A whole sweep.
    fn sweep(&mut self) {
        let due: Vec<_> = self.flows.keys().filter_map(|key| Some((*key, self.due(key)?))).collect();
        for (key, reason) in due {
            if self.flows.contains_key(&key) {
                self.end(key, reason);
            }
        }
    }

    fn end_all(&mut self) {
        self.sweep();
        while let Some(key) = self.flows.keys().next().copied() {
            self.end(key, EndReason::End);
        }
    }
}

/// A flow label, which some packets lack, and the time to live.
fn headers(p: &PacketFields) -> LabelAndTtl {
    ((!p.total_byte.is_multiple_of(50)).then_some(p.total_byte / 1500), p.ip_ttl.into())
}

/// Returns the values that the field table defines for several packets: the label that all have, the least and the greatest time to live.
fn of_all(packets: &[LabelAndTtl]) -> HeaderValues {
    let Some((label, _)) = packets.first() else { return HeaderValues::NONE };
    let label = label.filter(|label| packets.iter().all(|(other, _)| *other == Some(*label)));
    let ttl = || packets.iter().map(|(_, ttl)| *ttl);
    header_values(label, [ttl().min(), ttl().max()])
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

fn step(keys: u32, flags: impl Strategy<Value = u8>) -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => prop::collection::vec((0..keys, flags, -30i64..60, 0u32..2000), 1..200).prop_map(Step::Packets),
        1 => Just(Step::Turn),
        1 => Just(Step::Sweep),
        1 => (1usize..200).prop_map(Step::PartOfASweep),
    ]
}

/// TCP flags.
const FIN: u8 = 1;
const SYN: u8 = 2;
const ACK: u8 = 16;

const TICK: u64 = 1 << 28;

/// Every combination, plain records most often.
fn parts() -> impl Strategy<Value = MeasuredParts> {
    let spec = || prop::sample::select(vec!["mean", "p50", "stddev,p99,p1", "mean,p50,p90,p99.9"]);
    let parse = |metric, list: Option<&str>| Some((metric, list?.parse::<StatisticSpec>().expect("a list")));
    let lists = move || {
        let lists = (prop::option::of(spec()), prop::option::of(spec()), prop::option::of(spec()));
        lists.prop_map(move |(gap, size, arrival)| {
            [parse(Metric::Gap, gap), parse(Metric::Size, size), parse(Metric::InterArrival, arrival)]
        })
    };
    let windows = prop_oneof![Just([None; 3]), lists()];
    let some = (lists(), windows, any::<[bool; 3]>()).prop_map(
        |(statistics, window_statistics, [biflow, loss, headers])| MeasuredParts {
            statistics,
            window_statistics,
            biflow,
            loss,
            headers,
            shares: false,
        },
    );
    prop_oneof![1 => Just(MeasuredParts::default()), 2 => some]
}

fn fields(now: u64, flags: u8, size: u32) -> PacketFields {
    PacketFields {
        time_ns: now,
        total_byte: size,
        // A file may state any length.
        wire_byte: match size % 40 {
            0 => u32::MAX - size,
            1 => (1 << 31) + size - 1,
            _ => size + 14,
        },
        number: 0,
        tcp_seq: size.wrapping_mul(77) % 5000,
        tcp_ack: size * 2,
        tcp_win: flags.into(),
        vlan: if flags & 1 == 0 { PacketFields::NO_VLAN } else { flags.into() },
        tcp_flags: flags,
        direction: 0,
        ip_ttl: flags,
        ip_tos: !flags,
        macs: std::array::from_fn(|i| flags.wrapping_add(i as u8)),
    }
}

/// Numbers 2k and 2k + 1 are the two directions of a pair; those of pair 0 are the same key.
/// Some of TCP's payload, so that segments follow on one another, overlap and leave holes.
fn payload(fields: &PacketFields) -> u32 {
    fields.total_byte % 100
}

fn key_v4(n: u32) -> KeyV4 {
    let [a, b, c, d] = (n >> 1).to_be_bytes();
    match n {
        0 | 1 => KeyV4::new([9; 8], [7; 4], 6),
        _ if n.is_multiple_of(2) => KeyV4::new([10, 0, 0, 1, a, b, c, d], [0, 80, 1, 0], 6),
        _ => KeyV4::new([a, b, c, d, 10, 0, 0, 1], [1, 0, 0, 80], 6),
    }
}

fn key_v6(n: u32) -> KeyV6 {
    let mut address = [0; 16];
    address[12..].copy_from_slice(&(n >> 1).to_be_bytes());
    match n % 2 {
        0 => KeyV6::new(&[7; 16], &address, [0, 80, 1, 0], 17),
        _ => KeyV6::new(&address, &[7; 16], [1, 0, 0, 80], 17),
    }
}

/// Runs the steps through a table and the model and compares all their output.
fn compare<K: Key>(
    key: fn(u32) -> K,
    steps: &[Step],
    timeouts: Timeouts,
    parts: MeasuredParts,
    max_flows: usize,
    seed: u64,
) {
    let limits = Limits::new(1 << 30, max_flows);
    let seed = Seed::new(seed);
    let config = TableConfig { parts, ..TableConfig::plain(seed, timeouts) };
    let mut table = FlowTable::<K>::new(config, &limits).expect("address space");
    let mut given = Given::default();
    let mut model = Model {
        timeouts,
        max_flows,
        parts,
        now: 0,
        window: 0,
        flows: HashMap::new(),
        headers: HashMap::new(),
        samples: HashMap::new(),
        connections: HashMap::new(),
        initiators: HashMap::new(),
        unrecorded: LossCounts::default(),
        given: Given::default(),
    };
    // Hot lines have 48 bits of a packet's number and 7 of a window's.
    let mut received = (1 << 48) - 500;
    for _ in 0..2 * 128 - 3 {
        table.sweep(usize::MAX, &mut given);
        table.turn();
    }
    model.window = table.window();
    let mut burst = KeyBurst::with_capacity(64);
    let mut clock = 1_000_000 * TICK;
    let mut stream = clock;
    for step in steps {
        match step {
            Step::Packets(packets) => {
                burst.clear();
                burst.set_numbers(Numbers::near(received));
                for &(number, flags, later, size) in packets {
                    clock = clock.saturating_add_signed(later * TICK as i64 / 16);
                    let mut time = clock;
                    match size % 61 {
                        // So far ahead that stream time does not follow.
                        3 => time = stream + 5000 * TICK,
                        4 => time = clock - 30 * TICK,
                        // Behind a frame that is not measured, and later.
                        5..9 => stream = stream.max(clock + 3 * TICK),
                        _ => stream = stream.max(clock),
                    }
                    let packet = PacketFields { number: received as u32, ..fields(time, flags, size) };
                    let key = key(number);
                    let is_tcp = key.flow_key(&KeySpec::FIVE_TUPLE).protocol == Some(6);
                    let segment =
                        if is_tcp { TcpSegment::from_payload(payload(&packet)) } else { TcpSegment::NONE };
                    let keyed = KeyedPacket::new(key, packet, parts.are_paired(), &seed);
                    burst.push_keyed(&keyed, Some(&segment));
                    if parts.headers {
                        let (label, ttl) = headers(&packet);
                        burst.add_headers(header_values(label, [Some(ttl); 2]));
                    }
                    if stream != time {
                        burst.set_arrival(stream);
                    }
                    model.packet(key.flow_key(&KeySpec::FIVE_TUPLE), received, &packet, stream);
                    // Some frames in between are not measured.
                    received += 1 + u64::from(size % 3);
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
                // From the position of the last one to the end, and once more all the way.
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
    model.end_all();
    assert!(table.is_empty());
    assert_eq!(given.refused, model.given.refused);
    assert_eq!(given.refused_keys, model.given.refused_keys);
    assert_eq!(given.windows, model.given.windows);
    assert_eq!(given.statistics, model.given.statistics);
    let rows = given.records.iter().flat_map(|record| [Some(record), record.reverse()]).flatten().map(row_of);
    let (mut rows, mut given_rows) = (rows.collect::<Vec<_>>(), given.record_rows);
    rows.sort_unstable();
    given_rows.sort_unstable();
    assert_eq!(given_rows, rows, "the totals of each record, of either direction");
    let directions = given.records.iter().flat_map(|record| [Some(record), record.reverse()]).flatten();
    let mut booked: Vec<Loss> = directions.filter_map(|record| record.loss().copied()).collect();
    booked.push((&model.unrecorded).into());
    let sums = |booked: &[Loss]| {
        let sum = |field: fn(&Loss) -> u64| booked.iter().map(field).sum::<u64>();
        [
            sum(|loss| loss.ploss_byte),
            sum(|loss| loss.ploss_count),
            sum(|loss| loss.reorder_count),
            sum(|loss| loss.retrans_byte),
            sum(|loss| loss.retrans_count),
            sum(|loss| loss.unseen_byte),
            sum(|loss| loss.zero_window_count),
            sum(|loss| loss.hole_count),
            sum(|loss| loss.resync_count),
        ]
    };
    assert_eq!(sums(&[(&given.loss).into()]), sums(&booked));
    let (table_lines, model_lines) = (sorted(given.records), sorted(model.given.records));
    let different = table_lines.iter().zip(&model_lines).find(|(table, model)| table != model);
    assert_eq!(different, None);
    assert_eq!(table_lines.len(), model_lines.len());
    drop(table);
    assert_eq!((limits.bytes_used(), limits.flows_used()), (0, 0));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: testbed::cases(80), ..ProptestConfig::default() })]

    #[test]
    fn agrees_with_the_model(
        steps in prop::collection::vec(step(300, any::<u8>()), 1..40),
        idle in prop_oneof![Just(u64::MAX), 1..40 * TICK],
        active in prop_oneof![Just(u64::MAX), 1..100 * TICK],
        max_flows in prop_oneof![Just(usize::MAX), 0usize..200],
        parts in parts(),
        seed: u64,
    ) {
        let timeouts = Timeouts { idle_ns: idle, active_ns: active };
        compare(key_v4, &steps, timeouts, parts, max_flows, seed);
        compare(key_v6, &steps, timeouts, parts, max_flows, seed);
    }

    /// Few connections with hardly anything but data and acknowledgements, so that many losses are booked for
    /// them, also while one direction has no record.
    #[test]
    fn losses_agree_with_the_model(
        steps in prop::collection::vec(step(8, prop::sample::select(vec![ACK, ACK, ACK, ACK, ACK | FIN, SYN])), 1..40),
        idle in prop_oneof![Just(u64::MAX), 1..20 * TICK],
        biflow: bool,
        seed: u64,
    ) {
        let timeouts = Timeouts { idle_ns: idle, active_ns: u64::MAX };
        let parts = MeasuredParts { loss: true, biflow, ..MeasuredParts::default() };
        compare(key_v4, &steps, timeouts, parts, usize::MAX, seed);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: testbed::cases(10), ..ProptestConfig::default() })]

    /// Many flows, and then windows with a few of them each, which are listed; some windows have too many for a list. More windows than an
    /// entry can tell apart.
    #[test]
    fn short_windows_agree_with_the_model(
        flows in 1_000u32..6_000,
        windows in prop::collection::vec(
            prop_oneof![
                99 => prop::collection::vec((0..6_000u32, any::<u8>(), -1i64..2, 0u32..2000), 0..30),
                1 => prop::collection::vec((0..6_000u32, any::<u8>(), 0i64..1, 0u32..2000), 4_000..6_000),
            ],
            40..120,
        ),
        sweeps in prop::collection::vec(prop_oneof![99 => Just(None), 1 => (1usize..3_000).prop_map(Some)], 120),
        idle in prop_oneof![2 => Just(u64::MAX), 1 => 1..400 * TICK],
        statistics: bool,
        seed: u64,
    ) {
        let all = (0..flows).map(|flow| (flow, 0, 0, 100)).collect::<Vec<_>>();
        let mut steps: Vec<_> = all.chunks(200).map(|chunk| Step::Packets(chunk.to_vec())).collect();
        for (packets, sweep) in windows.iter().zip(sweeps) {
            steps.extend(packets.chunks(100).map(|chunk| Step::Packets(chunk.to_vec())));
            steps.extend(sweep.map(Step::PartOfASweep));
            steps.push(Step::Turn);
        }
        let timeouts = Timeouts { idle_ns: idle, active_ns: u64::MAX };
        let size = statistics.then(|| (Metric::Size, "mean,p50".parse().expect("a list")));
        let parts = MeasuredParts { statistics: [None, size, None], ..MeasuredParts::default() };
        compare(key_v4, &steps, timeouts, parts, usize::MAX, seed);
        compare(key_v6, &steps, timeouts, parts, usize::MAX, seed);
    }
}

/// A connection that goes on longer than the active timeout, with data of the server: who opened it is known by the SYN, whether the
/// sweep has ended the record before its next packet or not. After silence the first packet tells.
#[test]
fn the_initiator_is_who_sent_the_syn() {
    const SECOND: u64 = 1_000_000_000;
    let (client, server, seed) = (key_v4(2), key_v4(3), Seed::new(1));
    // Of each: who, when, the flags.
    let mut packets = vec![(client, 0, SYN), (server, 0, SYN | ACK), (client, 0, ACK)];
    packets.extend((0..10).flat_map(|n| [(server, 1 + 60 * n, ACK), (client, 1 + 60 * n, ACK)]));
    packets.extend([(server, 800, ACK), (client, 801, ACK)]);
    // Its SYN was lost, or comes after the answer.
    packets.extend([
        (server, 1_000, SYN | ACK),
        (client, 1_000, ACK),
        (server, 1_200, SYN | ACK),
        (client, 1_200, SYN),
    ]);
    let timeouts = Timeouts { idle_ns: 90 * SECOND, active_ns: 120 * SECOND };
    let parts = MeasuredParts { biflow: true, ..MeasuredParts::default() };
    for sweeps in [false, true] {
        let limits = Limits::new(64 << 20, usize::MAX);
        let config = TableConfig { parts, ..TableConfig::plain(seed, timeouts) };
        let mut table = FlowTable::<KeyV4>::new(config, &limits).expect("address space");
        let (mut given, mut burst) = (Given::default(), KeyBurst::with_capacity(1));
        for (at, (key, second, flags)) in packets.iter().enumerate() {
            burst.clear();
            let packet = fields(second * SECOND + at as u64 + 1, *flags, 60);
            burst.push_keyed(&KeyedPacket::new(*key, packet, true, &seed), Some(&TcpSegment::NONE));
            table.update_burst(&burst, &mut given);
            for turn in (0..59).take_while(|_| sweeps && flags & SYN == 0 && *key == client) {
                table.advance((second + turn) * SECOND + at as u64 + 2);
                table.turn();
                assert!(table.sweep(usize::MAX, &mut given));
            }
        }
        table.end_all(&mut given);
        let of = |key: KeyV4| key.flow_key(&KeySpec::FIVE_TUPLE);
        let ends: Vec<_> =
            given.records.iter().map(|record| (record.key.unwrap(), record.reverse().is_some())).collect();
        let mut expected = vec![(of(client), true); 5];
        expected.extend([(of(server), true), (of(client), true), (of(client), true)]);
        assert_eq!(ends, expected, "{sweeps}");
        assert!(table.is_empty());
    }
}

/// What is remembered of a pair is forgotten in time: its entry is used again.
#[test]
fn a_direction_is_not_remembered_for_ever() {
    let (seed, limits) = (Seed::new(1), Limits::new(64 << 20, usize::MAX));
    let timeouts = Timeouts { idle_ns: u64::MAX, active_ns: 1_000 };
    let parts = MeasuredParts { biflow: true, ..MeasuredParts::default() };
    let config = TableConfig { parts, ..TableConfig::plain(seed, timeouts) };
    let mut table = FlowTable::<KeyV4>::new(config, &limits).expect("address space");
    let (mut given, mut burst) = (Given::default(), KeyBurst::with_capacity(1));
    for n in 0..1_000_u32 {
        burst.clear();
        let packet = fields(u64::from(n) * 1_000, ACK, 60);
        burst.push_keyed(&KeyedPacket::new(key_v4(2 + n), packet, true, &seed), Some(&TcpSegment::NONE));
        table.update_burst(&burst, &mut given);
        table.turn();
        assert!(table.sweep(usize::MAX, &mut given));
    }
    assert!(table.sweep_len() < 8, "{} entries", table.sweep_len());
}

const OFF: Timeouts = Timeouts { idle_ns: u64::MAX, active_ns: u64::MAX };

/// Growth from the first bucket through many doublings, deletes, and growth again into the freed entries.
fn grows_and_shrinks<K: Key>(key: fn(u32) -> K, flows: u32) {
    let limits = Limits::new(4 << 30, usize::MAX);
    let seed = Seed::new(9);
    let timeouts = Timeouts { idle_ns: 10, active_ns: u64::MAX };
    let mut table = FlowTable::<K>::new(TableConfig::plain(seed, timeouts), &limits).expect("address space");
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
        // Every second flow continues, the others time out.
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
        .map(|n| {
            (
                key(n.wrapping_mul(2_654_435_761)).flow_key(&KeySpec::FIVE_TUPLE),
                if n % 2 == 0 { 6 } else { 4 },
            )
        })
        .collect();
    assert_eq!(counts, expected);
}

#[test]
fn grows_over_many_doublings() {
    grows_and_shrinks(key_v4, 200_001);
    grows_and_shrinks(key_v6, 50_001);
}

/// With memory for the first steps only, every flow that has a place stays exact and the rest is refused by count.
#[test]
fn memory_bounds_it() {
    let limits = Limits::new(9 << 20, usize::MAX);
    let seed = Seed::new(3);
    let mut table = FlowTable::<KeyV4>::new(TableConfig::plain(seed, OFF), &limits).expect("address space");
    let mut given = Given::default();
    let mut burst = KeyBurst::with_capacity(64);
    for round in 0..2 {
        for n in 2..200_002 {
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
    let mut table =
        FlowTable::<KeyV6>::new(TableConfig::plain(Seed::new(1), OFF), &limits).expect("address space");
    let mut given = Given::default();
    let mut burst = KeyBurst::with_capacity(1);
    burst.push(key_v6(1), fields(1, 0, 10), &Seed::new(1));
    table.update_burst(&burst, &mut given);
    assert_eq!((given.refused, table.len(), limits.bytes_used()), (1, 0, 0));
}

/// What the tap missed of a direction whose record has ended is booked in the window in which it shows, whenever that
/// direction's counts were sealed.
#[test]
fn losses_of_a_direction_without_a_record_belong_to_the_open_window() {
    #[derive(Default)]
    struct Windows(Vec<(u16, FlowKey, u64)>);
    impl FlowSink for Windows {
        fn window_sealed<K: Key>(&mut self, window: u16, row: WindowRow<K>, loss: Option<&LossCounts>) {
            let unseen = loss.map_or(0, |loss| loss.unseen_byte);
            self.0.push((window, row.key.flow_key(&KeySpec::FIVE_TUPLE), unseen));
        }
        fn flow_ended(&mut self, _: FlowRecord) {}
        fn table_full<K: Key>(&mut self, _: &K, _: &PacketFields) {}
    }
    const SECOND: u64 = 1_000_000_000;
    let seed = Seed::new(5);
    let timeouts = Timeouts { idle_ns: 10 * SECOND, active_ns: u64::MAX };
    let parts = MeasuredParts { loss: true, ..MeasuredParts::default() };
    let config = TableConfig { parts, ..TableConfig::plain(seed, timeouts) };
    let mut table = FlowTable::<KeyV4>::new(config, &Limits::new(1 << 30, 100)).expect("address space");
    let mut given = Windows::default();
    let send = |table: &mut FlowTable<KeyV4>,
                given: &mut Windows,
                direction: u32,
                second: u64,
                seq: u32,
                ack: u32| {
        let key = key_v4(2 + direction);
        let fields = PacketFields {
            time_ns: second * SECOND,
            total_byte: 140,
            wire_byte: 154,
            tcp_seq: seq,
            tcp_ack: ack,
            tcp_win: 1000,
            tcp_flags: ACK,
            ..PacketFields::default()
        };
        let packet = KeyedPacket::new(key, fields, true, &seed);
        let mut burst = KeyBurst::with_capacity(1);
        burst.push_keyed(&packet, Some(&TcpSegment::from_payload(100)));
        table.update_burst(&burst, given);
    };
    send(&mut table, &mut given, 0, 1, 1_000, 500);
    send(&mut table, &mut given, 1, 2, 500, 1_100);
    send(&mut table, &mut given, 1, 11, 600, 1_100);
    table.sweep(usize::MAX, &mut given);
    // The next window: the first direction has been idle for too long and ends before the sweep can take it there.
    table.advance(12 * SECOND);
    table.turn();
    table.sweep(usize::MAX, &mut given);
    assert_eq!(table.len(), 1);
    // The other one acknowledges bytes of it that were never seen, and ends in the same window.
    send(&mut table, &mut given, 1, 13, 700, 1_600);
    send(&mut table, &mut given, 1, 14, 800, 1_600);
    table.end_all(&mut given);
    let first = key_v4(2).flow_key(&KeySpec::FIVE_TUPLE);
    let unseen: Vec<_> = given
        .0
        .iter()
        .filter(|(_, key, unseen)| *key == first && *unseen != 0)
        .map(|(w, _, u)| (*w, *u))
        .collect();
    assert_eq!(unseen, [(1, 500)]);
}
