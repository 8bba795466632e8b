//! An entry's queries over captures, and what happened.

use super::page;
use crate::support::capture::{self, ETHERNET, Frame};
use crate::support::output;
use crate::support::program::call;
use crate::support::schema;
use crate::support::scratch::{Scratch, text};
use serde_json::Value;

pub(crate) const SECOND: u64 = 1_000_000_000;
const MS: u64 = 1_000_000;
/// The begin of generated captures, a multiple of all windows: 2024-01-01.
pub(crate) const START: u64 = 1_704_067_200 * SECOND;

/// What a run printed and reported.
pub(crate) struct Played {
    pub(crate) events: Vec<Value>,
    pub(crate) answers: Vec<Value>,
    /// All stories, one after the other.
    pub(crate) stories: String,
}

/// A node's capture, as an argument.
pub(crate) fn node(scratch: &Scratch, name: &str, mut frames: Vec<Frame>) -> String {
    frames.sort_by_key(|frame| frame.time_ns);
    let path = scratch.file(&format!("{name}.pcap"), capture::pcap(ETHERNET, &frames));
    format!("{name}={}", text(&path))
}

/// Runs the queries of an entry as they stand.
#[track_caller]
pub(crate) fn play(scratch: &Scratch, heading: &str, arguments: &[&str]) -> Played {
    let queries = scratch.file("entry.eq", page::entry(heading));
    let report = scratch.path("report.json");
    let common = ["run", "--json", "--report", text(&report), "-f", text(&queries)];
    let ended = call(&[&common, arguments].concat()).expect(0);
    let lines = ended.stdout.lines().map(schema::of_line);
    let (events, answers): (Vec<Value>, Vec<Value>) = lines.partition(|line| line.get("event").is_some());
    let report = schema::of_report(&std::fs::read_to_string(report).expect("a report"));
    // A report without events has no such member.
    let of_report = |name: &str| report[name].as_array().cloned().unwrap_or_default();
    assert_eq!(of_report("events"), events);
    let stories = of_report("stories");
    let stories = stories.iter().map(|story| story["text"].as_str().expect("a text")).collect();
    Played { events, answers, stories }
}

/// Begin and end of a window, milliseconds from [`START`].
fn span(window: &Value) -> [u64; 2] {
    ["start", "end"].map(|name| (output::time(&window[name]) - START) / MS)
}

impl Played {
    /// All events, a line each: the window in milliseconds, the kind, the query, the members of the key.
    pub(crate) fn happened(&self) -> Vec<String> {
        let line = |event: &Value| {
            let [start, end] = span(&event["window"]);
            let members = event["key"].as_object().expect("members").values();
            let members = members.map(|member| format!(" {}", member.to_string().trim_matches('"')));
            let text = |name: &str| event[name].as_str().expect("a text").to_owned();
            format!("{start}..{end} {} {}{}", text("kind"), text("query"), members.collect::<String>())
        };
        self.events.iter().map(line).collect()
    }

    /// The windows in which a query was answered, in milliseconds, and the rows.
    pub(crate) fn answers_of(&self, query: &str) -> Vec<([u64; 2], &[Value])> {
        let own = self.answers.iter().filter(|answer| answer["query"] == query);
        own.map(|answer| (span(&answer["window"]), output::rows(answer))).collect()
    }
}
