//! The cost of each optional part of a record compared with the plain one: frames in memory to updated record, in one run.

use crate::compare::{in_turn, median_ratio, ns};
use crate::{BenchResult, Points};
use arena::Limits;
use flow::Metric;
use flow::{FlowRecord, WindowRow};
use flowtable::{FlowSink, FlowTable, MeasuredParts, TableConfig, Timeouts};
use packet::{BurstParser, FlowKey, Frame, Key, KeySpec, KeyV4, LinkType, PacketFields, ParserConfig, Seed};
use serde_json::json;
use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr};
use std::time::Instant;
use tcp::LossCounts;
use traffic::{KeyStream, TrafficSpec};

const BURST: usize = 64;
/// Ethernet, IPv4, TCP and 6 bytes of payload: the least frame.
const FRAME: usize = 60;
const PAYLOAD: u32 = FRAME as u32 - 54;
/// Frames per swept entry, as in the engine's replay.
const FRAMES_PER_SWEPT: usize = 8;
/// Nanoseconds between two frames.
const SPACING_NS: u64 = 100;
const TCP: u8 = 6;

/// A way of keeping records.
struct RecordVariant {
    name: &'static str,
    key: KeySpec,
    parts: MeasuredParts,
    sweeps: bool,
}

impl RecordVariant {
    fn new(name: &'static str, parts: MeasuredParts) -> Self {
        Self { name, key: KeySpec::FIVE_TUPLE, parts, sweeps: false }
    }

    fn all() -> Result<Vec<Self>, String> {
        let statistics = |list: &str| {
            let spec = list.parse().map_err(|error| format!("{list}: {error}"))?;
            Ok::<_, String>(MeasuredParts {
                statistics: [Some((Metric::Gap, spec)), None, None],
                ..MeasuredParts::default()
            })
        };
        let key = |text| KeySpec::parse(text).map_err(|error| error.to_string());
        Ok(vec![
            Self::new("plain", MeasuredParts::default()),
            Self { sweeps: true, ..Self::new("sweep", MeasuredParts::default()) },
            Self::new("gap_mean", statistics("mean")?),
            Self::new("gap_stddev", statistics("mean,stddev")?),
            Self::new("gap_p99", statistics("p99")?),
            Self::new("loss", MeasuredParts { loss: true, ..MeasuredParts::default() }),
            Self::new("biflow", MeasuredParts { biflow: true, ..MeasuredParts::default() }),
            Self { key: key("src_addr,dst_addr")?, ..Self::new("key_addresses", MeasuredParts::default()) },
            Self {
                key: key("src_addr/24/64,dst_port")?,
                ..Self::new("key_prefix_port", MeasuredParts::default())
            },
        ])
    }
}

/// TCP segments of many connections, each in the order of its sequence numbers and acknowledging all that the other direction
/// has sent. Of one flow in a thousand one segment a pass is missing, so that a tracker that finds nothing is found out.
struct TcpTrace {
    frames: Vec<[u8; FRAME]>,
    /// The numbers that a further pass adds to each frame's sequence and acknowledgement number, so that it continues where the last pass ended.
    steps: Vec<[u32; 2]>,
    flows: HashMap<KeyV4, ExpectedFlow>,
}

/// The truth about a flow, after any number of passes.
#[derive(Clone, Copy, Debug, Default)]
struct ExpectedFlow {
    packets: u64,
    first: u64,
    last: u64,
    /// Segments that are missing from it.
    planted: u64,
    /// Sum of the squares of its gaps.
    squares: u128,
}

impl TcpTrace {
    fn new(spec: &TrafficSpec) -> Self {
        let stream = KeyStream::ipv4(spec);
        let five = KeySpec::FIVE_TUPLE;
        let mut flows: HashMap<KeyV4, ExpectedFlow> = HashMap::with_capacity(stream.distinct());
        let mut frames = Vec::with_capacity(stream.keys().len());
        let mut keys = Vec::with_capacity(stream.keys().len());
        for (number, key) in (0..).zip(stream.keys()) {
            let key = key.flow_key(&five);
            let address = |address| match address {
                Some(IpAddr::V4(address)) => address.octets(),
                _ => [0; 4],
            };
            let (src, dst) = (address(key.src_addr), address(key.dst_addr));
            // ICMP's type and code are no ports of a connection: any two numbers will do.
            let ports = [key.src_port, key.dst_port].map(|port| port.unwrap_or(0).to_be_bytes());
            let [[a, b], [c, d]] = ports;
            let table_key = KeyV4::new(
                [src[0], src[1], src[2], src[3], dst[0], dst[1], dst[2], dst[3]],
                [a, b, c, d],
                TCP,
            );
            let is_lossy = is_lossy(src, [a, b]);
            let sent = |flows: &HashMap<KeyV4, ExpectedFlow>, key: &KeyV4| {
                flows.get(key).map_or(0, |flow| (flow.packets + flow.planted) as u32 * PAYLOAD)
            };
            // The segment before a lossy flow's second packet is missing.
            if let Some(flow) = flows.get_mut(&table_key)
                && is_lossy
            {
                flow.planted = 1;
            }
            let (seq, ack) = (sent(&flows, &table_key), sent(&flows, &table_key.reversed()));
            let flow = flows.entry(table_key).or_insert(ExpectedFlow {
                packets: 0,
                first: number,
                last: number,
                planted: 0,
                squares: 0,
            });
            if flow.packets != 0 {
                flow.squares += square(number - flow.last - 1);
            }
            (flow.packets, flow.last) = (flow.packets + 1, number);
            frames.push(frame(src, dst, [a, b, c, d], seq, ack));
            keys.push(table_key);
        }
        let whole =
            |key: &KeyV4| flows.get(key).map_or(0, |flow| (flow.packets + flow.planted) as u32 * PAYLOAD);
        let steps = keys.iter().map(|key| [whole(key), whole(&key.reversed())]).collect();
        Self { frames, steps, flows }
    }

    /// Continues with the next pass, or back to the first.
    fn step(&mut self, forward: bool) {
        for (frame, steps) in self.frames.iter_mut().zip(&self.steps) {
            for (at, step) in [38, 42].into_iter().zip(steps) {
                let word = &mut frame[at..at + 4];
                let value = u32::from_be_bytes([word[0], word[1], word[2], word[3]]);
                let value = if forward { value.wrapping_add(*step) } else { value.wrapping_sub(*step) };
                word.copy_from_slice(&value.to_be_bytes());
            }
        }
    }
}

fn square(gap: u64) -> u128 {
    u128::from(gap) * u128::from(gap)
}

/// Returns true for one flow in 1,024, by bytes that are drawn.
fn is_lossy(src: [u8; 4], src_port: [u8; 2]) -> bool {
    src[3] == 7 && src_port[1] & 3 == 0
}

fn frame(src: [u8; 4], dst: [u8; 4], ports: [u8; 4], seq: u32, ack: u32) -> [u8; FRAME] {
    let mut frame = [0; FRAME];
    frame[..12].copy_from_slice(&[2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1]);
    frame[12] = 8;
    frame[14] = 0x45;
    frame[16..18].copy_from_slice(&(FRAME as u16 - 14).to_be_bytes());
    frame[22] = 64;
    frame[23] = TCP;
    frame[26..30].copy_from_slice(&src);
    frame[30..34].copy_from_slice(&dst);
    frame[34..38].copy_from_slice(&ports);
    frame[38..42].copy_from_slice(&seq.to_be_bytes());
    frame[42..46].copy_from_slice(&ack.to_be_bytes());
    frame[46] = 0x50;
    frame[47] = 0x10;
    frame[48..50].copy_from_slice(&[0xfa, 0xf0]);
    frame
}

/// Records of the whole run, to be compared with the truth.
#[derive(Default)]
struct CollectedRecords(Vec<FlowRecord>);

impl FlowSink for CollectedRecords {
    fn window_sealed<K: Key>(&mut self, _: u16, _: WindowRow<K>, _: Option<&LossCounts>) {}
    fn flow_ended(&mut self, record: FlowRecord) {
        self.0.push(record);
    }
    fn table_full<K: Key>(&mut self, _: &K, _: &PacketFields) {}
}

/// Adds the lines of all variants at one point.
pub(super) fn run(points: &Points, out: &mut dyn FnMut(BenchResult)) -> Result<(), String> {
    let flows = points.flows.unwrap_or(1_000_000);
    let skews = points.zipf.map_or(vec![1.0, 0.0], |zipf| vec![zipf]);
    for zipf in skews {
        let packets = points.packets.unwrap_or((2 * flows).max(4_000_000)).min(1 << 26);
        point(packets, flows, zipf, points.seconds, out)?;
    }
    Ok(())
}

fn point(
    packets: u64,
    flows: u64,
    zipf: f64,
    seconds: f64,
    out: &mut dyn FnMut(BenchResult),
) -> Result<(), String> {
    let spec: TrafficSpec = format!("packets={packets},flows={flows},zipf={zipf},seed=1")
        .parse()
        .map_err(|error| format!("{error}"))?;
    let mut trace = TcpTrace::new(&spec);
    let variants = RecordVariant::all()?;
    let mut checked = vec![true; variants.len()];
    let mut memory = vec![0; variants.len()];
    let mut numbered: Vec<_> = variants.iter().enumerate().collect();
    let times = in_turn(&mut numbered, seconds, |(number, variant)| {
        let (time, bytes, records) = round(variant, &mut trace);
        memory[*number] = bytes;
        checked[*number] &= is_true(variant, &records, &trace);
        time
    });
    let plain = times[0].clone();
    for (number, rounds_ns) in times.into_iter().enumerate() {
        let more = 100.0 * (median_ratio(&rounds_ns, &plain) - 1.0);
        out(BenchResult {
            bench: super::BENCH,
            variant: variants[number].name.to_owned(),
            params: vec![("flows", json!(flows)), ("zipf", json!(zipf)), ("cores", json!(1))],
            packets,
            rounds_ns,
            memory_bytes: Some(memory[number]),
            checked: checked[number],
            more: vec![
                ("distinct", json!(trace.flows.len())),
                ("more_than_plain_percent", json!((more * 10.0).round() / 10.0)),
            ],
        });
    }
    Ok(())
}

/// Two passes, of which the second is timed: every flow exists then. Returns its time, the memory, and the
/// result.
fn round(variant: &RecordVariant, trace: &mut TcpTrace) -> (f64, u64, Vec<FlowRecord>) {
    let seed = Seed::new(7);
    let limits = Limits::new(usize::MAX >> 1, 1 << 28);
    let timeouts = Timeouts { idle_ns: u64::MAX, active_ns: u64::MAX };
    let RecordVariant { key, parts, .. } = *variant;
    let parsed =
        ParserConfig { key, paired: parts.are_paired(), segments: parts.loss, ..ParserConfig::default() };
    let config = TableConfig { seed, key, timeouts, parts };
    let mut parser = BurstParser::new(seed, parsed, BURST);
    let mut table = FlowTable::<KeyV4>::new(config, &limits).expect("address space for a table");
    let mut sink = CollectedRecords::default();
    let mut number = 0;
    let mut pass = |frames: &[[u8; FRAME]]| {
        let began = Instant::now();
        for burst in frames.chunks(BURST) {
            parser.number_near(number);
            match parser.is_plain() {
                true => parse::<true>(&mut parser, burst, &mut number),
                false => parse::<false>(&mut parser, burst, &mut number),
            }
            table.prefetch_index(parser.bursts.v4.packets());
            table.update_burst(&parser.bursts.v4, &mut sink);
            parser.clear();
            if variant.sweeps {
                table.sweep(burst.len() / FRAMES_PER_SWEPT + 1, &mut sink);
            }
        }
        ns(began.elapsed())
    };
    pass(&trace.frames);
    trace.step(true);
    let time = pass(&trace.frames);
    trace.step(false);
    let bytes = table.bytes() as u64;
    table.end_all(&mut sink);
    (time, bytes, sink.0)
}

#[inline(always)]
fn parse<const IS_PLAIN: bool>(parser: &mut BurstParser, burst: &[[u8; FRAME]], number: &mut u64) {
    for data in burst {
        let frame = Frame {
            data,
            wire_len: FRAME as u32,
            time_ns: 1_000_000_000 + *number * SPACING_NS,
            link: LinkType::Ethernet,
            stripped_vlan: None,
        };
        parser.push::<IS_PLAIN>(&frame, *number);
        *number += 1;
    }
}

/// Packets of every flow, and the figures of the variant's part, against the truth of two passes.
fn is_true(variant: &RecordVariant, records: &[FlowRecord], trace: &TcpTrace) -> bool {
    let packets = trace.frames.len() as u64;
    let directions: Vec<&FlowRecord> =
        records.iter().flat_map(|record| [Some(record), record.reverse()]).flatten().collect();
    if !variant.key.is_five_tuple() {
        return are_merged(variant, &directions, trace);
    }
    let mut expected: HashMap<_, ExpectedFlow> = HashMap::new();
    for (key, flow) in &trace.flows {
        let merged = expected.entry(key.flow_key(&KeySpec::FIVE_TUPLE)).or_default();
        *merged = ExpectedFlow {
            packets: 2 * flow.packets,
            first: flow.first,
            last: packets + flow.last,
            planted: 2 * flow.planted,
            squares: 2 * flow.squares + square(packets + flow.first - flow.last - 1),
        };
    }
    directions.len() == expected.len()
        && directions.iter().all(|record| {
            let Some(flow) = record.key.and_then(|key| expected.get(&key)) else { return false };
            record.total_count == flow.packets && part_is_true(variant, record, flow)
        })
}

/// Another key merges flows: the expected values are derived from the 5-tuple's text form.
fn are_merged(variant: &RecordVariant, records: &[&FlowRecord], trace: &TcpTrace) -> bool {
    type Merged = (Option<IpAddr>, Option<IpAddr>, Option<u16>);
    let of = |key: &FlowKey| -> Merged {
        match variant.name {
            "key_addresses" => (key.src_addr, key.dst_addr, None),
            _ => (key.src_addr.map(network), None, key.dst_port),
        }
    };
    let mut expected: HashMap<Merged, u64> = HashMap::new();
    for (key, flow) in &trace.flows {
        *expected.entry(of(&key.flow_key(&KeySpec::FIVE_TUPLE))).or_default() += 2 * flow.packets;
    }
    records.len() == expected.len()
        && records.iter().all(|record| {
            let key = record.key.map(|key| (key.src_addr, key.dst_addr, key.dst_port));
            key.and_then(|key| expected.get(&key)) == Some(&record.total_count)
        })
}

/// The network of 24 bits that an IPv4 address is in.
fn network(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V4(address) => {
            let [a, b, c, _] = address.octets();
            IpAddr::V4(Ipv4Addr::new(a, b, c, 0))
        }
        IpAddr::V6(_) => address,
    }
}

fn part_is_true(variant: &RecordVariant, record: &FlowRecord, flow: &ExpectedFlow) -> bool {
    if variant.parts.loss {
        let lost = flow.planted * u64::from(PAYLOAD);
        // Where the other direction has acknowledged them, they were missed by the tap.
        return record.loss().is_some_and(|loss| {
            (loss.ploss_byte + loss.unseen_byte, loss.hole_count) == (lost, flow.planted)
                && (loss.retrans_count, loss.resync_count) == (0, 0)
        });
    }
    if variant.parts.statistics[0].is_none() {
        return true;
    }
    let gaps = flow.packets - 1;
    let others = flow.last - flow.first - gaps;
    let Some(value) = record.statistic(0) else { return false };
    let is_near = |value: f64, expected: f64| (value - expected).abs() <= expected * 1e-12;
    let is_mean = || is_near(value, others as f64 / gaps as f64);
    match variant.name {
        "gap_mean" => is_mean(),
        "gap_stddev" => {
            // n² times the variance, in integers: nothing cancels.
            let spread = u128::from(gaps) * flow.squares - square(others);
            let expected = (spread as f64).sqrt() / gaps as f64;
            is_mean() && record.statistic(1).is_some_and(|value| is_near(value, expected))
        }
        // An estimate: between nothing and all.
        _ => (0.0..=others as f64).contains(&value),
    }
}
