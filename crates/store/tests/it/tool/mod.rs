//! Rows that follow from numbers, a store that is fed with them, and what is found in it.

use flow::{BatchRows, FlowRecord, LossCounts, Rows, WindowRow, row_columns};
use packet::{KeySpec, KeyV4, KeyV6, MaskedKey};
use record::read::{FlowFile, ReadProjection};
use record::{RecordContents, Selection, WindowFacts};
use std::collections::BTreeMap;
use std::path::Path;
use store::{Catalog, Level, NodeSetting, RowFeed, StoreRetention, StoreWriter, StoredFile};

pub(crate) const SECOND: u64 = 1_000_000_000;
pub(crate) const HOUR: u64 = 3600 * SECOND;
/// 2026-11-22 10:00:00 UTC.
pub(crate) const START: u64 = 1_795_341_600 * SECOND;

/// A number that looks random, of others.
pub(crate) fn mixed(numbers: &[u64]) -> u64 {
    numbers.iter().fold(0x1234_5678, |state, number| {
        let mut x = (state ^ number).wrapping_add(0x9e37_79b9_7f4a_7c15);
        x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ x >> 31
    })
}

/// A row as it is compared: family, key in bytes, what it counts, times, flags, and losses where they are tracked.
pub(crate) type Found = (u8, Vec<u8>, [u64; 3], [u64; 2], u8, Option<[u64; 3]>);
/// Rows by their windows, sorted.
pub(crate) type Windows = BTreeMap<u64, Vec<Found>>;

fn row<K>(key: K, window: u64, length: u64, of: u64) -> WindowRow<K> {
    let first = window + of % (length / 2);
    WindowRow {
        packets: 1 + of % 100,
        bytes: 40 + of % 100_000,
        wire_bytes: 54 + of % 110_000,
        tcp_seq: of as u32,
        tcp_ack: (of >> 32) as u32,
        tcp_win: of as u16,
        tcp_flags: (of >> 8) as u8,
        ip_ttl: 64,
        macs: [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, (of % 3) as u8],
        ..WindowRow::without_packets(key, first, first + of / 7 % (length / 2))
    }
}

/// The rows of a window: `count` of IPv4 and a third as many of IPv6, of few hosts with many ports.
pub(crate) fn rows_of(seed: u64, window: u64, length: u64, count: u64) -> (Rows<KeyV4>, Rows<KeyV6>) {
    let (mut v4, mut v6) = (Rows::default(), Rows::default());
    for number in 0..count {
        let of = mixed(&[seed, window, number]);
        let host = |of: u64| [10, 0, (of % 3) as u8, (of % 5) as u8];
        let [s, d] = [host(of >> 4), host(of >> 9)];
        // Ports make each key differ.
        let ports = [(number >> 8) as u8, number as u8, 0, 80];
        let protocol = if of & 1 == 0 { 6 } else { 17 };
        let key = KeyV4::new([s[0], s[1], s[2], s[3], d[0], d[1], d[2], d[3]], ports, protocol);
        let loss = LossCounts {
            ploss_byte: of % 1000,
            ploss_count: (of % 10) as u32,
            rtt_count: 2,
            rtt_min_ns: 1 + of % 77,
            rtt_sum_ns: 5 + of % 500,
            ..LossCounts::default()
        };
        v4.push(row(key, window, length, of), (protocol == 6).then_some(&loss));
        if number % 3 == 0 {
            let address = |of: u64| {
                let mut bytes = [0x20; 16];
                bytes[15] = (of % 7) as u8;
                bytes
            };
            v6.push(row(KeyV6::new(&address(of), &address(of >> 3), ports, 17), window, length, of), None);
        }
    }
    (v4, v6)
}

fn found<K: MaskedKey>(family: u8, row: &WindowRow<K>, loss: Option<&LossCounts>) -> Found {
    let key = row.key.words().iter().flat_map(|word| word.to_ne_bytes()).collect();
    let loss = loss.map(|loss| [loss.ploss_byte, loss.ploss_count.into(), loss.rtt_min_ns]);
    (family, key, [row.packets, row.bytes, row.wire_bytes], [row.first_ns, row.last_ns], row.tcp_flags, loss)
}

/// The rows as they are to be found.
pub(crate) fn expected(
    seed: u64,
    window: u64,
    length: u64,
    count: u64,
    tracked: flow::TrackedParts,
) -> Vec<Found> {
    let (v4, v6) = rows_of(seed, window, length, count);
    let mut all: Vec<_> =
        (0..v4.len()).map(|at| found(4, &v4.rows[at], v4.loss(at).filter(|_| tracked.loss))).collect();
    all.extend((0..v6.len()).map(|at| found(6, &v6.rows[at], None)));
    all.sort();
    all
}

/// The same merged by keys without ports, of windows of another length.
pub(crate) fn summed(windows: &Windows, length: u64) -> Windows {
    let mut sums: BTreeMap<(u64, u8, Vec<u8>), Found> = BTreeMap::new();
    for (window, rows) in windows {
        for row in rows {
            let mut key = row.1.clone();
            let rest = key.len() - 8;
            key[rest..rest + 4].fill(0);
            let of = (window - window % length, row.0, key.clone());
            let Some(sum) = sums.get_mut(&of) else {
                sums.insert(of, (row.0, key, row.2, row.3, row.4, row.5));
                continue;
            };
            (0..3).for_each(|at| sum.2[at] += row.2[at]);
            sum.3 = [sum.3[0].min(row.3[0]), sum.3[1].max(row.3[1])];
            sum.4 |= row.4;
            sum.5 = match (sum.5, row.5) {
                (Some(a), Some(b)) => Some([a[0] + b[0], a[1] + b[1], a[2].min(b[2])]),
                (one, other) => one.or(other),
            };
        }
    }
    let mut windows = Windows::new();
    sums.into_iter().for_each(|((window, ..), row)| windows.entry(window).or_default().push(row));
    windows.values_mut().for_each(|rows| rows.sort());
    windows
}

/// The rows of files, by window.
pub(crate) fn read(files: &[StoredFile]) -> Windows {
    let mut windows = Windows::new();
    for stored in files {
        let mut file = FlowFile::open(&stored.path).unwrap_or_else(|error| panic!("{error}"));
        let contents = file.contents().clone();
        assert_eq!(contents.key.parts().join(","), stored.key);
        assert_eq!(contents.node.as_deref(), Some(stored.node.as_str()));
        assert_eq!(contents.rows, Some(stored.rows), "{}", stored.path.display());
        assert_eq!(std::fs::metadata(&stored.path).expect("a file").len(), stored.bytes);
        let wanted = ReadProjection {
            members: contents.key.columns().collect(),
            columns: row_columns(contents.tracked),
            statistics: Vec::new(),
            ..Default::default()
        };
        let mut times: Option<[u64; 2]> = None;
        for part in 0..contents.parts.len() {
            let read = file.read_part(part, &wanted, &mut |block| {
                let (v4, v6) = (
                    BatchRows::new(&block.v4, contents.tracked),
                    BatchRows::new(&block.v6, contents.tracked),
                );
                let mut put = |time: u64, found| {
                    let [first, last] = times.unwrap_or([time; 2]);
                    times = Some([first.min(time), last.max(time)]);
                    windows.entry(time).or_default().push(found);
                };
                for at in 0..v4.len() {
                    let (row, loss) = v4.row(at);
                    put(v4.time(at), found(4, &row, loss.filter(|_| v4.has_losses(at)).as_ref()));
                }
                for at in 0..v6.len() {
                    put(v6.time(at), found(6, &v6.row(at).0, None));
                }
                true
            });
            read.unwrap_or_else(|error| panic!("{error}"));
        }
        if let Some([first, last]) = times {
            assert!(stored.first_ns <= first && last <= stored.last_ns, "{stored:?}");
        }
    }
    windows.values_mut().for_each(|rows| rows.sort());
    windows
}

/// The files of a level.
pub(crate) fn files(folder: &Path, level: Level) -> Vec<StoredFile> {
    Catalog::open(folder).and_then(|catalog| catalog.files(level, None)).expect("a list")
}

/// Everything in a rollup, with what is not in it yet of the levels below.
pub(crate) fn covered(folder: &Path, level: Level) -> Windows {
    let length = level.window_ns().expect("a rollup");
    let mut all = Windows::new();
    let mut add = |windows: Windows| {
        for (window, rows) in summed(&windows, length) {
            all.entry(window).or_default().extend(rows);
        }
    };
    add(read(&files(folder, level)));
    let below = if level == Level::Hour { &[Level::Minute, Level::Rows][..] } else { &[Level::Rows] };
    for below in below {
        let waiting: Vec<_> = files(folder, *below).into_iter().filter(|file| !file.is_rolled).collect();
        add(read(&waiting));
    }
    summed(&all, length)
}

/// All files below a folder, but for those of the manifest and the lock.
pub(crate) fn on_disk(folder: &Path) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    let mut folders: Vec<_> = Level::ALL.iter().map(|level| folder.join(level.folder())).collect();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() { folders.push(path) } else { found.push(path) }
        }
    }
    found.sort();
    found
}

/// All files that the manifest names.
pub(crate) fn named(folder: &Path) -> Vec<std::path::PathBuf> {
    let mut named: Vec<_> =
        Level::ALL.iter().flat_map(|level| files(folder, *level)).map(|file| file.path).collect();
    named.sort();
    named
}

pub(crate) fn setting(node: &str, window_ns: u64, tracked: flow::TrackedParts) -> NodeSetting {
    NodeSetting {
        node: node.to_owned(),
        source: Some("source".to_owned()),
        key: KeySpec::FIVE_TUPLE,
        window_ns,
        default_ns: window_ns,
        tracked,
        has_wire_bytes: true,
        selection: Selection::new(&RecordContents::default()),
        anonymizer: None,
        is_live: true,
        waits: true,
    }
}

pub(crate) fn keep(text: &str) -> StoreRetention {
    text.parse().expect("a good text")
}

/// Feeds a window.
pub(crate) fn feed(feed: &mut RowFeed, seed: u64, window: u64, length: u64, count: u64) {
    let (v4, v6) = rows_of(seed, window, length, count);
    assert_eq!(feed.write_v4(window, &v4) + feed.write_v6(window, &v6), 0);
    feed.close(window, WindowFacts { lost: Some(window / length % 3), ..WindowFacts::default() }, 0);
}

/// Opens a store.
pub(crate) fn open(folder: &Path, text: &str) -> StoreWriter {
    StoreWriter::open(folder, keep(text), StoreWriter::QUEUE_BYTES).expect("a store")
}

/// A flow record that follows from numbers.
pub(crate) fn record(seed: u64, number: u64, ltime: u64) -> FlowRecord {
    let of = mixed(&[seed, number]);
    let address = |of: u64| std::net::IpAddr::from([10, 1, (of >> 8) as u8, of as u8]);
    FlowRecord {
        key: Some(flow::FlowKey::five_tuple((address(of), of as u16), (address(of >> 20), 443), 6)),
        total_count: 1 + of % 50,
        total_byte: 100 + of % 5000,
        ..FlowRecord::without_packets(ltime - of % SECOND, ltime)
    }
}
