//! Seeded records with the extremes among them, and what each column must hold, written by hand.

use flow::{EndReason, FlowRecord, Loss, Metric, More, Statistic, StatisticKind, TrackedParts};
use packet::FlowKey;
use record::RecordContents;
use std::io::{self, Write};
use std::net::IpAddr;
use std::sync::{Arc, Mutex};

pub(crate) const COLUMNS: [&str; 21] = [
    "src_addr",
    "dst_addr",
    "protocol",
    "src_port",
    "dst_port",
    "node_id",
    "stime",
    "ltime",
    "smac",
    "dmac",
    "ip_ttl",
    "ip_tos",
    "tcp_seq",
    "tcp_ack",
    "tcp_win",
    "total_count",
    "total_byte",
    "wire_byte",
    "tcp_flags",
    "vlan",
    "end_reason",
];

/// What `--loss` adds.
pub(crate) const LOSS_COLUMNS: [&str; 11] = [
    "ploss_byte",
    "ploss_count",
    "reorder_count",
    "retrans_count",
    "retrans_byte",
    "unseen_byte",
    "zero_window_count",
    "hole_count",
    "resync_count",
    "rtt_min",
    "rtt_avg",
];

/// What [`parts`] add to that.
pub(crate) const STATISTIC_COLUMNS: [&str; 5] =
    ["gap_mean", "gap_p99", "size_stddev", "iat_p99.9", "iat_p0.0001"];

/// Of these no record has two values: the key and the node.
const NOT_REVERSED: [&str; 6] = ["src_addr", "dst_addr", "protocol", "src_port", "dst_port", "node_id"];

/// A run with all options.
pub(crate) fn parts() -> RecordContents {
    let statistic = |metric, kind| Statistic { metric, kind };
    RecordContents {
        tracked: TrackedParts::LOSS,
        statistics: vec![
            statistic(Metric::Gap, StatisticKind::Mean),
            statistic(Metric::Gap, StatisticKind::Percentile(99.0)),
            statistic(Metric::Size, StatisticKind::StdDev),
            statistic(Metric::InterArrival, StatisticKind::Percentile(99.9)),
            statistic(Metric::InterArrival, StatisticKind::Percentile(0.0001)),
        ],
        biflow: true,
        ..RecordContents::default()
    }
}

/// The columns of such a run.
pub(crate) fn full_columns() -> Vec<String> {
    let one_way = || COLUMNS.into_iter().chain(LOSS_COLUMNS).chain(STATISTIC_COLUMNS);
    let reverse = one_way().filter(|name| !NOT_REVERSED.contains(name)).map(|name| format!("reverse_{name}"));
    one_way().map(str::to_owned).chain(reverse).collect()
}

/// The columns of a record of such a run.
pub(crate) fn expected_full(r: &FlowRecord, node: &str) -> Vec<(String, Expected)> {
    use Expected::{Float, Integer, Null};
    let one_way = |r: &FlowRecord| {
        let more = r.more.as_deref();
        let loss = |of: fn(&Loss) -> Expected| more.and_then(|more| more.loss.as_ref()).map_or(Null, of);
        let losses = [
            loss(|l| Integer(l.ploss_byte)),
            loss(|l| Integer(l.ploss_count)),
            loss(|l| Integer(l.reorder_count)),
            loss(|l| Integer(l.retrans_count)),
            loss(|l| Integer(l.retrans_byte)),
            loss(|l| Integer(l.unseen_byte)),
            loss(|l| Integer(l.zero_window_count)),
            loss(|l| Integer(l.hole_count)),
            loss(|l| Integer(l.resync_count)),
            loss(|l| l.rtt_min.map_or(Null, Integer)),
            loss(|l| l.rtt_avg.map_or(Null, Integer)),
        ];
        let statistics = (0..STATISTIC_COLUMNS.len()).map(|at| match more.map(|more| more.statistics[at]) {
            Some(value) if value.is_finite() => Float(value),
            _ => Null,
        });
        let plain = expected(r, node).into_iter();
        let more = LOSS_COLUMNS.into_iter().zip(losses).chain(STATISTIC_COLUMNS.into_iter().zip(statistics));
        plain.chain(more).collect::<Vec<_>>()
    };
    let other = r.more.as_deref().and_then(|more| more.reverse.as_ref());
    let reverse = one_way(other.unwrap_or(r))
        .into_iter()
        .filter(|(name, _)| !NOT_REVERSED.contains(name))
        .map(|(name, value)| (format!("reverse_{name}"), if other.is_some() { value } else { Null }));
    one_way(r).into_iter().map(|(name, value)| (name.to_owned(), value)).chain(reverse).collect()
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Expected {
    Float(f64),
    Null,
    Integer(u64),
    Time(u64),
    Text(String),
}

/// The columns of a record, by std's own formatting.
pub(crate) fn expected(r: &FlowRecord, node: &str) -> Vec<(&'static str, Expected)> {
    use Expected::{Integer, Null, Text, Time};
    let key = |of: fn(FlowKey) -> Expected| r.key.map_or(Null, of);
    let mac = |m: [u8; 6]| match m {
        [0, 0, 0, 0, 0, 0] => Null,
        _ => Text(m.map(|b| format!("{b:02x}")).join(":")),
    };
    let values = [
        key(|k| Text(k.src_addr.unwrap().to_string())),
        key(|k| Text(k.dst_addr.unwrap().to_string())),
        key(|k| Integer(k.protocol.unwrap().into())),
        key(|k| Integer(k.src_port.unwrap().into())),
        key(|k| Integer(k.dst_port.unwrap().into())),
        Text(node.to_owned()),
        Time(r.stime),
        Time(r.ltime),
        mac(r.smac),
        mac(r.dmac),
        Integer(r.ip_ttl.into()),
        Integer(r.ip_tos.into()),
        Integer(r.tcp_seq.into()),
        Integer(r.tcp_ack.into()),
        Integer(r.tcp_win.into()),
        Integer(r.total_count),
        Integer(r.total_byte),
        r.wire_bytes().map_or(Null, Integer),
        Integer(r.tcp_flags.into()),
        r.vlan.map_or(Null, |v| Integer(v.into())),
        Text(r.end_reason.name().to_owned()),
    ];
    COLUMNS.into_iter().zip(values).collect()
}

/// `n` plain records; the first is all zero, the second all ones, some are `other`, some hold extremes.
pub(crate) fn records(n: usize) -> Vec<FlowRecord> {
    seeded(n, &mut record)
}

/// `n` records of a run with all options, with every possible missing value.
pub(crate) fn full_records(n: usize) -> Vec<FlowRecord> {
    seeded(n, &mut |random| {
        let mut reverse = record(random);
        reverse.more = more(random, None);
        let mut forward = record(random);
        // Both have one key.
        reverse.key = forward.key;
        let reverse = (random() & 1 == 1).then_some(reverse);
        forward.more = more(random, reverse);
        forward
    })
}

fn seeded(n: usize, record: &mut dyn FnMut(&mut dyn FnMut() -> u64) -> FlowRecord) -> Vec<FlowRecord> {
    let mut state = 7_u64;
    let mut random = move || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let x = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb)
    };
    (0..n)
        .map(|i| match i {
            0 => record(&mut || 0),
            1 => record(&mut || u64::MAX),
            _ => record(&mut || {
                let x = random();
                // All magnitudes, the edge of exact doubles and the ends.
                match x >> 60 {
                    0 => 0,
                    1 => u64::MAX,
                    2 => (1 << 53) + (x & 3) - 1,
                    _ => random() >> (x & 63),
                }
            }),
        })
        .collect()
}

fn more(random: &mut dyn FnMut() -> u64, reverse: Option<FlowRecord>) -> Option<Box<More>> {
    if reverse.is_none() && random().is_multiple_of(5) {
        return None;
    }
    let mut optional = || (random() & 1 == 1).then(&mut *random);
    let rtt = [optional(), optional()];
    let loss = Loss {
        ploss_byte: random(),
        ploss_count: random(),
        reorder_count: random(),
        retrans_count: random(),
        retrans_byte: random(),
        unseen_byte: random(),
        zero_window_count: random(),
        hole_count: random(),
        resync_count: random(),
        rtt_min: rtt[0],
        rtt_avg: rtt[1],
    };
    let mut statistic = || match random() % 8 {
        0 => f64::NAN,
        1 => f64::INFINITY,
        2 => 0.0,
        3 => random() as f64,
        4 => random() as f64 / 3.0,
        5 => f64::from_bits(random()),
        _ => (random() % 1_000_000) as f64 / 1000.0,
    };
    let statistics = std::array::from_fn(|_| statistic());
    let loss = (!random().is_multiple_of(3)).then_some(loss);
    Some(Box::new(More { loss, statistics, reverse }))
}

fn record(random: &mut dyn FnMut() -> u64) -> FlowRecord {
    let mut address = || match random() & 1 {
        0 => IpAddr::from((random() as u32).to_be_bytes()),
        _ => IpAddr::from(std::array::from_fn::<u16, 8, _>(|_| random() as u16)),
    };
    let (src_addr, dst_addr) = (address(), address());
    let key = FlowKey::five_tuple((src_addr, random() as u16), (dst_addr, random() as u16), random() as u8);
    let mut mac = || std::array::from_fn(|_| random() as u8);
    let (smac, dmac) = (mac(), mac());
    FlowRecord {
        key: (random() % 10 != 3).then_some(key),
        stime: random(),
        ltime: random(),
        total_count: random(),
        total_byte: random(),
        wire_byte: random(),
        tcp_seq: random() as u32,
        tcp_ack: random() as u32,
        tcp_win: random() as u16,
        vlan: (random() & 1 == 1).then(|| random() as u16 & 0xfff),
        smac: if random() & 3 == 0 { [0; 6] } else { smac },
        dmac,
        tcp_flags: random() as u8,
        ip_ttl: random() as u8,
        ip_tos: random() as u8,
        end_reason: [EndReason::Idle, EndReason::Active, EndReason::End][(random() % 3) as usize],
        ..FlowRecord::without_packets(0, 0)
    }
}

/// A sink whose bytes can be taken back.
#[derive(Clone, Default)]
pub(crate) struct Bytes(Arc<Mutex<Vec<u8>>>);

impl Bytes {
    pub(crate) fn take(&self) -> Vec<u8> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

impl Write for Bytes {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
