//! A writer that is killed at any instant: what was acknowledged is there, and nothing is twice.
//!
//! `EDISON_KILLS` is the number of kills, 10 if it is not set.

use crate::tool::*;
use flow::TrackedParts;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use store::{Level, Manifest};

/// Set for the process that writes: the folder, and the number of the first window.
const WRITER: &str = "EDISON_STORE_WRITER";
const LENGTH: u64 = 60 * SECOND;
const COUNT: u64 = 25;
const KEEP: &str = "rows=9y,flows=9y,1min=9y,1h=9y,size=4G";
/// Records after each window.
const RECORDS: u64 = 9;
/// Windows of a process: more than it can write.
const WINDOWS: u64 = 1_000_000;

/// What the killed process does; nothing in the test run itself.
#[test]
fn writer() {
    let Ok(text) = std::env::var(WRITER) else { return };
    let mut parts = text.rsplitn(3, ':');
    let mut number = || parts.next().and_then(|text| text.parse::<u64>().ok()).expect("a number");
    let (kill, first) = (number(), number());
    let folder = parts.next().expect("a folder");
    let store = open(Path::new(folder), KEEP);
    let (mut rows, flows) = store.node(setting("n", LENGTH, TrackedParts::LOSS));
    let mut flows = flows.expect("they are stored");
    for number in first..first + WINDOWS {
        let window = START + number * LENGTH;
        feed(&mut rows, 1, window, LENGTH, COUNT);
        // No two records of all processes end at one time.
        let time = |at: u64| window + kill * RECORDS + at;
        let records: Vec<_> = (0..RECORDS).map(|at| record(2, at, time(at))).collect();
        flows.write(&records).expect("they are taken");
        // What is said here was committed before.
        let counts = store.counts();
        println!("acknowledged {} {}", counts.rows.stored, counts.flows.stored);
        while store.counts().rows.stored + 40 * rows_of_window() < (number - first) * rows_of_window() {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

fn rows_of_window() -> u64 {
    COUNT + COUNT.div_ceil(3)
}

#[test]
fn what_was_acknowledged_survives_any_kill_once() {
    let kills: u64 = std::env::var("EDISON_KILLS").ok().map_or(10, |text| text.parse().expect("a number"));
    let scratch = tempfile::tempdir().expect("a folder");
    let folder = scratch.path();
    let mut next = 0;
    let (mut acknowledged_all, mut rolled, mut compacted) = (0, 0, 0);
    for kill in 0..kills {
        let first = next;
        let mut writer = Command::new(std::env::current_exe().expect("this program"))
            .args(["--exact", "kills::writer", "--nocapture"])
            .env(WRITER, format!("{}:{first}:{kill}", folder.display()))
            .stdout(Stdio::piped())
            .spawn()
            .expect("a process");
        let life = Duration::from_millis(100 + mixed(&[kill, 77]) % 2000);
        let output = BufReader::new(writer.stdout.take().expect("a pipe"));
        let reader = std::thread::spawn(move || {
            let lines = output.lines().map_while(Result::ok);
            let numbers = |line: String| {
                let (rows, flows) = line.strip_prefix("acknowledged ")?.split_once(' ')?;
                Some([rows.parse::<u64>().ok()?, flows.parse().ok()?])
            };
            lines.filter_map(numbers).last().unwrap_or([0; 2])
        });
        // From the first window on: a loaded machine starts slowly.
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_secs(60) && !folder.join("manifest.sqlite").exists() {
            std::thread::sleep(Duration::from_millis(1));
        }
        std::thread::sleep(life);
        writer.kill().expect("it is killed");
        writer.wait().expect("it has ended");
        let acknowledged = reader.join().expect("no panic");
        acknowledged_all += acknowledged[0];
        next = check(folder, first, kill, acknowledged);
        let is = |level, of: fn(&store::StoredFile) -> bool| {
            files(folder, level).iter().filter(|file| of(file)).count()
        };
        rolled = rolled.max(is(Level::Rows, |file| file.is_rolled));
        compacted = compacted.max(is(Level::Rows, |file| file.is_compacted));
    }
    assert!(acknowledged_all > 0 && rolled > 0, "{acknowledged_all} {rolled}");
    println!("{kills} kills, {next} windows, {compacted} hours compacted");
    // The next start removes what was left, and finishes what was begun.
    let store = open(folder, KEEP);
    let counts = store.close(false);
    assert_eq!(counts.failed_upkeep, 0, "{:?}", store.remarks());
    drop(store);
    assert_eq!(on_disk(folder), named(folder));
    check(folder, next, kills, [0; 2]);
    drop(Manifest::open(folder).expect("it is free"));
}

/// Checks the store after a process that began with window `first` and acknowledged `acknowledged` rows and records. Returns the window after its last one.
fn check(folder: &Path, first: u64, kill: u64, acknowledged: [u64; 2]) -> u64 {
    let rows = read(&files(folder, Level::Rows));
    let last = rows.keys().next_back().map_or(0, |window| (window - START) / LENGTH + 1);
    let truth: Windows = (0..last)
        .map(|number| START + number * LENGTH)
        .map(|window| (window, expected(1, window, LENGTH, COUNT, TrackedParts::LOSS)))
        .collect();
    // All windows up to the last one, each whole and once.
    assert!(rows == truth, "{} windows instead of {}", rows.len(), truth.len());
    // All of it is known to be watched, and that no run ended by itself.
    let watched = store::Catalog::open(folder).and_then(|catalog| catalog.watched());
    let watched = watched.expect("it is read").expect("it is noted");
    let stored = watched.iter().filter(|one| !one.is_begin());
    let mut times: Vec<[u64; 2]> = stored.map(|one| [one.first_ns, one.end_ns]).collect();
    times.sort_unstable();
    assert!(times.windows(2).all(|pair| pair[0][1] == pair[1][0]), "{times:?}");
    let ends = times.first().zip(times.last()).map(|(first, last)| [first[0], last[1]]);
    assert_eq!(ends.unwrap_or([START; 2]), [START, START + last * LENGTH]);
    assert!(
        watched
            .iter()
            .all(|one| one.why == store::Unstored::Killed && one.by == Some(store::MeasurementKind::Live))
    );
    // The begin of each run that was killed is there, from before its first window on.
    let runs: std::collections::BTreeSet<u64> = watched.iter().map(|one| one.run).collect();
    let begins: Vec<u64> = watched.iter().filter(|one| one.is_begin()).map(|one| one.run).collect();
    assert_eq!(begins, runs.into_iter().collect::<Vec<_>>());
    let own = (last.max(first) - first) * rows_of_window();
    assert!(own >= acknowledged[0], "{own} rows are there of {acknowledged:?} acknowledged");
    for level in [Level::Minute, Level::Hour] {
        assert!(covered(folder, level) == summed(&truth, level.window_ns().expect("a rollup")), "{level}");
    }
    let mut records: Vec<u64> = Vec::new();
    for stored in files(folder, Level::Flows) {
        let mut file = record::read::FlowFile::open(&stored.path).unwrap_or_else(|error| panic!("{error}"));
        let wanted =
            record::read::ReadProjection { columns: vec![flow::RowValue::Last], ..Default::default() };
        for part in 0..file.contents().parts.len() {
            file.read_part(part, &wanted, &mut |block| {
                records.extend(block.v4.column(flow::RowValue::Last));
                true
            })
            .unwrap_or_else(|error| panic!("{error}"));
        }
    }
    records.sort_unstable();
    assert!(records.windows(2).all(|pair| pair[0] != pair[1]), "a record is there twice");
    let own = records.iter().filter(|time| (**time - START) % LENGTH / RECORDS == kill).count() as u64;
    assert!(own >= acknowledged[1], "{own} records are there of {acknowledged:?} acknowledged");
    last.max(first)
}
