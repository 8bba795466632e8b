//! Rows and records of a recording that come long before it is known that their windows are over: a writer that is killed at any instant has
//! stored nothing that it does not say to have watched.

use crate::tool::*;
use flow::TrackedParts;
use record::WindowFacts;
use std::path::Path;
use std::time::{Duration, Instant};
use store::{Catalog, Level};

const LENGTH: u64 = 60 * SECOND;
/// Windows of five hours.
const WINDOWS: u64 = 300;
const COUNT: u64 = 5;

/// Until when the store says that time was watched.
fn watched_until(folder: &Path) -> u64 {
    let watched = Catalog::open(folder).and_then(|catalog| catalog.watched());
    let watched = watched.expect("it is read").expect("it is noted");
    watched.iter().filter(|one| !one.is_begin()).map(|one| one.end_ns).max().unwrap_or(0)
}

#[test]
fn nothing_is_stored_that_is_not_told_to_be_watched() {
    let scratch = tempfile::tempdir().expect("a folder");
    let folder = scratch.path();
    let store = open(folder, "rows=9y,flows=9y,size=4G");
    let (mut feed, records) =
        store.node(store::NodeSetting { is_live: false, ..setting("n", LENGTH, TrackedParts::LOSS) });
    let mut records = records.expect("they are stored");
    let begin = |number: u64| START + number * LENGTH;
    for number in 0..WINDOWS {
        let (v4, v6) = rows_of(1, begin(number), LENGTH, COUNT);
        assert_eq!((feed.write_v4(begin(number), &v4), feed.write_v6(begin(number), &v6)), (0, 0));
        records.write(&[record(2, number, begin(number) + 1)]).expect("they are taken");
    }
    let mut looks = 0;
    for number in 0..WINDOWS {
        feed.close(begin(number), WindowFacts::default(), 0);
        if number % 30 != 17 {
            continue;
        }
        // Longer than it takes until files are named.
        let since = Instant::now();
        while since.elapsed() < Duration::from_millis(1_700) {
            std::thread::sleep(Duration::from_millis(50));
            // What is read first was stored no later.
            let named = [Level::Rows, Level::Flows].map(|level| files(folder, level));
            let until = watched_until(folder);
            for file in named.iter().flatten() {
                assert!(file.last_ns < until, "{:?} in {}", file.last_ns, file.path.display());
            }
            looks += named.iter().flatten().count();
        }
    }
    assert!(looks > 0, "nothing was named before the end");
    records.finish().expect("they are written");
    feed.finish();
    drop(store);
    let truth: Windows = (0..WINDOWS)
        .map(|number| (begin(number), expected(1, begin(number), LENGTH, COUNT, TrackedParts::LOSS)))
        .collect();
    assert!(read(&files(folder, Level::Rows)) == truth);
    assert_eq!(files(folder, Level::Flows).iter().map(|file| file.rows).sum::<u64>(), WINDOWS);
    assert_eq!(watched_until(folder), begin(WINDOWS));
}
