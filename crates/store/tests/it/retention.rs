//! What is dropped, and what stays.

use crate::tool::*;
use flow::TrackedParts;
use std::path::Path;
use store::{Catalog, Level, StoreWriter};

fn write(store: &StoreWriter, node: &str, windows: std::ops::Range<u64>, length: u64, count: u64) {
    let (mut rows, _) = store.node(setting(node, length, TrackedParts::PLAIN));
    windows.for_each(|number| feed(&mut rows, 7, START + number * length, length, count));
    rows.finish();
}

fn bytes(folder: &Path) -> u64 {
    let of = |path: &Path| std::fs::metadata(path).map_or(0, |file| file.len());
    let own = ["manifest.sqlite", "manifest.sqlite-wal", "manifest.sqlite-shm"];
    let own: u64 = own.iter().map(|name| of(&folder.join(name))).sum();
    on_disk(folder).iter().map(|path| of(path)).sum::<u64>() + own
}

#[test]
fn each_level_has_an_age_of_its_own() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = open(folder.path(), "rows=30min,flows=30min,1min=2h,1h=1y,size=1G");
    let length = 300 * SECOND / 5;
    write(&store, "n", 0..240, length, 4);
    let counts = store.close(false);
    assert_eq!(counts.rows.stored, 240 * 6);
    assert!(counts.aged > 0 && counts.squeezed == 0, "{counts:?}");
    assert_eq!(named(folder.path()), on_disk(folder.path()));
    let end = START + 240 * length;
    let rows = files(folder.path(), Level::Rows);
    assert!(rows.iter().all(|file| file.last_ns + length > end - HOUR / 2), "{rows:?}");
    // A compacted file, of an hour, goes when its last window is too old.
    let of = |level| read(&files(folder.path(), level));
    assert!((30..=60).contains(&of(Level::Rows).len()), "{rows:?}");
    let first = of(Level::Minute).keys().next().copied().expect("minutes");
    assert!((end - 3 * HOUR..=end - 2 * HOUR).contains(&first));
    assert_eq!(read(&files(folder.path(), Level::Hour)).len(), 4);
}

#[test]
fn the_size_holds_and_rollups_outlive_rows() {
    let folder = tempfile::tempdir().expect("a folder");
    let most = 16 << 20;
    let store = open(folder.path(), "rows=1y,1min=1y,1h=1y,flows=0,size=16MiB");
    let length = 60 * SECOND;
    let (mut rows, flows) = store.node(setting("n", length, TrackedParts::PLAIN));
    assert!(flows.is_none());
    let mut greatest = 0;
    for number in 0..90 {
        feed(&mut rows, 7, START + number * length, length, 8_000);
        greatest = greatest.max(bytes(folder.path()));
        // Rows that are dropped before they are rolled up are in no rollup: a replay is as fast as it can.
        let until = || Catalog::open(folder.path())?.complete_until(Level::Minute, "n");
        while until().expect("read").unwrap_or(START) + 20 * length < START + number * length {
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
    }
    rows.finish();
    let counts = store.close(false);
    greatest = greatest.max(bytes(folder.path()));
    assert!(counts.squeezed > 0, "{counts:?}");
    assert!(counts.bytes > most / 4, "{counts:?}");
    // What is being written when it is looked at comes on top: a segment.
    assert!(greatest <= most + (2 << 20), "{greatest}");
    assert!(bytes(folder.path()) <= most);
    assert_eq!(named(folder.path()), on_disk(folder.path()));
    let of = |level| read(&files(folder.path(), level)).len();
    assert!(of(Level::Rows) < 90, "{}", of(Level::Rows));
    assert_eq!(of(Level::Minute), 90);
}

#[test]
fn a_clock_that_is_set_back_an_hour_costs_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let length = 60 * SECOND;
    let mut truth = Windows::new();
    let mut put = |seed: u64, window: u64| {
        truth.entry(window).or_default().extend(expected(seed, window, length, 6, TrackedParts::PLAIN));
    };
    let store = open(folder.path(), "rows=1y,1min=1y,1h=1y,size=1G");
    let (mut rows, _) = store.node(setting("n", length, TrackedParts::PLAIN));
    // From 10:00 to 12:10, then from 11:10 on once more.
    for (seed, numbers) in [(0, 0..130), (1, 70..200)] {
        for window in numbers.map(|number| START + number * length) {
            feed(&mut rows, seed, window, length, 6);
            put(seed, window);
        }
    }
    rows.finish();
    let counts = store.close(false);
    assert_eq!((counts.rows.stored, counts.rows.lost(), counts.failed_upkeep), (260 * 8, 0, 0));
    truth.values_mut().for_each(|rows| rows.sort());
    assert_eq!(read(&files(folder.path(), Level::Rows)), truth);
    for level in [Level::Minute, Level::Hour] {
        assert_eq!(covered(folder.path(), level), summed(&truth, level.window_ns().expect("a rollup")));
    }
}

/// Records of these hours, one after the other, and the flow files that they are in.
fn stored_records(hours: &[u64], most_files: usize) {
    let folder = tempfile::tempdir().expect("a folder");
    let store = open(folder.path(), "rows=1y,flows=99y,size=1G");
    let (rows, flows) = store.node(setting("n", SECOND, TrackedParts::PLAIN));
    let mut flows = flows.expect("flows are stored");
    let records: Vec<_> =
        (0..).zip(hours).map(|(number, hour)| record(1, number, START + hour * HOUR)).collect();
    records.chunks(100).for_each(|some| flows.write(some).expect("a queue"));
    flows.finish().expect("an end");
    rows.finish();
    // Not compacted: it is how they were written.
    let counts = store.close(true);
    assert_eq!((counts.flows.stored, counts.flows.lost()), (hours.len() as u64, 0));
    let files = files(folder.path(), Level::Flows);
    assert!(files.len() <= most_files, "{} files", files.len());
    let mut found: Vec<u64> = Vec::new();
    for file in &files {
        let times = read(std::slice::from_ref(file)).into_iter();
        found.extend(times.flat_map(|(time, rows)| vec![time; rows.len()]));
    }
    found.sort_unstable();
    let mut expected: Vec<u64> = records.iter().map(|record| record.ltime).collect();
    expected.sort_unstable();
    assert_eq!(found, expected);
}

#[test]
fn records_of_hours_that_alternate_are_in_few_files() {
    let three: Vec<u64> = (0..20_000).map(|number| number % 3).collect();
    stored_records(&three, 4);
    // Each is later than all before it, as of an exporter whose clock runs away.
    let all: Vec<u64> = (0..3_000).collect();
    stored_records(&all, 2 + 64);
}
