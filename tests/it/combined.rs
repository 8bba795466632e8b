//! What a run can do goes with everything else: each combination gives what its parts give alone.

use crate::support::capture::{self, Generated};
use crate::support::output::{self, number};
use crate::support::program::{Running, call, edison, run};
use crate::support::scratch::{Scratch, text};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use testbed::veth::{Veth, with_veth};

const SPEC: &str = "packets=30k,flows=600,seed=9,zipf=1.0,rate=3k";
/// Conversations of the heaviest sources start another query, which is told apart by what fired.
const CHAIN: &str = "a: select src_addr, sum(total_byte) as b groupby src_addr every 1s; \
                     c: select dst_port, sum(total_byte) as d where src_addr = a.src_addr groupby dst_port limit 2 \
                        when a.b > 10K every 1s";

fn traffic(scratch: &Scratch) -> Generated {
    capture::generate(scratch, SPEC)
}

/// The lines of JSON of a run.
fn lines(arguments: &[&str]) -> Vec<Value> {
    let ended = call(&[&["run"], arguments, &["--json", "--node", "N"]].concat()).expect(0);
    ended.stdout.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

/// The answers of a query among lines, as the window's begin and the rows.
fn answers_of<'a>(lines: &'a [Value], query: &str) -> Vec<(&'a Value, &'a Value)> {
    let own = lines.iter().filter(|line| line["query"] == query && line["rows"].is_array());
    own.map(|line| (&line["window"], &line["rows"])).collect()
}

/// The events among lines.
fn events(lines: &[Value]) -> Vec<&Value> {
    lines.iter().filter(|line| line["event"].is_string()).collect()
}

/// A task is answered in each window as in a run without events: counters go on whatever firings install, and changes are measured from
/// one window to the next.
#[test]
fn tasks_are_answered_beside_events() {
    let scratch = Scratch::new();
    let capture = traffic(&scratch).path;
    let tasks = [
        "--task",
        "heavy-hitters:key=src_addr,share=2%",
        "--task",
        "change:key=src_addr,share=1%,structure=k-ary,memory=64KiB",
        "--task",
        "entropy:structure=exact,memory=256KiB",
    ];
    let chain = lines(&[text(&capture), "-q", CHAIN]);
    assert!(events(&chain).len() > 4, "{chain:?}");
    let alone = lines(&[&[text(&capture), "--every", "1s", "--seed", "3"], &tasks[..]].concat());
    let both = lines(&[&[text(&capture), "-q", CHAIN, "--seed", "3"], &tasks[..]].concat());
    assert_eq!(events(&both), events(&chain));
    assert_eq!(answers_of(&both, "c"), answers_of(&chain, "c"));
    let names: BTreeSet<&str> = alone
        .iter()
        .filter(|line| line["task"].is_object())
        .filter_map(|line| line["query"].as_str())
        .collect();
    assert_eq!(names.len(), 3, "{names:?}");
    for name in names {
        let (alone, both) = (answers_of(&alone, name), answers_of(&both, name));
        assert!(alone.len() >= 9, "{name}: {alone:?}");
        assert_eq!(alone, both, "{name}");
    }
}

/// A query that is counted in a structure has the answers that it has alone.
#[test]
fn sketched_queries_are_answered_beside_events() {
    let scratch = Scratch::new();
    let capture = traffic(&scratch).path;
    let sketched =
        "d: select src_addr, sum(total_byte) as b groupby src_addr limit 5 using space_saving(memory=128KiB)";
    let alone = lines(&[text(&capture), "-q", sketched, "--every", "1s", "--seed", "3"]);
    let both = lines(&[text(&capture), "-q", CHAIN, "-q", sketched, "--every", "1s", "--seed", "3"]);
    let (alone, both) = (answers_of(&alone, "d"), answers_of(&both, "d"));
    assert!(alone.len() >= 10, "{alone:?}");
    assert_eq!(alone, both);
}

/// An interval is the length of the windows of queries that do not say it, also of those that start others.
#[test]
fn intervals_have_rows_beside_events() {
    let scratch = Scratch::new();
    let capture = traffic(&scratch).path;
    let queries = "a: select sum(total_byte) as b; c: select count(*) as n when a.b > 1";
    let by_windows = lines(&[text(&capture), "-q", queries, "--every", "2s"]);
    let by_interval = lines(&[text(&capture), "-q", queries, "--per", "2s"]);
    assert!(!events(&by_windows).is_empty());
    assert_eq!(events(&by_interval), events(&by_windows));
    assert_eq!(answers_of(&by_interval, "a"), answers_of(&by_windows, "a"));
    // On screen they are rows of one table, and the story follows.
    let shown = call(&["run", text(&capture), "-q", queries, "--per", "2s"]).expect(0).stdout;
    let alone =
        call(&["run", text(&capture), "-q", "a: select sum(total_byte) as b", "--per", "2s"]).expect(0);
    let rows = |shown: &str| -> Vec<String> {
        let of_table = shown.lines().take_while(|line| !line.starts_with("source"));
        of_table.filter(|line| line.contains(" UTC ")).map(str::to_owned).collect()
    };
    assert!(rows(&alone.stdout).len() >= 5, "{}", alone.stdout);
    assert_eq!(rows(&shown).first(), rows(&alone.stdout).first());
    assert!(shown.contains("c fired"), "{shown}");
}

/// Addresses are replaced in all that leaves a node. What a firing pins is found nevertheless, and the events are those of true addresses.
#[test]
fn what_fires_is_found_under_other_addresses() {
    let scratch = Scratch::new();
    let capture = traffic(&scratch).path;
    let key = scratch.file("key", "0123456789abcdef0123456789abcdef");
    let plain = lines(&[text(&capture), "-q", CHAIN]);
    let replaced = lines(&[text(&capture), "-q", CHAIN, "--anonymize", text(&key)]);
    assert!(answers_of(&plain, "c").iter().any(|(_, rows)| *rows != &Value::Array(Vec::new())));
    assert_eq!(answers_of(&replaced, "c"), answers_of(&plain, "c"));
    // One address has one replacement, and none stays.
    let mut names: BTreeMap<&str, &str> = BTreeMap::new();
    for (one, other) in events(&plain).iter().zip(events(&replaced)) {
        assert_eq!(
            (&one["at"], &one["kind"], &one["values"]),
            (&other["at"], &other["kind"], &other["values"])
        );
        let [one, other] = [one, other].map(|event| event["key"]["src_addr"].as_str().expect("an address"));
        assert_ne!(one, other);
        assert_eq!(*names.entry(one).or_insert(other), other);
    }
    assert!(!names.is_empty());
    // A key that a constant pins is known before it has packets, under its replacement too.
    let pinned = "a: select src_addr, sum(total_byte) as b where src_addr = 10.99.99.99 groupby src_addr every 1s; \
                  c: select count(*) as n when a.b < 1";
    let [plain, replaced] = [&[][..], &["--anonymize", text(&key)]]
        .map(|more| lines(&[&[text(&capture), "-q", pinned], more].concat()));
    assert_eq!(events(&plain).len(), events(&replaced).len());
    assert!(!events(&plain).is_empty());
}

/// A wire that loses nothing changes nothing. One with a rate is live, and accounts for each frame.
#[test]
fn events_are_driven_behind_a_wire() {
    let scratch = Scratch::new();
    let capture = traffic(&scratch).path;
    let plain = lines(&[text(&capture), "-q", CHAIN]);
    let wired = lines(&[text(&capture), "-q", CHAIN, "--wire", ""]);
    let times = |lines: &[Value]| -> Vec<(Value, Value)> {
        events(lines).iter().map(|event| (event["key"].clone(), event["kind"].clone())).collect()
    };
    assert_eq!(times(&wired), times(&plain));
    let report = scratch.path("report.json");
    let live = ["run", text(&capture), "-q", CHAIN, "--wire", "rate=100kpps", "--report", text(&report)];
    call(&live).expect(0);
    let report = output::report(&report);
    assert_eq!(number(&report["packets"]["received"]) + output::total(&report["loss"]), 30_000);
}

/// A sample of several nodes: each node's totals are estimates, and their sum is one with the sum of the bounds.
#[test]
fn several_nodes_are_sampled() {
    let scratch = Scratch::new();
    let capture = traffic(&scratch).path;
    let report = scratch.path("report.json");
    let [one, other] = ["One", "Other"].map(|name| format!("{name}={}", text(&capture)));
    call(&["run", &one, &other, "--tee", "20%", "--report", text(&report)]).expect(0);
    let report = output::report(&report);
    let packets = |of: &Value| output::of_run(of, "totals")["rows"][0]["total_count"].clone();
    let [one, other] = ["One", "Other"].map(|name| packets(&report["nodes"][name]));
    let all = packets(&report);
    for bound in ["value", "lower", "upper"] {
        let [one, other, all] = [&one, &other, &all].map(|of| of[bound].as_f64().expect("an estimate"));
        assert!((one + other - all).abs() < 1e-6 * all, "{bound}: {one} and {other} are not {all}");
    }
    assert!(all["lower"].as_f64() < Some(60_000.0) && all["upper"].as_f64() > Some(60_000.0), "{all}");
    assert_eq!(number(&report["packets"]["received"]), 60_000);
    assert_eq!(report["sampling"]["share"], 0.2);
}

/// Queries that start others make no difference to the report of one node: it is the node's own, with all figures and each answer once.
#[test]
fn a_chain_of_one_node_has_the_report_of_a_node() {
    let scratch = Scratch::new();
    let capture = traffic(&scratch).path;
    let path = scratch.path("report.json");
    let of = |query: &str, more: &[&str]| {
        let arguments = ["run", text(&capture), "--every", "1s", "-q", query, "--report", text(&path)];
        call(&[&arguments, more].concat()).expect(0);
        output::report(&path)
    };
    for more in [&[][..], &["--wire", "queues=1"]] {
        let (plain, chained) = (of("a: select sum(total_count) as n", more), of(CHAIN, more));
        assert!(chained["nodes"].is_null(), "{}", chained["nodes"]);
        for member in ["source", "node", "started", "ended", "packets", "loss", "flows", "design"] {
            assert_eq!(chained[member], plain[member], "{member}");
        }
        assert_eq!(chained["wire"].is_null(), more.is_empty());
        let answers = chained["answers"].as_array().expect("answers");
        let totals = answers.iter().filter(|one| one["query"] == "totals" && one["window"].is_null());
        assert_eq!(totals.count(), 1);
        assert_eq!(output::of_run(&chained, "totals"), output::of_run(&plain, "totals"));
        assert!(!chained["events"].as_array().expect("events").is_empty());
    }
}

/// What is to be said of a key is said once, for however many nodes.
#[test]
fn a_key_that_others_may_read_is_said_once() {
    let scratch = Scratch::new();
    let capture = traffic(&scratch).path;
    let key = scratch.file("key", [7; 32]);
    std::fs::set_permissions(&key, Permissions::from_mode(0o644)).expect("own file");
    let nodes: Vec<String> = ["A", "B", "C"].map(|name| format!("{name}={}", text(&capture))).into();
    for nodes in [&nodes[..1], &nodes[..2], &nodes[..]] {
        let mut arguments = vec!["run", "--anonymize", text(&key)];
        arguments.extend(nodes.iter().map(String::as_str));
        let ended = call(&arguments).expect(0);
        let said = ended.stderr.lines().filter(|line| line.contains("others may read this key"));
        assert_eq!(said.count(), 1, "{}", ended.stderr);
    }
}

/// Two interfaces, a capture and routers are nodes of one process: each counts what is its own.
#[test]
fn live_sources_are_nodes_of_one_process() {
    with_veth(|_: &Veth| {
        let scratch = Scratch::new();
        let capture = traffic(&scratch).path;
        let report = scratch.path("report.json");
        let file = format!("file={}", text(&capture));
        let mut command = edison();
        command.args([
            "run",
            "near=near",
            "far=far",
            &file,
            "routers=ipfix://127.0.0.1:0",
            "--every",
            "1s",
            "--json",
        ]);
        command
            .args(["-q", "a: select sum(total_count) as n every 1s; c: select count(*) as m when a.n > 0"]);
        command.arg("--report").arg(&report);
        let mut running = Running::start(&mut command);
        let has = |running: &Running, words: &[&str]| {
            running.lines().iter().any(|line| words.iter().all(|word| line.contains(word)))
        };
        running.wait_for("a window of an interface", |running| has(running, &["\"node\":\"near\""]));
        run(edison().args(["generate", "-i", "far", "packets=500,flows=20", "--rate", "10kpps"])).expect(0);
        let fired = "\"kind\":\"fired\"";
        running.wait_for("events of both", |running| {
            ["\"node\":\"near\"", "\"node\":\"far\""].iter().all(|node| has(running, &[fired, node]))
        });
        running.signal(libc::SIGINT);
        running.wait().expect(0);
        let report = output::report(&report);
        let received = |node: &str| number(&report["nodes"][node]["packets"]["received"]);
        assert_eq!(received("file"), 30_000);
        // What a slow machine does not take is counted as lost.
        let came = |node: &str| received(node) + output::total(&report["nodes"][node]["loss"]);
        assert!(came("near") >= 500 && came("far") >= 500, "{report}");
        assert_eq!(received("routers"), 0);
    });
}

/// `--answers` writes the lines that `--json` prints, beside tables or these lines, of a node by itself and of nodes under a controller, of
/// windows and of a capture as a whole; what a full device does not take is said.
#[test]
fn answers_are_written_to_a_file_too() {
    let scratch = Scratch::new();
    let capture = traffic(&scratch).path;
    let (capture, file) = (text(&capture), scratch.path("answers.jsonl"));
    let one = ["-q", "q: select dst_port, count(*) groupby dst_port"];
    let every = ["--every", "1s"];
    for (question, every) in [
        (&one[..], &every[..]),
        (&["-q", CHAIN], &every),
        (&["--task", "entropy:key=src_addr", "-q", CHAIN], &every),
        (&[], &every),
        (&one, &[]),
        (&["-q", CHAIN], &[]),
        (&["-q", "q: select count(*) every 2s"], &[]),
        (&[], &[]),
    ] {
        let plain = [&[capture, "--seed", "3"], every, question].concat();
        let printed = lines(&plain);
        let run = [&plain[..], &["--answers", text(&file)]].concat();
        assert_eq!(lines(&run), printed, "{question:?} {every:?}");
        let written = std::fs::read_to_string(&file).expect("the file");
        let written: Vec<Value> =
            written.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
        assert!(!printed.is_empty());
        assert_eq!(written, printed, "{question:?} {every:?}");
        // Tables on the screen change nothing.
        call(&[&["run", "--node", "N"], &run[..]].concat()).expect(0);
        assert_eq!(std::fs::read_to_string(&file).expect("the file").lines().count(), printed.len());
    }
    call(&["run", capture, "--every", "1s", "--answers", "/dev/full"])
        .says(3, &["--answers /dev/full lacks"]);
    // Of a capture as a whole, too, and the report is written all the same.
    let report = scratch.path("report.json");
    call(&["run", capture, "--answers", "/dev/full", "--report", text(&report)])
        .says(3, &["--answers /dev/full lacks"]);
    let report: Value = serde_json::from_slice(&std::fs::read(report).expect("it is written")).expect("JSON");
    assert!(report["faults"][0].as_str().is_some_and(|line| line.contains("--answers /dev/full")));
    call(&["run", capture, "--answers", "-"]).says(2, &["--json"]);
    call(&["run", capture, "--answers", text(&scratch.path("no/such"))]).says(2, &["--answers", "no/such"]);
}

/// What a run reads and writes are different files; a run that is refused leaves the file of answers as it was.
#[test]
fn no_file_is_read_and_written_or_written_twice() {
    let scratch = Scratch::new();
    let capture = traffic(&scratch).path;
    let bytes = std::fs::read(&capture).expect("the capture");
    let capture = text(&capture);
    let file = scratch.path("f.csv");
    for output in ["--answers", "--report", "--flows"] {
        call(&["run", capture, output, capture]).says(2, &[output, "a source of the run"]);
    }
    for other in ["--report", "--flows"] {
        call(&["run", capture, "--answers", text(&file), other, text(&file)]).says(2, &["writes there too"]);
    }
    assert_eq!(std::fs::read(capture).expect("the capture"), bytes);
    assert!(!file.exists());
    call(&["run", capture, "--answers", "/dev/null", "--report", "/dev/null"]).expect(0);
    for output in ["--answers", "--report", "--flows", "--rows"] {
        let path = scratch.path("no/f.parquet");
        let line = format!("{output} {}: there is no folder {}", text(&path), text(&scratch.path("no")));
        call(&["run", capture, output, text(&path)]).says(2, &[&line]);
    }
    // Refused once files are open.
    let refused = ["--export", "ipfix://nosuchhost.invalid:4739"];
    call(&[&["run", capture, "--answers", text(&file)], &refused[..]].concat()).says(2, &["nosuchhost"]);
    assert!(!file.exists());
    std::fs::write(&file, "precious").expect("written");
    call(&[&["run", capture, "--answers", text(&file)], &refused[..]].concat()).says(2, &["nosuchhost"]);
    assert_eq!(std::fs::read_to_string(&file).expect("it is there"), "precious");
}
