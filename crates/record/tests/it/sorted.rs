//! Sorted copies: all rows of all files, each once, in order, and what the files tell of them.

use flow::{BatchRows, FlowRecord, LossCounts, RowValue, Rows, TrackedParts, Untold, WindowRow, row_columns};
use packet::{KeySpec, KeyV4, KeyV6, MaskedKey};
use record::read::{FlowFile, ReadProjection, ValueRange};
use record::{
    CopyError, RecordContents, RecordedWindows, RowOrder, RowParts, RowWindow, RowWriter, Selection,
    Shortfall, WindowFacts, sorted_copy,
};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

const SECOND: u64 = 1_000_000_000;
const START: u64 = 1_795_341_600 * SECOND;

fn mixed(number: u64) -> u64 {
    let mut x = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ x >> 31
}

fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("edison-sorted-{}-{name}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    folder
}

fn row<K>(key: K, of: u64) -> WindowRow<K> {
    WindowRow {
        key,
        packets: of % 1000,
        bytes: of % 1_000_000,
        wire_bytes: of >> 20,
        first_ns: START + of % SECOND,
        last_ns: START + of % (9 * SECOND),
        tcp_seq: of as u32,
        tcp_ack: (of >> 7) as u32,
        tcp_win: (of >> 9) as u16,
        vlan: if of & 3 == 0 { 12 } else { WindowRow::<K>::NO_VLAN },
        tcp_flags: of as u8,
        ip_ttl: (of >> 8) as u8,
        ip_tos: (of >> 16) as u8,
        macs: if of & 1 == 0 { [0; 12] } else { [7; 12] },
        headers: flow::HeaderValues::NONE,
    }
}

/// A file of rows whose numbers are given, of windows that the numbers tell.
fn write(path: &Path, numbers: std::ops::Range<u64>, windows: u64, tracked: flow::TrackedParts) {
    let mut writer =
        RowWriter::create_stored(path, "n", KeySpec::FIVE_TUPLE, tracked, RowParts::ALL).expect("a file");
    let mut list = RecordedWindows::new(10 * SECOND, 10 * SECOND);
    for window in 0..windows {
        let start_ns = START + window * 10 * SECOND;
        let (mut v4, mut v6) = (Rows::default(), Rows::default());
        for number in numbers.clone().filter(|number| mixed(*number) % windows == window) {
            let of = mixed(number ^ 1 << 40);
            let a = of.to_be_bytes();
            let ports = [a[0], a[1], a[2], a[3]];
            if number % 5 == 0 {
                let mut address = [0x20; 16];
                address[8..].copy_from_slice(&a);
                v6.push(row(KeyV6::new(&address, &[0x30; 16], ports, 17), of), None);
            } else {
                let key = KeyV4::new([10, a[4], a[5], a[6], 10, a[7] & 3, a[0], a[1]], ports, 6);
                let loss = LossCounts {
                    ploss_byte: of % 7,
                    rtt_count: 3,
                    rtt_min_ns: 5,
                    rtt_sum_ns: of % 900 + 15,
                    ..LossCounts::default()
                };
                v4.push(row(key, of), Some(&loss));
            }
        }
        let window = RowWindow { start_ns, end_ns: start_ns + 10 * SECOND };
        writer.write(window, &v4).and_then(|()| writer.write(window, &v6)).expect("it is written");
        list.push(start_ns, WindowFacts { lost: Some(1), ..WindowFacts::default() });
    }
    writer.describe_without_place(1, 20, 34);
    writer.describe_windows(&list).expect("a list");
    writer.finish().expect("it ends");
}

type Found = (u64, Vec<u8>, Vec<u64>);

/// All rows with all columns, in their order, and what the file tells.
fn read(path: &Path) -> (Vec<Found>, record::read::Contents) {
    let mut file = FlowFile::open(path).unwrap_or_else(|error| panic!("{error}"));
    let contents = file.contents().clone();
    let mut columns = row_columns(contents.tracked);
    if contents.tracked.loss {
        columns.push(RowValue::RttAvg);
    }
    let wanted = ReadProjection {
        members: contents.key.columns().collect(),
        columns: columns.clone(),
        statistics: Vec::new(),
        ..Default::default()
    };
    let mut found = Vec::new();
    for part in 0..contents.parts.len() {
        file.read_part(part, &wanted, &mut |block| {
            let bytes = |words: &[u64]| words.iter().flat_map(|word| word.to_ne_bytes()).collect();
            for (at, key) in block.v4.keys.iter().enumerate() {
                let values = columns.iter().map(|column| block.v4.column(*column)[at]).collect();
                found.push((
                    BatchRows::new(&block.v4, TrackedParts::PLAIN).time(at),
                    bytes(key.words()),
                    values,
                ));
            }
            for (at, key) in block.v6.keys.iter().enumerate() {
                let values = columns.iter().map(|column| block.v6.column(*column)[at]).collect();
                found.push((
                    BatchRows::new(&block.v6, TrackedParts::PLAIN).time(at),
                    bytes(key.words()),
                    values,
                ));
            }
            true
        })
        .unwrap_or_else(|error| panic!("{error}"));
    }
    (found, contents)
}

/// More rows in a window than are read together, which is 262,144, and in all.
#[test]
fn a_copy_has_all_rows_once_in_order() {
    for (name, files, rows, windows) in [("few", 3, 200, 7), ("many", 3, 88_000, 1), ("some", 2, 132_000, 4)]
    {
        let folder = folder(name);
        let inputs: Vec<PathBuf> = (0..files).map(|at| folder.join(format!("{at}.parquet"))).collect();
        let mut all = Vec::new();
        for (at, path) in inputs.iter().enumerate() {
            let first = at as u64 * rows;
            write(path, first..first + rows, windows, TrackedParts::LOSS);
            all.extend(read(path).0);
        }
        let output = folder.join("all.parquet");
        let copied =
            sorted_copy(&inputs, &output, RowOrder::Windows, &AtomicBool::new(false)).expect("a copy");
        assert_eq!((copied.rows, copied.left.len()), (files as u64 * rows, 0));
        let (mut found, contents) = read(&output);
        assert_eq!(contents.rows, Some(copied.rows));
        // The ranges of row groups tell the order: windows first, then destinations.
        let range = |part: &record::read::FilePart, name: &str| {
            let found = part.ranges.iter().find(|(field, _)| *field == name);
            found.and_then(|(_, range)| {
                if let ValueRange::Addresses(least, most) = range { Some([*least, *most]) } else { None }
            })
        };
        for pair in contents.parts.windows(2) {
            let [one, other] = [&pair[0], &pair[1]].map(|part| part.times.expect("times"));
            assert!(one[1] <= other[0]);
            if one == other {
                let [one, other] = [&pair[0], &pair[1]].map(|part| range(part, "dst_addr").expect("a range"));
                assert!(one[1] <= other[0], "{name}");
            }
        }
        let list = contents.windows.expect("a list");
        assert_eq!(list.ends(), Some([START, START + (windows - 1) * 10 * SECOND]));
        assert_eq!(list.since(0).expect("a window").1.lost, Some(files as u64));
        let without = contents.without_place.expect("sums");
        assert_eq!(
            [without.packets, without.bytes, without.wire_bytes],
            [files as u64, 20 * files as u64, 34 * files as u64]
        );
        found.sort();
        all.sort();
        assert!(found == all, "{name}");
        std::fs::remove_dir_all(&folder).expect("removed");
    }
}

#[test]
fn what_cannot_be_copied_is_named_and_leaves_nothing() {
    let folder = folder("wrong");
    let path = |name: &str| folder.join(name);
    write(&path("a.parquet"), 0..50, 2, TrackedParts::LOSS);
    write(&path("b.parquet"), 50..90, 2, TrackedParts::PLAIN);
    let output = path("all.parquet");
    let go = AtomicBool::new(false);
    let inputs = [path("a.parquet"), path("b.parquet")];
    let copied = sorted_copy(&inputs, &output, RowOrder::Windows, &go).expect("a copy of the first");
    assert_eq!((copied.rows, copied.left), (50, vec![path("b.parquet")]));
    std::fs::remove_file(&output).expect("removed");

    let stopped = sorted_copy(&inputs, &output, RowOrder::Windows, &AtomicBool::new(true));
    assert_eq!(stopped, Err(CopyError::Stopped));
    let bytes = std::fs::read(path("a.parquet")).expect("bytes");
    std::fs::write(path("cut.parquet"), &bytes[..bytes.len() - 9]).expect("written");
    let mut changed = bytes;
    changed[4..44].fill(0xff);
    std::fs::write(path("changed.parquet"), changed).expect("written");
    std::fs::write(path("empty.parquet"), "").expect("written");
    for name in ["cut.parquet", "changed.parquet", "empty.parquet", "none.parquet"] {
        let failed = sorted_copy(&[path("a.parquet"), path(name)], &output, RowOrder::Windows, &go);
        let Err(CopyError::Damaged(named, line)) = failed else { panic!("{name}: {failed:?}") };
        assert_eq!(named, path(name));
        assert!(line.starts_with(&path(name).display().to_string()), "{line}");
        assert!(!output.exists() && !path("all.parquet.part").exists());
    }
    let failed = sorted_copy(&inputs, &path("none/all.parquet"), RowOrder::Windows, &go);
    assert!(matches!(failed, Err(CopyError::Output(_))), "{failed:?}");
    let failed = sorted_copy(&inputs, &output, RowOrder::Times, &AtomicBool::new(false));
    assert!(failed.is_ok(), "rows have that column, too: {failed:?}");
    std::fs::remove_dir_all(&folder).expect("removed");
}

/// Returns numbers of packets, segments and records that did not tell a value, multiplied by `times`.
fn untold(times: u64) -> Untold {
    let mut untold = Untold::default();
    let numbers = [("cut_ports", 1), ("cut_tcp", 20), ("unparsed_segments", 300), ("ip_ttl", 7)];
    assert!(numbers.into_iter().all(|(name, number)| untold.add_named(name, number * times)));
    untold
}

#[test]
fn records_of_a_store_are_as_in_other_files_and_are_copied_by_time() {
    let folder = folder("records");
    let address = |of: u64, v6: bool| -> std::net::IpAddr {
        if v6 {
            [0x2001, 0xdb8, 0, 0, 0, 0, 0, of as u16].into()
        } else {
            [10, 0, (of >> 8) as u8, of as u8].into()
        }
    };
    let records: Vec<FlowRecord> = (0..3000)
        .map(|number| {
            let of = mixed(number);
            let v6 = of.is_multiple_of(4);
            let key = (number != 7).then(|| {
                flow::FlowKey::five_tuple((address(of, v6), of as u16), (address(of >> 8, v6), 443), 6)
            });
            FlowRecord {
                key,
                total_count: 1 + of % 9,
                ..FlowRecord::without_packets(START, START + of % (5000 * SECOND))
            }
        })
        .collect();
    let selection = Selection::new(&RecordContents::default());
    let inputs = [folder.join("0.parquet"), folder.join("1.parquet")];
    let watched = [[START - SECOND, START + 7 * SECOND], [START, START + 9000 * SECOND]];
    for ((path, records), watched) in inputs.iter().zip(records.chunks(1700)).zip(watched) {
        let mut writer = record::create_stored(path, "n", &selection).expect("a file");
        writer.write(records).expect("it is written");
        writer.add_shortfall(&Shortfall {
            lost: 3,
            reason: Some("cut off".to_owned()),
            untold: untold(1),
            estimates: Some("estimates: 1 of 2 records".to_owned()),
            watched: Some(watched),
        });
        writer.finish().expect("it ends");
    }
    let plain = folder.join("plain.parquet");
    let mut writer = record::create(&plain, "n", &selection).expect("a file");
    writer.write(&records).expect("it is written");
    writer.finish().expect("it ends");
    let output = folder.join("all.parquet");
    let copied = sorted_copy(&inputs, &output, RowOrder::Times, &AtomicBool::new(false)).expect("a copy");
    assert_eq!(copied.rows, 3000);
    let (mut found, contents) = read(&output);
    // What both lack.
    let lacks = Shortfall {
        lost: 6,
        reason: Some("cut off".to_owned()),
        untold: untold(2),
        estimates: Some(record::WindowFacts::ESTIMATES.to_owned()),
        watched: Some([START - SECOND, START + 9000 * SECOND]),
    };
    assert_eq!(contents.shortfall, lacks);
    let (mut expected, of_plain) = read(&plain);
    assert_eq!(
        (contents.key, &contents.node, &contents.fields),
        (of_plain.key, &of_plain.node, &of_plain.fields)
    );
    assert!(found.windows(2).filter(|pair| pair[0].1.len() == pair[1].1.len()).count() > 2000);
    let last: Vec<u64> = found.iter().filter(|row| row.1.len() == 16).map(|row| row.0).collect();
    // Blocks have rows of IPv4 before those of IPv6.
    assert!(last.is_sorted());
    found.sort();
    expected.sort();
    assert_eq!((found.len(), found == expected), (2999, true));
    std::fs::remove_dir_all(&folder).expect("removed");
}
