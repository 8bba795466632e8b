//! Silences of stories: what they cover, what they count, how they end, and that they outlive their process.

use archive::{Archive, ArchiveChanges, ArchiveRetention, FiringCause, Silence};
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
fn of_a_story_of_two_keys_each_firing_is_judged_by_its_own() {
    let mut archive = Archive::in_memory(ArchiveRetention::default()).expect("an archive");
    archive.commit(&story(vec![fired("e1", "scan", 22, None)])).expect("it is written");
    archive.silence("e1", Some(silence(now() + HOUR)), now()).expect("it is written");
    // The first of them is that of the silent story, the second that of another key; and what follows from each, over some steps.
    let other = vec![
        fired("a1", "scan", 22, None),
        fired("b1", "scan", 80, None),
        fired("a2", "who", 7, Some("a1")),
        fired("b2", "who", 7, Some("b1")),
        fired("a3", "where", 7, Some("a2")),
        fired("b3", "where", 7, Some("b2")),
        // That from which it follows is not kept.
        fired("c2", "scan", 22, Some("c1")),
    ];
    archive.commit(&story(other.clone())).expect("it is written");
    let is_silent = |event: &&Event| archive.silent_until(event, now()).expect("it is read").is_some();
    let silent: Vec<&str> = other.iter().filter(is_silent).map(|event| &*event.event).collect();
    assert_eq!((silent, count(&archive, "e1")), (vec!["a1", "a2", "a3"], 3));
    assert_eq!(archive.root_cause("b3"), Ok(Some(FiringCause::from_event(&other[1]))));
    assert_eq!((archive.root_cause("c2"), archive.root_cause("none")), (Ok(None), Ok(None)));
    // The other way round: of a story that begins with another key the firing of the silent one is silent.
    let other = vec![fired("y1", "scan", 80, None), fired("y2", "scan", 22, None)];
    archive.commit(&story(other.clone())).expect("it is written");
    let until = |event: &Event| archive.silent_until(event, now()).expect("it is read");
    assert_eq!((until(&other[0]).is_some(), until(&other[1]).is_some()), (false, true));
    // The silent story is silent as a whole.
    archive.silence("y1", Some(silence(now() + HOUR)), now()).expect("it is written");
    let mut more = other;
    more.push(fired("y3", "scan", 81, None));
    archive.commit(&story(more.clone())).expect("it is written");
    assert!(archive.silent_until(&more[2], now()).expect("it is read").is_some());
    assert_eq!(count(&archive, "y1"), 1);
}

#[test]
fn of_a_chain_that_is_too_long_nothing_is_silent() {
    let mut archive = Archive::in_memory(ArchiveRetention::default()).expect("an archive");
    archive.commit(&story(vec![fired("e0", "scan", 22, None)])).expect("it is written");
    archive.silence("e0", Some(silence(now() + HOUR)), now()).expect("it is written");
    let name = |number: u64| format!("f{number}");
    let parent = |number: u64| (number != 0).then(|| name(number - 1));
    let chain = (0..70).map(|number| fired(&name(number), "scan", 22, parent(number).as_deref()));
    let chain: Vec<Event> = chain.collect();
    archive.commit(&story(chain.clone())).expect("it is written");
    let is_silent = |event: &Event| archive.silent_until(event, now()).expect("it is read").is_some();
    assert_eq!((is_silent(&chain[63]), is_silent(&chain[64])), (true, false));
}

#[test]
fn it_is_shown_of_all_stories_that_it_covers_and_one_that_holds_first() {
    let mut archive = Archive::in_memory(ArchiveRetention::default()).expect("an archive");
    let begins = |archive: &mut Archive, name: &str, at_ns: u64| {
        let event = Event { at_ns, ..fired(name, "scan", 22, None) };
        archive.commit(&story(vec![event.clone()])).expect("it is written");
        event
    };
    let by = |archive: &Archive, story: &str| {
        archive.silenced_by(story).expect("it is read").map(|own| (own.story, own.silence.holds(now())))
    };
    let some = |story: &str, holds: bool| Some((story.to_owned(), holds));
    // One that began long before the silence of another one is silent by it: so are its events.
    let old = begins(&mut archive, "old", now() - 9 * HOUR);
    begins(&mut archive, "e1", now());
    archive.silence("e1", Some(silence(now() + HOUR)), now()).expect("it is written");
    assert!(archive.silent_until(&old, now()).expect("it is read").is_some());
    assert_eq!(by(&archive, "old"), some("e1", true));
    // Its own that has ended does not hide that of the other, and its own that holds is before it.
    archive.silence("old", Some(silence(now() + HOUR)), now()).expect("it is written");
    assert_eq!(by(&archive, "old"), some("old", true));
    archive.silence("old", None, now()).expect("it is written");
    assert_eq!(by(&archive, "old"), some("e1", true));
    // None holds any more: its own is shown, and of others those in which it began.
    archive.silence("e1", None, now()).expect("it is written");
    assert_eq!(by(&archive, "old"), some("old", false));
    begins(&mut archive, "within", now() - HOUR / 2);
    begins(&mut archive, "before", now() - 5 * HOUR);
    assert_eq!(by(&archive, "within").map(|(_, holds)| holds), Some(false));
    assert_eq!(by(&archive, "before"), None);
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
