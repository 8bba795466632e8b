//! Acknowledgements are kept as long as their stories, also when these change.

use archive::{Acknowledgement, Archive, ArchiveChanges, ArchiveRetention};
use model::Story;
use rusqlite::Connection;

fn story(id: &str, text: &str) -> Story {
    Story {
        id: id.to_owned(),
        title: None,
        text: text.to_owned(),
        events: vec![id.to_owned()],
        events_unlisted: 2,
    }
}

fn seen(note: &str, events: u64) -> Acknowledgement {
    Acknowledgement {
        at_ns: 1_764_000_000_000_000_000,
        by: Some("alice".to_owned()),
        note: note.to_owned(),
        events,
    }
}

fn commit(archive: &mut Archive, stories: Vec<Story>) {
    archive.commit(&ArchiveChanges { stories, ..ArchiveChanges::default() }).expect("it is written");
}

#[test]
fn it_stays_with_the_story_and_goes_with_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("archive.db");
    let keep = ArchiveRetention { events: 2, ..ArchiveRetention::default() };
    let mut archive = Archive::open(&path, keep).expect("an archive");
    assert_eq!(archive.acknowledge("e1", Some(&seen("", 1))), Ok(false), "there is no such story");
    commit(&mut archive, vec![story("e1", "a"), story("e2", "b")]);
    assert_eq!(archive.acknowledgement("e1"), Ok(None));
    assert_eq!(archive.acknowledge("e1", Some(&seen("first\n\"x\"", 3))), Ok(true));
    assert_eq!(archive.acknowledge("e1", Some(&seen("second", u64::MAX))), Ok(true));
    // A story that grows is replaced.
    commit(&mut archive, vec![story("e1", "longer")]);
    drop(archive);
    let mut archive = Archive::open(&path, keep).expect("an archive");
    assert_eq!(archive.acknowledgement("e1"), Ok(Some(seen("second", u64::MAX))));
    let listed = archive.stories(10).expect("a listing");
    let listed: Vec<_> = listed.into_iter().map(|entry| (entry.story.text, entry.acknowledgement)).collect();
    assert_eq!(listed, [("b".to_owned(), None), ("longer".to_owned(), Some(seen("second", u64::MAX)))]);
    assert_eq!(archive.acknowledge("e1", None), Ok(true));
    assert_eq!(archive.acknowledgement("e1"), Ok(None));
    archive.acknowledge("e1", Some(&seen("third", 1))).expect("it is written");
    // The story makes room for others; one of its name that comes later is a new one.
    commit(&mut archive, vec![story("e3", "c")]);
    commit(&mut archive, vec![story("e1", "new")]);
    assert_eq!(archive.acknowledgement("e1"), Ok(None));
    assert_eq!(archive.damaged(), 0);
}

#[test]
fn what_is_damaged_is_as_if_nobody_had_seen_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("archive.db");
    let mut archive = Archive::open(&path, ArchiveRetention::default()).expect("an archive");
    commit(&mut archive, vec![story("e1", "a")]);
    drop(archive);
    let database = Connection::open(&path).expect("a database");
    database.execute("UPDATE stories SET acknowledgement = '{\"at\": 7}'", []).expect("a row");
    drop(database);
    let archive = Archive::open(&path, ArchiveRetention::default()).expect("an archive");
    assert_eq!(archive.acknowledgement("e1"), Ok(None));
    assert_eq!(archive.stories(10).expect("a listing")[0].acknowledgement, None);
    assert_eq!(archive.damaged(), 2);
}
