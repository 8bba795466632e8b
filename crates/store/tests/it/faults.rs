//! Files that are not what they should be, disks that are full, and clocks.

use crate::tool::*;
use flow::TrackedParts;
use std::path::Path;
use store::{Level, Manifest, StoreWriter};

const LENGTH: u64 = 60 * SECOND;

fn write(store: &StoreWriter, windows: std::ops::Range<u64>) -> Windows {
    let (mut rows, _) = store.node(setting("n", LENGTH, TrackedParts::PLAIN));
    let mut truth = Windows::new();
    for window in windows.map(|number| START + number * LENGTH) {
        feed(&mut rows, 1, window, LENGTH, 6);
        truth.insert(window, expected(1, window, LENGTH, 6, TrackedParts::PLAIN));
    }
    rows.finish();
    truth
}

#[test]
fn a_damaged_file_is_named_and_the_others_go_on() {
    let folder = tempfile::tempdir().expect("a folder");
    let keep = "rows=1y,1min=1y,1h=1y,size=1G";
    // Without rollups, so that nothing was done with the rows before.
    let store = open(folder.path(), "rows=1y,1min=0,1h=0,size=1G");
    let mut truth = write(&store, 0..50);
    store.close(true);
    drop(store);
    let rows = files(folder.path(), Level::Rows);
    assert_eq!(rows.len(), 50);
    // One is cut, one has other bytes, one is gone, one is empty.
    let cut = std::fs::read(&rows[3].path).expect("bytes");
    std::fs::write(&rows[3].path, &cut[..cut.len() / 2]).expect("written");
    let mut changed = std::fs::read(&rows[7].path).expect("bytes");
    // The header of its first page.
    changed[4..44].fill(0xff);
    std::fs::write(&rows[7].path, changed).expect("written");
    std::fs::remove_file(&rows[11].path).expect("removed");
    std::fs::write(&rows[13].path, "").expect("written");
    let strange = rows[0].path.with_file_name("notes.txt");
    std::fs::write(&strange, "mine").expect("written");
    let left = rows[0].path.with_file_name("9999.parquet.part");
    std::fs::write(&left, "half").expect("written");

    let store = open(folder.path(), keep);
    assert!(strange.exists() && !left.exists());
    let more = write(&store, 50..125);
    let counts = store.close(false);
    let remarks = store.remarks().join("\n");
    let name = |at: usize| rows[at].path.file_name().expect("a name").to_string_lossy().into_owned();
    for said in [&name(3), &name(7), &name(11), &name(13), "notes.txt"] {
        assert!(remarks.contains(said), "{said}: {remarks}");
    }
    assert_eq!(counts.failed_upkeep, 0, "{remarks}");
    for at in [3, 7, 11, 13] {
        truth.remove(&rows[at].first_ns);
    }
    truth.extend(more);
    let mut stored = files(folder.path(), Level::Rows);
    stored.retain(|file| ![3, 7, 13].iter().any(|at| rows[*at].path == file.path));
    assert_eq!(read(&stored), truth);
    assert_eq!(read(&files(folder.path(), Level::Minute)), summed(&truth, 60 * SECOND));
    // Those that are damaged stay as they are.
    assert!(rows[3].path.exists() && rows[7].path.exists());
}

#[test]
fn a_short_run_without_packets_at_its_end_is_watched_up_to_its_end() {
    let now_ns = || {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        u64::try_from(since.expect("after 1970").as_nanos()).expect("before 2500")
    };
    let folder = tempfile::tempdir().expect("a folder");
    let store = open(folder.path(), "");
    let (mut rows, _) = store.node(setting("n", SECOND, TrackedParts::PLAIN));
    let window = now_ns() / SECOND * SECOND - 10 * SECOND;
    feed(&mut rows, 1, window, SECOND, 6);
    let ends = now_ns();
    rows.finish();
    store.close(true);
    let watched = store::Catalog::open(folder.path()).and_then(|catalog| catalog.watched());
    let watched = watched.expect("it is read").expect("it is noted");
    let [run] = &watched[..] else { panic!("{watched:?}") };
    assert_eq!((run.first_ns, run.why), (window, store::Unstored::Stopped));
    assert!((ends..=now_ns()).contains(&run.end_ns), "{run:?} ended at {ends}");
}

#[test]
fn a_store_of_another_writer_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let first = open(folder.path(), "");
    let refused =
        StoreWriter::open(folder.path(), keep(""), StoreWriter::QUEUE_BYTES).err().expect("it is locked");
    assert!(
        refused.ends_with("another process writes this store: stop it, or name another folder"),
        "{refused}"
    );
    drop(first);
    drop(open(folder.path(), ""));
    let file = folder.path().join("file");
    std::fs::write(&file, "").expect("written");
    let refused =
        StoreWriter::open(&file, keep(""), StoreWriter::QUEUE_BYTES).err().expect("it is no folder");
    assert!(refused.contains("file"), "{refused}");
}

/// Mounts a small file system of its own, if this process may.
struct Disk<'a>(&'a Path);

impl<'a> Disk<'a> {
    fn mount(path: &'a Path, size: &str) -> Option<Self> {
        let mut mount = std::process::Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", &format!("size={size}"), "tmpfs"]).arg(path);
        mount.status().is_ok_and(|status| status.success()).then_some(Self(path))
    }
}

impl Drop for Disk<'_> {
    fn drop(&mut self) {
        let _ = std::process::Command::new("umount").arg(self.0).status();
    }
}

#[test]
fn a_full_disk_costs_rows_that_are_counted_and_no_more() {
    let folder = tempfile::tempdir().expect("a folder");
    let Some(_disk) = Disk::mount(folder.path(), "8M") else {
        eprintln!("not as root, or without mount: no file system can be filled");
        return;
    };
    let store = open(folder.path(), "rows=1y,1min=1y,1h=1y,size=1G");
    // Another file fills it.
    let (mut rows, flows) = store.node(setting("n", LENGTH, TrackedParts::PLAIN));
    let mut flows = flows.expect("they are stored");
    let ballast = folder.path().join("ballast");
    let mut fed = 0;
    for number in 0..40 {
        feed(&mut rows, 1, START + number * LENGTH, LENGTH, 300);
        flows.write(&[record(1, number, START + number * LENGTH)]).expect("it is taken");
        fed += 400;
        if number == 9 {
            while store.counts().rows.stored < fed {
                std::thread::sleep(std::time::Duration::from_millis(5));
            }
            let _ = std::fs::write(&ballast, vec![1; 8 << 20]);
        }
        if number == 29 {
            while store.counts().rows.stored + store.counts().rows.lost() < fed {
                std::thread::sleep(std::time::Duration::from_millis(5));
            }
            std::fs::remove_file(&ballast).expect("removed");
        }
    }
    rows.finish();
    let delivery = flows.finish().expect("it ends");
    let counts = store.close(false);
    let remarks = store.remarks().join("\n");
    assert_eq!(counts.rows.stored + counts.rows.lost(), fed, "{counts:?}");
    assert!(counts.rows.refused >= 400, "{counts:?}");
    assert_eq!(counts.flows.stored + counts.flows.lost(), 40);
    assert_eq!(delivery.dropped, counts.flows.lost());
    assert!(remarks.contains("No space left on device"), "{remarks}");
    assert!(remarks.contains("takes what is measured again"), "{remarks}");
    let found = read(&files(folder.path(), Level::Rows));
    assert_eq!(found.values().map(|rows| rows.len() as u64).sum::<u64>(), counts.rows.stored);
    for (window, rows) in &found {
        assert_eq!(*rows, expected(1, *window, LENGTH, 300, TrackedParts::PLAIN));
    }
    let last = START + 39 * LENGTH;
    assert!(found.contains_key(&START) && found.contains_key(&last));
    assert_eq!(covered(folder.path(), Level::Minute), summed(&found, 60 * SECOND));
    drop(store);
    drop(Manifest::open(folder.path()).expect("it is free"));
    assert_eq!(on_disk(folder.path()), named(folder.path()));
}

/// A live source is not waited for.
#[test]
fn what_comes_faster_than_it_is_written_is_counted() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = open(folder.path(), "rows=1y,flows=0,size=1G");
    let (mut rows, _) =
        store.node(store::NodeSetting { waits: false, ..setting("n", LENGTH, TrackedParts::PLAIN) });
    let (v4, v6) = rows_of(1, START, LENGTH, 20_000);
    let (mut fed, mut lost) = (0, 0);
    // More than the queue holds at once.
    for _ in 0..60 {
        lost += rows.write_v4(START, &v4) + rows.write_v6(START, &v6);
        fed += (v4.len() + v6.len()) as u64;
    }
    rows.finish();
    let counts = store.close(true);
    assert_eq!((counts.rows.behind, counts.rows.refused), (lost, 0));
    assert_eq!(counts.rows.stored, fed - lost);
    assert!(lost > 0);
    let found = read(&files(folder.path(), Level::Rows));
    assert_eq!(found.values().map(Vec::len).sum::<usize>() as u64, counts.rows.stored);
}
