//! Files that are none, other people's, newer, damaged, or open elsewhere; and what one holds when its process is killed.

use archive::{
    AnswerFilter, Archive, ArchiveChanges, ArchiveError, ArchiveRetention, EventFilter, ProbeOffset,
};
use model::{Answer, Column, ColumnKind, Event, EventKind, Span, Value};
use rusqlite::Connection;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{env, fs};

const KEEP: ArchiveRetention =
    ArchiveRetention { answers: 1_000, events: 1_000, captures: 1_000, capture_bytes: 1 << 20 };
const ALL: u64 = u64::MAX;

fn answer(number: u64) -> Answer {
    let window = Span { start_ns: number * 10, end_ns: number * 10 + 10 };
    let columns = vec![Column::new("total_count", ColumnKind::Unsigned, "packets")];
    Answer::new("q1", Some(window), columns, vec![vec![Value::Unsigned(number)]])
}

fn event(number: u64) -> Event {
    Event {
        event: format!("{number:016x}"),
        kind: EventKind::Fired,
        query: "q1".to_owned(),
        fired_by: None,
        key: Vec::new(),
        node: None,
        at_ns: number,
        window: None,
        values: Vec::new(),
        threshold: None,
        late: false,
        coverage: None,
        bounds: None,
        parent: None,
        title: None,
    }
}

fn mark(sequence: u64) -> ProbeOffset {
    ProbeOffset { node: "Node1".to_owned(), boot: "boot".to_owned(), sequence }
}

/// All that belongs to one message.
fn changes(number: u64) -> ArchiveChanges {
    ArchiveChanges {
        answers: vec![answer(2 * number), answer(2 * number + 1)],
        events: vec![event(number)],
        states: vec![("epoch".to_owned(), number.to_string())],
        marks: vec![mark(number)],
        ..ArchiveChanges::default()
    }
}

fn numbers(archive: &Archive) -> Vec<u64> {
    let filter = AnswerFilter { limit: ALL, ..AnswerFilter::default() };
    let answers = archive.answers(&filter).expect("a listing").items;
    answers.iter().map(|answer| answer.rows[0][0].as_unsigned().expect("a number")).collect()
}

/// The message of the error, which is one line and names the file.
fn refused(path: &Path) -> (ArchiveError, String) {
    let error = Archive::open(path, KEEP).expect_err("it is refused");
    let text = error.to_string();
    assert!(!text.contains('\n') && text.contains(path.to_str().expect("a name")), "{text}");
    (error, text)
}

#[test]
fn a_foreign_file_is_refused_and_stays_as_it_is() {
    let folder = tempfile::tempdir().expect("a folder");
    let database = folder.path().join("other.db");
    Connection::open(&database).expect("a database").execute_batch("CREATE TABLE mine (x)").expect("a table");
    let text = folder.path().join("notes.txt");
    fs::write(&text, "no database, but longer than its header: ".repeat(20)).expect("a file");
    for path in [database, text] {
        let before = fs::read(&path).expect("a file");
        let (error, _) = refused(&path);
        assert_eq!(error, ArchiveError::Foreign(path.clone()));
        assert_eq!(fs::read(&path).expect("a file"), before);
        assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 2, "no other file remains");
    }
}

#[test]
fn an_archive_of_a_later_version_is_refused_by_its_number() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("archive.db");
    drop(Archive::open(&path, KEEP).expect("an archive"));
    Connection::open(&path).expect("a database").pragma_update(None, "user_version", 7).expect("it is set");
    let (error, text) = refused(&path);
    assert_eq!(error, ArchiveError::Newer { path, version: 7 });
    assert!(text.contains('7'), "{text}");
}

#[test]
fn places_without_a_file_are_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let (_, text) = refused(&folder.path().join("none/archive.db"));
    assert!(text.contains("make it first"), "{text}");
    let (_, text) = refused(folder.path());
    assert!(text.contains("is a folder"), "{text}");
    let read_only = Path::new("/proc/sys/kernel/archive.db");
    if read_only.parent().is_some_and(Path::is_dir) {
        assert!(matches!(refused(read_only).0, ArchiveError::NotOpened { .. }));
    }
}

#[test]
fn a_second_opener_is_refused_until_the_first_has_left() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("archive.db");
    let mut first = Archive::open(&path, KEEP).expect("an archive");
    assert_eq!(refused(&path).0, ArchiveError::Locked(path.clone()));
    first.commit(&changes(0)).expect("the first is not disturbed");
    assert_eq!(refused(&path).0, ArchiveError::Locked(path.clone()));
    drop(first);
    assert_eq!(numbers(&Archive::open(&path, KEEP).expect("an archive")), [0, 1]);
}

#[test]
fn rows_that_are_damaged_are_left_out_and_counted() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("archive.db");
    let mut archive = Archive::open(&path, KEEP).expect("an archive");
    (0..4).for_each(|number| archive.commit(&changes(number)).expect("it is written"));
    drop(archive);
    let database = Connection::open(&path).expect("a database");
    // No JSON, JSON of something else, and no UTF-8.
    for (id, body) in [(1, "x'7b'"), (3, "x'7b7d'"), (5, "x'ff'")] {
        let statement = format!("UPDATE answers SET body = CAST({body} AS TEXT) WHERE id = {id}");
        database.execute(&statement, []).expect("it is damaged");
    }
    database.execute("UPDATE events SET body = '' WHERE id = 2", []).expect("it is damaged");
    drop(database);
    let archive = Archive::open(&path, KEEP).expect("an archive");
    assert_eq!(numbers(&archive), [1, 3, 5, 6, 7]);
    assert_eq!(archive.damaged(), 3);
    let events = archive.events(&EventFilter::default()).expect("a listing").items;
    assert_eq!(events.iter().map(|stored| stored.event.at_ns).collect::<Vec<_>>(), [0, 2, 3]);
    assert_eq!(archive.damaged(), 4);
}

#[test]
fn damaged_pages_are_errors() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("archive.db");
    let mut archive = Archive::open(&path, KEEP).expect("an archive");
    (0..200).for_each(|number| archive.commit(&changes(number)).expect("it is written"));
    drop(archive);
    let mut bytes = fs::read(&path).expect("a file");
    // All but the header and the first page, which has the list of tables.
    bytes[4096..].iter_mut().for_each(|byte| *byte = 0xa5);
    fs::write(&path, bytes).expect("a file");
    let error = match Archive::open(&path, KEEP) {
        Err(error) => error,
        Ok(archive) => archive.answers(&AnswerFilter::default()).expect_err("nothing is left of it"),
    };
    assert!(matches!(error, ArchiveError::Damaged { .. }), "{error}");
    assert!(!error.to_string().contains('\n'));
}

#[test]
fn what_is_no_json_is_refused_and_changes_nothing() {
    let mut archive = Archive::in_memory(KEEP).expect("an archive");
    let mut wrong = changes(1);
    wrong.answers[1].rows[0].push(Value::Null);
    let error = archive.commit(&wrong).expect_err("a row does not fit");
    assert!(matches!(error, ArchiveError::NoJson(_)), "{error}");
    assert_eq!((numbers(&archive), archive.marks()), (Vec::new(), Ok(Vec::new())));
    archive.commit(&changes(1)).expect("it goes on");
    assert_eq!(numbers(&archive), [2, 3]);
}

#[test]
fn a_listing_is_cut_where_it_would_take_too_much_memory() {
    let mut archive = Archive::in_memory(KEEP).expect("an archive");
    let columns = vec![Column::new("text", ColumnKind::Text, "")];
    for number in 0..9 {
        let window = Some(Span { start_ns: number, end_ns: number + 1 });
        let row = vec![Value::Text("x".repeat(10 << 20))];
        let answers = vec![Answer::new("q1", window, columns.clone(), vec![row])];
        archive.commit(&ArchiveChanges { answers, ..ArchiveChanges::default() }).expect("it is written");
    }
    let listing = archive.answers(&AnswerFilter::default()).expect("a listing");
    assert!(listing.is_cut);
    let starts: Vec<u64> = listing.items.iter().filter_map(|answer| Some(answer.window?.start_ns)).collect();
    assert_eq!(starts, [3, 4, 5, 6, 7, 8]);
}

#[test]
fn marks_of_the_last_boots_are_kept() {
    let mut archive = Archive::in_memory(KEEP).expect("an archive");
    for boot in 0..1_000 {
        let marks = vec![ProbeOffset { boot: boot.to_string(), ..mark(7) }];
        archive.commit(&ArchiveChanges { marks, ..ArchiveChanges::default() }).expect("it is written");
    }
    let boots: Vec<String> =
        archive.marks().expect("they are read").into_iter().map(|mark| mark.boot).collect();
    assert_eq!(boots, (488..1_000).map(|boot| boot.to_string()).collect::<Vec<_>>());
}

/// Names the archive of the child of the next test; nothing is to be done where it is missing.
const CHILD: &str = "EDISON_TEST_ARCHIVE";

/// Commits one message after the other and says so on standard output, until it is killed.
#[test]
fn child_that_is_killed() {
    let Some(path) = env::var_os(CHILD) else { return };
    let mut archive = Archive::open(PathBuf::from(path), KEEP).expect("an archive");
    for number in 0.. {
        archive.commit(&changes(number)).expect("it is written");
        // Past the test's capture of what is printed.
        writeln!(std::io::stdout(), "\nacknowledged {number}").expect("the parent reads");
    }
}

#[test]
fn what_was_acknowledged_outlives_a_kill_and_nothing_is_there_in_part() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("archive.db");
    for until in [0, 1, 7, 40] {
        let _ = fs::remove_file(&path);
        let mut child = Command::new(env::current_exe().expect("this test"))
            .args(["--exact", "files::child_that_is_killed", "--nocapture"])
            .env(CHILD, &path)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("a child");
        let lines = BufReader::new(child.stdout.take().expect("its output")).lines();
        let acknowledged = lines
            .map(|line| line.expect("a line"))
            .filter_map(|line| line.strip_prefix("acknowledged ")?.parse::<u64>().ok())
            .find(|number| *number >= until);
        assert!(acknowledged.is_some(), "the child commits");
        // SIGKILL, wherever it is in its next commits.
        child.kill().expect("it is killed");
        child.wait().expect("it has ended");
        let archive = Archive::open(&path, KEEP).expect("an archive");
        let stored = archive.marks().expect("they are read")[0].sequence;
        assert!(stored >= until, "{stored} {until}");
        assert_eq!(numbers(&archive), (0..2 * stored + 2).collect::<Vec<_>>());
        let events =
            archive.events(&EventFilter { limit: ALL, ..EventFilter::default() }).expect("a listing");
        assert_eq!(events.items.len() as u64, stored + 1);
        assert_eq!(archive.state("epoch"), Ok(Some(stored.to_string())));
    }
}
