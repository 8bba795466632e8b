//! A run with events, and what holds of each.

use super::dry_runs;
use crate::support::capture::Frame;
use crate::support::output::{self, list};
use crate::support::program::call;
use crate::support::schema;
use crate::support::scratch::{Scratch, text};
use model::{RunReport, Story};
use serde_json::Value;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::Range;
use std::path::Path;

pub(crate) const SECOND: u64 = 1_000_000_000;
/// A multiple of all windows here, and the begin of generated paths: 2024-01-01.
pub(crate) const START: u64 = 1_704_067_200 * SECOND;

/// How long a store keeps window rows by default, nanoseconds (`docs/store.md`).
const KEPT: u64 = 86_400 * SECOND;

/// Begin and end of a window, seconds from [`START`].
pub(crate) type Span = Range<i64>;

/// An event.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Event {
    pub(crate) id: String,
    pub(crate) kind: String,
    pub(crate) query: String,
    pub(crate) node: String,
    pub(crate) window: Span,
    pub(crate) parent: Option<String>,
    pub(crate) json: Value,
}

/// An answer.
pub(crate) struct Answer {
    pub(crate) node: String,
    pub(crate) window: Span,
    pub(crate) json: Value,
}

/// What a run printed and reported.
pub(crate) struct Chained {
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    /// By query, in the order of the lines.
    pub(crate) answers: BTreeMap<String, Vec<Answer>>,
    pub(crate) events: Vec<Event>,
    pub(crate) report: RunReport,
}

/// Runs `edison run --json --report`, and checks what holds of each run with events. One that ends well is run dry too, over the rows
/// that it wrote.
#[track_caller]
pub(crate) fn run(scratch: &Scratch, code: i32, arguments: &[&str]) -> Chained {
    let path = scratch.path("report.json");
    let rows = Scratch::new();
    let written = rows.path("rows.parquet");
    let store = rows.path("store");
    let common =
        ["run", "--json", "--report", text(&path), "--rows", text(&written), "--store", text(&store)];
    let ended = call(&[&common, arguments].concat()).expect(code);
    if code == 0 {
        runs_dry(&rows, arguments, &ended.stdout);
    }
    let (events, lines): (Vec<Value>, Vec<Value>) =
        ended.stdout.lines().map(schema::of_line).partition(|line| line.get("event").is_some());
    let mut answers: BTreeMap<String, Vec<Answer>> = BTreeMap::new();
    for json in lines {
        let [query, node] = ["query", "node"].map(|name| json[name].as_str().unwrap_or_default().to_owned());
        answers.entry(query).or_default().push(Answer { node, window: span(&json["window"]), json });
    }
    let written = std::fs::read_to_string(&path).expect("a report");
    let json = schema::of_report(&written);
    assert_eq!(list(&json["events"]), events, "the report has the events that were printed");
    let report: RunReport =
        serde_json::from_str(&written).unwrap_or_else(|error| panic!("{error}: {written}"));
    // What is compared as data is the same as text.
    assert_eq!(serde_json::to_string_pretty(&report).expect("JSON") + "\n", written);
    let events = events.into_iter().map(Event::new).collect();
    let chained = Chained { stdout: ended.stdout, stderr: ended.stderr, answers, events, report };
    if code == 0 {
        chained.plays_over_its_store(&store, arguments);
    }
    chained.events_have_causes();
    chained.values_are_those_of_answers();
    chained.stories_have_the_events();
    chained.titles_are_those_of_firings();
    chained
}

/// Over the rows of a run, a dry run finds the same events.
#[track_caller]
fn runs_dry(rows: &Scratch, arguments: &[&str], lines: &str) {
    let is_of_queries = |option: &str| ["-q", "-f", "--set", "--every", "--memory"].contains(&option);
    let of_queries = arguments.windows(2).filter(|pair| is_of_queries(pair[0])).flatten().copied();
    let mut dry: Vec<&str> = ["dry-run", "--json"].into_iter().chain(of_queries).collect();
    let files = std::fs::read_dir(rows).expect("a directory").map(|file| file.expect("a file").path());
    let mut files: Vec<_> = files.filter(|path| path.is_file()).collect();
    // The nodes are in the order of the command line.
    files.sort_by_key(|file| {
        let node = file.file_name().and_then(|name| name.to_str()).and_then(|name| name.split('.').nth(1));
        let prefix = format!("{}=", node.unwrap_or_default());
        arguments.iter().position(|argument| argument.starts_with(&prefix))
    });
    dry.extend(files.iter().map(|file| text(file)));
    let ended = call(&dry).expect(0);
    let events: String = lines
        .lines()
        .filter(|line| line.starts_with(r#"{"event":"#))
        .map(|line| format!("{line}\n"))
        .collect();
    assert!(ended.stdout == events, "of a dry run:\n{}of the run:\n{events}{}", ended.stdout, ended.stderr);
}

impl Event {
    fn new(json: Value) -> Self {
        let text = |name: &str| json[name].as_str().unwrap_or_else(|| panic!("no {name}: {json}")).to_owned();
        assert_eq!(json["at"], json["window"]["end"], "{json}");
        Self {
            id: text("event"),
            kind: text("kind"),
            query: text("query"),
            node: json["node"].as_str().unwrap_or_default().to_owned(),
            window: span(&json["window"]),
            parent: json["parent"].as_str().map(str::to_owned),
            json,
        }
    }
}

/// A window in seconds.
pub(crate) fn span(window: &Value) -> Span {
    let second = |name: &str| {
        let time = i128::from(output::time(&window[name])) - i128::from(START);
        assert_eq!(time % i128::from(SECOND), 0, "{window} does not begin and end with seconds");
        (time / i128::from(SECOND)) as i64
    };
    second("start")..second("end")
}

impl Chained {
    /// The events of one kind and query.
    pub(crate) fn of(&self, kind: &str, query: &str) -> Vec<&Event> {
        self.events.iter().filter(|event| event.kind == kind && event.query == query).collect()
    }

    /// Kind and window of all events of a query.
    pub(crate) fn happened(&self, query: &str) -> Vec<(&str, Span)> {
        let of_query = self.events.iter().filter(|event| event.query == query);
        of_query.map(|event| (event.kind.as_str(), event.window.clone())).collect()
    }

    /// The answers of a query.
    pub(crate) fn answers_of(&self, query: &str) -> &[Answer] {
        self.answers.get(query).map_or(&[], Vec::as_slice)
    }

    /// Those on a node.
    pub(crate) fn answers_on<'a>(&'a self, query: &str, node: &str) -> impl Iterator<Item = &'a Answer> {
        self.answers_of(query).iter().filter(move |answer| answer.node == node)
    }

    /// The windows in which a query was answered on a node.
    pub(crate) fn windows_of(&self, query: &str, node: &str) -> Vec<Span> {
        self.answers_on(query, node).map(|answer| answer.window.clone()).collect()
    }

    /// The answer of a query on a node in a window.
    #[track_caller]
    pub(crate) fn answer(&self, query: &str, node: &str, window: &Span) -> &Value {
        let found = self.answers_on(query, node).find(|answer| answer.window == *window);
        let found = found.unwrap_or_else(|| panic!("no answer of {query} on {node} in {window:?}"));
        &found.json
    }

    /// The story of an event.
    #[track_caller]
    pub(crate) fn story(&self, event: &Event) -> &Story {
        let mut of = self.report.occurrences.stories.iter().filter(|story| story.events.contains(&event.id));
        of.next().unwrap_or_else(|| panic!("no story has {event:?}"))
    }

    /// Over the store of a run, the same happens as in the run.
    fn plays_over_its_store(&self, store: &Path, arguments: &[&str]) {
        let nodes: Vec<String> = self.report.node.split(", ").map(str::to_owned).collect();
        let begun_ns = |span: Option<model::Span>| span.map(|span| span.start_ns);
        let has_all = |node: &String| {
            let own = self.report.nodes.get(node).unwrap_or(&self.report);
            begun_ns(dry_runs::span(store, node)) == begun_ns(own.span())
        };
        if !nodes.iter().all(has_all) {
            // Window rows that are older than a store keeps them are gone.
            let length_ns = self.report.span().map_or(0, |span| span.length_ns());
            assert!(length_ns > KEPT, "the store lacks windows of {length_ns} ns");
            return;
        }
        let outcome = dry_runs::outcome(store, arguments, &nodes);
        let json = |event| serde_json::to_value(event).expect("JSON");
        let played: Vec<Value> = outcome.events.iter().map(json).collect();
        let events: Vec<Value> = self.events.iter().map(|event| event.json.clone()).collect();
        assert!(played == events, "PLAYED {arguments:?}\n{played:#?}\nRUN\n{events:#?}\n{:?}", outcome.nodes);
    }

    /// An event names an earlier firing as its parent, and each happens once.
    fn events_have_causes(&self) {
        let (mut known, mut fired) = (HashSet::new(), HashSet::new());
        for event in &self.events {
            assert!(known.insert(&event.id), "twice: {event:?}");
            let is_caused = event.parent.as_ref().is_none_or(|parent| fired.contains(parent));
            assert!(is_caused, "its parent fired not: {event:?}");
            if event.kind == "fired" {
                fired.insert(&event.id);
            }
        }
    }

    /// The values of what fired or was resolved stand in the answer of the query that caused it; without a row they are 0.
    fn values_are_those_of_answers(&self) {
        for event in self.events.iter().filter(|event| ["fired", "resolved"].contains(&event.kind.as_str())) {
            let parent = event.json["fired_by"].as_str().expect("a query");
            let has_bound = |answer: &Answer| !answer.json["bound"].is_null();
            // What several queries, or instances of one, have is compared by the tests of these.
            let reads_nothing = event.json["values"].as_object().is_some_and(serde_json::Map::is_empty);
            if reads_nothing || parent.contains(", ") || self.answers_of(parent).iter().any(has_bound) {
                continue;
            }
            let is_it = |answer: &&Answer| match answer.json["empty"].is_null() {
                true => answer.window == event.window,
                false => answer.window.start <= event.window.start && event.window.end <= answer.window.end,
            };
            let answer = self.answers_on(parent, &event.node).find(is_it);
            let answer = &answer.unwrap_or_else(|| panic!("no answer of {parent} for {event:?}")).json;
            let has = |row: &Value, members: &Value| {
                let members = members.as_object().expect("members").iter();
                members.into_iter().all(|(name, value)| row.get(name).is_none_or(|own| own == value))
            };
            let values = &event.json["values"];
            match output::rows(answer).iter().find(|row| has(row, &event.json["key"])) {
                Some(row) => assert!(has(row, values), "{event:?} but {answer}"),
                None => {
                    let mut values = values.as_object().expect("members").values();
                    let is_absent = |value: &Value| *value == 0 || value["lower"] == 0.0;
                    assert!(values.all(is_absent), "{event:?} but {answer}");
                }
            }
        }
    }

    /// Each event has a title; what ends a firing has that of the firing, and a story that of one of its own, perhaps with the number of further
    /// keys.
    fn titles_are_those_of_firings(&self) {
        let title = |event: &Event| {
            let title = event.json["title"].as_str().unwrap_or_else(|| panic!("no title: {event:?}"));
            assert!(!title.is_empty() && title.chars().count() <= 401, "{event:?}");
            title.to_owned()
        };
        let titles: HashMap<&str, String> =
            self.events.iter().map(|event| (event.id.as_str(), title(event))).collect();
        for event in self.events.iter().filter(|event| ["resolved", "expired"].contains(&event.kind.as_str()))
        {
            let fired = event.parent.as_deref().and_then(|parent| titles.get(parent));
            assert_eq!(fired, Some(&titles[&*event.id]), "{event:?}");
        }
        for story in &self.report.occurrences.stories {
            let own = story.title.as_deref().unwrap_or_else(|| panic!("no title: {story:?}"));
            let own = own
                .split_once(", and ")
                .filter(|(_, more)| more.ends_with(" more"))
                .map_or(own, |(own, _)| own);
            let mut of = story.events.iter().filter_map(|event| titles.get(event.as_str()));
            assert!(story.events_unlisted != 0 || of.any(|title| title == own), "{story:?}");
        }
    }

    /// Stories begin with their first event, and each event that has a cause or is one is in one story.
    fn stories_have_the_events(&self) {
        // More are not kept.
        const MOST: usize = 1000;
        let mut told = HashSet::new();
        for story in &self.report.occurrences.stories {
            assert_eq!(story.events.first(), Some(&story.id));
            assert!(story.text.ends_with(".\n"), "{story:?}");
            assert!(story.events.iter().all(|event| told.insert(event)), "{story:?}");
        }
        if self.report.occurrences.stories.len() == MOST {
            assert!(told.iter().all(|id| self.events.iter().any(|event| event.id == **id)), "no such event");
            return;
        }
        for event in &self.events {
            let is_told = event.kind == "fired" || event.parent.is_some();
            assert_eq!(told.remove(&event.id), is_told, "{event:?}");
        }
        assert!(told.is_empty(), "events that did not happen: {told:?}");
    }
}

/// Frames of the UDP flow from this port: five in each of these seconds, none of them on a window's edge.
pub(crate) fn udp(port: u16, seconds: Range<u64>) -> impl Iterator<Item = Frame> {
    let time = move |n: u64| START + n * SECOND / 5 + SECOND / 10 + u64::from(port);
    (seconds.start * 5..seconds.end * 5)
        .map(move |n| Frame { time_ns: time(n), data: crate::support::capture::udp(port) })
}
