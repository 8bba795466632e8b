//! Queries whose packets are counted in structures start others and are started, against the same queries over rows in the same run.

use crate::support::capture;
use crate::support::deployment::{Broker, Deployment, send};
use crate::support::output::{self, number};
use crate::support::program::call;
use crate::support::scratch::{Scratch, text};
use crate::support::waiting::until;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use testbed::veth::{Veth, with_veth};

const SPEC: &str = "packets=30k,flows=600,seed=9,zipf=1.0,rate=3k";
/// A chain over rows, and one that is counted and has room for everything.
const BOTH: &str = "rows: select src_addr, sum(total_byte) as b groupby src_addr every 1s; \
    counted: select src_addr, sum(total_byte) as b groupby src_addr every 1s using space_saving(memory=1MiB); \
    of_rows: select dst_port, sum(total_count) as n groupby dst_port limit 1000 every 1s when rows.b > 10K; \
    of_counted: select dst_port, sum(total_count) as n groupby dst_port every 1s when counted.b > 10K \
        using space_saving(memory=1MiB); \
    last_of_rows: select count(*) as n every 1s when of_rows.n > 100 run 3s; \
    last_of_counted: select count(distinct src_addr) as n every 1s when of_counted.n > 100 run 3s \
        using hyper_log_log(memory=4KiB)";

fn lines(arguments: &[&str]) -> Vec<Value> {
    let ended = call(&[&["run"], arguments, &["--json", "--seed", "3"]].concat()).expect(0);
    ended.stdout.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

/// A figure that is exact, or an estimate with equal bounds.
fn exactly(figure: &Value) -> u64 {
    match figure["value"].is_null() {
        true => number(figure),
        false => {
            assert!(figure["lower"] == figure["value"] && figure["upper"] == figure["value"], "{figure}");
            number(&figure["value"])
        }
    }
}

/// What happened to a query, as node, kind, time, key and value.
fn happened(lines: &[Value], query: &str) -> Vec<(String, String, String, String, Vec<u64>)> {
    let own = lines.iter().filter(|line| line["event"].is_string() && line["query"] == query);
    let one = |event: &Value| {
        let values = event["values"].as_object().expect("values").values();
        let [node, kind, at, key] = ["node", "kind", "at", "key"].map(|member| event[member].to_string());
        (node, kind, at, key, values.map(exactly).collect())
    };
    own.map(one).collect()
}

/// The rows of a query's answers, by node, window and group.
fn groups(lines: &[Value], query: &str, key: &str, figure: &str) -> BTreeMap<[String; 3], Value> {
    let own = lines.iter().filter(|line| line["query"] == query && line["rows"].is_array());
    let rows = |answer: &Value| {
        let place = [answer["node"].to_string(), answer["window"]["start"].to_string()];
        let row =
            |row: &Value| ([place[0].clone(), place[1].clone(), row[key].to_string()], row[figure].clone());
        answer["rows"].as_array().expect("rows").iter().map(row).collect::<Vec<_>>()
    };
    own.flat_map(rows).collect()
}

fn exact_groups(lines: &[Value], query: &str, key: &str, figure: &str) -> BTreeMap<[String; 3], u64> {
    let groups = groups(lines, query, key, figure).into_iter();
    groups.map(|(group, figure)| (group, exactly(&figure))).collect()
}

/// A structure that has room for everything makes the events and the answers that rows make: on one node and on several, and with several cores.
#[test]
fn with_room_for_everything_events_are_those_of_rows() {
    let scratch = Scratch::new();
    let capture = capture::generate(&scratch, SPEC).path;
    let other = Scratch::new();
    let other = capture::generate(&other, &SPEC.replace("seed=9", "seed=11")).path;
    let (one, two) = (format!("A={}", text(&capture)), format!("B={}", text(&other)));
    for sources in [&[text(&capture)][..], &[&one, &two], &[text(&capture), "--design", "1x2"]] {
        let lines = lines(&[sources, &["-q", BOTH]].concat());
        for (of_rows, of_counted) in [("of_rows", "of_counted"), ("last_of_rows", "last_of_counted")] {
            let (rows, counted) = (happened(&lines, of_rows), happened(&lines, of_counted));
            assert!(rows.len() > 4, "{sources:?}: {rows:?}");
            let by_time = |mut events: Vec<_>| {
                events.sort();
                events
            };
            assert_eq!(by_time(counted), by_time(rows), "{sources:?}");
        }
        let fired = lines.iter().filter(|line| line["event"].is_string() && line["query"] == "of_counted");
        assert!(fired.into_iter().all(|event| event["bounds"].is_null()), "what is exact is no estimate");
        let rows = exact_groups(&lines, "of_rows", "dst_port", "n");
        assert!(rows.len() > 10, "{sources:?}: {rows:?}");
        assert_eq!(exact_groups(&lines, "of_counted", "dst_port", "n"), rows, "{sources:?}");
        let windows = |query: &str| -> BTreeSet<(String, String)> {
            let own = lines.iter().filter(|line| line["query"] == query && line["rows"].is_array());
            own.map(|answer| (answer["node"].to_string(), answer["window"].to_string())).collect()
        };
        assert!(windows("last_of_rows").len() >= 3);
        assert_eq!(windows("last_of_counted"), windows("last_of_rows"), "{sources:?}");
    }
}

/// A structure without room for everything fires where its bounds say so, and never against the truth. Its events say that they rest on an estimate.
#[test]
fn bounds_decide_and_are_told() {
    let scratch = Scratch::new();
    let capture = capture::generate(&scratch, SPEC).path;
    for (structure, field, least, bounds) in [
        ("space_saving(memory=4KiB)", "total_byte", 3_000, "certain"),
        ("count_min(memory=128KiB)", "total_byte", 3_000, "each with a probability of "),
        ("conservative_update(memory=32KiB)", "total_count", 20, "each with a probability of "),
    ] {
        let queries = format!(
            "truth: select src_addr, sum({field}) as b groupby src_addr every 1s; \
             some: select src_addr, sum({field}) as b groupby src_addr limit 30 every 1s using {structure}; \
             heavy: select count(*) as n every 1s when some.b > {least}"
        );
        let lines = lines(&[text(&capture), "-q", &queries]);
        let truth = exact_groups(&lines, "truth", "src_addr", "b");
        let events: Vec<&Value> = lines.iter().filter(|line| line["event"].is_string()).collect();
        let fired = events.iter().filter(|event| event["kind"] == "fired").count();
        assert!(fired > 2, "{structure}: {events:?}");
        let mut wide = 0;
        for event in events {
            let at = [&event["node"], &event["window"]["start"], &event["key"]["src_addr"]];
            let true_figure = truth.get(&at.map(Value::to_string)).copied().unwrap_or(0);
            match event["kind"].as_str() {
                Some("fired") => assert!(true_figure > least, "{structure}: {event} {true_figure}"),
                Some("resolved") => assert!(true_figure <= least, "{structure}: {event} {true_figure}"),
                _ => continue,
            }
            let told = event["bounds"].as_str().expect("bounds");
            assert!(told.starts_with(bounds), "{structure}: {event}");
            let figure = &event["values"]["b"];
            wide += usize::from(figure["lower"] != figure["upper"]);
        }
        assert!(wide > 0, "{structure}: so little memory has errors");
    }
    let queries = "some: select src_addr, sum(total_byte) as b groupby src_addr limit 30 every 1s using space_saving(memory=4KiB); \
                   heavy: select count(*) as n every 1s when some.b > 3K";
    let shown = call(&["run", text(&capture), "-q", queries, "--seed", "3"]).expect(0).stdout;
    assert!(shown.contains("by an estimate with certain bounds"), "{shown}");
    assert!(shown.contains(" (between "), "{shown}");
}

/// Derived queries and values of earlier windows read what is counted, with its bounds.
#[test]
fn counted_answers_are_read_with_their_bounds() {
    let scratch = Scratch::new();
    let capture = capture::generate(&scratch, SPEC).path;
    let queries = "rows: select src_addr, sum(total_byte) as b, prev(sum(total_byte)) as before groupby src_addr every 1s; \
        counted: select src_addr, sum(total_byte) as b, prev(sum(total_byte)) as before groupby src_addr every 1s \
            using space_saving(memory=1MiB); \
        few: select src_addr, sum(total_byte) as b groupby src_addr limit 30 every 1s using space_saving(memory=4KiB); \
        truth: select src_addr, sum(total_byte) as b groupby src_addr every 1s; \
        off: select src_addr, few.b - truth.b as off from few, truth limit 1000";
    let lines = lines(&[text(&capture), "-q", queries]);
    for figure in ["b", "before"] {
        let known = |query: &str| -> BTreeMap<[String; 3], Value> {
            groups(&lines, query, "src_addr", figure)
                .into_iter()
                .filter(|(_, known)| !known.is_null())
                .collect()
        };
        let (rows, counted) = (known("rows"), known("counted"));
        assert!(rows.len() > 500, "{figure}: {}", rows.len());
        assert_eq!(counted.keys().collect::<Vec<_>>(), rows.keys().collect::<Vec<_>>(), "{figure}");
        for (group, known) in &rows {
            // In a window that was watched in part, what was seen is the least.
            let least = |figure: &Value| {
                if figure["lower"].is_null() { figure.clone() } else { figure["lower"].clone() }
            };
            assert_eq!(least(&counted[group]).as_f64(), least(known).as_f64(), "{figure}: {group:?}");
        }
    }
    let off = groups(&lines, "off", "src_addr", "off");
    assert!(off.len() > 500);
    let mut wide = 0;
    for (group, off) in &off {
        if let Some(off) = off.as_i64() {
            assert_eq!(off, 0, "{group:?}");
            continue;
        }
        let [lower, upper] = ["lower", "upper"].map(|bound| off[bound].as_f64());
        assert!(off["value"].is_number(), "{group:?}: {off}");
        assert!(lower.is_none_or(|lower| lower <= 0.0), "{group:?}: {off}");
        assert!(upper.is_none_or(|upper| upper >= 0.0), "{group:?}: {off}");
        wide += usize::from(lower.is_some() && upper.is_some());
    }
    assert!(wide > 100, "{wide} of {}", off.len());
}

/// Tasks of the run go on while firings start and end what is counted: changes are measured from one window to the next.
#[test]
fn tasks_go_on_beside_what_is_started() {
    let scratch = Scratch::new();
    let capture = capture::generate(&scratch, SPEC).path;
    let tasks = [
        "--task",
        "change:key=src_addr,share=1%,structure=k-ary,memory=64KiB",
        "--task",
        "change:key=src_addr,share=1%,structure=k-ary,memory=64KiB,against=ewma",
    ];
    let alone = lines(&[&[text(&capture), "--every", "1s"], &tasks[..]].concat());
    let both = lines(&[&[text(&capture), "-q", BOTH], &tasks[..]].concat());
    assert!(!happened(&both, "of_counted").is_empty());
    let answers = |lines: &[Value]| -> Vec<(Value, Value, Value)> {
        let own = lines.iter().filter(|line| line["query"] == "change" && line["rows"].is_array());
        own.map(|answer| (answer["window"].clone(), answer["status"].clone(), answer["rows"].clone()))
            .collect()
    };
    let (alone, both) = (answers(&alone), answers(&both));
    assert!(alone.len() >= 16, "{alone:?}");
    assert!(alone.iter().any(|(_, _, rows)| rows.as_array().is_some_and(|rows| !rows.is_empty())));
    assert_eq!(both, alone);
}

/// A live source: packets come when they come, and what fires is started all the same.
#[test]
fn what_is_counted_is_started_live() {
    let scratch = Scratch::new();
    let capture = capture::generate(&scratch, "packets=60k,flows=600,seed=9,zipf=1.0,rate=3k").path;
    let report = scratch.path("report.json");
    let queries = "first: select src_addr, sum(total_count) as n groupby src_addr every 100ms using space_saving(memory=1MiB); \
        then: select dst_addr, sum(total_count) as n groupby dst_addr every 100ms when first.n > 10 run 1s \
            using count_min(memory=1MiB)";
    let arguments = ["run", text(&capture), "-q", queries, "--wire", "rate=10kpps", "--json", "--seed", "3"];
    let ended = call(&[&arguments[..], &["--report", text(&report)]].concat()).expect(0);
    let lines: Vec<Value> =
        ended.stdout.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert!(lines.iter().any(|line| line["query"] == "then" && line["kind"] == "fired"));
    let found = lines.iter().filter(|line| line["query"] == "then" && line["rows"].is_array());
    let found: Vec<&Value> =
        found.filter(|line| line["rows"].as_array().is_some_and(|rows| !rows.is_empty())).collect();
    assert!(!found.is_empty(), "{}", ended.stdout);
    for answer in found {
        let sum: f64 =
            answer["rows"].as_array().expect("rows").iter().map(|row| output::estimate(&row["n"])).sum();
        assert!(sum >= number(&answer["task"]["total"]) as f64 || answer["rest"]["groups"] != 0, "{answer}");
    }
    let report = output::report(&report);
    assert_eq!(number(&report["packets"]["received"]) + output::total(&report["loss"]), 60_000);
}

/// A probe counts what a controller asks, and what its firings start.
#[test]
fn a_probe_counts_what_a_controller_asks() {
    const CHAIN: &str = "counted: select dst_port, sum(total_count) as n groupby dst_port using space_saving(memory=256KiB);\n\
        rows: select dst_port, sum(total_count) as n groupby dst_port;\n\
        started: select dst_port, count(distinct src_port) as ports groupby dst_port when counted.n > 50 run 2s using contact_sample(memory=256KiB);\n\
        by_rows: select count(*) as n when rows.n > 50;";
    with_veth(|veth| {
        let deployment = Deployment::new();
        let _broker = Broker(&deployment);
        deployment.broker("start");
        let mut controller = deployment.controller_of("\"near\"", CHAIN);
        let mut probe = deployment.probe("near", Veth::NEAR);
        until("the node", || deployment.is_up("near").then_some(()));
        let answers = |query: &str| {
            let answers = deployment.get(&format!("/answers?query={query}&node=near&limit=10000"))?;
            answers["answers"].as_array().cloned()
        };
        until("an answer", || (!answers("rows")?.is_empty()).then_some(()));
        let key =
            |event: &Value| [event["at"].to_string(), event["key"].to_string(), event["kind"].to_string()];
        let events = |query: &str| -> Option<BTreeSet<[String; 3]>> {
            let events = deployment.get(&format!("/events?query={query}&limit=1000"))?;
            let changes = events["events"].as_array()?.iter();
            let changes = changes.filter(|event| event["kind"] == "fired" || event["kind"] == "resolved");
            Some(changes.map(key).collect())
        };
        // Whatever counts them, the same fires and is resolved.
        until("a firing, and its answer", || {
            send(veth, 2000..4000);
            let found = answers("started")?;
            let has_rows = |answer: &Value| answer["rows"].as_array().is_some_and(|rows| !rows.is_empty());
            found.iter().any(has_rows).then_some(())
        });
        until("both resolved alike", || {
            let (counted, rows) = (events("started")?, events("by_rows")?);
            let resolved = counted.iter().any(|[_, _, kind]| kind.contains("resolved"));
            (counted == rows && resolved).then_some(())
        });
        let figures = |query: &str| -> Option<BTreeMap<[String; 2], u64>> {
            let row = |answer: &Value, row: &Value| {
                ([answer["window"]["start"].to_string(), row["dst_port"].to_string()], exactly(&row["n"]))
            };
            let answers = answers(query)?;
            let of = |answer: &Value| -> Vec<_> {
                answer["rows"].as_array().into_iter().flatten().map(|own| row(answer, own)).collect()
            };
            Some(answers.iter().flat_map(of).collect())
        };
        until("the same answers", || (figures("counted")? == figures("rows")?).then_some(()));
        // A structure that the node has no room for is refused by name, and all else is answered on.
        let large = deployment.scratch.file(
            "large.eq",
            "large: select src_addr, sum(total_count) as n groupby src_addr using space_saving(memory=1GiB)",
        );
        deployment.ask(&["add", text(&large)]).expect(0);
        until("the refusal", || {
            let refused = deployment.node("near")?["tasks"]["refused"].to_string();
            (refused.contains("large: ") && refused.contains("half of the node's memory")).then_some(())
        });
        let before = answers("counted").expect("answers").len();
        until("further answers", || (answers("counted")?.len() > before).then_some(()));
        for program in [&mut controller, &mut probe] {
            program.signal(libc::SIGTERM);
        }
        controller.wait().expect(0);
        probe.wait().expect(0);
    });
}
