//! Parquet of other programs, and window rows.

use crate::given::{given, of_bytes};
use flow::{FlowKey, LossCounts, NULL, RowValue, Rows, TrackedParts, WindowRow};
use packet::{Key, KeyParts, KeySpec, KeyV4, KeyV6, MaskedKey};
use parquet::basic::{Compression, GzipLevel, ZstdLevel};
use parquet::column::writer::ColumnWriter;
use parquet::data_type::{ByteArray, FixedLenByteArray};
use parquet::file::metadata::{ParquetMetaData, ParquetMetaDataReader, ParquetMetaDataWriter};
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterPropertiesBuilder};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use record::read::{FlowFile, ReadProjection, ValueRange};
use record::{Format, RowWindow, RowWriter};
use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;

const SECOND: u64 = 1_000_000_000;
/// 2023-11-14 22:13:20 UTC.
const START: u64 = 1_700_000_000 * SECOND;

/// The values of a column of a row group, of which some may be missing.
enum Values {
    I32(Vec<Option<i32>>),
    I64(Vec<Option<i64>>),
    F32(Vec<Option<f32>>),
    F64(Vec<Option<f64>>),
    Bytes(Vec<Option<Vec<u8>>>),
    Fixed(Vec<Option<Vec<u8>>>),
    /// Of a list in each row, as all of a program's own.
    Lists(usize),
}

fn texts(texts: &[&str]) -> Values {
    Values::Bytes(texts.iter().map(|text| Some(text.as_bytes().to_vec())).collect())
}

/// A file of these row groups.
fn file(schema: &str, groups: &[&[Values]]) -> FlowFile {
    of_bytes(Format::Parquet, bytes_of(schema, groups, Compression::UNCOMPRESSED)).unwrap()
}

/// The bytes of a file of these row groups.
fn bytes_of(schema: &str, groups: &[&[Values]], compression: Compression) -> Vec<u8> {
    bytes_with(schema, groups, WriterProperties::builder().set_compression(compression))
}

/// The bytes of a file of these row groups, written like this.
fn bytes_with(schema: &str, groups: &[&[Values]], properties: WriterPropertiesBuilder) -> Vec<u8> {
    let schema = Arc::new(parse_message_type(&format!("message rows {{ {schema}; }}")).unwrap());
    let mut bytes = Vec::new();
    // Pages end within blocks.
    let properties = properties.set_data_page_row_count_limit(700).set_write_batch_size(100).build();
    let mut writer = SerializedFileWriter::new(&mut bytes, schema, Arc::new(properties)).unwrap();
    for values in groups {
        let mut group = writer.next_row_group().unwrap();
        let mut values = values.iter();
        while let Some(mut column) = group.next_column().unwrap() {
            macro_rules! write {
                ($writer:expr, $values:expr, $of:expr) => {{
                    let levels: Vec<i16> = $values.iter().map(|value| value.is_some().into()).collect();
                    let there: Vec<_> = $values.iter().flatten().cloned().map($of).collect();
                    $writer.write_batch(&there, Some(&levels), None).unwrap();
                }};
            }
            match (column.untyped(), values.next().unwrap()) {
                (ColumnWriter::Int32ColumnWriter(writer), Values::I32(values)) => {
                    write!(writer, values, |v| v)
                }
                (ColumnWriter::Int32ColumnWriter(writer), Values::Lists(rows)) => {
                    let (values, levels) = (vec![1; *rows], vec![1; *rows]);
                    writer.write_batch(&values, Some(&levels), Some(&vec![0; *rows])).unwrap();
                }
                (ColumnWriter::Int64ColumnWriter(writer), Values::I64(values)) => {
                    write!(writer, values, |v| v)
                }
                (ColumnWriter::FloatColumnWriter(writer), Values::F32(values)) => {
                    write!(writer, values, |v| v)
                }
                (ColumnWriter::DoubleColumnWriter(writer), Values::F64(values)) => {
                    write!(writer, values, |v| v)
                }
                (ColumnWriter::ByteArrayColumnWriter(writer), Values::Bytes(values)) => {
                    write!(writer, values, ByteArray::from)
                }
                (ColumnWriter::FixedLenByteArrayColumnWriter(writer), Values::Fixed(values)) => {
                    write!(writer, values, FixedLenByteArray::from)
                }
                _ => panic!("a column of another type"),
            }
            column.close().unwrap();
        }
        group.close().unwrap();
    }
    writer.close().unwrap();
    bytes
}

fn key(source: &str, destination: &str, ports: [u16; 2], protocol: u8) -> FlowKey {
    let of = |text: &str| text.parse().unwrap();
    FlowKey::five_tuple((of(source), ports[0]), (of(destination), ports[1]), protocol)
}

fn wanted(members: &[&'static str], columns: &[RowValue]) -> ReadProjection {
    ReadProjection {
        members: members.to_vec(),
        columns: columns.to_vec(),
        statistics: vec!["gap_mean".to_owned()],
        ..Default::default()
    }
}

#[test]
fn usual_names_other_widths_and_other_types() {
    let schema = "optional int64 bytes; required binary proto (utf8); required int64 ltime (timestamp(micros,true));
        required int32 dport; required fixed_len_byte_array(16) srcip; required binary dstip;
        optional int32 packets (integer(32,false)); required int64 router; required int64 sport (integer(64,false));
        optional int64 stime (timestamp_millis); optional float gap_mean; repeated int32 ttl; required double tos;
        required binary smac (string); required fixed_len_byte_array(5) node_id";
    let v4 = |last: u8| Some([[0; 10].as_slice(), &[0xff; 2], &[10, 0, 0, last]].concat());
    let v6 = |last: u8| Some([[0x20; 15].as_slice(), &[last]].concat());
    let values = [
        Values::I64(vec![Some(1500), None]),
        texts(&["tcp", "17"]),
        Values::I64(vec![Some((START / 1000) as i64), Some((START / 1000 + 1) as i64)]),
        Values::I32(vec![Some(80), Some(53)]),
        Values::Fixed(vec![v4(1), v6(1)]),
        Values::Bytes(vec![Some(vec![10, 0, 0, 2]), v6(2)]),
        Values::I32(vec![Some(-1), Some(7)]),
        Values::I64(vec![Some(1), Some(2)]),
        Values::I64(vec![Some(1234), Some(65535)]),
        Values::I64(vec![None, Some((START / 1_000_000) as i64)]),
        Values::F32(vec![Some(0.5), None]),
        Values::Lists(2),
        Values::F64(vec![Some(1.0), Some(2.0)]),
        texts(&["02-00-00-00-00-01", "00:00:00:00:00:00"]),
        Values::Fixed(vec![Some(b"north".to_vec()), Some(b"south".to_vec())]),
    ];
    let mut file = file(schema, &[&values]);
    let contents = file.contents();
    assert_eq!((contents.key, contents.rows), (KeySpec::FIVE_TUPLE, Some(2)));
    let unread: Vec<_> = contents.unread.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(unread, ["router", "ttl", "tos", "node_id"]);
    assert_eq!(contents.parts[0].times, Some([START, START + 1000]));
    let ports = contents.parts[0].ranges.iter().find(|(name, _)| *name == "dst_port");
    assert_eq!(ports, Some(&("dst_port", ValueRange::Numbers(53, 80))));
    let columns = [
        RowValue::Bytes,
        RowValue::Time,
        RowValue::Packets,
        RowValue::First,
        RowValue::Statistic(0),
        RowValue::SourceMac,
        RowValue::IpTtl,
    ];
    let members = ["src_addr", "dst_addr", "src_port", "dst_port", "protocol"];
    let given = given(&mut file, &wanted(&members, &columns));
    let half = 0.5_f64.to_bits();
    let source = Ipv6Addr::from_bits(0x2020_2020_2020_2020_2020_2020_2020_2001);
    let destination = Ipv6Addr::from_bits(source.to_bits() + 1);
    assert_eq!(
        given.rows,
        [
            (
                key("10.0.0.1", "10.0.0.2", [1234, 80], 6),
                vec![1500, START, u64::from(u32::MAX), NULL, half, 0x0200_0000_0001, NULL]
            ),
            (
                FlowKey::five_tuple((IpAddr::V6(source), 65535), (IpAddr::V6(destination), 53), 17),
                vec![NULL, START + 1000, 7, START, NULL, NULL, NULL]
            ),
        ]
    );
    assert_eq!(given.error, None);
}

#[test]
fn columns_of_nothing_groups_of_nothing_and_pages_that_end_within_blocks() {
    let schema = "optional int32 sport; optional int64 bytes; optional int32 srcip; optional double gap_mean; optional binary node_id (utf8)";
    let empty = [
        Values::I32(Vec::new()),
        Values::I64(Vec::new()),
        Values::I32(Vec::new()),
        Values::F64(Vec::new()),
        Values::Bytes(Vec::new()),
    ];
    let nulls = [
        Values::I32(vec![None; 5000]),
        Values::I64(vec![None; 5000]),
        Values::I32(vec![None; 5000]),
        Values::F64(vec![None; 5000]),
        Values::Bytes(vec![None; 5000]),
    ];
    // Of each block of rows some are there, and of one none.
    let there = |at: i64| at % 3 == 0 && !(4096..8192).contains(&at);
    let some = |at: i64| there(at).then_some(at);
    let rows = 10_000;
    let mixed = [
        Values::I32((0..rows).map(|at| some(at).map(|at| (at % 65536) as i32)).collect()),
        Values::I64((0..rows).map(some).collect()),
        // An IPv4 address as a number: negative as one of 32 bits.
        Values::I32((0..rows).map(|at| some(at).map(|_| 0xc0a8_0001_u32 as i32)).collect()),
        Values::F64((0..rows).map(|at| some(at).map(|at| at as f64)).collect()),
        Values::Bytes((0..rows).map(|at| some(at).map(|_| b"north".to_vec())).collect()),
    ];
    let mut file = file(schema, &[&empty, &nulls, &mixed]);
    let parts: Vec<_> = file.contents().parts.iter().map(|part| part.rows).collect();
    assert_eq!((parts, file.contents().rows), (vec![Some(0), Some(5000), Some(10_000)], Some(15_000)));
    let columns = [RowValue::Bytes, RowValue::Statistic(0)];
    let given = given(&mut file, &wanted(&["src_addr", "src_port"], &columns));
    let mut expected: Vec<_> = (0..rows)
        .filter(|at| there(*at))
        .map(|at| (key("192.168.0.1", "0.0.0.0", [at as u16, 0], 0), vec![at as u64, (at as f64).to_bits()]))
        .collect();
    expected.sort();
    assert_eq!(given.rows, expected);
    assert_eq!((given.without_key.rows, given.error), (15_000 - expected.len() as u64, None));
    assert_eq!(given.nodes, ["north"]);
}

#[test]
fn numbers_out_of_range_are_damage() {
    for (schema, values, error) in [
        (
            "required int32 sport",
            Values::I32(vec![Some(65_536)]),
            "column sport: the number 65536 is greater than 65535",
        ),
        ("required int64 sport", Values::I64(vec![Some(-1)]), "column sport: a number is negative"),
        (
            "required int32 proto",
            Values::I32(vec![Some(256)]),
            "column proto: the number 256 is greater than 255",
        ),
        ("required binary proto (utf8)", texts(&["tpc"]), "column proto: 'tpc' is not a protocol"),
        (
            "required int64 srcip",
            Values::I64(vec![Some(1 << 32)]),
            "column srcip: a number is no IPv4 address",
        ),
        (
            "required binary srcip",
            Values::Bytes(vec![Some(vec![1; 5])]),
            "column srcip: an address has 5 bytes",
        ),
        (
            "required int64 ltime (timestamp(millis,true))",
            Values::I64(vec![Some(i64::MAX)]),
            "column ltime: a time",
        ),
        ("required int64 ltime", Values::I64(vec![Some(-1)]), "column ltime: a time"),
    ] {
        let members = ["src_addr", "src_port", "protocol"];
        let given = given(&mut file(schema, &[&[values]]), &wanted(&members, &[RowValue::Last]));
        let text = given.error.map(|error| error.to_string()).unwrap_or_default();
        assert!(text.contains(&format!("damaged: row group 1 of 1: {error}")), "{text}");
        assert_eq!(given.rows.len(), 0);
    }
}

#[test]
fn window_rows_come_back() {
    let path = std::env::temp_dir().join(format!("edison-read-{}.parquet", std::process::id()));
    for (spec, members) in [
        (
            "src_addr,dst_addr,protocol,src_port,dst_port",
            &["src_addr", "dst_addr", "src_port", "dst_port", "protocol"][..],
        ),
        ("src_addr/24/64,vlan,ip_tos", &["src_addr", "vlan", "ip_tos"]),
    ] {
        let spec = KeySpec::parse(spec).unwrap();
        let mut writer = RowWriter::create(&path, "north", spec, TrackedParts::LOSS).unwrap();
        let mut expected = Vec::new();
        for window in 0..3 {
            let (mut v4, mut v6) = (Rows::default(), Rows::default());
            let start_ns = START + window * SECOND;
            for number in 0..3000_u64 {
                let low = number as u8;
                let vlan = (!number.is_multiple_of(3)).then_some(number as u16 & 0xfff);
                let parts = KeyParts {
                    ports: [number as u16, 443],
                    protocol: [6, 17][number as usize % 2],
                    ip_tos: low,
                    vlan: Some(vlan),
                };
                let row = WindowRow {
                    key: (),
                    packets: number,
                    bytes: number << 30,
                    wire_bytes: u64::MAX - 1 - number,
                    first_ns: start_ns + number,
                    last_ns: start_ns + 2 * number,
                    tcp_seq: u32::MAX - number as u32,
                    tcp_ack: number as u32,
                    tcp_win: number as u16,
                    vlan: vlan.unwrap_or(WindowRow::<()>::NO_VLAN),
                    tcp_flags: low,
                    ip_ttl: low,
                    ip_tos: low,
                    macs: [low; 12],
                    headers: flow::HeaderValues::NONE,
                };
                let loss = LossCounts {
                    ploss_byte: number,
                    rtt_min_ns: 5,
                    rtt_sum_ns: 30,
                    rtt_count: low.into(),
                    ..LossCounts::default()
                };
                let is_tcp = parts.protocol == 6;
                let has_loss = if members.contains(&"protocol") { is_tcp } else { !loss.is_empty() };
                let of_loss = |value: u64| if has_loss { value } else { NULL };
                let rtt = |value: u64| if low == 0 { NULL } else { of_loss(value) };
                let mac = (0..6).fold(0, |mac, _| mac << 8 | u64::from(low));
                let values = vec![
                    start_ns,
                    row.packets,
                    row.bytes,
                    row.wire_bytes,
                    row.first_ns,
                    row.last_ns,
                    row.tcp_seq.into(),
                    row.tcp_ack.into(),
                    row.tcp_win.into(),
                    row.tcp_flags.into(),
                    row.ip_ttl.into(),
                    if mac == 0 { NULL } else { mac },
                    of_loss(number),
                    rtt(5),
                    rtt(30 / u64::from(low.max(1))),
                ];
                let own = if number.is_multiple_of(4) {
                    let key = KeyV6::from_parts([[low; 16], [7; 16]], parts).masked(&spec);
                    v6.push(row.with_key(key), Some(&loss));
                    key.flow_key(&spec)
                } else {
                    let key = KeyV4::from_parts([[10, 0, low, 1], [10, 0, 0, 2]], parts).masked(&spec);
                    v4.push(row.with_key(key), Some(&loss));
                    key.flow_key(&spec)
                };
                expected.push((own, values));
            }
            let window = RowWindow { start_ns, end_ns: start_ns + SECOND };
            writer.write(window, &v4).unwrap();
            writer.write(window, &v6).unwrap();
        }
        writer.finish().unwrap();
        let mut file = FlowFile::open(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        let contents = file.contents();
        assert_eq!((contents.key, contents.has_windows, contents.window_ns), (spec, true, Some(SECOND)));
        assert_eq!((contents.node.as_deref(), contents.rows), (Some("north"), Some(9000)));
        assert_eq!(contents.parts[0].times, Some([START, START + 2 * SECOND]));
        let columns = [
            RowValue::Time,
            RowValue::Packets,
            RowValue::Bytes,
            RowValue::WireBytes,
            RowValue::First,
            RowValue::Last,
            RowValue::TcpSeq,
            RowValue::TcpAck,
            RowValue::TcpWin,
            RowValue::TcpFlags,
            RowValue::IpTtl,
            RowValue::SourceMac,
            RowValue::PlossByte,
            RowValue::RttMin,
            RowValue::RttAvg,
        ];
        let given = given(&mut file, &wanted(members, &columns));
        let key_of = |key: FlowKey| {
            let none = if key.src_addr.is_some_and(|address| address.is_ipv6()) { "::" } else { "0.0.0.0" };
            FlowKey {
                dst_addr: key.dst_addr.or(none.parse().ok()),
                src_port: key.src_port.or(Some(0)),
                dst_port: key.dst_port.or(Some(0)),
                protocol: key.protocol.or(Some(0)),
                ..key
            }
        };
        let mut expected: Vec<_> = expected.into_iter().map(|(key, values)| (key_of(key), values)).collect();
        // What is read is a 5-tuple: of the second key the address alone is compared here.
        expected.iter_mut().for_each(|(key, _)| (key.vlan, key.ip_tos) = (None, None));
        expected.sort();
        assert_eq!(given.rows.len(), expected.len());
        for (given, expected) in given.rows.iter().zip(&expected) {
            assert_eq!(given, expected);
        }
        if members.contains(&"vlan") {
            let mut keys = Vec::new();
            file.read_part(0, &wanted(members, &[RowValue::Packets]), &mut |block| {
                let values = block.v4.column(RowValue::Packets);
                keys.extend(block.v4.keys.iter().map(|key| key.flow_key(&spec)).zip(values.iter().copied()));
                true
            })
            .unwrap();
            assert!(!keys.is_empty());
            for (key, number) in keys {
                let vlan = (!number.is_multiple_of(3)).then_some(number as u16 & 0xfff);
                assert_eq!((key.vlan, key.ip_tos), (vlan, Some(number as u8)));
            }
        }
        assert_eq!(given.nodes, ["north"]);
    }
}

const PLAIN: &str = "required binary srcip (utf8); required int64 bytes; required int64 ltime";

#[test]
fn all_usual_compressions_are_read() {
    let addresses: Vec<Option<Vec<u8>>> =
        (0..3000).map(|row| Some(format!("10.0.{}.{}", row / 200, row % 200).into_bytes())).collect();
    let numbers = |of: fn(i64) -> i64| Values::I64((0..3000).map(|row| Some(of(row))).collect());
    let groups: &[&[Values]] =
        &[&[Values::Bytes(addresses), numbers(|row| row * 7919 % 1500), numbers(|row| START as i64 + row)]];
    let wanted = wanted(&["src_addr"], &[RowValue::Bytes, RowValue::Time]);
    let plain = given(
        &mut of_bytes(Format::Parquet, bytes_of(PLAIN, groups, Compression::UNCOMPRESSED)).unwrap(),
        &wanted,
    )
    .rows;
    assert_eq!(plain.len(), 3000);
    for compression in [
        Compression::SNAPPY,
        Compression::GZIP(GzipLevel::default()),
        Compression::LZ4,
        Compression::LZ4_RAW,
        Compression::ZSTD(ZstdLevel::default()),
    ] {
        let bytes = bytes_of(PLAIN, groups, compression);
        let mut file =
            of_bytes(Format::Parquet, bytes).unwrap_or_else(|error| panic!("{compression}: {error}"));
        assert!(given(&mut file, &wanted).rows == plain, "{compression}");
    }
}

/// A file of one row group whose footer says that these columns have another compression.
fn recompressed(whole: &[u8], compression: Compression, is_one: impl Fn(&str) -> bool) -> Vec<u8> {
    let length = u32::from_le_bytes(whole[whole.len() - 8..whole.len() - 4].try_into().unwrap()) as usize;
    let metadata =
        ParquetMetaDataReader::new().parse_and_finish(&bytes::Bytes::from(whole.to_vec())).unwrap();
    let group = metadata.row_group(0).clone();
    let columns = group.columns().iter().map(|column| match is_one(&column.column_path().string()) {
        true => column.clone().into_builder().set_compression(compression).build().unwrap(),
        false => column.clone(),
    });
    let group = group.clone().into_builder().set_column_metadata(columns.collect()).build().unwrap();
    let other = ParquetMetaData::new(metadata.file_metadata().clone(), vec![group]);
    let mut footer = Vec::new();
    ParquetMetaDataWriter::new(&mut footer, &other).finish().unwrap();
    [&whole[..whole.len() - 8 - length], &footer].concat()
}

#[test]
fn a_compression_that_is_not_read_is_named() {
    let groups: &[&[Values]] =
        &[&[texts(&["10.0.0.1"]), Values::I64(vec![Some(1)]), Values::I64(vec![Some(2)])]];
    let whole = bytes_of(PLAIN, groups, Compression::UNCOMPRESSED);
    for (compression, name) in
        [(Compression::BROTLI(Default::default()), "brotli"), (Compression::LZO, "lzo")]
    {
        let bytes = recompressed(&whole, compression, |_| true);
        let error = of_bytes(Format::Parquet, bytes).err().unwrap().to_string();
        assert!(error.contains(name) && error.contains("zstd") && !error.contains("feature"), "{error}");
    }
}

#[test]
fn a_column_that_is_no_field_may_be_of_any_compression() {
    let schema = "required int64 bytes; required int64 router";
    let groups: &[&[Values]] = &[&[Values::I64(vec![Some(1)]), Values::I64(vec![Some(2)])]];
    let whole = bytes_of(schema, groups, Compression::UNCOMPRESSED);
    let of = |name: &str| {
        of_bytes(Format::Parquet, recompressed(&whole, Compression::LZO, |column| column == name))
    };
    let mut file = of("router").unwrap();
    assert_eq!(given(&mut file, &wanted(&[], &[RowValue::Bytes])).rows[0].1, [1]);
    assert!(of("bytes").is_err_and(|error| error.to_string().contains("lzo")));
}

/// Blocks of a file whose first rows have no destination.
fn keys_and_rows_without(file: &mut FlowFile, parts: &[usize]) -> Vec<(usize, usize)> {
    let of = |part: &usize| {
        let (mut keys, mut without) = (0, 0);
        let wanted = wanted(&["src_addr", "dst_addr"], &[RowValue::Bytes]);
        file.read_part(*part, &wanted, &mut |block| {
            keys += block.v4.len() + block.v6.len();
            without += block.without_key.len();
            true
        })
        .unwrap();
        (keys, without)
    };
    parts.iter().map(of).collect()
}

#[test]
fn whether_an_address_is_told_is_a_matter_of_the_file() {
    let address = |last: u8| Some([[0; 10].as_slice(), &[0xff; 2], &[10, 0, 0, last]].concat());
    let text = |text: &str| Some(text.as_bytes().to_vec());
    let bytes = || Values::I64(vec![Some(1); 2]);
    // The statistics tell that there are destinations.
    let schema = "optional fixed_len_byte_array(16) srcip; optional fixed_len_byte_array(16) dstip; required int64 bytes";
    let group = |destination: Option<Vec<u8>>| {
        [Values::Fixed(vec![address(1); 2]), Values::Fixed(vec![None, destination]), bytes()]
    };
    let mut mixed = file(schema, &[&group(None), &group(address(2)), &group(None)]);
    assert_eq!(keys_and_rows_without(&mut mixed, &[0, 1, 2]), [(0, 2), (1, 1), (0, 2)]);
    // Without any the keys are of the source alone.
    let mut none = file(schema, &[&group(None), &group(None)]);
    assert_eq!(keys_and_rows_without(&mut none, &[0, 1]), [(2, 0), (2, 0)]);
    // So do those of texts, of which an empty one is no address.
    let schema = "optional binary srcip (utf8); optional binary dstip (utf8); required int64 bytes";
    let group = |destination: Option<Vec<u8>>| {
        [Values::Bytes(vec![text("10.0.0.1"); 2]), Values::Bytes(vec![None, destination]), bytes()]
    };
    let (empty, full, null) = (group(text("")), group(text("10.0.0.2")), group(None));
    let mut none = file(schema, &[&empty, &null]);
    assert_eq!(keys_and_rows_without(&mut none, &[0, 1]), [(2, 0), (2, 0)]);
    let groups: &[&[Values]] = &[&empty, &full, &null];
    assert_eq!(keys_and_rows_without(&mut file(schema, groups), &[0, 1, 2]), [(0, 2), (1, 1), (0, 2)]);
    // Without statistics it is told once one was read, in any row group.
    let properties = WriterProperties::builder().set_statistics_enabled(EnabledStatistics::None);
    let mut plain = of_bytes(Format::Parquet, bytes_with(schema, groups, properties)).unwrap();
    assert_eq!(keys_and_rows_without(&mut plain, &[0, 1, 2, 0]), [(2, 0), (1, 1), (0, 2), (0, 2)]);
}

#[test]
fn a_row_whose_address_is_not_known_is_of_no_flow() {
    let schema = "optional binary srcip (utf8); optional binary dstip (utf8); required int64 bytes; required int64 packets; \
                  required int64 ltime";
    let address = |text: &str| Some(text.as_bytes().to_vec());
    let mut file = file(
        schema,
        &[&[
            Values::Bytes(vec![address("10.0.0.1"), None, address("2001:db8::1"), None]),
            Values::Bytes(vec![address("10.0.0.2"), address("10.0.0.2"), None, None]),
            Values::I64(vec![Some(1), Some(20), Some(300), Some(4000)]),
            Values::I64(vec![Some(1), Some(2), Some(3), Some(4)]),
            Values::I64(vec![Some(START as i64); 4]),
        ]],
    );
    let wanted = wanted(&["src_addr", "dst_addr"], &[RowValue::Bytes, RowValue::Packets, RowValue::Time]);
    let (mut keys, mut bytes) = (0, 0);
    file.read_part(0, &wanted, &mut |block| {
        keys += block.v4.len() + block.v6.len();
        bytes += block.without_key.iter().map(|row| row.bytes).sum::<u64>();
        true
    })
    .unwrap();
    assert_eq!((keys, bytes), (1, 4320));
}
