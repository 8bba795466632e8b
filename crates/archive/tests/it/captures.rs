//! The files of captures: what is kept of them, and that an archive of the version before them becomes one of this version.

use archive::{
    AnswerFilter, Archive, ArchiveChanges, ArchiveRetention, CaptureFileState, CaptureFilter, EndedCapture,
    EventFilter, MOST_CONTENT,
};
use model::{Answer, Capture, Column, ColumnKind, Item, Span, Value};
use rusqlite::Connection;
use std::path::Path;

fn ended(event: &str, content: Option<Vec<u8>>) -> EndedCapture {
    let capture = Capture {
        event: event.to_owned(),
        node: "Node1".to_owned(),
        file: Some(format!("{event}.Node1.pcapng")),
        ..Capture::default()
    };
    EndedCapture { capture, content }
}

fn contents(archive: &Archive) -> Vec<(String, CaptureFileState)> {
    let stored = archive.captures(&CaptureFilter::default()).expect("a listing").into_iter();
    stored.map(|stored| (stored.capture.event, stored.content)).collect()
}

#[test]
fn a_file_that_is_too_large_is_not_stored() {
    let mut archive = Archive::in_memory(ArchiveRetention::default()).expect("an archive");
    let captures =
        vec![ended("largest", Some(vec![7; MOST_CONTENT])), ended("larger", Some(vec![7; MOST_CONTENT + 1]))];
    archive.commit(&ArchiveChanges { captures, ..ArchiveChanges::default() }).expect("it is written");
    let expected =
        [("largest".to_owned(), CaptureFileState::Kept), ("larger".to_owned(), CaptureFileState::TooLarge)];
    assert_eq!(contents(&archive), expected);
    let (stored, content) = archive.capture("largest", "Node1").expect("it is read").expect("it is there");
    assert_eq!((stored.content, content), (CaptureFileState::Kept, vec![7; MOST_CONTENT]));
    assert!(archive.capture("larger", "Node1").expect("it is read").expect("it is there").1.is_empty());
    assert_eq!(archive.capture("largest", "Node2"), Ok(None));
}

#[test]
fn the_first_files_make_room_for_the_last() {
    let usual = ArchiveRetention::default();
    assert_eq!((usual.captures, usual.capture_bytes), (1_000, 64 << 20));
    let mut archive = Archive::in_memory(usual).expect("an archive");
    for number in 0..66 {
        let captures = vec![ended(&format!("{number:02}"), Some(vec![0; MOST_CONTENT]))];
        archive.commit(&ArchiveChanges { captures, ..ArchiveChanges::default() }).expect("it is written");
    }
    let kept = archive.captures(&CaptureFilter::default()).expect("a listing").into_iter();
    let dropped = kept.filter(|stored| stored.content == CaptureFileState::Dropped);
    assert_eq!(dropped.map(|stored| stored.capture.event).collect::<Vec<_>>(), ["00", "01"]);
}

/// The tables of version 1, as they were released, with a row in each of those that change.
const FIRST: &str = "
CREATE TABLE answers (id INTEGER PRIMARY KEY, query TEXT NOT NULL, node TEXT, window_start TEXT NOT NULL,
    window_end TEXT NOT NULL, revision INTEGER NOT NULL, body TEXT NOT NULL) STRICT;
CREATE INDEX answers_key ON answers (query, node, window_end, window_start, revision);
CREATE INDEX answers_query ON answers (query, window_end);
CREATE INDEX answers_node ON answers (node, window_end);
CREATE INDEX answers_end ON answers (window_end);
CREATE TABLE events (id INTEGER PRIMARY KEY, event TEXT NOT NULL UNIQUE, query TEXT NOT NULL, node TEXT,
    kind TEXT NOT NULL, at TEXT NOT NULL, story TEXT, body TEXT NOT NULL) STRICT;
CREATE TABLE stories (id INTEGER PRIMARY KEY, story TEXT NOT NULL UNIQUE, at TEXT, query TEXT, node TEXT,
    body TEXT NOT NULL) STRICT;
CREATE TABLE states (name TEXT PRIMARY KEY, text TEXT NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE marks (id INTEGER PRIMARY KEY, node TEXT NOT NULL, boot TEXT NOT NULL, sequence INTEGER NOT NULL,
    UNIQUE (node, boot)) STRICT;
INSERT INTO states VALUES ('controller', 'state');
PRAGMA application_id = 0x45644172;
PRAGMA user_version = 1;
";

fn answer(rows: u64, pinned: Option<&str>) -> Answer {
    let columns = vec![Column::new("total_count", ColumnKind::Unsigned, "packets")];
    let item = |value: &str| Item { column: Column::new("name", ColumnKind::Text, ""), value: value.into() };
    let window = Some(Span { start_ns: 0, end_ns: 10 });
    let bound = pinned.map(item).into_iter().collect();
    Answer { bound, ..Answer::new("q1", window, columns, vec![vec![Value::Unsigned(rows)]]) }
}

#[test]
fn an_archive_of_the_version_before_is_continued() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("archive.db");
    let database = Connection::open(&path).expect("a database");
    database.execute_batch(FIRST).expect("tables");
    let body = serde_json::to_string(&answer(1, None)).expect("JSON");
    let insert = "INSERT INTO answers (query, window_start, window_end, revision, body)
                  VALUES ('q1', '1970-01-01T00:00:00.000000000Z', '1970-01-01T00:00:00.000000010Z', 0, ?)";
    database.execute(insert, [body]).expect("a row");
    drop(database);
    let mut archive = Archive::open(&path, ArchiveRetention::default()).expect("an archive");
    let stored = |archive: &Archive| archive.answers(&AnswerFilter::default()).expect("a listing").items;
    assert_eq!(stored(&archive), [answer(1, None)]);
    assert_eq!(archive.state("controller"), Ok(Some("state".to_owned())));
    // An answer without pinned values replaces the earlier one without any. Answers with pinned values are stored separately, one for each value.
    let answers = vec![answer(2, None), answer(3, Some("a")), answer(4, Some("b")), answer(5, Some("a"))];
    let captures = vec![ended("e1", Some(vec![1, 2, 3]))];
    archive
        .commit(&ArchiveChanges { answers, captures, ..ArchiveChanges::default() })
        .expect("it is written");
    drop(archive);
    let archive = Archive::open(&path, ArchiveRetention::default()).expect("an archive");
    let expected = [answer(2, None), answer(5, Some("a")), answer(4, Some("b"))];
    assert_eq!(stored(&archive), expected);
    assert_eq!(archive.newest("q1").expect("they are read"), expected);
    assert_eq!(archive.capture("e1", "Node1").expect("it is read").expect("it is there").1, [1, 2, 3]);
    assert_eq!(archive.events(&EventFilter::default()).expect("a listing").items, []);
    drop(archive);
    // It has the tables of one that begins with this version, so it is opened as one of it, not changed again.
    let tables = |path: &Path| -> Vec<String> {
        let database = Connection::open(path).expect("a database");
        let mut statement = database
            .prepare("SELECT name FROM sqlite_schema WHERE type = 'table' UNION SELECT name FROM pragma_table_info('answers')
                      UNION SELECT name FROM pragma_table_info('stories')")
            .expect("a statement");
        let names = statement.query_map([], |row| row.get(0)).expect("rows");
        names.collect::<Result<_, _>>().expect("names")
    };
    let new = folder.path().join("new.db");
    drop(Archive::open(&new, ArchiveRetention::default()).expect("an archive"));
    assert_eq!(tables(&path), tables(&new));
}
