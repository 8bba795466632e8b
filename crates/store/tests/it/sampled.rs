//! Samples: each window keeps its share, with rows and without, and so do rollups; rows that nothing scales are not stored.

use crate::tool::*;
use flow::{Sampled, Share, TrackedParts};
use record::WindowFacts;
use record::read::FlowFile;
use store::{Level, NodeSetting};

fn share(percent: u32) -> Share {
    Share::from_ppm(percent * 10_000).expect("a share")
}

/// What is known of a window of a sample.
fn facts(percent: u32) -> WindowFacts {
    let sampled = Sampled::new(share(percent), 5, 0, 1500);
    WindowFacts { lost: Some(0), sample: Some(sampled.into()), ..WindowFacts::default() }
}

fn of_sample(percent: u32) -> NodeSetting {
    let usual = setting("n", SECOND, TrackedParts::PLAIN);
    NodeSetting { is_live: false, selection: usual.selection.clone().with_share(share(percent)), ..usual }
}

/// The shares of all windows of a level, and how many windows had frames.
fn shares(folder: &std::path::Path, level: Level) -> (Vec<[Share; 2]>, u64) {
    let (mut shares, mut with_frames) = (Vec::new(), 0);
    for file in files(folder, level) {
        let file = FlowFile::open(&file.path).expect("a file");
        for (_, count, facts) in file.contents().windows.as_ref().expect("a list").each() {
            let sample = facts.sample.expect("a sample");
            with_frames += if sample.has_frames() { count } else { 0 };
            shares.push(sample.shares);
        }
    }
    shares.sort_unstable();
    shares.dedup();
    (shares, with_frames)
}

#[test]
fn windows_and_rollups_keep_their_shares() {
    let folder = tempfile::tempdir().expect("a folder");
    // Two runs of a minute within one hour, and one in the next.
    for (percent, begin) in [(20, START), (50, START + 120 * SECOND), (50, START + HOUR)] {
        let store = open(folder.path(), "rows=1y,1min=1y,1h=1y,flows=0,size=1G");
        let (mut rows, _) = store.node(of_sample(percent));
        for (window, empty_before) in [(begin, 0), (begin + 59 * SECOND, 58)] {
            let (v4, v6) = rows_of(1, window, SECOND, 5);
            assert_eq!(rows.write_v4(window, &v4) + rows.write_v6(window, &v6), 0);
            rows.close(window, facts(percent), empty_before);
        }
        rows.finish();
        assert_eq!(store.close(false).rows.lost(), 0);
    }
    let apart = vec![[share(20); 2], [share(50); 2]];
    assert_eq!(shares(folder.path(), Level::Rows), (apart.clone(), 6));
    assert_eq!(shares(folder.path(), Level::Minute), (apart, 3));
    assert_eq!(shares(folder.path(), Level::Hour), (vec![[share(20), share(50)]], 1));
}

#[test]
fn rows_of_a_window_that_is_never_closed_are_not_stored() {
    let folder = tempfile::tempdir().expect("a folder");
    for (setting, stored) in [(setting("n", SECOND, TrackedParts::PLAIN), true), (of_sample(20), false)] {
        let store = open(folder.path(), "flows=0,size=1G");
        let (mut rows, _) = store.node(setting);
        let (v4, _) = rows_of(1, START, SECOND, 5);
        assert_eq!(rows.write_v4(START, &v4), 0);
        rows.finish();
        let counts = store.close(false).rows;
        let expected = if stored { (v4.len() as u64, 0) } else { (0, v4.len() as u64) };
        assert_eq!((counts.stored, counts.lost()), expected);
    }
}
