//! Silences of stories: what they cover, what they count, how they end, and that they outlive their process.

use archive::{Archive, ArchiveChanges, ArchiveRetention, Silence};
use model::{Column, ColumnKind, Event, EventKind, Item, Story, Value};
use rusqlite::Connection;
use std::time::{SystemTime, UNIX_EPOCH};

const HOUR: u64 = 3_600_000_000_000;

fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).expect("a time");
    u64::try_from(since.as_nanos()).expect("a time")
}

/// A firing of a query for a port.
fn fired(name: &str, query: &str, port: u64, parent: Option<&str>) -> Event {
    Event {
        event: name.to_owned(),
        kind: EventKind::Fired,
        query: query.to_owned(),
        fired_by: None,
        key: vec![Item {
            column: Column::new("dst_port", ColumnKind::Unsigned, ""),
            value: Value::Unsigned(port),
        }],
        node: Some("Node1".to_owned()),
        at_ns: now(),
        window: None,
        values: Vec::new(),
        threshold: None,
        late: false,
        coverage: None,
        bounds: None,
        parent: parent.map(str::to_owned),
        title: None,
    }
}

/// The events, in a story of the first of them.
fn story(events: Vec<Event>) -> ArchiveChanges {
    let story = Story {
        id: events[0].event.clone(),
        text: "t".to_owned(),
        events: events.iter().map(|event| event.event.clone()).collect(),
        ..Story::default()
    };
    ArchiveChanges { events, stories: vec![story], ..ArchiveChanges::default() }
}

fn silence(until_ns: u64) -> Silence {
    let (by, note) = (Some("alice".to_owned()), "a test".to_owned());
    Silence { at_ns: now() - HOUR, until_ns, by, note, fired: 0 }
}

fn count(archive: &Archive, story: &str) -> u64 {
    archive.silences().iter().find(|own| own.story == story).expect("a silence").silence.fired
}

#[test]
fn it_covers_a_story_and_those_that_begin_as_it_did_and_is_kept() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("archive.db");
    let open = || Archive::open(&path, ArchiveRetention::default()).expect("an archive");
    let mut archive = open();
    archive.commit(&story(vec![fired("e1", "scan", 22, None)])).expect("it is written");
    archive.commit(&story(vec![fired("x1", "scan", 80, None)])).expect("it is written");
    assert_eq!(archive.silence("e1", None, now()), Ok(None), "nothing is silent yet");
    let until = now() + HOUR;
    let set = archive.silence("e1", Some(silence(until)), now()).expect("it is written").expect("a silence");
    assert_eq!((set.until_ns, set.fired), (until, 0));
    // What came before is not counted. Of what comes: a step of the story, and a story that begins as it did.
    let step = fired("e2", "who", 7, Some("e1"));
    archive.commit(&story(vec![fired("e1", "scan", 22, None), step.clone()])).expect("it is written");
    archive
        .commit(&story(vec![fired("f1", "scan", 22, None), fired("f2", "who", 9, Some("f1"))]))
        .expect("it is written");
    archive.commit(&story(vec![fired("x2", "scan", 81, None)])).expect("it is written");
    assert_eq!(count(&archive, "e1"), 3);
    // An event that is stored again is the same one.
    archive.commit(&story(vec![fired("f1", "scan", 22, None)])).expect("it is written");
    assert_eq!(count(&archive, "e1"), 3);
    drop(archive);
    let mut archive = open();
    let until_of = |archive: &Archive, event: &Event| archive.silent_until(event, now()).expect("it is read");
    assert_eq!(until_of(&archive, &step), Some(until));
    assert_eq!(until_of(&archive, &fired("f2", "who", 9, Some("f1"))), Some(until));
    assert_eq!(until_of(&archive, &fired("x1", "scan", 80, None)), None);
    let of_story =
        |archive: &Archive, story: &str| archive.silence_of(story).expect("it is read").map(|own| own.fired);
    assert_eq!(["e1", "f1", "x1"].map(|story| of_story(&archive, story)), [Some(3), Some(3), None]);
    let listed = archive.stories(10).expect("a listing");
    let silent: Vec<_> =
        listed.iter().filter(|entry| entry.silence.is_some()).map(|entry| &*entry.story.id).collect();
    assert_eq!(silent, ["f1", "e1"]);
    let mut names = archive.event_names("e1").expect("it is read");
    names.sort();
    assert_eq!(names, ["e1", "e2"]);
    // It goes on counting where it was.
    archive.commit(&story(vec![fired("g1", "scan", 22, None)])).expect("it is written");
    assert_eq!(count(&archive, "e1"), 4);
    // A longer one is the same one; one that is ended ends now, and keeps its count.
    archive.silence("e1", Some(silence(until + HOUR)), now()).expect("it is written");
    assert_eq!(count(&archive, "e1"), 4);
    let ended = archive.silence("e1", None, now()).expect("it is written").expect("a silence");
    assert!(ended.until_ns <= now() && ended.fired == 4);
    assert_eq!(until_of(&archive, &step), None);
    archive.commit(&story(vec![fired("h1", "scan", 22, None)])).expect("it is written");
    assert_eq!(count(&archive, "e1"), 4);
    // A new one counts anew.
    archive.silence("e1", Some(silence(now() + HOUR)), now()).expect("it is written");
    assert_eq!(count(&archive, "e1"), 0);
    assert_eq!(archive.damaged(), 0);
}

#[test]
fn it_ends_by_itself() {
    let mut archive = Archive::in_memory(ArchiveRetention::default()).expect("an archive");
    let event = fired("e1", "scan", 22, None);
    archive.commit(&story(vec![event.clone()])).expect("it is written");
    let at = now();
    archive.silence("e1", Some(silence(at + HOUR)), at).expect("it is written");
    assert_eq!(archive.silent_until(&event, at + HOUR - 1), Ok(Some(at + HOUR)));
    assert_eq!(archive.silent_until(&event, at + HOUR), Ok(None));
    // One that is over counts nothing.
    archive.silence("e1", Some(silence(at - 1)), at).expect("it is written");
    archive.commit(&story(vec![fired("f1", "scan", 22, None)])).expect("it is written");
    assert_eq!(count(&archive, "e1"), 0);
    // A story that begins behind its end is not silent, though it began so.
    assert_eq!(archive.silence_of("f1").map(|own| own.is_some()), Ok(false));
}

#[test]
fn as_many_are_kept_as_fit_and_a_damaged_one_is_none() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("archive.db");
    let mut archive = Archive::open(&path, ArchiveRetention::default()).expect("an archive");
    let at = now();
    for number in 0..1_002 {
        archive.silence(&format!("e{number}"), Some(silence(at + number)), at).expect("it is written");
    }
    assert_eq!(archive.silences().len(), 1_000);
    assert!(
        archive.silences().iter().all(|own| !["e0", "e1"].contains(&&*own.story)),
        "those that end first"
    );
    drop(archive);
    let database = Connection::open(&path).expect("a database");
    let count: i64 =
        database.query_row("SELECT count(*) FROM silences", [], |row| row.get(0)).expect("a number");
    assert_eq!(count, 1_000);
    database.execute("UPDATE silences SET body = '{' WHERE story = 'e7'", []).expect("a row");
    drop(database);
    let archive = Archive::open(&path, ArchiveRetention::default()).expect("an archive");
    assert_eq!((archive.silences().len(), archive.damaged()), (999, 1));
}

#[test]
fn an_archive_of_the_version_before_becomes_one_of_this() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("archive.db");
    let mut archive = Archive::open(&path, ArchiveRetention::default()).expect("an archive");
    archive.commit(&story(vec![fired("e1", "scan", 22, None)])).expect("it is written");
    drop(archive);
    let database = Connection::open(&path).expect("a database");
    database.execute("DROP TABLE silences", []).expect("a table");
    database.pragma_update(None, "user_version", 3).expect("it is set");
    drop(database);
    let mut archive = Archive::open(&path, ArchiveRetention::default()).expect("an archive");
    archive.silence("e1", Some(silence(now() + HOUR)), now()).expect("it is written");
    assert_eq!(archive.stories(1).expect("a listing")[0].silence.as_ref().map(|own| own.fired), Some(0));
}
