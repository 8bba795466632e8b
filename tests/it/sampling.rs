//! `--tee SHARE`: estimates whose bounds contain the truth as often as they promise, every frame with a name, and one line for what a
//! sample does not tell.

use crate::support::capture::{self, Frame, Generated, Key};
use crate::support::output::{self, number};
use crate::support::program::{Ended, edison, run};
use crate::support::schema;
use crate::support::scratch::Scratch;
use serde_json::Value;
use std::collections::{HashMap, HashSet};
use std::path::Path;

const SPEC: &str = "packets=24k,flows=900,rate=24k,zipf=1,ipv6=20%,size=64:3/1400:1";
/// Runs, each of another seed.
const SEEDS: u64 = 60;

const QUERIES: &str = "\
    dst: select dst_addr, sum(total_count) as p, sum(total_byte) as b, sum(wire_byte) as w, count(*) as f \
         groupby dst_addr order by p desc limit 30;
    low: select sum(total_count) as p, sum(total_byte) as b, count(*) as f where dst_port < 1024;
    many: select dst_addr, sum(total_count) as p groupby dst_addr having p > 200;
    mean: select avg(total_byte) as m, max(total_count) as x;";

/// A group by a simple count of all frames.
#[derive(Clone, Debug, Default)]
struct Group {
    packets: u64,
    bytes: u64,
    wire_bytes: u64,
    flows: HashSet<Key>,
}

impl Group {
    fn figure(&self, column: &str) -> Option<f64> {
        Some(match column {
            "p" | "total_count" => self.packets as f64,
            "b" | "total_byte" => self.bytes as f64,
            "w" | "wire_byte" => self.wire_bytes as f64,
            "f" => self.flows.len() as f64,
            _ => return None,
        })
    }
}

/// The groups of a query; of one group of all the name is empty.
fn truth<'a>(query: &str, frames: impl IntoIterator<Item = &'a Frame>) -> HashMap<String, Group> {
    let mut groups: HashMap<String, Group> = HashMap::new();
    for frame in frames {
        let (key, bytes) = capture::layer3(&frame.data);
        let (_, dst, _, _, dst_port) = key;
        let name = match query {
            "dst" | "many" => dst.to_string(),
            "low" if dst_port >= 1024 => continue,
            _ => String::new(),
        };
        let group = groups.entry(name).or_default();
        group.packets += 1;
        group.bytes += bytes;
        group.wire_bytes += frame.data.len() as u64;
        group.flows.insert(key);
    }
    groups
}

fn bounds(value: &Value) -> [f64; 2] {
    if let Some(number) = value.as_f64() {
        return [number; 2];
    }
    assert!(value["value"].is_number(), "{value}");
    let end = |name: &str, open: f64| value[name].as_f64().unwrap_or(open);
    [end("lower", f64::NEG_INFINITY), end("upper", f64::INFINITY)]
}

/// Figures that were compared with the truth, and those that missed it.
#[derive(Debug, Default)]
struct Seen {
    figures: u64,
    missed: u64,
}

impl Seen {
    fn check(&mut self, query: &str, answer: &Value, truth: &HashMap<String, Group>) {
        assert_eq!(
            (&answer["class"], &answer["sampling"]["share"]),
            (&"sample".into(), &0.15.into()),
            "{answer}"
        );
        assert!(
            answer["reason"].as_str().is_some_and(|reason| reason.contains("a sample of 15%")),
            "{answer}"
        );
        for row in output::rows(answer) {
            let name = row["dst_addr"].as_str().unwrap_or_default();
            let group = truth.get(name).cloned().unwrap_or_default();
            for (column, value) in row.as_object().expect("a row") {
                if column == "flows" {
                    assert_eq!(bounds(value), [f64::NEG_INFINITY, f64::INFINITY], "{value}");
                }
                let Some(figure) = group.figure(column) else { continue };
                let [lower, upper] = bounds(value);
                assert!(lower < upper && lower >= 0.0, "{query} {column}: {value}");
                // The flows that were seen are no more than there are, whatever was drawn.
                assert!(column != "f" || upper == f64::INFINITY && lower <= figure, "{value}");
                self.figures += 1;
                self.missed += u64::from(!(lower..=upper).contains(&figure));
            }
        }
        let rest = &answer["rest"];
        if !rest["p"].is_null() && query == "dst" {
            let shown: Vec<_> = output::rows(answer).iter().map(|row| row["dst_addr"].as_str()).collect();
            let others = truth.iter().filter(|(name, _)| !shown.contains(&Some(name.as_str())));
            let figure = others.map(|(_, group)| group.packets as f64).sum::<f64>();
            let [lower, upper] = bounds(&rest["p"]);
            self.figures += 1;
            self.missed += u64::from(!(lower..=upper).contains(&figure));
        }
    }
}

fn measure(path: &Path, report: &Path, arguments: &[&str]) -> Ended {
    let mut command = edison();
    command.arg("run").arg(path).args(["--memory", "512MiB", "--json", "--every", "500ms", "-q", QUERIES]);
    run(command.args(arguments).arg("--report").arg(report)).expect(0)
}

#[test]
fn bounds_contain_the_truth_as_often_as_they_promise() {
    let scratch = Scratch::new();
    let Generated { path, frames, .. } = capture::generate(&scratch, SPEC);
    let report_path = scratch.path("report.json");
    let names = ["totals", "dst", "low"];
    let of_run: Vec<_> = names.iter().map(|query| truth(query, &frames)).collect();
    let many = truth("many", &frames);
    let (mut of_windows, mut of_runs) = (Seen::default(), Seen::default());
    let (mut passing, mut wrongly) = (0, 0);
    for seed in 0..SEEDS {
        let design = [&["--cores", "2"][..], &["--design", "1x3"], &[]][seed as usize % 3];
        let seed = seed.to_string();
        let ended = measure(&path, &report_path, &[&["--tee", "15%", "--seed", &seed], design].concat());
        let report = output::report(&report_path);
        let packets = &report["packets"];
        let not_sampled = number(&packets["not_measured"]["not_sampled"]);
        assert_eq!(number(&packets["received"]), frames.len() as u64);
        assert_eq!(number(&packets["measured"]) + not_sampled, frames.len() as u64);
        assert_eq!(report["sampling"]["share"], 0.15);
        assert_ne!(report["design"]["workers"], 0);
        for (query, truth) in names.iter().zip(&of_run) {
            of_runs.check(query, output::of_run(&report, query), truth);
        }
        for row in output::rows(output::of_run(&report, "many")) {
            passing += 1;
            wrongly += u64::from(many[row["dst_addr"].as_str().expect("a group")].packets <= 200);
        }
        let mean = &output::rows(output::of_run(&report, "mean"))[0];
        assert_eq!((&mean["m"]["upper"], &mean["x"]["lower"]), (&Value::Null, &Value::Null), "{mean}");
        for line in ended.stdout.lines() {
            let answer: Value = serde_json::from_str(line).expect("JSON");
            let Some(query) = names.iter().find(|query| answer["query"] == **query) else { continue };
            let [start, end] = ["start", "end"].map(|end| output::time(&answer["window"][end]));
            let of_window = frames.iter().filter(|frame| (start..end).contains(&frame.time_ns));
            of_windows.check(query, &answer, &truth(query, of_window));
        }
        if seed == "0" {
            for line in ended.stdout.lines() {
                schema::of_line(line);
            }
            schema::of_report(&std::fs::read_to_string(&report_path).expect("written"));
        }
    }
    for seen in [&of_windows, &of_runs] {
        assert!(seen.figures > 5_000, "{seen:?}");
        assert!(seen.missed * 20 <= seen.figures, "{seen:?}");
    }
    assert!(passing > 100 && wrongly * 20 <= passing, "{wrongly} of {passing}");
}

/// The program's own answers: each window has its totals and the account of its frames.
#[test]
fn every_frame_of_every_window_has_a_name() {
    let scratch = Scratch::new();
    let Generated { path, frames, .. } = capture::generate(&scratch, SPEC);
    let mut seen = Seen::default();
    for (seed, design) in [("1", "async"), ("2", "pipeline"), ("3", "1x2")] {
        let mut command = edison();
        command
            .arg("run")
            .arg(&path)
            .args(["--memory", "512MiB", "--json", "--every", "500ms", "--tee", "15%"]);
        let ended = run(command.args(["--seed", seed, "--design", design])).expect(0);
        let windows = output::windows(ended.stdout.lines());
        assert!(windows.len() >= 2);
        for window in &windows {
            let of_window = frames.iter().filter(|frame| (window.start..window.end).contains(&frame.time_ns));
            let of_window: Vec<_> = of_window.collect();
            let packets = window.packets();
            let not_sampled = number(&packets["not_measured"]["not_sampled"]);
            assert_eq!(number(&packets["received"]), of_window.len() as u64);
            assert_eq!(number(&packets["measured"]) + not_sampled, of_window.len() as u64);
            seen.check("totals", window.answer("totals"), &truth("totals", of_window));
        }
    }
    assert!(seen.figures >= 18 && seen.missed <= 2, "{seen:?}");
}

/// With every packet, the records are those of a run without a sample, and so are the answers.
/// Files of records tell that these are of a sample, and so does a store into which they are imported.
#[test]
fn records_of_a_sample_are_told_as_such_once_they_are_imported() {
    let scratch = Scratch::new();
    let Generated { path, .. } = capture::generate(&scratch, "packets=2k,flows=50");
    for suffix in ["csv", "jsonl", "ipfix", "parquet"] {
        let flows = scratch.path(&format!("flows.{suffix}"));
        let store = scratch.path(suffix);
        run(edison().arg("run").arg(&path).args(["--tee", "50%", "--flows"]).arg(&flows)).expect(0);
        run(edison().arg("import").arg(&flows).arg("--store").arg(&store)).expect(0);
        let asked = ["--json", "-q", "select sum(total_count) as n"];
        let of_file = run(edison().arg("query").arg(&flows).args(asked)).expect(0).stdout;
        let stored = run(edison().args(["query", "--store"]).arg(&store).args(asked)).expect(0).stdout;
        for told in [of_file, stored] {
            let answer: Value = serde_json::from_str(told.trim()).expect("one answer");
            let reason = answer["reason"].as_str().unwrap_or_default();
            assert!(answer["bounds"] == "none" && reason.contains("sample"), "{suffix}: {answer}");
        }
    }
}

#[test]
fn a_share_of_all_changes_nothing() {
    let scratch = Scratch::new();
    let Generated { path, .. } = capture::generate(&scratch, SPEC);
    let of = |arguments: &[&str]| {
        let (csv, report) = (scratch.path("flows.csv"), scratch.path("report.json"));
        let flows = csv.to_str().expect("UTF-8");
        let common = ["--design", "async", "--seed", "1", "--flows", flows];
        let ended = measure(&path, &report, &[&common, arguments].concat());
        let mut lines: Vec<_> =
            std::fs::read_to_string(&csv).expect("written").lines().map(str::to_owned).collect();
        lines.sort_unstable();
        let answers: Vec<Value> =
            ended.stdout.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
        (lines, answers)
    };
    let (whole, sampled) = (of(&[]), of(&["--tee", "1"]));
    assert_eq!(whole.0, sampled.0);
    assert_eq!(whole.1, sampled.1);
}

/// Sampled packets of a flow are further apart than the idle timeout, so that it has several records; what is not scaled has a name, and what
/// reads the records knows of it where their format can say it.
#[test]
fn what_is_of_the_sample_alone_is_named() {
    let scratch = Scratch::new();
    let Generated { path, frames, .. } = capture::generate(&scratch, "packets=600,flows=2,rate=1");
    let there_are = truth("totals", &frames)[""].flows.len() as f64;
    let (report, ipfix) = (scratch.path("r.json"), scratch.path("x.ipfix"));
    let query = "q: select src_addr, sum(total_byte * 8) as bits, sum(total_byte) as b, min(total_byte) as least, \
                 top(1, dst_addr) as t groupby src_addr";
    let of = |flows: &Path| {
        let mut command = edison();
        command.arg("run").arg(&path).args(["--tee", "2%", "--seed", "1", "-q", query, "--flows"]).arg(flows);
        run(command.arg("--report").arg(&report)).expect(0)
    };
    assert!(!of(&ipfix).stderr.contains("--flows"));
    let written = output::report(&report);
    let answer = |name: &str| {
        output::list(&written["answers"]).iter().find(|answer| answer["query"] == name).expect("an answer")
    };
    let flows = &output::rows(answer("totals"))[0]["flows"];
    assert!(number(&flows["value"]) as f64 > there_are, "{flows}");
    assert!(flows["lower"].is_null() && flows["upper"].is_null(), "{flows}");
    let reason = answer("q")["reason"].as_str().expect("a reason");
    assert!(reason.ends_with("of the sampled packets alone, not scaled: bits, least, t"), "{reason}");

    let ask = |file: &Path| {
        let mut command = edison();
        let asked = run(command.arg("query").arg(file).args(["a: select sum(total_count) as p", "--json"]));
        serde_json::from_str::<Value>(asked.expect(0).stdout.trim()).expect("JSON")
    };
    let read = ask(&ipfix);
    assert_eq!((&read["class"], &read["bounds"]), (&"sample".into(), &"none".into()), "{read}");
    assert!(read["reason"].as_str().is_some_and(|reason| reason.contains("x.ipfix")), "{read}");
    for name in ["x.csv", "x.jsonl", "x.parquet"] {
        let file = scratch.path(name);
        assert!(!of(&file).stderr.contains("--flows"));
        let other = ask(&file);
        assert_eq!((&other["class"], &other["bounds"]), (&"sample".into(), &"none".into()), "{other}");
        assert_eq!(other["rows"], read["rows"]);
        let reason = other["reason"].as_str().expect("a reason");
        assert!(reason.contains(&format!("{name} (2% of the packets)")), "{reason}");
    }
}

/// What the bounds leave open starts nothing, and an event has the estimate that it was judged by.
#[test]
fn a_condition_is_judged_by_the_bounds() {
    const LIMIT: f64 = 100.0;
    let scratch = Scratch::new();
    let Generated { path, .. } = capture::generate(&scratch, SPEC);
    let queries = format!(
        "a: select dst_addr, sum(total_count) as p groupby dst_addr order by p desc limit 30 every 200ms;
         b: select count(*) as n every 200ms when a.p > {LIMIT} run 200ms;"
    );
    let mut command = edison();
    command.arg("run").arg(&path).args(["--tee", "50%", "--seed", "1", "--every", "200ms", "--json", "-q"]);
    let ended = run(command.arg(&queries)).expect(0);
    let lines: Vec<Value> =
        ended.stdout.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let (mut surely, mut open) = (HashMap::new(), 0);
    for answer in lines.iter().filter(|line| line["query"] == "a" && line.get("rows").is_some()) {
        for row in output::rows(answer) {
            let bound = |name: &str| row["p"][name].as_f64().expect("a bound");
            if bound("lower") > LIMIT {
                let key = (answer["window"]["start"].to_string(), row["dst_addr"].to_string());
                surely.insert(key, row["p"].clone());
            } else if bound("value") > LIMIT {
                open += 1;
            }
        }
    }
    let fired: Vec<_> = lines.iter().filter(|line| line["kind"] == "fired").collect();
    assert!(!fired.is_empty() && open > 0, "{} fired, {open} open", fired.len());
    for event in &fired {
        let key = (event["window"]["start"].to_string(), event["key"]["dst_addr"].to_string());
        assert_eq!(surely.get(&key), Some(&event["values"]["p"]), "{event}");
    }
    // Each that is surely above fires once at least.
    let of_keys = |key: &(String, String)| key.1.clone();
    let expected: HashSet<_> = surely.keys().map(of_keys).collect();
    let found: HashSet<_> = fired.iter().map(|event| event["key"]["dst_addr"].to_string()).collect();
    assert_eq!(found, expected);
}

#[test]
fn heavy_hitters_by_share_are_counted_of_a_sample() {
    let scratch = Scratch::new();
    let Generated { path, frames, .. } = capture::generate(&scratch, SPEC);
    let report = scratch.path("report.json");
    let all = truth("dst", &frames);
    for structure in ["", ",structure=exact"] {
        let task = format!("heavy-hitters:key=dst_addr,share=2%{structure}");
        let mut command = edison();
        command
            .arg("run")
            .arg(&path)
            .args(["--memory", "512MiB", "--every", "1h", "--seed", "5", "--tee", "0.5"]);
        run(command.args(["--task", &task]).arg("--report").arg(&report)).expect(0);
        let report = output::report(&report);
        let answer =
            output::list(&report["answers"]).iter().find(|answer| answer["query"] == "heavy_hitters");
        let rows = output::rows(answer.expect("an answer"));
        assert!(rows.len() > 3);
        let contained = rows.iter().filter(|row| {
            let group = &all[row["dst_addr"].as_str().expect("a group")];
            let [lower, upper] = bounds(&row["total_count"]);
            lower < upper && (lower..=upper).contains(&(group.packets as f64))
        });
        assert!(contained.count() * 20 >= rows.len() * 17, "{rows:?}");
    }
}

#[test]
fn what_a_sample_does_not_tell_is_refused_by_name() {
    let scratch = Scratch::new();
    let Generated { path, .. } = capture::generate(&scratch, "packets=100,flows=5");
    let says = |arguments: &[&str], words: &[&str]| {
        let mut command = edison();
        command.arg("run").arg(&path).args(["--memory", "512MiB"]);
        run(command.args(arguments)).says(2, words);
    };
    for share in ["0", "2", "-1", "nan", "abc", "0%", "101%", ""] {
        says(&[&format!("--tee={share}")], &["--tee", "above 0 and up to 100%"]);
    }
    let flows = scratch.path("flows.csv");
    let flows = flows.to_str().expect("UTF-8");
    for (arguments, words) in [
        (&["--design", "rss"][..], &["--tee", "--design rss", "async"][..]),
        (&["--design", "cooperative"], &["--tee", "--design cooperative"]),
        (&["--design", "sync"], &["--tee", "wait for the others"]),
        (&["--cores", "1"], &["2 cores"]),
        (&["--loss"], &["--loss", "sequence numbers"]),
        (&["--biflow"], &["--biflow", "first packet"]),
        (&["--inter-arrival", "mean", "--flows", flows], &["--inter-arrival", "in sequence"]),
        (&["--gap", "mean", "--flows", flows], &["--gap", "in sequence"]),
        (&["--task", "entropy"], &["--task entropy", "sample"]),
        (&["--task", "heavy-hitters:count=10"], &["--task heavy-hitters", "sample"]),
        (
            &[
                "-q",
                "select src_addr, count(dst_addr) as d groupby src_addr having d > 5 using spread_sketch",
            ],
            &["sample"],
        ),
    ] {
        says(&[&["--tee", "15%"], arguments].concat(), words);
    }
}
