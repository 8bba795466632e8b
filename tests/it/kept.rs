//! Questions to a store about a time whose rows are kept no more: what rollups tell is that of the packets, and the rest is unknown.

use crate::support::capture::{self, Frame};
use crate::support::program::call;
use crate::support::schema;
use crate::support::scratch::{Scratch, text};
use serde_json::Value;
use std::collections::HashMap;
use std::path::PathBuf;
use store::{Catalog, Level};

const SECOND: u64 = 1_000_000_000;
const HOUR: u64 = 3600 * SECOND;
/// The begin of the capture, and of its day.
const FROM: &str = "2024-01-01";
const TO: &str = "2024-01-02";

/// Nearly six hours, of which the rows of two are kept.
struct Kept {
    _scratch: Scratch,
    store: PathBuf,
    frames: Vec<Frame>,
    /// The begin of the oldest rows.
    rows_from: u64,
}

fn kept() -> Kept {
    let scratch = Scratch::new();
    let made = capture::generate(&scratch, "packets=20k,flows=900,rate=1,zipf=1.0,ipv6=20%");
    let store = scratch.path("store");
    let keep = "rows=2h,1min=1y,1h=1y,size=1G";
    call(&[
        "run",
        text(&made.path),
        "--node",
        "n1",
        "--every",
        "10s",
        "--store",
        text(&store),
        "--store-keep",
        keep,
    ])
    .expect(0);
    let files = Catalog::open(&store).and_then(|catalog| catalog.files(Level::Rows, None)).expect("a list");
    let rows_from = files.iter().map(|file| file.first_ns).min().expect("rows");
    let (first, last) = (made.frames[0].time_ns, made.frames[made.frames.len() - 1].time_ns);
    assert!(rows_from > first + HOUR && rows_from < last, "rows are kept from {rows_from}");
    Kept { _scratch: scratch, store, frames: made.frames, rows_from }
}

/// Packets and bytes of each destination.
fn by_destination<'a>(frames: impl IntoIterator<Item = &'a Frame>) -> HashMap<String, [u64; 2]> {
    let mut found: HashMap<String, [u64; 2]> = HashMap::new();
    for frame in frames {
        let ((_, destination, ..), bytes) = capture::layer3(&frame.data);
        let sums = found.entry(destination.to_string()).or_default();
        *sums = [sums[0] + 1, sums[1] + bytes];
    }
    found
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value} is no number"))
}

/// The figures of the rows of an answer by destination, all of whose flows are not known.
fn figures(answer: &Value) -> HashMap<String, [u64; 2]> {
    let rows = answer["rows"].as_array().expect("rows").iter();
    rows.map(|row| {
        assert_eq!(row["flows"], Value::Null, "{row}");
        let sums = ["total_count", "total_byte"].map(|name| number(&row[name]));
        (row["dst_addr"].as_str().expect("an address").to_owned(), sums)
    })
    .collect()
}

impl Kept {
    /// The answers to a question, whose command ends with this code, and its text for a terminal.
    fn ask(&self, options: &[&str], code: i32) -> (Vec<Value>, String) {
        let arguments = [&["query", "--store", text(&self.store)], options].concat();
        let json = call(&[&arguments[..], &["--json"]].concat()).expect(code);
        let screen = call(&arguments).expect(code);
        (json.stdout.lines().map(schema::of_line).collect(), screen.stdout)
    }
}

#[test]
fn the_ranking_of_a_time_without_rows_is_that_of_its_packets() {
    let kept = kept();
    let truth = by_destination(&kept.frames);
    let sums = truth.values().fold([0; 2], |sums, more| [sums[0] + more[0], sums[1] + more[1]]);
    for sort in ["bytes", "packets", "flows"] {
        let asked = ["--by", "dst_addr", "--sort", sort, "--top", "5", "--from", FROM, "--to", TO];
        let (answers, screen) = kept.ask(&asked, 3);
        let [answer] = &answers[..] else { panic!("{answers:?}") };
        assert_eq!(answer["status"], "partial", "{answer}");
        let reason = answer["reason"].as_str().expect("a reason");
        assert!(reason.contains("flows not known") && reason.contains("kept no more"), "{reason}");
        assert_eq!(reason.contains("not in the order of flows"), sort == "flows", "{reason}");
        let found = figures(answer);
        assert_eq!(found.len(), 5, "{answer}");
        found.iter().for_each(|(address, own)| assert_eq!(truth.get(address), Some(own), "{address}"));
        let at = usize::from(sort != "packets");
        let mut largest: Vec<u64> = truth.values().map(|sums| sums[at]).collect();
        largest.sort_unstable_by(|one, other| other.cmp(one));
        let mut shown: Vec<u64> = found.values().map(|sums| sums[at]).collect();
        shown.sort_unstable_by(|one, other| other.cmp(one));
        // By flows, which are not known, the next that is known decides.
        if sort != "flows" {
            assert_eq!(shown, largest[..5], "by {sort}");
        }
        let rest = ["total_count", "total_byte"].map(|name| number(&answer["rest"][name]));
        let listed = found.values().fold([0; 2], |sums, more| [sums[0] + more[0], sums[1] + more[1]]);
        assert_eq!([rest[0] + listed[0], rest[1] + listed[1]], sums, "{answer}");
        assert_eq!(answer["rest"]["flows"], Value::Null, "{answer}");
        assert!(screen.contains("flows not known") && screen.contains("unknown"), "{screen}");
    }
    // A question that does not say when it begins is whole: what is kept has no more.
    let (answers, _) = kept.ask(&["--by", "dst_addr", "--top", "5"], 0);
    assert_eq!(answers[0]["status"], "complete", "{answers:?}");
    figures(&answers[0])
        .iter()
        .for_each(|(address, own)| assert_eq!(truth.get(address), Some(own), "{address}"));
    // What all levels tell is not touched.
    let (answers, _) = kept.ask(&["select sum(total_byte) as b", "--from", FROM, "--to", TO], 0);
    assert_eq!((&answers[0]["status"], number(&answers[0]["rows"][0]["b"])), (&"complete".into(), sums[1]));
}

#[test]
fn each_window_has_what_its_levels_tell() {
    let kept = kept();
    let asked = ["--by", "dst_addr", "--per", "1h", "--top", "3", "--from", FROM, "--to", TO];
    let (answers, screen) = kept.ask(&asked, 3);
    let mut windows: HashMap<u64, Vec<&Frame>> = HashMap::new();
    kept.frames.iter().for_each(|frame| windows.entry(frame.time_ns / HOUR * HOUR).or_default().push(frame));
    let (mut known, mut unknown) = (0, 0);
    for answer in &answers {
        let start = model::parse_time(answer["window"]["start"].as_str().expect("a time")).expect("a time");
        let truth = by_destination(windows.remove(&start).expect("a window of packets"));
        for row in answer["rows"].as_array().expect("rows") {
            let own = ["total_count", "total_byte"].map(|name| number(&row[name]));
            assert_eq!(truth.get(row["dst_addr"].as_str().expect("an address")), Some(&own), "{row}");
        }
        if start >= kept.rows_from {
            assert!(answer["rows"].as_array().expect("rows").iter().all(|row| number(&row["flows"]) != 0));
            assert_ne!(answer["status"], "partial", "{answer}");
            known += 1;
        } else {
            figures(answer);
            assert_eq!(answer["status"], "partial", "{answer}");
            unknown += 1;
        }
    }
    assert!(windows.is_empty(), "no answer of {:?}", windows.keys());
    assert!(known >= 2 && unknown >= 2, "{known} windows with flows, {unknown} without");
    assert!(screen.contains("flows not known"), "{screen}");
}

#[test]
fn what_no_rollup_tells_is_answered_from_what_is_kept() {
    let kept = kept();
    let of_rows: u64 = kept
        .frames
        .iter()
        .filter(|frame| frame.time_ns >= kept.rows_from)
        .map(|frame| capture::layer3(&frame.data).1)
        .sum();
    let asked = "select dst_port, sum(total_byte) as b groupby dst_port limit 1000";
    let total = |answer: &Value| -> u64 {
        answer["rows"].as_array().expect("rows").iter().map(|row| number(&row["b"])).sum::<u64>()
            + number(&answer["rest"]["b"])
    };
    let (answers, screen) = kept.ask(&[asked, "--from", FROM, "--to", TO], 3);
    assert_eq!((&answers[0]["status"], total(&answers[0])), (&"partial".into(), of_rows), "{answers:?}");
    assert!(screen.contains("kept no more"), "{screen}");
    let (answers, _) = kept.ask(&[asked], 0);
    assert_eq!((&answers[0]["status"], total(&answers[0])), (&"complete".into(), of_rows), "{answers:?}");
    let start = model::parse_time(answers[0]["window"]["start"].as_str().expect("a time")).expect("a time");
    assert!(start >= kept.rows_from, "{answers:?}");
}

#[test]
fn windows_that_overlap_have_what_their_levels_tell() {
    let kept = kept();
    let asked = "select count(*) as flows, sum(total_byte) as b every 30min over 1h";
    let (answers, _) = kept.ask(&[asked, "--from", FROM, "--to", TO], 3);
    let (mut known, mut unknown) = (0, 0);
    // All windows from the first to the last, of runs each one, are there once.
    let mut starts = Vec::new();
    for answer in &answers {
        let [start, end] = ["start", "end"]
            .map(|edge| model::parse_time(answer["window"][edge].as_str().expect("a time")).expect("a time"));
        starts.extend((start..=end - HOUR).step_by(HOUR as usize / 2));
        if answer.get("empty").is_some() {
            continue;
        }
        let frames = kept.frames.iter().filter(|frame| (start..end).contains(&frame.time_ns));
        let bytes: u64 = frames.map(|frame| capture::layer3(&frame.data).1).sum();
        assert_eq!(number(&answer["rows"][0]["b"]), bytes, "{answer}");
        match start >= kept.rows_from {
            true => {
                assert_ne!(number(&answer["rows"][0]["flows"]), 0, "{answer}");
                known += 1;
            }
            false => {
                assert_eq!(answer["rows"][0]["flows"], Value::Null, "{answer}");
                unknown += 1;
            }
        }
    }
    assert!(known >= 2 && unknown >= 2, "{known} windows with flows, {unknown} without");
    let [first, last] = [starts.iter().min(), starts.iter().max()].map(|edge| *edge.expect("a window"));
    let all: Vec<u64> = (first..=last).step_by(HOUR as usize / 2).collect();
    starts.sort_unstable();
    assert_eq!(starts, all);
}

#[test]
fn a_difference_of_what_is_not_known_is_not_known() {
    let kept = kept();
    let hour = |number: u64| format!("2024-01-01 0{number}:00..2024-01-01 0{}:00", number + 1);
    let (one, other) = (hour(0), hour(1));
    let (answers, _) = kept.ask(&["--diff", &one, &other, "--by", "dst_addr", "--top", "2"], 3);
    let answer = &answers[0];
    for name in ["flows_a", "flows_b", "flows_change"] {
        assert_eq!(
            (&answer["rows"][0][name], &answer["rest"][name]),
            (&Value::Null, &Value::Null),
            "{answer}"
        );
    }
    assert_ne!(number(&answer["rest"]["total_byte_a"]), 0, "{answer}");
}
