//! `edison run --adapt`: whatever the machine's load is, every packet has its name, every change its reason, and the report and the events tell the
//! same. Which changes a run makes hangs on time, and is nothing that a test decides by.

use crate::support::output::{list, number, total};
use crate::support::program::{call, edison, run};
use crate::support::schema;
use crate::support::scratch::Scratch;
use serde_json::Value;

const TRAFFIC: &str = "packets=100k,flows=20k,zipf=0.8,snap=64";

/// A load that no machine receives, between two that any does.
const WIRE: &str = "rate=50kpps/900Mpps/50kpps,phase=2s,seconds=6,ring=256";

/// The settings by name, with the range of their values.
const RANGES: [(&str, f64, f64); 4] = [
    ("workers", 1.0, 2.0),
    ("idle_timeout", 1.0 / 16.0, 1.0),
    ("task_memory", 1.0 / 16.0, 1.0),
    ("share", 0.0078, 1.0),
];

fn float(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("a number: {value}"))
}

#[test]
fn changes_have_reasons_and_every_packet_a_name() {
    let scratch = Scratch::new();
    let path = scratch.path("report.json");
    let ended = run(edison()
        .args([
            "run",
            "--synthetic",
            TRAFFIC,
            "--wire",
            WIRE,
            "--every",
            "500ms",
            "--design",
            "1x2",
            "--json",
        ])
        .args(["--task", "heavy-hitters:share=1%,structure=space-saving,memory=256KiB"])
        .args(["--adapt", "loss=0.001%", "--report"])
        .arg(&path))
    .expect(0);
    let report = schema::of_report(&std::fs::read_to_string(&path).expect("a report"));
    let packets = &report["packets"];
    assert_eq!(number(&packets["received"]), number(&packets["measured"]) + total(&packets["not_measured"]));
    let lost = total(&report["loss"]);
    assert_eq!(number(&packets["received"]) + lost, number(&report["wire"]["offered"]));
    // At 900 Mpps.
    assert!(lost > 0);

    let tuning = &report["tuning"];
    assert_eq!(float(&tuning["bound"]), 1e-5);
    assert!(number(&tuning["windows"]) > 0 && number(&tuning["windows_above"]) > 0, "{tuning}");
    let changes = list(&tuning["changes"]);
    assert!(!changes.is_empty(), "{tuning}");
    // Two workers have no cores of their own on two cores.
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let workers = if cores > 2 { 2.0 } else { 1.0 };
    let mut last: Vec<(String, f64)> =
        [("workers", workers), ("idle_timeout", 1.0), ("task_memory", 1.0), ("share", 1.0)]
            .map(|(name, value)| (name.to_owned(), value))
            .into();
    for change in changes {
        let (setting, from, to) =
            (change["setting"].as_str().expect("text"), float(&change["from"]), float(&change["to"]));
        let (_, least, most) = *RANGES.iter().find(|(name, ..)| *name == setting).expect("a setting");
        assert!((least..=most).contains(&to) && from != to, "{change}");
        assert!(change["reason"].as_str().is_some_and(|reason| reason.len() > 10), "{change}");
        // The window that follows from one is the next but one at the earliest.
        assert!(change["window"]["start"].as_str() >= change["at"].as_str(), "{change}");
        let known = last.iter_mut().find(|(name, _)| name == setting).expect("a setting");
        assert_eq!(known.1, from, "{change}");
        known.1 = to;
    }
    for (name, value) in &last {
        assert_eq!(float(&tuning["settings"][name]), *value, "{name}");
    }

    // Each change is an event, in the report and as a line.
    let events = list(&report["events"]);
    let lines: Vec<Value> = ended
        .stdout
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("JSON"))
        .filter(|line| line.get("event").is_some())
        .collect();
    let of_settings: Vec<_> = events.iter().filter(|event| event["key"]["setting"] != "bound").collect();
    assert_eq!(of_settings.len(), changes.len());
    for (event, change) in of_settings.iter().zip(changes) {
        assert_eq!((&event["query"], &event["kind"]), (&"adapt".into(), &"fired".into()));
        assert_eq!(event["key"]["setting"], change["setting"]);
        let values = &event["values"];
        assert_eq!(
            (&values["from"], &values["to"], &values["reason"]),
            (&change["from"], &change["to"], &change["reason"])
        );
        assert_eq!(event["at"], change["at"]);
    }
    assert_eq!(lines, events);
    for line in ended.stdout.lines().filter(|line| line.contains("\"event\"")) {
        schema::of_line(line);
    }
}

#[test]
fn without_json_changes_are_lines() {
    let ended = call(&[
        "run",
        "--synthetic",
        TRAFFIC,
        "--wire",
        "rate=900Mpps,seconds=3,ring=256",
        "--every",
        "500ms",
        "--adapt",
        "loss=1e-5",
    ])
    .expect(0);
    let said: Vec<_> = ended.stderr.lines().filter(|line| line.starts_with("edison: adapt: ")).collect();
    assert!(said.iter().any(|line| line.contains("->") && line.contains("lost")), "{}", ended.stderr);
}

#[test]
fn what_cannot_be_tuned_is_refused_by_name() {
    let wire = ["--synthetic", TRAFFIC, "--wire", "rate=1Mpps,seconds=1", "--every", "1s"];
    let says = |arguments: &[&str], words: &[&str]| {
        call(&[&["run"], arguments].concat()).says(2, words);
    };
    let with = |more: &[&'static str]| [&wire[..], more].concat();
    says(&["--synthetic", TRAFFIC, "--adapt", "loss=1%"], &["--adapt", "a replay loses nothing"]);
    says(
        &["--synthetic", TRAFFIC, "--wire", "queues=1", "--adapt", "loss=1%"],
        &["--adapt", "a wire without a rate loses nothing"],
    );
    says(&with(&["--adapt", "1%"]), &["--adapt", "does not say", "loss=0.001%"]);
    says(&with(&["--adapt", "loss=0"]), &["--adapt", "'0' is not"]);
    says(&with(&["--adapt", "los=1%"]), &["--adapt", "did you mean \"loss\""]);
    says(&with(&["--adapt", "loss=1%", "--design", "rss"]), &["--design rss"]);
    says(&with(&["--adapt", "loss=1%", "--loss"]), &["--loss"]);
    says(&with(&["--adapt", "loss=1%", "--rows", "rows.parquet"]), &["--adapt", "--rows"]);
    says(
        &with(&["--adapt", "loss=1%", "--export", "ipfix://127.0.0.1:9"]),
        &["--adapt", "IPFIX", "--export"],
    );
    says(&with(&["--adapt", "loss=1%", "--flows", "flows.ipfix"]), &["--adapt", "IPFIX", ".csv"]);
    says(
        &["--synthetic", TRAFFIC, "--wire", "rate=1Mpps", "--every", "1Mp", "--adapt", "loss=1%"],
        &["--adapt", "--every a time"],
    );
    says(
        &with(&["--adapt", "loss=1%", "-q", "adapt: select count(*) as n every 1s"]),
        &["a query named adapt", "another one"],
    );
    says(
        &with(&[
            "--adapt",
            "loss=1%",
            "-q",
            "a: select count(*) as n every 1s; b: select count(*) as m every 1s when a.n > 5;",
        ]),
        &["--adapt is not possible", "start no query"],
    );
    // Its events start no query. The message shows the place in the text.
    let unknown =
        with(&["--adapt", "loss=1%", "-q", "b: select count(*) as m every 1s when adapt.share < 1;"]);
    let ended = call(&[&["run"], &unknown[..]].concat()).expect(2);
    assert!(ended.stderr.contains("there is no query 'adapt'"), "{}", ended.stderr);
}
