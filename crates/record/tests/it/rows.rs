//! Window rows in Parquet, read again by a reader that knows nothing of the field table: what each column must hold is
//! written here by hand.

use crate::tool;
use flow::{LossCounts, NULL, Rows, TrackedParts, WindowRow};
use packet::{KeySpec, KeyV4, KeyV6, MaskedKey};
use parquet::basic::{LogicalType, Repetition, TimeUnit, Type as Physical};
use parquet::column::reader::ColumnReader;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::statistics::Statistics;
use record::{Anonymizer, RowWindow, RowWriter};
use std::collections::HashMap;
use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const NODE: &str = "rack 7, \"north\"\n\tüber\\";
const SECOND: u64 = 1_000_000_000;
/// 2023-11-14 22:13:20 UTC.
const START: u64 = 1_700_000_000 * SECOND;
const FIVE_TUPLE: &str = "src_addr,dst_addr,protocol,src_port,dst_port";
const PLAIN: [&str; 13] = [
    "stime_ns",
    "ltime_ns",
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
];
const LOSS: [&str; 11] = [
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

/// What a row is made of.
#[derive(Clone, Debug)]
struct Truth {
    window_ns: u64,
    is_v6: bool,
    /// In network order; IPv4 in the first four bytes.
    src: [u8; 16],
    dst: [u8; 16],
    ports: [u16; 2],
    protocol: u8,
    key_tos: u8,
    key_vlan: Option<u16>,
    row: WindowRow<()>,
    loss: LossCounts,
}

/// A value as the file has it.
#[derive(Clone, Debug, PartialEq)]
enum Cell {
    Null,
    Integer(u64),
    Bytes(Vec<u8>),
}

/// Numbers that look random and come again.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ x >> 31
    }

    fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    /// Extremes more often than chance has them.
    fn number(&mut self) -> u64 {
        match self.below(8) {
            0 => 0,
            1 => u64::MAX,
            2 => (1 << 53) + self.below(3),
            _ => self.next() >> self.below(64),
        }
    }
}

/// Rows of a window, of both families.
fn truths(n: usize, window_ns: u64, seed: u64) -> Vec<Truth> {
    let random = &mut Random(seed);
    let mut all = Vec::with_capacity(n);
    for _ in 0..n {
        let is_v6 = random.below(3) == 0;
        let mut address = || -> [u8; 16] {
            let bits = u128::from(random.next()) << 64 | u128::from(random.next());
            match (is_v6, random.below(4)) {
                (true, 0) => (0x2001_0db8 << 96 | bits >> 100).to_be_bytes(),
                // An IPv4 address within an IPv6 one.
                (true, 1) => Ipv4Addr::from_bits(bits as u32).to_ipv6_mapped().octets(),
                (true, _) => bits.to_be_bytes(),
                (false, _) => (bits & u128::from(u32::MAX) << 96).to_be_bytes(),
            }
        };
        let (src, dst) = (address(), address());
        let protocol = [6, 6, 17, 1, 255][random.below(5) as usize];
        let vlan = [u16::MAX, 0, 7, 4094][random.below(4) as usize];
        let tos = random.number() as u8;
        let row = WindowRow {
            key: (),
            packets: random.number(),
            bytes: random.number(),
            wire_bytes: random.number(),
            first_ns: random.number(),
            last_ns: random.number(),
            tcp_seq: random.number() as u32,
            tcp_ack: random.number() as u32,
            tcp_win: random.number() as u16,
            vlan,
            tcp_flags: random.number() as u8,
            ip_ttl: random.number() as u8,
            ip_tos: tos,
            macs: std::array::from_fn(
                |at| if random.below(40) == 0 || at == 5 { 0 } else { 0x80 + at as u8 },
            ),
            headers: flow::HeaderValues::NONE,
        };
        let macs = match random.below(4) {
            0 => [0; 12],
            1 => [0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 0xff],
            _ => row.macs,
        };
        let loss = LossCounts {
            ploss_byte: random.number(),
            retrans_byte: random.number(),
            unseen_byte: random.number(),
            rtt_min_ns: random.number(),
            rtt_sum_ns: random.number(),
            rtt_count: random.below(3) as u32,
            ploss_count: random.number() as u32,
            reorder_count: random.number() as u32,
            retrans_count: random.number() as u32,
            zero_window_count: random.number() as u32,
            hole_count: random.number() as u32,
            // The greatest stands for losses that were not tracked.
            resync_count: (random.number() as u32).min(u32::MAX - 1),
        };
        let is_quiet = random.below(4) == 0;
        all.push(Truth {
            window_ns,
            is_v6,
            src,
            dst,
            ports: [random.number() as u16, random.number() as u16],
            protocol,
            key_tos: tos,
            key_vlan: (vlan != u16::MAX).then_some(vlan),
            row: WindowRow { macs, ..row },
            loss: if is_quiet { LossCounts::default() } else { loss },
        });
    }
    all
}

impl Truth {
    /// The word that keys of both families end with.
    fn rest(&self) -> [u8; 8] {
        let [src, dst] = self.ports.map(u16::to_be_bytes);
        let ports = u32::from_ne_bytes([src[0], src[1], dst[0], dst[1]]);
        let word = u64::from(ports)
            | u64::from(self.protocol) << 32
            | u64::from(self.key_tos) << 40
            | u64::from(self.key_vlan.unwrap_or(u16::MAX)) << 48;
        word.to_ne_bytes()
    }

    fn v4(&self, spec: &KeySpec) -> KeyV4 {
        let bytes = [&self.src[..4], &self.dst[..4], &self.rest()].concat();
        KeyV4::from_bytes(bytes.try_into().unwrap()).masked(spec)
    }

    fn v6(&self, spec: &KeySpec) -> KeyV6 {
        let bytes = [&self.src[..], &self.dst, &self.rest()].concat();
        KeyV6::from_bytes(bytes.try_into().unwrap()).masked(spec)
    }

    /// An address as the file has it, under a prefix of its family.
    fn address(&self, address: [u8; 16], [v4, v6]: [usize; 2]) -> [u8; 16] {
        let (head, bits, length) = if self.is_v6 { (0, &address[..], v6) } else { (12, &address[..4], v4) };
        let mut cell = [0; 16];
        if !self.is_v6 {
            cell[10..12].fill(0xff);
        }
        for bit in 0..length {
            cell[head + bit / 8] |= bits[bit / 8] & 0x80 >> (bit % 8);
        }
        cell
    }

    fn cell(&self, name: &str, prefix: [usize; 2]) -> Cell {
        use Cell::{Bytes, Integer, Null};
        let row = &self.row;
        let optional = |value: Option<u64>| value.map_or(Null, Integer);
        let time = |time: u64| Integer(time.min(i64::MAX as u64));
        let mac = |mac: &[u8]| match mac {
            [0, 0, 0, 0, 0, 0] => Null,
            mac => {
                let octets: Vec<_> = mac.iter().map(|octet| format!("{octet:02x}")).collect();
                Bytes(octets.join(":").into_bytes())
            }
        };
        let loss = |value: u64| if self.protocol == 6 { Integer(value) } else { Null };
        let rtt = |value: u64| if self.loss.rtt_count == 0 { Null } else { loss(value) };
        match name {
            "window_start" => Integer(self.window_ns / 1000),
            "node_id" => Bytes(NODE.into()),
            "ip_version" => Integer(if self.is_v6 { 6 } else { 4 }),
            "src_addr" => Bytes(self.address(self.src, prefix).to_vec()),
            "dst_addr" => Bytes(self.address(self.dst, prefix).to_vec()),
            "protocol" => Integer(self.protocol.into()),
            "src_port" => Integer(self.ports[0].into()),
            "dst_port" => Integer(self.ports[1].into()),
            "vlan" => optional(self.key_vlan.map(u64::from)),
            "ip_tos" => Integer(self.key_tos.into()),
            "stime_ns" => time(row.first_ns),
            "ltime_ns" => time(row.last_ns),
            "dmac" => mac(&row.macs[..6]),
            "smac" => mac(&row.macs[6..]),
            "ip_ttl" => Integer(row.ip_ttl.into()),
            "tcp_seq" => Integer(row.tcp_seq.into()),
            "tcp_ack" => Integer(row.tcp_ack.into()),
            "tcp_win" => Integer(row.tcp_win.into()),
            "total_count" => Integer(row.packets),
            "total_byte" => Integer(row.bytes),
            "wire_byte" => (row.wire_bytes != NULL).then_some(row.wire_bytes).map_or(Null, Integer),
            "tcp_flags" => Integer(row.tcp_flags.into()),
            "ploss_byte" => loss(self.loss.ploss_byte),
            "ploss_count" => loss(self.loss.ploss_count.into()),
            "reorder_count" => loss(self.loss.reorder_count.into()),
            "retrans_count" => loss(self.loss.retrans_count.into()),
            "retrans_byte" => loss(self.loss.retrans_byte),
            "unseen_byte" => loss(self.loss.unseen_byte),
            "zero_window_count" => loss(self.loss.zero_window_count.into()),
            "hole_count" => loss(self.loss.hole_count.into()),
            "resync_count" => loss(self.loss.resync_count.into()),
            "rtt_min" => rtt(self.loss.rtt_min_ns),
            "rtt_avg" => rtt(self.loss.rtt_sum_ns / u64::from(self.loss.rtt_count.max(1))),
            _ => panic!("a column {name}"),
        }
    }
}

fn key(text: &str) -> KeySpec {
    KeySpec::parse(text).unwrap()
}

fn rows_of<K>(truths: &[&Truth], tracked: flow::TrackedParts, key: impl Fn(&Truth) -> K) -> Rows<K> {
    let mut rows = Rows::with_capacity(truths.len(), 0);
    for truth in truths {
        rows.rows.push(truth.row.with_key(key(truth)));
        if tracked.loss {
            rows.losses.push(truth.loss);
        }
    }
    rows
}

/// Hands rows of one window over in blocks of both families and all sizes; gives their order in the file.
fn write(
    writer: &mut RowWriter,
    spec: &KeySpec,
    tracked: flow::TrackedParts,
    truths: &[Truth],
) -> std::io::Result<Vec<Truth>> {
    let mut order = Vec::new();
    let mut rest = truths;
    for size in (0..).map(|i| i * 317 % 1100) {
        let (now, later) = rest.split_at(rest.len().min(size));
        rest = later;
        let (v6, v4): (Vec<_>, Vec<_>) = now.iter().partition(|truth| truth.is_v6);
        let start_ns = now.first().map_or(0, |truth| truth.window_ns);
        let window = RowWindow { start_ns, end_ns: start_ns + SECOND };
        writer.write(window, &rows_of(&v4, tracked, |truth| truth.v4(spec)))?;
        writer.write(window, &rows_of(&v6, tracked, |truth| truth.v6(spec)))?;
        order.extend(v4.into_iter().chain(v6).cloned());
        if rest.is_empty() {
            return Ok(order);
        }
    }
    unreachable!("blocks have no end")
}

fn open(path: &Path) -> SerializedFileReader<std::fs::File> {
    SerializedFileReader::new(std::fs::File::open(path).unwrap()).unwrap()
}

fn names(reader: &SerializedFileReader<std::fs::File>) -> Vec<String> {
    let schema = reader.metadata().file_metadata().schema_descr();
    schema.columns().iter().map(|column| column.name().to_owned()).collect()
}

/// All values of a file, by column.
fn read(path: &Path) -> HashMap<String, Vec<Cell>> {
    let reader = open(path);
    let names = names(&reader);
    let mut cells: HashMap<String, Vec<Cell>> = HashMap::new();
    for number in 0..reader.metadata().num_row_groups() {
        let group = reader.get_row_group(number).unwrap();
        let rows = group.metadata().num_rows() as usize;
        for (at, name) in names.iter().enumerate() {
            let mut levels = Vec::new();
            macro_rules! values {
                ($column:expr, $cell:expr) => {{
                    let mut values = Vec::new();
                    let (records, ..) =
                        $column.read_records(rows, Some(&mut levels), None, &mut values).unwrap();
                    assert_eq!(records, rows, "{name}");
                    values.into_iter().map($cell).collect::<Vec<_>>()
                }};
            }
            let values = match group.get_column_reader(at).unwrap() {
                ColumnReader::Int32ColumnReader(mut column) => {
                    values!(column, |value| Cell::Integer(u64::from(value as u32)))
                }
                ColumnReader::Int64ColumnReader(mut column) => {
                    values!(column, |value| Cell::Integer(value as u64))
                }
                ColumnReader::ByteArrayColumnReader(mut column) => {
                    values!(column, |value| Cell::Bytes(value.data().to_vec()))
                }
                ColumnReader::FixedLenByteArrayColumnReader(mut column) => {
                    values!(column, |value| Cell::Bytes(value.data().to_vec()))
                }
                _ => panic!("{name}: an unexpected type"),
            };
            let mut values = values.into_iter();
            let column = cells.entry(name.clone()).or_default();
            if group.metadata().column(at).column_descr().max_def_level() == 0 {
                column.extend(values);
            } else {
                let of_level = |level| if level == 0 { Cell::Null } else { values.next().unwrap() };
                column.extend(levels.into_iter().map(of_level));
                assert!(values.next().is_none());
            }
        }
    }
    cells
}

fn check(path: &Path, truths: &[Truth], prefix: [usize; 2]) {
    let cells = read(path);
    for (name, column) in &cells {
        assert_eq!(column.len(), truths.len(), "{name}");
        for (cell, truth) in column.iter().zip(truths) {
            assert_eq!(*cell, truth.cell(name, prefix), "{name} of {truth:?}");
        }
    }
}

/// A file of these rows and its columns' names.
fn file(
    directory: &tool::Directory,
    spec: &str,
    tracked: flow::TrackedParts,
    n: usize,
) -> (PathBuf, Vec<Truth>) {
    let path = directory.path("rows.parquet");
    let spec = key(spec);
    let mut writer = RowWriter::create(&path, NODE, spec, tracked).unwrap();
    let mut order = Vec::new();
    for window in 0..3 {
        let truths = truths(n / 3, START + window * SECOND, window + 1);
        order.extend(write(&mut writer, &spec, tracked, &truths).unwrap());
        assert_eq!(writer.rows(), order.len() as u64);
    }
    assert_eq!(writer.finish().unwrap(), order.len() as u64);
    (path, order)
}

#[test]
fn rows_of_both_families() {
    let directory = tool::Directory::new("rows-plain");
    let (path, truths) = file(&directory, FIVE_TUPLE, TrackedParts::PLAIN, 6000);
    check(&path, &truths, [32, 128]);
    let head = ["window_start", "node_id", "ip_version"];
    let want: Vec<_> = head.into_iter().chain(FIVE_TUPLE.split(',')).chain(PLAIN).chain(["vlan"]).collect();
    assert_eq!(names(&open(&path)), want);
    assert!(truths.iter().any(|t| t.row.first_ns == 0) && truths.iter().any(|t| t.row.first_ns > 1 << 53));
    for name in ["smac", "vlan"] {
        let is_null = |truth: &&Truth| truth.cell(name, [32, 128]) == Cell::Null;
        assert!((1..truths.len()).contains(&truths.iter().filter(is_null).count()), "{name}");
    }
}

#[test]
fn rows_over_several_row_groups() {
    let directory = tool::Directory::new("rows-groups");
    let (path, truths) = file(&directory, FIVE_TUPLE, TrackedParts::PLAIN, 140_000);
    let reader = open(&path);
    assert_eq!(reader.metadata().num_row_groups(), 2);
    assert_eq!(reader.metadata().row_group(0).num_rows(), 131_072);
    check(&path, &truths, [32, 128]);
}

#[test]
fn losses_of_tcp() {
    let directory = tool::Directory::new("rows-loss");
    let (path, truths) = file(&directory, FIVE_TUPLE, TrackedParts::LOSS, 6000);
    check(&path, &truths, [32, 128]);
    let names = names(&open(&path));
    assert_eq!(names[names.len() - LOSS.len()..], LOSS);
    // If they are configured and none are handed over, they are null.
    let spec = key(FIVE_TUPLE);
    let mut writer = RowWriter::create(&path, NODE, spec, TrackedParts::LOSS).unwrap();
    let written = write(&mut writer, &spec, TrackedParts::PLAIN, &truths).unwrap();
    writer.finish().unwrap();
    let cells = read(&path);
    for name in LOSS {
        assert_eq!(cells[name], vec![Cell::Null; written.len()], "{name}");
    }
}

#[test]
fn keys_of_other_kinds() {
    let directory = tool::Directory::new("rows-keys");
    let head = ["window_start", "node_id", "ip_version"];
    for (spec, prefix, key) in [
        ("src_addr/24/48", [24, 48], vec!["src_addr"]),
        ("ip_tos,vlan,dst_addr/9/33", [9, 33], vec!["dst_addr", "vlan", "ip_tos"]),
        ("dst_addr/0/0,protocol", [0, 0], vec!["dst_addr", "protocol"]),
        ("dst_port,src_addr,vlan", [32, 128], vec!["src_addr", "dst_port", "vlan"]),
    ] {
        let (path, truths) = file(&directory, spec, TrackedParts::PLAIN, 1500);
        check(&path, &truths, prefix);
        let plain = PLAIN.into_iter().chain(["vlan"]).filter(|name| !key.contains(name));
        let want: Vec<_> = head.into_iter().chain(key.clone()).chain(plain).collect();
        assert_eq!(names(&open(&path)), want, "{spec}");
    }
}

#[test]
fn a_key_without_addresses_has_no_family() {
    let directory = tool::Directory::new("rows-family");
    let path = directory.path("rows.parquet");
    let spec = key("protocol,dst_port");
    let mut truths = truths(100, START, 1);
    truths.iter_mut().for_each(|truth| truth.is_v6 = false);
    let mut writer = RowWriter::create(&path, NODE, spec, TrackedParts::PLAIN).unwrap();
    let written = write(&mut writer, &spec, TrackedParts::PLAIN, &truths).unwrap();
    writer.finish().unwrap();
    let mut cells = read(&path);
    assert_eq!(cells.remove("ip_version").unwrap(), vec![Cell::Null; written.len()]);
    assert!(!cells.contains_key("src_addr"));
    for (name, column) in cells {
        for (cell, truth) in column.iter().zip(&written) {
            assert_eq!(*cell, truth.cell(&name, [0, 0]), "{name}");
        }
    }
}

/// A row without packets has the requested key and may have no other value.
#[test]
fn what_the_key_has_counts_before_what_the_row_has() {
    let directory = tool::Directory::new("rows-precedence");
    let path = directory.path("rows.parquet");
    let spec = key("vlan,ip_tos");
    let mut writer = RowWriter::create(&path, NODE, spec, TrackedParts::PLAIN).unwrap();
    let mut truths = truths(50, START, 1);
    for truth in &mut truths {
        (truth.row.vlan, truth.row.ip_tos, truth.is_v6) = (5, truth.key_tos ^ 0xff, false);
    }
    let written = write(&mut writer, &spec, TrackedParts::PLAIN, &truths).unwrap();
    writer.finish().unwrap();
    let cells = read(&path);
    for name in ["vlan", "ip_tos"] {
        let want: Vec<_> = written.iter().map(|truth| truth.cell(name, [0, 0])).collect();
        assert_eq!(cells[name], want, "{name}");
    }
}

#[test]
fn losses_of_a_key_without_a_protocol_are_null_where_there_are_none() {
    let directory = tool::Directory::new("rows-protocol");
    let path = directory.path("rows.parquet");
    let spec = key("src_addr");
    let mut writer = RowWriter::create(&path, NODE, spec, TrackedParts::LOSS).unwrap();
    let written = write(&mut writer, &spec, TrackedParts::LOSS, &truths(500, START, 3)).unwrap();
    writer.finish().unwrap();
    let want = |truth: &Truth| match truth.loss == LossCounts::default() {
        true => Cell::Null,
        false => Cell::Integer(truth.loss.hole_count.into()),
    };
    assert_eq!(read(&path)["hole_count"], written.iter().map(want).collect::<Vec<_>>());
}

#[test]
fn types_and_what_the_file_says_of_itself() {
    let directory = tool::Directory::new("rows-schema");
    let path = directory.path("rows.parquet");
    let text = "src_addr/24/64,dst_addr,protocol,src_port,dst_port,vlan,ip_tos";
    RowWriter::create(&path, NODE, key(text), TrackedParts::LOSS).unwrap().finish().unwrap();
    let reader = open(&path);
    let file = reader.metadata().file_metadata();
    assert_eq!((file.num_rows(), reader.metadata().num_row_groups()), (0, 0), "an empty file is a file");
    let integer = |bits| Some(LogicalType::integer(bits, false));
    let (int32, int64, text_type) = (Physical::INT32, Physical::INT64, Some(LogicalType::String));
    let micros = Some(LogicalType::timestamp(true, TimeUnit::MICROS));
    for (name, physical, logical, is_optional) in [
        ("window_start", int64, micros, false),
        ("node_id", Physical::BYTE_ARRAY, text_type.clone(), false),
        ("ip_version", int32, integer(8), true),
        ("src_addr", Physical::FIXED_LEN_BYTE_ARRAY, None, true),
        ("dst_addr", Physical::FIXED_LEN_BYTE_ARRAY, None, true),
        ("protocol", int32, integer(8), true),
        ("src_port", int32, integer(16), true),
        ("vlan", int32, integer(16), true),
        ("ip_tos", int32, integer(8), false),
        ("stime_ns", int64, None, false),
        ("ltime_ns", int64, None, false),
        ("total_count", int64, integer(64), false),
        ("total_byte", int64, integer(64), false),
        ("wire_byte", int64, integer(64), true),
        ("tcp_flags", int32, integer(8), false),
        ("tcp_seq", int32, integer(32), false),
        ("tcp_win", int32, integer(16), false),
        ("ip_ttl", int32, integer(8), false),
        ("smac", Physical::BYTE_ARRAY, text_type, true),
        ("ploss_byte", int64, integer(64), true),
        ("ploss_count", int64, integer(64), true),
        ("rtt_avg", int64, integer(64), true),
    ] {
        let columns = file.schema_descr().columns();
        let column = columns.iter().find(|column| column.name() == name).unwrap();
        assert_eq!(column.physical_type(), physical, "{name}");
        assert_eq!(column.logical_type_ref(), logical.as_ref(), "{name}");
        let repetition = column.self_type().get_basic_info().repetition();
        assert_eq!(repetition == Repetition::OPTIONAL, is_optional, "{name}");
        if physical == Physical::FIXED_LEN_BYTE_ARRAY {
            assert_eq!(column.type_length(), 16, "{name}");
        }
    }
    let said = metadata(&path);
    assert_eq!(said["edison.schema"], RowWriter::SCHEMA.to_string());
    assert_eq!(said["edison.node"], NODE);
    assert_eq!(said["edison.key"], text);
    assert_eq!(said["edison.version"], env!("CARGO_PKG_VERSION"));
    for text in [FIVE_TUPLE, "src_addr/7/128", "dst_addr/32/0,vlan", "ip_tos"] {
        RowWriter::create(&path, NODE, key(text), TrackedParts::PLAIN).unwrap().finish().unwrap();
        assert_eq!(key(&metadata(&path)["edison.key"]), key(text), "{text}");
    }
}

fn metadata(path: &Path) -> HashMap<String, String> {
    let reader = open(path);
    let entries = reader.metadata().file_metadata().key_value_metadata().unwrap();
    entries.iter().map(|entry| (entry.key.clone(), entry.value.clone().unwrap())).collect()
}

/// Least and greatest value of a column chunk, as its statistics have them.
fn range(
    reader: &SerializedFileReader<std::fs::File>,
    group: usize,
    name: &str,
) -> Option<(Vec<u8>, Vec<u8>)> {
    let at = names(reader).iter().position(|column| column == name).unwrap();
    let statistics = reader.metadata().row_group(group).column(at).statistics()?;
    if let Statistics::FixedLenByteArray(_) = statistics {
        assert!(!statistics.is_min_max_deprecated(), "an order that readers may not use");
        assert!(statistics.min_is_exact() && statistics.max_is_exact());
    }
    Some((statistics.min_bytes_opt()?.to_vec(), statistics.max_bytes_opt()?.to_vec()))
}

#[test]
fn the_ranges_of_addresses_are_of_unsigned_bytes() {
    let directory = tool::Directory::new("rows-ranges");
    let path = directory.path("rows.parquet");
    let spec = key(FIVE_TUPLE);
    let mut is_above_half = [false; 2];
    for seed in 0..40 {
        // Few, so that each of them may be the least.
        let mut writer = RowWriter::create(&path, NODE, spec, TrackedParts::PLAIN).unwrap();
        let written =
            write(&mut writer, &spec, TrackedParts::PLAIN, &truths(1 + seed % 4, START, seed as u64))
                .unwrap();
        writer.finish().unwrap();
        let reader = open(&path);
        for name in ["src_addr", "dst_addr"] {
            let mut all: Vec<[u8; 16]> = written
                .iter()
                .map(|t| t.address(if name == "src_addr" { t.src } else { t.dst }, [32, 128]))
                .collect();
            // Arrays of unsigned bytes compare by the first byte that differs.
            all.sort_unstable();
            let want = (all[0].to_vec(), all[all.len() - 1].to_vec());
            is_above_half[usize::from(all[all.len() - 1][0] >= 0x80)] = true;
            assert_eq!(range(&reader, 0, name), Some(want), "{name}");
        }
        let integers = |of: fn(&Truth) -> u64| {
            let least = written.iter().map(of).min().unwrap().min(i64::MAX as u64);
            let greatest = written.iter().map(of).max().unwrap().min(i64::MAX as u64);
            Some((least.to_le_bytes().to_vec(), greatest.to_le_bytes().to_vec()))
        };
        assert_eq!(range(&reader, 0, "stime_ns"), integers(|truth| truth.row.first_ns));
        assert_eq!(range(&reader, 0, "window_start"), integers(|truth| truth.window_ns / 1000));
    }
    assert_eq!(is_above_half, [true; 2], "both signs of the first byte have been the greatest");
}

#[test]
fn a_prefix_prunes_row_groups() {
    const NETWORKS: u8 = 12;
    let directory = tool::Directory::new("rows-prune");
    let path = directory.path("rows.parquet");
    let spec = key("src_addr");
    let mut writer = RowWriter::create(&path, NODE, spec, TrackedParts::PLAIN).unwrap();
    let mut truths = truths(9000, START, 1);
    for network in 0..NETWORKS {
        for (i, truth) in truths.iter_mut().enumerate() {
            truth.is_v6 = false;
            truth.src[..4].copy_from_slice(&[120 + network, 200, (i >> 8) as u8, i as u8]);
        }
        write(&mut writer, &spec, TrackedParts::PLAIN, &truths).unwrap();
        writer.flush().unwrap();
    }
    assert_eq!(writer.finish().unwrap(), u64::from(NETWORKS) * 9000);
    let reader = open(&path);
    assert_eq!(reader.metadata().num_row_groups(), usize::from(NETWORKS));
    for network in 0..NETWORKS {
        // 120.0.0.0/8 and so on, of which some are above 127.
        let first = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 120 + network, 0, 0, 0];
        let last = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 120 + network, 255, 255, 255];
        let may_have = |group: &usize| {
            let (least, greatest) = range(&reader, *group, "src_addr").unwrap();
            greatest[..] >= first[..] && least[..] <= last[..]
        };
        let groups: Vec<_> = (0..usize::from(NETWORKS)).filter(may_have).collect();
        assert_eq!(groups, [usize::from(network)]);
    }
}

#[test]
fn a_short_row_group_waits_for_more() {
    let directory = tool::Directory::new("rows-flush");
    let path = directory.path("rows.parquet");
    let spec = key(FIVE_TUPLE);
    let mut writer = RowWriter::create(&path, NODE, spec, TrackedParts::PLAIN).unwrap();
    let mut written = Vec::new();
    for window in 0..10 {
        written.extend(
            write(&mut writer, &spec, TrackedParts::PLAIN, &truths(1000, window * SECOND, window)).unwrap(),
        );
        writer.flush().unwrap();
    }
    assert_eq!((writer.rows(), writer.finish().unwrap()), (10_000, 10_000));
    assert_eq!(open(&path).metadata().num_row_groups(), 2);
    check(&path, &written, [32, 128]);
}

#[test]
fn anonymised_rows() {
    let directory = tool::Directory::new("rows-anonymised");
    let path = directory.path("rows.parquet");
    for (spec, prefix) in [
        (FIVE_TUPLE, [32, 128]),
        ("src_addr/24/64,dst_addr/24/64", [24, 64]),
        ("src_addr/3/11,dst_addr/3/11", [3, 11]),
        ("src_addr/0/0,dst_addr/0/0", [0, 0]),
    ] {
        let spec = key(spec);
        let writer = RowWriter::create(&path, NODE, spec, TrackedParts::PLAIN).unwrap();
        let mut writer = writer.with_anonymizer(Some(Anonymizer::new(&[3; 32])));
        let written = write(&mut writer, &spec, TrackedParts::PLAIN, &truths(600, START, 9)).unwrap();
        writer.finish().unwrap();
        let mut anonymizer = Anonymizer::new(&[3; 32]);
        // Of a whole address, of which a prefix keeps the front.
        let mut replaced = |truth: &Truth, address: [u8; 16]| -> [u8; 16] {
            if truth.is_v6 {
                let IpAddr::V6(address) = anonymizer.address(Ipv6Addr::from(address).into()) else {
                    panic!()
                };
                return address.octets();
            }
            let [a, b, c, d, ..] = address;
            let IpAddr::V4(address) = anonymizer.address(Ipv4Addr::new(a, b, c, d).into()) else { panic!() };
            let mut octets = [0; 16];
            octets[..4].copy_from_slice(&address.octets());
            octets
        };
        let want: Vec<_> = written
            .into_iter()
            .map(|truth| {
                let (src, dst) = (replaced(&truth, truth.src), replaced(&truth, truth.dst));
                Truth { src, dst, row: WindowRow { macs: [0; 12], ..truth.row }, ..truth }
            })
            .collect();
        check(&path, &want, prefix);
    }
}

#[test]
fn a_file_gets_its_name_when_it_is_complete() {
    let directory = tool::Directory::new("rows-part");
    let path = directory.path("Rows.PARQUET");
    let spec = key(FIVE_TUPLE);
    let mut writer = RowWriter::create(&path, NODE, spec, TrackedParts::PLAIN).unwrap();
    write(&mut writer, &spec, TrackedParts::PLAIN, &truths(10, START, 1)).unwrap();
    assert_eq!(directory.names(), ["Rows.PARQUET.part"]);
    writer.finish().unwrap();
    assert_eq!(directory.names(), ["Rows.PARQUET"]);
}

#[test]
fn what_is_no_parquet_file_is_refused() {
    let directory = tool::Directory::new("rows-refused");
    let refused =
        |path: &Path| RowWriter::create(path, NODE, KeySpec::default(), TrackedParts::PLAIN).err().unwrap();
    for name in ["rows.csv", "rows", "rows.parquet.part", "parquet"] {
        let error = refused(&directory.path(name));
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
        let text = error.to_string();
        assert!(text.contains(name) && text.ends_with("give a name that ends in .parquet"), "{text}");
        assert!(!text.contains('\n'), "{text}");
    }
    assert_eq!(refused(Path::new("-")).kind(), ErrorKind::InvalidInput);
    assert!(directory.names().is_empty());
    let error = refused(&directory.path("missing/rows.parquet"));
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert!(error.to_string().contains("missing/rows.parquet"), "{error}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_device_is_an_error_that_counts_whole_rows() {
    let directory = tool::Directory::new("rows-full");
    let path = directory.path("full.parquet");
    std::os::unix::fs::symlink("/dev/full", &path).unwrap();
    let spec = key(FIVE_TUPLE);
    let mut writer = RowWriter::create(&path, NODE, spec, TrackedParts::PLAIN).unwrap();
    write(&mut writer, &spec, TrackedParts::PLAIN, &truths(100, START, 1)).unwrap();
    let error = writer.finish().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::StorageFull, "{error}");
    assert!(error.to_string().contains("full.parquet"), "{error}");
    assert!(error.to_string().ends_with("; 0 rows were written whole"), "{error}");
}

#[test]
fn a_disk_that_fills_keeps_what_was_written_whole() {
    let Some(disk) = tool::SmallDisk::new("rows-disk") else { return };
    let path = disk.path("rows.parquet");
    let spec = key(FIVE_TUPLE);
    let mut writer = RowWriter::create(&path, NODE, spec, TrackedParts::PLAIN).unwrap();
    let mut written = Vec::new();
    let error = (0..100).find_map(|window| {
        written.extend(write(&mut writer, &spec, TrackedParts::PLAIN, &truths(9000, START, window)).unwrap());
        writer.flush().err()
    });
    let error = error.unwrap();
    assert_eq!(error.kind(), ErrorKind::StorageFull, "{error}");
    let whole = writer.rows();
    assert!(whole > 0 && whole.is_multiple_of(9000) && whole < written.len() as u64, "{whole}");
    assert!(error.to_string().ends_with(&format!("; {whole} rows were written whole")), "{error}");
    for error in [
        write(&mut writer, &spec, TrackedParts::PLAIN, &truths(10, START, 1)).err(),
        writer.flush().err(),
        writer.finish().err(),
    ] {
        let text = error.expect("nothing more is taken").to_string();
        assert!(text.contains("an earlier error") && text.contains(&format!("; {whole} rows")), "{text}");
    }
    assert!(!path.exists());
    let part = disk.path("rows.parquet.part");
    check(&part, &written[..whole as usize], [32, 128]);
    assert_eq!(metadata(&part)["edison.key"], FIVE_TUPLE);
}

/// What other readers are queried for, and how they print it.
const READERS: [(&str, &str); 2] = [
    (
        "pyarrow",
        "
import sys, pyarrow.parquet as pq, pyarrow.compute as pc
path, first, last = sys.argv[1], bytes.fromhex(sys.argv[2]), bytes.fromhex(sys.argv[3])
table = pq.read_table(path)
some = sum(1 for a in table['src_addr'].to_pylist() if first <= a <= last)
statistics = pq.ParquetFile(path).metadata.row_group(0).column(table.schema.names.index('src_addr')).statistics
print(table.num_rows, table.schema.field('src_addr').type, table.schema.field('window_start').type, some)
print(pc.sum(table['tcp_seq']).as_py(), pc.max(table['stime_ns']).as_py(), table['vlan'].null_count)
print(pc.min(table['window_start']).as_py().isoformat(), statistics.min.hex(), statistics.max.hex())
",
    ),
    (
        "duckdb",
        "
import sys, duckdb
path, first, last = sys.argv[1], bytes.fromhex(sys.argv[2]), bytes.fromhex(sys.argv[3])
ask = lambda sql, *more: duckdb.execute(sql, [*more]).fetchone()
duckdb.execute(\"set timezone = 'UTC'\")
rows = \"read_parquet('%s')\" % path
count, some = ask(f'select count(*), count(*) filter (src_addr between ? and ?) from {rows}', first, last)
pruned, = ask(f'select count(*) from {rows} where src_addr between ? and ?', first, last)
assert pruned == some, (pruned, some)
least, most = ask(f'select min(src_addr), max(src_addr) from {rows}')
sums = ask(f'select sum(tcp_seq), max(stime_ns), count(*) - count(vlan) from {rows}')
start, = ask(f'select strftime(min(window_start), \\'%Y-%m-%dT%H:%M:%S+00:00\\') from {rows}')
print(count, 'fixed_size_binary[16]', 'timestamp[us, tz=UTC]', some)
print(*sums)
print(start, least.hex(), most.hex())
",
    ),
];

#[test]
fn readers_of_others_find_the_same() {
    let directory = tool::Directory::new("rows-readers");
    let (path, truths) = file(&directory, FIVE_TUPLE, TrackedParts::LOSS, 3000);
    let sources: Vec<_> = truths.iter().map(|truth| truth.address(truth.src, [32, 128])).collect();
    // 96.0.0.0/3, of IPv4 alone.
    let [mut first, mut last] = [[0; 16]; 2];
    first[10..13].copy_from_slice(&[0xff, 0xff, 0x60]);
    last[10..].copy_from_slice(&[0xff, 0xff, 0x7f, 0xff, 0xff, 0xff]);
    let some = sources.iter().filter(|address| (first..=last).contains(*address)).count();
    assert!(some > 100);
    let hex = |bytes: &[u8; 16]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let want = format!(
        "{} fixed_size_binary[16] timestamp[us, tz=UTC] {some}\n{} {} {}\n2023-11-14T22:13:20+00:00 {} {}\n",
        truths.len(),
        truths.iter().map(|truth| u64::from(truth.row.tcp_seq)).sum::<u64>(),
        truths.iter().map(|truth| truth.row.first_ns).max().unwrap().min(i64::MAX as u64),
        truths.iter().filter(|truth| truth.key_vlan.is_none()).count(),
        hex(sources.iter().min().unwrap()),
        hex(sources.iter().max().unwrap()),
    );
    for (module, script) in READERS {
        let has = Command::new("python3")
            .args(["-c", &format!("import {module}")])
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|status| status.success());
        if !has {
            eprintln!("skipped: python3 has no {module}");
            continue;
        }
        let mut command = Command::new("python3");
        let output =
            command.args(["-c", script]).arg(&path).args([hex(&first), hex(&last)]).output().unwrap();
        assert!(output.status.success(), "{module}: {}", String::from_utf8_lossy(&output.stderr));
        assert_eq!(String::from_utf8(output.stdout).unwrap(), want, "{module}");
    }
}
