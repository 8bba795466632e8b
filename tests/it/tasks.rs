//! `--task`: every planted event found and none invented, by exact tables and by sketches, against a count of the test's own.

use crate::support::capture::{self, Frame, Generated};
use crate::support::output::{self, number, rows};
use crate::support::program::{edison, run};
use crate::support::scratch::Scratch;
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::net::IpAddr;

/// The traffic of `make run`, a seventh of it: 30 seconds.
const PLANTED: &str =
    "packets=300k,flows=45k,zipf=1.0,size=64:7/594:4/1518:1,rate=10k,plant=flood/scan/elephant";
const WINDOW_NS: u64 = 5_000_000_000;

fn windows(frames: &[Frame]) -> Vec<&[Frame]> {
    frames.chunk_by(|a, b| a.time_ns / WINDOW_NS == b.time_ns / WINDOW_NS).collect()
}

/// Who has to do with whom.
type Sides = fn(&capture::Key) -> (IpAddr, IpAddr);

/// A figure for each address or flow.
type Truth<K> = HashMap<K, f64>;

fn packets_by<K: std::hash::Hash + Eq>(frames: &[Frame], key: impl Fn(&capture::Key) -> K) -> Truth<K> {
    let mut truth = Truth::new();
    for frame in frames {
        *truth.entry(key(&capture::layer3(&frame.data).0)).or_default() += 1.0;
    }
    truth
}

fn others_of(frames: &[Frame], sides: impl Fn(&capture::Key) -> (IpAddr, IpAddr)) -> Truth<IpAddr> {
    let mut sets: HashMap<IpAddr, HashSet<IpAddr>> = HashMap::new();
    for frame in frames {
        let (key, other) = sides(&capture::layer3(&frame.data).0);
        sets.entry(key).or_default().insert(other);
    }
    sets.into_iter().map(|(key, others)| (key, others.len() as f64)).collect()
}

fn changes(now: &Truth<IpAddr>, before: &Truth<IpAddr>) -> Truth<IpAddr> {
    let keys: HashSet<_> = now.keys().chain(before.keys()).collect();
    let of = |truth: &Truth<IpAddr>, key| truth.get(key).copied().unwrap_or_default();
    keys.into_iter().map(|key| (*key, of(now, key) - of(before, key))).collect()
}

/// The figures of an answer, by key; exact ones have bounds that say so.
fn found<K: std::hash::Hash + Eq>(
    answer: &Value,
    figure: &str,
    is_exact: bool,
    key: impl Fn(&Value) -> K,
) -> Truth<K> {
    let figure = |row: &Value| {
        let figure = &row[figure];
        let bounds = [&figure["lower"], &figure["upper"]];
        assert!(!is_exact || bounds == [&figure["value"]; 2], "{answer}");
        output::estimate(figure)
    };
    let found: Truth<K> = rows(answer).iter().map(|row| (key(row), figure(row))).collect();
    assert_eq!(found.len(), rows(answer).len(), "each key once: {answer}");
    found
}

fn address(value: &Value) -> IpAddr {
    value.as_str().and_then(|text| text.parse().ok()).expect("an address")
}

/// All that are well above the threshold were found, none that is well below; `off`: the error that is allowed, 0 for exact tables.
fn are_those<K: std::hash::Hash + Eq + std::fmt::Debug>(
    found: &Truth<K>,
    truth: &Truth<K>,
    threshold: f64,
    off: f64,
    what: &str,
) {
    for (key, figure) in truth {
        let is_missing = figure.abs() >= threshold * (1.0 + off) && !found.contains_key(key);
        assert!(!is_missing, "{what}: {key:?} with {figure} is missing");
    }
    for (key, figure) in found {
        let true_figure = truth.get(key).copied().unwrap_or_default();
        assert!(true_figure.abs() >= threshold * (1.0 - off), "{what}: {key:?} {figure} is invented");
        assert!(
            (figure - true_figure).abs() <= off * true_figure.abs(),
            "{what}: {key:?} {figure} {true_figure}"
        );
    }
}

fn planted(generated: &Generated, kind: &str, member: &str) -> IpAddr {
    let events = generated.truth["events"].as_array().expect("events");
    let event = events.iter().find(|event| event["kind"] == kind).expect("it was planted");
    event[member].as_str().and_then(|text| text.parse().ok()).expect("an address")
}

#[test]
fn planted_events_are_found_and_none_invented() {
    let scratch = Scratch::new();
    let generated = capture::generate(&scratch, PLANTED);
    let (flooded, scanner) =
        (planted(&generated, "flood", "dst_addr"), planted(&generated, "scan", "src_addr"));
    let elephant = planted(&generated, "elephant", "src_addr");
    for (size, off, design) in [
        ("", 0.0, &[][..]),
        ("", 0.0, &["--design", "2x1", "--wire", "queues=2"][..]),
        (",memory=256KiB", 0.2, &[][..]),
        (",memory=256KiB", 0.2, &["--design", "1x3"][..]),
    ] {
        let mut command = edison();
        command.arg("run").arg(&generated.path).args(["--json", "--every", "5s", "--seed", "3"]).args(design);
        for task in [
            "heavy-hitters:share=1%,packets=60k",
            "super-spreaders:key=src_addr,count=200,packets=60k",
            "super-spreaders:key=dst_addr,of=src_addr,count=200,packets=60k",
            "change:key=dst_addr,share=2%,packets=60k",
        ] {
            command.arg("--task").arg(format!("{task}{size}"));
        }
        let ended = run(&mut command).expect(0);
        let reports = output::windows(ended.stdout.lines());
        let frames = windows(&generated.frames);
        assert_eq!(reports.len(), frames.len());
        let (mut seen, mut before) = ([false; 5], None);
        for (index, (window, frames)) in reports.iter().zip(frames).enumerate() {
            let what = format!("{size} {design:?} window {index}");
            let total = frames.len() as f64;
            let heavy = found(window.answer("heavy_hitters"), "total_count", off == 0.0, output::flow);
            are_those(&heavy, &packets_by(frames, |key| *key), 0.01 * total, off, &what);
            seen[0] |= heavy.keys().any(|flow| flow.0 == elephant);

            let spreaders: Vec<_> = window.answers_of("super_spreaders").collect();
            assert_eq!(spreaders.len(), 2);
            let sides: [(&str, Sides); 2] =
                [("src_addr", |key| (key.0, key.1)), ("dst_addr", |key| (key.1, key.0))];
            for ((answer, (member, sides)), who) in spreaders.into_iter().zip(sides).zip([scanner, flooded]) {
                let found = found(answer, "contacts", off == 0.0, |row| address(&row[member]));
                are_those(&found, &others_of(frames, sides), 200.0, off, &what);
                seen[if who == scanner { 1 } else { 2 }] |= found.contains_key(&who);
            }

            let now = packets_by(frames, |key| key.1);
            let answer = window.answer("change");
            if index + 1 == reports.len() {
                assert_eq!((&answer["status"], rows(answer)), (&"cut".into(), &[][..]), "{what}");
            } else if let Some(before) = &before {
                let found = found(answer, "change", off == 0.0, |row| address(&row["dst_addr"]));
                let most = total.max(before_total(before));
                are_those(&found, &changes(&now, before), 0.02 * most, off, &what);
                if let Some(change) = found.get(&flooded) {
                    seen[if *change > 0.0 { 3 } else { 4 }] = true;
                }
            } else {
                assert!(rows(answer).is_empty(), "{what}: there was nothing before");
            }
            before = Some(now);
        }
        assert_eq!(seen, [true; 5], "{size} {design:?}: elephant, scan, flood, its beginning, its end");
    }
}

fn before_total(truth: &Truth<IpAddr>) -> f64 {
    truth.values().sum()
}

/// Bits that the flow of a packet drawn at random has.
fn entropy_of<K>(truth: &Truth<K>) -> f64 {
    let total: f64 = truth.values().sum();
    -truth.values().map(|count| count / total * (count / total).log2()).sum::<f64>()
}

#[test]
fn without_a_size_tasks_answer_exactly_whatever_a_window_may_have() {
    let scratch = Scratch::new();
    let generated = capture::generate(&scratch, "packets=120k,flows=40k,zipf=1.0,ipv6=30%,rate=10k");
    let frames = windows(&generated.frames);
    for design in [&[][..], &["--design", "2x1", "--wire", "queues=2"][..], &["--design", "1x2"][..]] {
        let mut command = edison();
        command.arg("run").arg(&generated.path).args(["--json", "--every", "5s"]).args(design);
        for task in [
            "heavy-hitters:key=dst_addr+dst_port,count=1,top=1000",
            "quantiles:key=size,at=50%",
            "super-spreaders:key=src_addr,count=2",
            "flow-sizes",
            "entropy",
            "quantiles:key=dst_addr,at=50%",
            "change:key=dst_addr,count=20,top=1000",
            "flow-sizes:bins=exact",
        ] {
            command.args(["--task", task]);
        }
        let reports = output::windows(run(&mut command).expect(0).stdout.lines());
        assert_eq!(reports.len(), frames.len());
        let mut before: Option<Truth<IpAddr>> = None;
        for (index, (window, frames)) in reports.iter().zip(&frames).enumerate() {
            let what = format!("{design:?} window {index}");
            let (is_first, is_last) = (index == 0, index + 1 == reports.len());
            let tasks: Vec<_> = window.answers.iter().filter(|answer| !answer["task"].is_null()).collect();
            let asked = tasks.iter().map(|answer| answer["query"].as_str().unwrap_or_default());
            let order =
                "heavy_hitters quantiles super_spreaders flow_sizes entropy quantiles change flow_sizes";
            assert_eq!(asked.collect::<Vec<_>>().join(" "), order, "{what}");
            for (at, answer) in tasks.iter().enumerate() {
                // Nothing came before the first window, and the last one was watched only in part.
                let is_exact = at != 6 || !is_first && !is_last;
                assert_eq!(answer["bounds"], if is_exact { "exact" } else { "none" }, "{what} {answer}");
                assert_eq!(answer["class"], if at == 1 { "sketch" } else { "row" }, "{what} {answer}");
                let status = match (at, is_first, is_last) {
                    // More belong here than an answer has rows; there is nothing to compare with.
                    (0, ..) | (6, true, _) => "partial",
                    (_, _, true) => "cut",
                    _ => "complete",
                };
                assert_eq!(answer["status"], status, "{what} {answer}");
            }
            let heavy = packets_by(frames, |key| (key.1, key.4));
            let found = found(tasks[0], "total_count", true, |row| {
                (address(&row["dst_addr"]), number(&row["dst_port"]) as u16)
            });
            let mut largest: Vec<f64> = heavy.values().copied().collect();
            largest.sort_by(|a, b| b.total_cmp(a));
            assert_eq!(found.len(), 1000, "{what}");
            assert!(found.iter().all(|(key, packets)| heavy[key] == *packets), "{what}");
            let mut found: Vec<f64> = found.into_values().collect();
            found.sort_by(|a, b| b.total_cmp(a));
            assert_eq!(found, largest[..1000], "{what}: the largest");
            let spreaders = self::found(tasks[2], "contacts", true, |row| address(&row["src_addr"]));
            are_those(&spreaders, &others_of(frames, |key| (key.0, key.1)), 2.0, 0.0, &what);
            let flows = packets_by(frames, |key| *key);
            for class in rows(tasks[3]) {
                let sizes = number(&class["size_from"])..=number(&class["size_to"]);
                let of_class = flows.values().filter(|packets| sizes.contains(&(**packets as u64))).count();
                assert_eq!(class["flows"].as_f64(), Some(of_class as f64), "{what} {class}");
            }
            let mut sizes: BTreeMap<u64, u64> = BTreeMap::new();
            flows.values().for_each(|packets| *sizes.entry(*packets as u64).or_default() += 1);
            let each =
                sizes.iter().map(|(size, flows)| json!({"size_from": size, "size_to": size, "flows": flows}));
            assert_eq!(*rows(tasks[7]), each.collect::<Vec<_>>(), "{what}");
            let bits = output::estimate(&rows(tasks[4])[0]["bits"]);
            assert!((bits - entropy_of(&flows)).abs() < 1e-9, "{what}: {bits}");
            let mut addresses: Vec<IpAddr> =
                frames.iter().map(|frame| capture::layer3(&frame.data).0.1).filter(IpAddr::is_ipv4).collect();
            addresses.sort();
            let median = address(&rows(tasks[5])[0]["dst_addr"]);
            assert_eq!(median, addresses[addresses.len().div_ceil(2) - 1], "{what}");
            let now = packets_by(frames, |key| key.1);
            let changed = self::found(tasks[6], "change", true, |row| address(&row["dst_addr"]));
            match &before {
                Some(before) if !is_last => are_those(&changed, &changes(&now, before), 20.0, 0.0, &what),
                _ => assert!(changed.is_empty(), "{what}"),
            }
            before = Some(now);
        }
    }
}

/// Answers of each window are exact or between bounds, however packets are distributed to workers.
#[test]
fn distinct_values_and_joins_are_counted_in_every_design() {
    let scratch = Scratch::new();
    let generated = capture::generate(&scratch, "packets=120k,flows=40k,zipf=1.0,ipv6=30%,rate=10k");
    let frames = windows(&generated.frames);
    for design in [
        &[][..],
        &["--wire", "queues=2", "--design", "rss"][..],
        &["--design", "1x2", "--split", "position", "--active-timeout", "off", "--idle-timeout", "off"][..],
        &["--design", "1x2", "--state", "shared", "--active-timeout", "off", "--idle-timeout", "off"][..],
    ] {
        let mut command = edison();
        command.arg("run").arg(&generated.path).args(["--json", "--every", "5s", "--seed", "5"]).args(design);
        for structure in ["", ",structure=hyper-log-log,memory=4KiB", ",structure=bitmap,memory=4KiB"] {
            command.arg("--task").arg(format!("distinct:of=src_addr{structure}"));
        }
        for structure in ["", ",structure=count-sketch,memory=64KiB"] {
            command.arg("--task").arg(format!("inner:key=dst_addr,a=protocol=tcp{structure}"));
        }
        // The screen's answers, with which a window begins, are not among those of a query.
        let mut asked = edison();
        asked.arg("run").arg(&generated.path).args(["--json", "--every", "5s", "--seed", "5"]).args(design);
        asked
            .args(["-q", "select count(distinct src_addr) as n using multi_resolution_bitmap(memory=16KiB)"]);
        let asked = run(&mut asked).expect(0).stdout;
        let asked: Vec<Value> = asked.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
        assert_eq!(asked.len(), frames.len());
        let reports = output::windows(run(&mut command).expect(0).stdout.lines());
        assert_eq!(reports.len(), frames.len());
        for (index, (window, frames)) in reports.iter().zip(&frames).enumerate() {
            let what = format!("{design:?} window {index}");
            let sources: HashSet<IpAddr> =
                frames.iter().map(|frame| capture::layer3(&frame.data).0.0).collect();
            let truth = sources.len() as f64;
            let all = packets_by(frames, |key| key.1);
            let of_tcp: Vec<Frame> =
                frames.iter().filter(|frame| capture::layer3(&frame.data).0.2 == 6).cloned().collect();
            let of_tcp = packets_by(&of_tcp, |key| key.1);
            let product: f64 = of_tcp.iter().map(|(address, packets)| packets * all[address]).sum();
            for (at, answer) in window.answers_of("inner").enumerate() {
                let [row] = rows(answer) else { panic!("{what}: {answer}") };
                let figure = |member: &str| row["inner"][member].as_f64().expect("a number");
                let (value, lower, upper) = (figure("value"), figure("lower"), figure("upper"));
                let tcp: f64 = of_tcp.values().sum();
                assert_eq!(
                    (row["total_a"].as_f64(), row["total_b"].as_f64()),
                    (Some(tcp), Some(frames.len() as f64))
                );
                assert!(lower <= product && product <= upper, "{what}: {product} {answer}");
                assert!(at == 1 || [value, lower, upper] == [product; 3], "{what}: {product} {answer}");
            }
            let answers: Vec<_> = window.answers_of("distinct").collect();
            assert_eq!(answers.len(), 3, "{what}");
            for (at, (answer, name)) in answers
                .into_iter()
                .map(|answer| (answer, "distinct"))
                .chain([(&asked[index], "n")])
                .enumerate()
            {
                let [row] = rows(answer) else { panic!("{what}: {answer}") };
                let figure = |member: &str| row[name][member].as_f64().expect("a number");
                let (value, lower, upper) = (figure("value"), figure("lower"), figure("upper"));
                if at == 0 {
                    assert_eq!((value, lower, upper), (truth, truth, truth), "{what} {answer}");
                    assert_eq!(
                        (&answer["bounds"], &answer["class"]),
                        (&"exact".into(), &"row".into()),
                        "{what}"
                    );
                } else {
                    // Twice the bounds: how often these hold is a question to the crate's tests.
                    assert!((value - truth).abs() <= upper - lower, "{what}: {truth} {answer}");
                    assert!(lower < upper && (value / truth - 1.0).abs() < 0.1, "{what}: {truth} {answer}");
                    assert_eq!(answer["class"], "sketch", "{what}");
                }
            }
        }
    }
}

#[test]
fn workers_count_in_one_structure_what_one_core_counts() {
    let scratch = Scratch::new();
    let generated = capture::generate(&scratch, "packets=20k,flows=2k,zipf=1,ipv6=20%,rate=10k");
    let answers = |design: &[&str]| {
        let mut command = edison();
        command.arg("run").arg(&generated.path).args(["--json", "--every", "500ms", "--seed", "3"]);
        command
            .args(["--idle-timeout", "off", "--active-timeout", "off", "--max-flows", "5000"])
            .args(design);
        for task in [
            "heavy-hitters:structure=count-min,share=1%,memory=256KiB",
            "heavy-hitters:structure=reversible,key=dst_port,share=1%,memory=1MiB",
            "heavy-hitters:structure=space-saving-heap,by=bytes,share=1%,memory=256KiB",
            "distinct:of=src_addr,structure=bitmap,memory=4KiB",
        ] {
            command.args(["--task", task]);
        }
        let ended = run(&mut command).expect(0);
        let lines = ended.stdout.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
        lines.filter(|answer| !answer["task"].is_null()).collect::<Vec<_>>()
    };
    let one = answers(&[]);
    assert!(one.len() >= 16);
    for design in
        [&["--design", "1x2"][..], &["--design", "2x2", "--wire", "queues=2", "--split", "position"]]
    {
        let shared = answers(&[design, &["--state", "shared"]].concat());
        assert_eq!(shared.len(), one.len());
        for (found, expected) in shared.iter().zip(&one) {
            let of_task =
                |answer: &Value, what: &str| answer["task"][what].as_str().expect("a text").to_owned();
            let is_one = of_task(found, "why").ends_with("; all workers count in one");
            assert_eq!(is_one, !of_task(expected, "text").contains("space-saving"), "{found}");
            assert!(!of_task(expected, "why").contains("all workers"), "{expected}");
            if is_one {
                assert_eq!(rows(found), rows(expected), "{design:?}");
                assert_eq!(found["task"]["total"], expected["task"]["total"]);
            }
        }
    }
}

#[test]
fn reports_say_where_answers_come_from() {
    let scratch = Scratch::new();
    let generated = capture::generate(&scratch, "packets=20k,flows=2k,ipv6=30%,rate=10k");
    let path = scratch.path("report.json");
    let tasks = ["--task", "entropy:memory=16KiB,packets=100k", "--task", "quantiles:key=size"];
    let ended = run(edison()
        .arg("run")
        .arg(&generated.path)
        .args(tasks)
        .args(["--every", "1s", "--report"])
        .arg(&path));
    let shown = ended.expect(0).stdout;
    assert!(shown.contains("quantiles:key=size  [") && shown.contains("window    1: "), "{shown}");
    assert!(shown.contains("task      quantiles:key=size: exact: it has room"), "{shown}");
    let report = output::report(&path);
    let answers = output::list(&report["answers"]);
    let entropy: Vec<_> = answers.iter().filter(|answer| answer["query"] == "entropy").collect();
    assert_eq!(entropy.len(), 2, "one a window");
    assert_eq!(number(&report["answers_unlisted"]), 0);
    let one = entropy[0];
    assert_eq!((&one["class"], &one["status"]), (&"sketch".into(), &"complete".into()));
    assert_eq!(entropy[1]["status"], "cut", "the capture ends within it");
    assert_eq!(one["columns"], serde_json::json!([{"name": "bits", "kind": "estimate", "unit": "bits"}]));
    let (note, bits) = (&one["task"], &one["rows"][0]["bits"]);
    assert_eq!(note["text"], "entropy:memory=16KiB,packets=100k");
    assert_eq!((number(&note["total"]), &note["lost"]), (10_000, &Value::Null));
    assert!(number(&note["memory_bytes"]) <= 2 * (16 << 10), "both address families");
    for text in ["structure", "why"] {
        assert!(note[text].as_str().is_some_and(|text| !text.is_empty()), "{one}");
    }
    assert_eq!(
        (&one["bounds"], &bits["lower"], &bits["upper"]),
        (&"none".into(), &Value::Null, &Value::Null)
    );
    assert!((1.0..13.0).contains(&output::estimate(bits)), "{one}");
    let quantiles = answers.iter().find(|answer| answer["query"] == "quantiles").expect("an answer");
    assert_eq!(quantiles["bounds"], "exact");
}

#[test]
fn what_cannot_be_is_said_in_one_line() {
    let scratch = Scratch::new();
    let path = scratch.file("empty.pcap", capture::pcap(capture::ETHERNET, &[]));
    for (task, says) in [
        ("heavy-hitter", "heavy-hitters"),
        ("heavy-hitters:share=120%", "100%"),
        ("heavy-hitters:key=sorce_addr", "src_addr"),
        ("heavy-hitters:memory=10", "the least is about"),
        ("entropy:memory=8PiB", "not a size"),
        ("entropy:memory=800GiB", "--memory"),
    ] {
        run(edison().arg("run").arg(&path).args(["--task", task])).says(2, &[says]);
    }
    run(edison().arg("run").arg(&path).args(["--key", "src_addr", "--task", "super-spreaders"]))
        .says(2, &["dst_addr"]);
    // No packets, no answers, no fault.
    run(edison().arg("run").arg(&path).args(["--task", "entropy"])).expect(0);
    let listed = run(edison().arg("tasks")).expect(0).stdout;
    for word in ["heavy-hitters", "space-saving", "not built", "entropy", "reservoir"] {
        assert!(listed.contains(word), "{listed}");
    }
}

#[test]
fn all_that_takes_memory_stays_within_it() {
    // Each has its half, and the exporter's queue is taken too.
    let collector = std::net::UdpSocket::bind("127.0.0.1:0").expect("a port");
    let url = format!("ipfix://{}", collector.local_addr().expect("it is bound"));
    let refused_until_enough = |options: &str, memory: &str, says: &[&str]| {
        let measure = |memory: &str| {
            let mut command = edison();
            command.args(["run", "--synthetic", "packets=15k,flows=100,size=1518"]);
            command.args(options.split(' ')).args(["--export", &url, "--memory", memory]);
            run(&mut command)
        };
        let refused = measure(memory).says(2, says);
        let (_, enough) = refused.stderr.split_once("raise it to ").expect("how much is needed");
        let (enough, _) = enough.split_once(" MiB").expect("a number");
        measure(&format!("{enough}MiB")).expect(0);
    };
    let task = "--task entropy:structure=size-array,memory=";
    let says = ["--memory 48 MiB", "tasks take 20 MiB", "outputs 8 MiB"];
    refused_until_enough(&format!("--wire queues=1 {task}5MiB"), "48MiB", &says);
    let says = ["--memory 160 MiB", "tasks take 72 MiB", "between cores 88 MiB"];
    refused_until_enough(
        &format!("--design 1x2 --split position --idle-timeout off --active-timeout off {task}9MiB"),
        "160MiB",
        &says,
    );
}
