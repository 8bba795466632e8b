//! What the writers write, read back as columns.

use crate::given::{Row, Unread, given, of_bytes};
use crate::sample;
use crate::sample::Bytes;
use flow::{FlowRecord, NULL, RowValue, float_bits};
use packet::KeySpec;
use record::read::ReadProjection;
use record::{Format, RecordContents, Selection};
use std::net::IpAddr;

const NODE: &str = "rack 7, \"north\"\n\tüber\\";
const MEMBERS: [&str; 5] = ["src_addr", "dst_addr", "src_port", "dst_port", "protocol"];
/// Every column of a record, with its value.
type Get = fn(&FlowRecord) -> Option<u64>;
const COLUMNS: [(RowValue, Get); 26] = [
    (RowValue::Time, |r| Some(r.ltime)),
    (RowValue::First, |r| Some(r.stime)),
    (RowValue::Last, |r| Some(r.ltime)),
    (RowValue::Packets, |r| Some(r.total_count)),
    (RowValue::Bytes, |r| Some(r.total_byte)),
    (RowValue::WireBytes, |r| r.wire_bytes()),
    (RowValue::TcpSeq, |r| Some(r.tcp_seq.into())),
    (RowValue::TcpAck, |r| Some(r.tcp_ack.into())),
    (RowValue::TcpWin, |r| Some(r.tcp_win.into())),
    (RowValue::TcpFlags, |r| Some(r.tcp_flags.into())),
    (RowValue::IpTtl, |r| Some(r.ip_ttl.into())),
    (RowValue::IpTos, |r| Some(r.ip_tos.into())),
    (RowValue::Vlan, |r| r.vlan.map(u64::from)),
    (RowValue::SourceMac, |r| mac(r.smac)),
    (RowValue::DestinationMac, |r| mac(r.dmac)),
    (RowValue::PlossByte, |r| r.loss().map(|l| l.ploss_byte)),
    (RowValue::PlossCount, |r| r.loss().map(|l| l.ploss_count)),
    (RowValue::ReorderCount, |r| r.loss().map(|l| l.reorder_count)),
    (RowValue::RetransCount, |r| r.loss().map(|l| l.retrans_count)),
    (RowValue::RetransByte, |r| r.loss().map(|l| l.retrans_byte)),
    (RowValue::UnseenByte, |r| r.loss().map(|l| l.unseen_byte)),
    (RowValue::ZeroWindowCount, |r| r.loss().map(|l| l.zero_window_count)),
    (RowValue::HoleCount, |r| r.loss().map(|l| l.hole_count)),
    (RowValue::ResyncCount, |r| r.loss().map(|l| l.resync_count)),
    (RowValue::RttMin, |r| r.loss()?.rtt_min),
    (RowValue::RttAvg, |r| r.loss()?.rtt_avg),
];

fn mac(octets: [u8; 6]) -> Option<u64> {
    let number = octets.iter().fold(0, |number, octet| number << 8 | u64::from(*octet));
    (number != 0).then_some(number)
}

fn everything() -> ReadProjection {
    let statistics: Vec<_> = sample::parts().statistics.iter().map(ToString::to_string).collect();
    let numbered = (0..statistics.len()).map(|at| RowValue::Statistic(at as u8));
    let columns = COLUMNS.iter().map(|(column, _)| *column).chain(numbered).collect();
    ReadProjection { members: MEMBERS.to_vec(), columns, statistics, ..Default::default() }
}

fn written(format: Format, selection: &Selection, records: &[FlowRecord]) -> Vec<u8> {
    let bytes = Bytes::default();
    let mut writer = format.writer(Box::new(bytes.clone()), NODE, selection).unwrap();
    records.chunks(77).for_each(|records| writer.write(records).unwrap());
    writer.finish().unwrap();
    bytes.take()
}

/// The rows of a record: one for each direction.
fn rows_of(record: &FlowRecord, wanted: &ReadProjection, rows: &mut Vec<Row>, without_key: &mut Unread) {
    for is_reverse in [false, true] {
        let Some(direction) = record.direction(is_reverse) else { continue };
        if is_reverse && matches!(direction.total_count, 0 | u64::MAX) {
            continue;
        }
        let value = |column: &RowValue| match column {
            RowValue::Statistic(at) => {
                let name = &wanted.statistics[usize::from(*at)];
                let at = sample::parts().statistics.iter().position(|of| of.to_string() == *name);
                float_bits(direction.statistic(at.unwrap()).filter(|value| value.is_finite()))
            }
            column => {
                let (_, get) = COLUMNS.iter().find(|(of, _)| of == column).unwrap();
                get(direction).unwrap_or(NULL)
            }
        };
        let values: Vec<u64> = wanted.columns.iter().map(value).collect();
        let Some(mut key) = record.key else {
            let add =
                |sum: &mut u64, value: u64| *sum = sum.saturating_add(if value == NULL { 0 } else { value });
            without_key.rows += 1;
            for (column, sum, value) in [
                (RowValue::Packets, &mut without_key.packets, direction.total_count),
                (RowValue::Bytes, &mut without_key.bytes, direction.total_byte),
                (RowValue::WireBytes, &mut without_key.wire_bytes, direction.wire_byte),
            ] {
                add(sum, if wanted.columns.contains(&column) { value } else { 0 });
            }
            continue;
        };
        if is_reverse {
            (key.src_addr, key.dst_addr) = (key.dst_addr, key.src_addr);
            (key.src_port, key.dst_port) = (key.dst_port, key.src_port);
        }
        // Of mixed families: IPv4 as mapped.
        let mapped = |address: Option<IpAddr>| match address {
            Some(IpAddr::V4(address)) => Some(IpAddr::V6(address.to_ipv6_mapped())),
            address => address,
        };
        if key.src_addr.unwrap().is_ipv6() || key.dst_addr.unwrap().is_ipv6() {
            (key.src_addr, key.dst_addr) = (mapped(key.src_addr), mapped(key.dst_addr));
        }
        rows.push((key, values));
    }
}

fn expected(records: &[FlowRecord], wanted: &ReadProjection) -> (Vec<Row>, Unread) {
    let (mut rows, mut without_key) = (Vec::new(), Unread::default());
    records.iter().for_each(|record| rows_of(record, wanted, &mut rows, &mut without_key));
    rows.sort();
    (rows, without_key)
}

/// Records whose values every format has: times of its era. In IPFIX untagged and VLAN 0 are alike, and so are no bytes on the wire of
/// packets that have some, and those that are not known.
fn records(n: usize) -> Vec<FlowRecord> {
    /// 7 February 2036, when NTP timestamps begin anew.
    const ERA: u64 = 2_085_978_496_000_000_000;
    let mut records = sample::full_records(n);
    let fix = |record: &mut FlowRecord| {
        record.stime %= ERA;
        record.ltime %= ERA;
        record.vlan = record.vlan.filter(|vlan| *vlan != 0);
        match (record.wire_byte, record.total_byte) {
            (0 | NULL, 0 | NULL) => record.wire_byte = 0,
            (0, _) => record.wire_byte = NULL,
            _ => {}
        }
    };
    for record in &mut records {
        fix(record);
        if let Some(reverse) = record.more.as_mut().and_then(|more| more.reverse.as_mut()) {
            fix(reverse);
        }
    }
    records
}

fn check(format: Format, selection: &Selection, records: &[FlowRecord], wanted: &ReadProjection) {
    let mut file = of_bytes(format, written(format, selection, records)).unwrap();
    let contents = file.contents();
    assert_eq!(contents.key, KeySpec::FIVE_TUPLE);
    assert!(contents.unread.is_empty() && !contents.has_windows, "{contents:?}");
    let given = given(&mut file, wanted);
    assert_eq!(given.error, None, "{format:?}");
    let (rows, without_key) = expected(records, wanted);
    assert_eq!(given.rows.len(), rows.len(), "{format:?}");
    for (given, row) in given.rows.iter().zip(&rows) {
        assert_eq!(given, row, "{format:?}");
    }
    assert_eq!(given.without_key, without_key, "{format:?}");
    assert_eq!(given.nodes, [NODE], "{format:?}");
}

#[test]
fn all_values_of_all_records_come_back() {
    let selection = Selection::new(&sample::parts());
    // More than a block.
    let records = records(9000);
    for format in Format::ALL {
        check(*format, &selection, &records, &everything());
    }
}

#[test]
fn few_columns_have_the_same_values() {
    let selection = Selection::new(&sample::parts());
    let records = records(1000);
    let columns = vec![RowValue::Packets, RowValue::Statistic(0), RowValue::RttMin];
    let wanted = ReadProjection {
        members: MEMBERS.to_vec(),
        columns,
        statistics: vec!["iat_p99.9".to_owned()],
        ..Default::default()
    };
    for format in Format::ALL {
        check(*format, &selection, &records, &wanted);
    }
}

#[test]
fn contents_tell_what_rows_have() {
    let plain = Selection::all();
    let full = Selection::new(&sample::parts());
    for format in Format::ALL {
        for (selection, tracked) in [(&plain, false), (&full, true)] {
            let file = of_bytes(*format, written(*format, selection, &records(50))).unwrap();
            let contents = file.contents();
            assert_eq!(contents.tracked == flow::TrackedParts::LOSS, tracked, "{format:?}");
            let fields = flow::FIELDS.iter().filter(|field| {
                let is_there = match field.part {
                    flow::Part::Plain => true,
                    flow::Part::Loss => tracked,
                    flow::Part::Headers | flow::Part::Sampling => false,
                };
                is_there && field.aggregation != flow::Aggregation::Key && field.name != "end_reason"
            });
            assert_eq!(contents.fields, fields.map(|field| field.name).collect(), "{format:?}");
            let statistics = if tracked { &sample::STATISTIC_COLUMNS[..] } else { &[] };
            assert_eq!(contents.statistics, statistics, "{format:?}");
            assert_eq!(contents.parts.len(), 1);
        }
    }
}

#[test]
fn a_sink_that_wants_no_more_ends_reading() {
    let records = records(9000);
    for format in Format::ALL {
        let mut file = of_bytes(*format, written(*format, &Selection::all(), &records)).unwrap();
        let mut blocks = 0;
        let wanted = ReadProjection { columns: vec![RowValue::Packets], ..ReadProjection::default() };
        let read = file.read_part(0, &wanted, &mut |_| {
            blocks += 1;
            false
        });
        assert_eq!((read, blocks), (Ok(()), 1), "{format:?}");
        // A part can be read again, from its start.
        let all = given(&mut file, &wanted);
        assert_eq!((all.rows.len() + all.without_key.rows as usize, all.error), (9000, None), "{format:?}");
    }
}

#[test]
fn prefixes_and_keys_of_few_members_come_back() {
    let records = records(300);
    let parts = RecordContents { key: KeySpec::parse("src_addr,vlan").unwrap(), ..RecordContents::default() };
    let wanted = ReadProjection {
        members: vec!["src_addr"],
        columns: vec![RowValue::Bytes],
        ..ReadProjection::default()
    };
    for format in Format::ALL {
        let mut file = of_bytes(*format, written(*format, &Selection::new(&parts), &records)).unwrap();
        assert!(file.contents().key.columns().any(|member| member == "src_addr"), "{format:?}");
        let given = given(&mut file, &wanted);
        let addresses: u64 = given.rows.iter().map(|(_, values)| values[0]).fold(0, u64::wrapping_add);
        let keyed = records.iter().filter(|record| record.key.is_some());
        assert_eq!(addresses, keyed.map(|record| record.total_byte).fold(0, u64::wrapping_add), "{format:?}");
    }
}

/// The prefix of an address in a key comes back, so that no longer one is asked for. IPFIX has the lengths in its records, as routers have those of routes.
#[test]
fn prefixes_of_keys_come_back() {
    let key = KeySpec::parse("src_addr/24/48,dst_port").unwrap();
    let selection = Selection::new(&RecordContents { key, ..RecordContents::default() });
    for format in [Format::Csv, Format::JsonLines, Format::Parquet] {
        let file = of_bytes(format, written(format, &selection, &records(20))).unwrap();
        assert_eq!(file.contents().key, key, "{format:?}");
    }
}

/// Numbers that look random and come again.
fn random(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let x = (*state ^ *state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb)
}

#[test]
fn damaged_files_give_an_error_or_other_rows() {
    let selection = Selection::new(&sample::parts());
    let records = records(60);
    let wanted = everything();
    let state = &mut 1;
    for format in Format::ALL {
        let whole = written(*format, &selection, &records);
        let (rows, _) = expected(&records, &wanted);
        let mut errors = 0;
        for turn in 0..300 {
            let mut bytes = whole.clone();
            if turn % 3 == 0 {
                bytes.truncate(random(state) as usize % whole.len());
            }
            for _ in 0..turn % 4 {
                let at = random(state) as usize % bytes.len().max(1);
                if let Some(byte) = bytes.get_mut(at) {
                    *byte ^= 1 << (random(state) % 8);
                }
            }
            let is_changed = bytes != whole;
            match of_bytes(*format, bytes) {
                Err(error) => {
                    assert!(!error.to_string().contains('\n'), "{error}");
                    errors += 1;
                }
                Ok(mut file) => {
                    let given = given(&mut file, &wanted);
                    assert!(given.rows.len() <= 40 * rows.len(), "{format:?}: {} rows", given.rows.len());
                    if *format == Format::Parquet && given.error.is_none() {
                        // Its checksums find whatever is damaged of what is read.
                        let mut found = given.rows.clone();
                        found.sort();
                        assert!(found == rows, "turn {turn}: other rows without a word");
                    }
                    if let Some(error) = &given.error {
                        assert!(
                            is_changed && error.is_damage() && !error.to_string().contains('\n'),
                            "{error}"
                        );
                        errors += 1;
                    }
                }
            }
        }
        assert!(errors > 90, "{format:?}: {errors}");
    }
}

#[test]
fn a_file_that_ends_early_gives_the_rows_before() {
    let records = records(500);
    let wanted = everything();
    let (rows, _) = expected(&records, &wanted);
    for format in [Format::Csv, Format::JsonLines, Format::Ipfix] {
        let mut bytes = written(format, &Selection::new(&sample::parts()), &records);
        bytes.truncate(bytes.len() - 20);
        let given = given(&mut of_bytes(format, bytes).unwrap(), &wanted);
        assert!(given.error.is_some_and(|error| error.is_damage()), "{format:?}");
        assert!(given.rows.iter().all(|row| rows.binary_search(row).is_ok()), "{format:?}");
        assert!(format == Format::Ipfix || given.rows.len() + 2 >= rows.len() - 50, "{format:?}");
    }
}
