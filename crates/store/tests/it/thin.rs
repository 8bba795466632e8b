//! Long recordings with few packets: a window with one packet costs no file and no wait for the disk.

use crate::tool::*;
use flow::TrackedParts;
use record::WindowFacts;
use std::time::Instant;
use store::{Catalog, Level, MeasurementKind, NodeSetting, Unstored};

const HOURS: u64 = 12;

#[test]
fn a_recording_of_hours_with_few_packets_is_few_files() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = open(folder.path(), "rows=1y,1min=1y,1h=1y,flows=0,size=1G");
    let (mut rows, _) =
        store.node(NodeSetting { is_live: false, ..setting("n", SECOND, TrackedParts::PLAIN) });
    let mut truth = Windows::new();
    let began = Instant::now();
    // A window with packets every ten seconds.
    for window in (0..HOURS * 360).map(|number| START + number * 10 * SECOND) {
        let (v4, v6) = rows_of(1, window, SECOND, 1);
        assert_eq!(rows.write_v4(window, &v4) + rows.write_v6(window, &v6), 0);
        rows.close(window, WindowFacts::default(), if window == START { 0 } else { 9 });
        truth.insert(window, expected(1, window, SECOND, 1, TrackedParts::PLAIN));
    }
    rows.finish();
    let counts = store.close(false);
    let seconds = began.elapsed().as_secs();
    assert_eq!((counts.rows.stored, counts.rows.lost(), counts.failed_upkeep), (HOURS * 360 * 2, 0, 0));
    let rows = files(folder.path(), Level::Rows);
    assert_eq!(read(&rows), truth);
    assert_eq!(covered(folder.path(), Level::Minute), summed(&truth, 60 * SECOND));
    assert_eq!(covered(folder.path(), Level::Hour), summed(&truth, HOUR));
    // Of each hour one of rows and one of each rollup; more only where the machine took more than a second.
    let all: Vec<u64> =
        Level::ALL.iter().flat_map(|level| files(folder.path(), *level)).map(|file| file.number).collect();
    let most = all.into_iter().max().expect("files");
    assert!(most <= (HOURS + seconds) * 6, "{most} files were made in {seconds} s");
    let watched = Catalog::open(folder.path()).and_then(|catalog| catalog.watched());
    let watched = watched.expect("it is read").expect("it is noted");
    let [one] = &watched[..] else { panic!("{watched:?}") };
    let end = START + (HOURS * 360 - 1) * 10 * SECOND + SECOND;
    assert_eq!((one.by, one.first_ns, one.end_ns), (Some(MeasurementKind::Recorded), START, end));
    assert_eq!(one.why, Unstored::Stopped);
}
