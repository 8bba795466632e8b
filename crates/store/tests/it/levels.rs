//! Segments, compaction and rollups against an oracle.

use crate::tool::*;
use flow::TrackedParts;
use record::read::FlowFile;
use store::{Catalog, Level};

/// Two hours and a half of two nodes.
#[test]
fn every_level_has_what_was_measured() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let length = 60 * SECOND;
    let store = open(folder, "rows=1y,1min=1y,1h=1y,size=1G");
    let nodes = [("north", TrackedParts::ALL), ("south/2", TrackedParts::PLAIN)];
    let mut feeds: Vec<_> =
        nodes.iter().map(|(node, tracked)| store.node(setting(node, length, *tracked)).0).collect();
    let mut truth = [Windows::new(), Windows::new()];
    for number in 0..150 {
        let window = START + number * length;
        for (at, (_, tracked)) in nodes.iter().enumerate() {
            let count = mixed(&[number, at as u64]) % 60;
            feed(&mut feeds[at], at as u64, window, length, count);
            let rows = expected(at as u64, window, length, count, *tracked);
            if !rows.is_empty() {
                truth[at].insert(window, rows);
            }
        }
    }
    feeds.into_iter().for_each(|feed| feed.finish());
    let counts = store.close(false);
    assert_eq!(store.remarks(), Vec::<String>::new());
    let rows: usize = truth.iter().flat_map(|truth| truth.values()).map(Vec::len).sum();
    assert_eq!((counts.rows.stored, counts.rows.lost(), counts.failed_upkeep), (rows as u64, 0, 0));
    assert_eq!(named(folder), on_disk(folder));

    let catalog = Catalog::open(folder).expect("a catalog");
    assert_eq!(catalog.nodes(), Ok(vec!["north".to_owned(), "south/2".to_owned()]));
    for (at, (node, _)) in nodes.iter().enumerate() {
        let of_node = |level| {
            let mut found = files(folder, level);
            found.retain(|file| file.node == *node);
            found
        };
        let rows = of_node(Level::Rows);
        assert_eq!(read(&rows), truth[at]);
        // Two hours are over, and half an hour is in segments.
        assert_eq!(rows.iter().filter(|file| file.is_compacted).count(), 2);
        assert_eq!(rows.len(), 2 + 30);
        assert!(rows.iter().all(|file| file.is_rolled));

        let minutes = of_node(Level::Minute);
        // An hour that is over is one file, of one pass or of several.
        assert_eq!(minutes.iter().filter(|file| file.first_ns < START + 2 * HOUR).count(), 2);
        assert!(minutes.iter().all(|file| file.key == "src_addr,dst_addr,protocol"));
        assert_eq!(read(&minutes), summed(&truth[at], 60 * SECOND));
        let until = catalog.complete_until(Level::Minute, node).expect("read");
        assert_eq!(until, Some(START + 150 * length));

        let hours = of_node(Level::Hour);
        assert_eq!((hours.len(), hours[0].window_ns), (2, HOUR));
        let mut complete = summed(&truth[at], HOUR);
        complete.retain(|window, _| *window < START + 2 * HOUR);
        assert_eq!(read(&hours), complete);
        assert_eq!(catalog.complete_until(Level::Hour, node), Ok(Some(START + 2 * HOUR)));
        for file in rows.iter().filter(|file| file.is_compacted) {
            check_order(file);
        }
        // What is known of windows is known of the longer ones.
        let list =
            FlowFile::open(&hours[0].path).expect("a file").contents().windows.clone().expect("a list");
        let (start, facts) = list.since(0).expect("a window");
        assert_eq!((start, facts.lost, facts.watched), (START, Some(60), None));
    }
    let both: Vec<_> = [Level::Minute, Level::Hour].iter().map(|level| covered(folder, *level)).collect();
    let mut all = Windows::new();
    truth.iter().flatten().for_each(|(window, rows)| all.entry(*window).or_default().extend(rows.clone()));
    assert_eq!(both, [summed(&all, 60 * SECOND), summed(&all, HOUR)]);
}

/// Rows of a compacted file are by window, then destination.
fn check_order(stored: &store::StoredFile) {
    let mut file = FlowFile::open(&stored.path).expect("a file");
    let wanted = record::read::ReadProjection {
        members: vec!["dst_addr", "src_addr"],
        columns: vec![flow::RowValue::Time],
        statistics: Vec::new(),
        ..Default::default()
    };
    let mut last = None;
    for part in 0..file.contents().parts.len() {
        file.read_part(part, &wanted, &mut |block| {
            let keys = block.v4.keys.iter().map(packet::MaskedKey::addresses);
            for (time, [source, destination]) in block.v4.column(flow::RowValue::Time).iter().zip(keys) {
                let now = Some((*time, destination, source));
                assert!(last <= now);
                last = now;
            }
            true
        })
        .expect("it is read");
    }
    assert!(last.is_some());
}

/// Windows shorter than a minute, and lengths that divide no minute, or no hour.
#[test]
fn windows_of_any_length_are_stored() {
    for (length, windows, levels) in [
        (SECOND, 130, [0, 2, 0]),
        (7 * SECOND, 20, [0, 0, 0]),
        (300 * SECOND, 13, [0, 0, 1]),
        (2 * HOUR, 2, [0, 0, 0]),
    ] {
        let folder = tempfile::tempdir().expect("a folder");
        let store = open(folder.path(), "rows=1y,size=1G");
        let (mut rows, _) = store.node(setting("n", length, TrackedParts::PLAIN));
        let mut truth = Windows::new();
        let start = START - START % length;
        for number in 0..windows {
            let window = start + number * length;
            feed(&mut rows, 1, window, length, 5);
            truth.insert(window, expected(1, window, length, 5, TrackedParts::PLAIN));
        }
        rows.finish();
        let counts = store.close(false);
        assert_eq!((counts.rows.stored, counts.failed_upkeep), (windows * 7, 0), "{length}");
        assert_eq!(read(&files(folder.path(), Level::Rows)), truth);
        let made = [Level::Minute, Level::Hour].map(|level| read(&files(folder.path(), level)).len());
        assert_eq!(made, levels[1..], "{length}");
        for level in
            [Level::Minute, Level::Hour].into_iter().filter(|level| level.window_ns() >= Some(length))
        {
            assert_eq!(covered(folder.path(), level), summed(&truth, level.window_ns().expect("a rollup")));
        }
    }
}

/// Records of three hours, not in order.
#[test]
fn flow_records_are_stored_by_the_hour_of_their_end() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = open(folder.path(), "size=1G,rows=1y,flows=1y");
    let (rows, flows) = store.node(setting("n", 10 * SECOND, TrackedParts::PLAIN));
    let mut flows = flows.expect("they are stored");
    let time = |number: u64| START + number * 7 * SECOND + mixed(&[number]) % (60 * SECOND);
    for block in 0..15 {
        let records: Vec<_> = (0..100).map(|n| block * 100 + n).map(|n| record(3, n, time(n))).collect();
        flows.write(&records).expect("it is taken");
    }
    rows.finish();
    assert_eq!(flows.finish().expect("it ends").dropped, 0);
    let counts = store.close(false);
    assert_eq!((counts.flows.stored, counts.flows.lost()), (1500, 0));
    let files = files(folder.path(), Level::Flows);
    let mut found = Vec::new();
    for stored in &files {
        let hour = stored.first_ns / HOUR;
        let name = stored.path.display().to_string();
        assert!(name.contains(&format!("flows/date=2026-11-22/hour={:02}/node=n/", hour % 24)), "{name}");
        let mut file = FlowFile::open(&stored.path).expect("a file");
        assert!(!file.contents().has_windows);
        let wanted = record::read::ReadProjection {
            members: vec!["src_addr", "src_port"],
            columns: vec![flow::RowValue::Last, flow::RowValue::Packets],
            statistics: Vec::new(),
            ..Default::default()
        };
        for part in 0..file.contents().parts.len() {
            file.read_part(part, &wanted, &mut |block| {
                let of = |value| block.v4.column(value).iter();
                let numbers = of(flow::RowValue::Last).zip(of(flow::RowValue::Packets));
                for (key, (last, packets)) in block.v4.keys.iter().zip(numbers) {
                    assert_eq!(last / HOUR, hour);
                    found.push((packet::MaskedKey::addresses(key)[0], *last, *packets));
                }
                true
            })
            .expect("it is read");
        }
    }
    let mut truth: Vec<_> = (0..1500)
        .map(|n| record(3, n, time(n)))
        .map(|r| match r.key.and_then(|key| key.src_addr) {
            Some(std::net::IpAddr::V4(address)) => {
                (address.to_ipv6_mapped().to_bits(), r.ltime, r.total_count)
            }
            _ => panic!("a key of IPv4"),
        })
        .collect();
    found.sort_unstable();
    truth.sort_unstable();
    assert_eq!(found, truth);
}
