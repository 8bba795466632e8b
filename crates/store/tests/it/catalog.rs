//! The manifest and its readers.

use std::path::Path;
use store::{Catalog, Level, Manifest, ManifestChange, StoredFile};

const SECOND: u64 = 1_000_000_000;
const START: u64 = 1_795_342_500 * SECOND;

fn file(manifest: &mut Manifest, level: Level, node: &str, first_ns: u64, windows: u64) -> StoredFile {
    let number = manifest.take_number();
    StoredFile {
        number,
        path: manifest.folder().join(store::place(level, node, first_ns, number)),
        level,
        node: node.to_owned(),
        first_ns,
        last_ns: first_ns + (windows - 1) * 10 * SECOND,
        window_ns: 10 * SECOND,
        rows: 100 + number,
        bytes: 1_000,
        key: "src_addr,dst_addr,protocol".to_owned(),
        created_ns: START,
        is_compacted: false,
        is_rolled: false,
    }
}

fn listed(catalog: &Catalog, level: Level, period: Option<std::ops::Range<u64>>) -> Vec<u64> {
    catalog.files(level, period).expect("a list").into_iter().map(|file| file.number).collect()
}

#[test]
fn readers_see_what_is_committed_while_the_writer_is_active() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut manifest = Manifest::open(folder.path()).expect("a manifest");
    let catalog = Catalog::open(folder.path()).expect("a catalog");
    assert_eq!(catalog.nodes(), Ok(Vec::new()));
    let added = vec![
        file(&mut manifest, Level::Rows, "b", START + 10 * SECOND, 1),
        file(&mut manifest, Level::Rows, "a", START, 2),
        file(&mut manifest, Level::Flows, "a", START, 1),
    ];
    manifest
        .commit(&ManifestChange { added: added.clone(), ..ManifestChange::default() })
        .expect("it is written");
    assert_eq!(catalog.files(Level::Rows, None), Ok(vec![added[1].clone(), added[0].clone()]));
    assert_eq!(catalog.nodes(), Ok(vec!["a".to_owned(), "b".to_owned()]));
    assert_eq!(listed(&catalog, Level::Flows, None), [3]);
    assert_eq!(listed(&catalog, Level::Hour, None), Vec::<u64>::new());

    let minute = file(&mut manifest, Level::Minute, "a", START, 1);
    let change = ManifestChange {
        added: vec![minute],
        removed: vec![3],
        rolled: vec![2],
        until: vec![(Level::Minute, "a".to_owned(), START + 60 * SECOND)],
        ..ManifestChange::default()
    };
    manifest.commit(&change).expect("it is written");
    assert_eq!(listed(&catalog, Level::Flows, None), Vec::<u64>::new());
    let rolled = catalog.files(Level::Rows, None).expect("a list");
    assert_eq!(rolled.iter().map(|file| file.is_rolled).collect::<Vec<_>>(), [true, false]);
    assert_eq!(catalog.complete_until(Level::Minute, "a"), Ok(Some(START + 60 * SECOND)));
    assert_eq!(catalog.complete_until(Level::Minute, "b"), Ok(None));
    // It does not become less.
    let until = vec![(Level::Minute, "a".to_owned(), START)];
    manifest.commit(&ManifestChange { until, ..ManifestChange::default() }).expect("it is written");
    assert_eq!(catalog.complete_until(Level::Minute, "a"), Ok(Some(START + 60 * SECOND)));
}

#[test]
fn a_period_has_the_files_whose_windows_are_in_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut manifest = Manifest::open(folder.path()).expect("a manifest");
    let added = (0..6).map(|n| file(&mut manifest, Level::Rows, "a", START + n * 60 * SECOND, 6)).collect();
    manifest.commit(&ManifestChange { added, ..ManifestChange::default() }).expect("it is written");
    let catalog = Catalog::open(folder.path()).expect("a catalog");
    let of = |from: u64, to: u64| listed(&catalog, Level::Rows, Some(START + from..START + to));
    assert_eq!(of(0, 1), [1]);
    assert_eq!(of(0, 60 * SECOND), [1]);
    assert_eq!(of(0, 60 * SECOND + 1), [1, 2]);
    assert_eq!(of(60 * SECOND - 1, 60 * SECOND), [1]);
    assert_eq!(of(60 * SECOND, 61 * SECOND), [2]);
    assert_eq!(of(359 * SECOND, 1_000 * SECOND), [6]);
    assert_eq!(of(360 * SECOND, 1_000 * SECOND), Vec::<u64>::new());
    assert_eq!(listed(&catalog, Level::Rows, Some(0..u64::MAX)), [1, 2, 3, 4, 5, 6]);
}

#[test]
fn several_questions_are_about_one_moment() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut manifest = Manifest::open(folder.path()).expect("a manifest");
    let first = file(&mut manifest, Level::Rows, "a", START, 1);
    manifest
        .commit(&ManifestChange { added: vec![first], ..ManifestChange::default() })
        .expect("it is written");
    let catalog = Catalog::open(folder.path()).expect("a catalog");
    let lists = catalog.at_once(|catalog| {
        let rows = listed(catalog, Level::Rows, None);
        let added = vec![file(&mut manifest, Level::Minute, "a", START, 1)];
        manifest
            .commit(&ManifestChange { added, removed: vec![1], ..ManifestChange::default() })
            .expect("it is written");
        Ok((rows, listed(catalog, Level::Minute, None)))
    });
    assert_eq!(lists, Ok((vec![1], Vec::new())));
    assert_eq!(listed(&catalog, Level::Minute, None), [2]);
}

#[test]
fn numbers_of_files_do_not_come_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut manifest = Manifest::open(folder.path()).expect("a manifest");
    let added = vec![file(&mut manifest, Level::Rows, "a", START, 1)];
    manifest.commit(&ManifestChange { added, ..ManifestChange::default() }).expect("it is written");
    manifest
        .commit(&ManifestChange { removed: vec![1], ..ManifestChange::default() })
        .expect("it is written");
    manifest.close();
    drop(manifest);
    let mut manifest = Manifest::open(folder.path()).expect("a manifest");
    assert_eq!(manifest.take_number(), 2);
}

#[test]
fn entries_of_the_last_writer_are_known_from_its_begin_on() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut manifest = Manifest::open(folder.path()).expect("a manifest");
    let entry = store::WatchedTime {
        number: 1,
        run: 1,
        node: "a".to_owned(),
        by: Some(store::MeasurementKind::Live),
        first_ns: START,
        end_ns: START + SECOND,
        why: store::Unstored::Killed,
    };
    let catalog = Catalog::open(folder.path()).expect("a catalog");
    assert_eq!(catalog.last_writer(), Ok(1));
    manifest
        .commit(&ManifestChange { watched: vec![entry], ..ManifestChange::default() })
        .expect("it is written");
    assert_eq!(catalog.last_writer(), Ok(1));
    drop(manifest);
    let manifest = Manifest::open(folder.path()).expect("a manifest");
    assert_eq!((catalog.last_writer(), catalog.is_right()), (Ok(2), Ok(true)));
    drop(manifest);
    // What was damaged is so afterwards, too.
    let connection = rusqlite::Connection::open(folder.path().join("manifest.sqlite")).expect("it opens");
    connection.execute_batch("UPDATE watched SET end_ns = 1").expect("changed");
    drop(connection);
    assert_eq!(catalog.is_right(), Ok(false));
    drop(Manifest::open(folder.path()).expect("a manifest"));
    assert_eq!((catalog.last_writer(), catalog.is_right()), (Ok(2), Ok(false)));
}

#[test]
fn a_store_has_one_writer() {
    let folder = tempfile::tempdir().expect("a folder");
    let first = Manifest::open(folder.path()).expect("a manifest");
    let refused = Manifest::open(folder.path()).expect_err("it is locked");
    let expected = format!(
        "{}: another process writes this store: stop it, or name another folder",
        folder.path().display()
    );
    assert_eq!(refused, expected);
    // A reader is no writer.
    Catalog::open(folder.path()).expect("a catalog");
    drop(first);
    Manifest::open(folder.path()).expect("it is free");
}

#[test]
fn what_is_no_store_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let of = |path: &Path| Catalog::open(path).expect_err("no store");
    assert!(of(&folder.path().join("none")).ends_with("none: no such folder: name that of a store"));
    assert!(of(folder.path()).contains("is no store: it has no manifest.sqlite"));
    let manifest = folder.path().join("manifest.sqlite");
    std::fs::write(&manifest, "").expect("a file");
    assert!(of(folder.path()).contains("is empty"));
    std::fs::write(&manifest, "no database at all, but long enough to be one, if it were: ".repeat(40))
        .expect("a file");
    assert!(of(folder.path()).contains("is no manifest of a store"));
    let refused = Manifest::open(folder.path()).expect_err("no manifest");
    assert!(refused.contains("is no manifest of a store"), "{refused}");
    std::fs::remove_file(&manifest).expect("removed");
    rusqlite::Connection::open(&manifest)
        .and_then(|c| c.execute_batch("CREATE TABLE t (x)"))
        .expect("a database");
    assert!(Manifest::open(folder.path()).expect_err("foreign").contains("is no manifest of a store"));
    std::fs::remove_file(&manifest).expect("removed");
    drop(Manifest::open(folder.path()).expect("a manifest"));
    let change = |sql: &str| {
        rusqlite::Connection::open(&manifest).and_then(|c| c.execute_batch(sql)).expect("changed");
    };
    change("PRAGMA user_version = 3");
    assert!(of(folder.path()).contains("of format 3, this version knows 2"));
}

#[test]
fn a_path_that_leads_elsewhere_is_not_listed() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut manifest = Manifest::open(folder.path()).expect("a manifest");
    let mut added: Vec<_> = (0..4).map(|_| file(&mut manifest, Level::Rows, "a", START, 1)).collect();
    added[1].path = folder.path().join("rows/../../x.parquet");
    added[2].path = "/etc/x.parquet".into();
    added[3].path = folder.path().join("flows/x.parquet");
    manifest.commit(&ManifestChange { added, ..ManifestChange::default() }).expect("it is written");
    let catalog = Catalog::open(folder.path()).expect("a catalog");
    assert_eq!(listed(&catalog, Level::Rows, None), [1]);
}

/// A store of the version before this one: it opens, and of what it has nothing is known of the times between.
#[test]
fn a_manifest_of_the_version_before_is_read_and_taken_over() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut manifest = Manifest::open(folder.path()).expect("a manifest");
    let added = vec![
        file(&mut manifest, Level::Rows, "a", START, 6),
        file(&mut manifest, Level::Rows, "b", START, 2),
        file(&mut manifest, Level::Flows, "c", START, 2),
    ];
    manifest
        .commit(&ManifestChange { added: added.clone(), ..ManifestChange::default() })
        .expect("it is written");
    drop(manifest);
    let connection = rusqlite::Connection::open(folder.path().join("manifest.sqlite")).expect("it opens");
    connection.execute_batch("DROP TABLE watched; PRAGMA user_version = 1;").expect("the version before");
    drop(connection);
    let catalog = Catalog::open(folder.path()).expect("a catalog");
    assert_eq!(catalog.watched(), Ok(None));
    assert_eq!(catalog.files(Level::Rows, None), Ok(added[..2].to_vec()));
    // A writer takes it over while it is read.
    let manifest = Manifest::open(folder.path()).expect("a manifest");
    let watched = catalog.watched().expect("a list").expect("it is noted");
    let of: Vec<_> =
        watched.iter().map(|one| (one.node.as_str(), one.by, one.first_ns, one.end_ns)).collect();
    let unknown = Some(store::MeasurementKind::Unknown);
    let end = |windows: u64| START + windows * 10 * SECOND;
    assert_eq!(of, [("a", unknown, START, end(6)), ("b", unknown, START, end(2))]);
    drop(manifest);
    drop(Manifest::open(folder.path()).expect("it is of this version"));
    assert_eq!(catalog.watched(), Ok(Some(watched)));
}
