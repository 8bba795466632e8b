//! Several nodes in one process, and queries that start others: what is answered, written and refused.

#[allow(dead_code, reason = "each test program uses a part")]
mod support;

use serde_json::Value;
use std::path::Path;
use support::capture::{self, ETHERNET, Frame};
use support::output;
use support::program::{Ended, call};
use support::scratch::{Scratch, text};

const SECOND: u64 = 1_000_000_000;
/// 2026-01-01.
const START: u64 = 1_767_225_600;

/// A TCP segment from 10.0.0.1 port 22 to 10.0.0.2 port 33, or to another port.
fn segment(seconds: f64, sequence: u32, payload: u16, port: u16) -> Frame {
    let length = 40 + payload;
    let mut data = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0, 0x45, 0];
    data.extend(length.to_be_bytes());
    data.extend([0, 0, 0, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
    data.extend([22_u16.to_be_bytes(), port.to_be_bytes()].concat());
    data.extend(sequence.to_be_bytes());
    data.extend([0, 0, 0, 1, 0x50, 0x10, 2, 0, 0, 0, 0, 0]);
    data.resize(data.len() + usize::from(payload), 0);
    Frame { time_ns: START * SECOND + (seconds * 1e9) as u64, data }
}

fn lines(ended: &Ended) -> Vec<Value> {
    ended.stdout.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

/// Events: kind, query, node, and the end of their window in seconds.
fn events(lines: &[Value]) -> Vec<(String, String, String, u64)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let events = lines.iter().filter(|line| line.get("kind").is_some());
    let event = |event: &Value| {
        let at = output::time(&event["at"]) / SECOND - START;
        (text(&event["kind"]), text(&event["query"]), text(&event["node"]), at)
    };
    events.map(event).collect()
}

fn event(kind: &str, query: &str, node: &str, at: u64) -> (String, String, String, u64) {
    (kind.to_owned(), query.to_owned(), node.to_owned(), at)
}

/// Example 2 of the paper as printed: lost bytes at Node1, little of the flow there, none at Node2, and so the window of its receiver.
#[test]
fn the_papers_second_example_walks_from_node_to_node() {
    let scratch = Scratch::new();
    for (every, length) in [("1s", 1), ("5s", 5), ("10s", 10)] {
        // Node1 misses a segment in each second, and sees it when it is sent again; Node2 sees other traffic, and the flow at first.
        let (mut one, mut two) = (Vec::new(), Vec::new());
        for tick in 0..12 * length {
            let (at, sequence) = (tick as f64, 1 + 4000 * tick as u32);
            for (after, part) in [(0.1, 0), (0.2, 2), (0.3, 3), (0.4, 1)] {
                one.push(segment(at + after, sequence + 1000 * part, 1000, 33));
            }
            two.push(segment(at + 0.5, sequence, 10, if tick == 0 { 33 } else { 34 }));
        }
        let [one, two] = [("one.pcap", one), ("two.pcap", two)]
            .map(|(name, frames)| scratch.file(name, capture::pcap(ETHERNET, &frames)));
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/example2.eq");
        let (one, two) = (format!("Node1={}", text(&one)), format!("Node2={}", text(&two)));
        let set = ["--set", "K1=500", "--set", "K2=10M", "--set", "K3=1"];
        let ended =
            call(&[&["run", &one, &two, "-f", text(&file), "--json", "--every", every], &set[..]].concat());
        let lines = lines(&ended.expect(0));
        let fired: Vec<_> = events(&lines).into_iter().filter(|event| event.0 == "fired").collect();
        // A firing is measured in the window n + k, k = 1 + ⌈2 s / every⌉. The first window is cut, as its first packet is not at its
        // begin: lost bytes are at least what was seen, and so it fires; `< K` is judged in whole windows.
        let k = 1 + 2_u64.div_ceil(length);
        let end = |window: u64| (window + 1) * length;
        let expected = [
            event("fired", "q2", "Node1", end(0)),
            event("fired", "q3", "Node1", end(k)),
            event("fired", "q4", "Node2", end(2 * k)),
        ];
        assert_eq!(fired, expected, "{every}");
        let of_kind = lines.iter().filter(|line| line["kind"] == "fired").collect::<Vec<_>>();
        assert_eq!(
            [&of_kind[1]["parent"], &of_kind[2]["parent"]],
            [&of_kind[0]["event"], &of_kind[1]["event"]]
        );
        assert_eq!(of_kind[2]["values"]["total_byte"], 0);
        assert_eq!(of_kind[2]["key"]["dst_port"], 33);
        let q4 =
            lines.iter().find(|line| line["query"] == "q4" && line.get("rows").is_some()).expect("an answer");
        assert_eq!(output::time(&q4["window"]["end"]) / SECOND - START, end(3 * k), "{every}");
    }
}

#[test]
fn example_one_says_who_is_flooded() {
    let scratch = Scratch::new();
    let path = scratch.path("t.pcap");
    call(&["generate", text(&path), "packets=20k,flows=2k,plant=flood:share=20%"]).expect(0);
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/example1.eq");
    let source = format!("NodeX={}", text(&path));
    let ended = call(&["run", &source, "-f", text(&file)]).expect(0);
    let first =
        ended.stdout.lines().skip_while(|line| !line.contains("count(src_addr)")).nth(1).expect("a row");
    assert!(first.contains("203.0.113.10"), "{}", ended.stdout);
}

/// Frames of two moments that are years apart, of which the first has more.
#[test]
fn years_of_empty_windows_are_passed() {
    let scratch = Scratch::new();
    let windows = 145_000_000_u64;
    let burst = |at: f64| [0.0, 0.5].map(|after| segment(at + after, 1, 100, 33));
    let frames =
        [burst(0.0), burst(1.0), burst(2.0), burst((windows + 3) as f64), burst((windows + 4) as f64)]
            .concat();
    let path = scratch.file("t.pcap", capture::pcap(ETHERNET, &frames));
    let chain = "q1: select sum(total_count) as n; more: select count(*) when q1.n > 1; none: select count(*) when q1.n < 1;";
    let ended = call(&["run", text(&path), "--node", "A", "--json", "--every", "1s", "-q", chain]).expect(0);
    let lines = lines(&ended);
    let expected = [
        event("fired", "more", "A", 1),
        event("resolved", "more", "A", 4),
        event("fired", "none", "A", 4),
        event("fired", "more", "A", windows + 4),
        event("resolved", "none", "A", windows + 4),
        event("missed", "more", "A", windows + 7),
    ];
    assert_eq!(events(&lines), expected);
    let empty: Vec<u64> = lines.iter().filter_map(|line| line.get("empty")).map(output::number).collect();
    assert_eq!(empty.iter().max(), Some(&windows));
}

/// Tasks that come and go cut no window of another length.
#[test]
fn longer_windows_are_those_of_a_run_without_events() {
    let scratch = Scratch::new();
    let path = scratch.path("t.pcap");
    call(&["generate", text(&path), "packets=30k,flows=500,rate=1k,plant=flood"]).expect(0);
    let others = "five: select src_addr, sum(total_byte) groupby src_addr limit 5 every 5s; \
                  sliding: select count(*), max(total_byte) over 10s every 5s;";
    let chain = "q1: select dst_addr, count(src_addr) as n groupby dst_addr limit 5 every 1s; \
                 q2: select count(*) every 1s when q1.n > 20; q3: select count(*) every 2s when q2.count(*) > 1;";
    let answers = |text: &str| -> Vec<Value> {
        let ended = call(&[
            "run",
            path.to_str().expect("UTF-8"),
            "--node",
            "A",
            "--json",
            "--every",
            "1s",
            "-q",
            text,
        ]);
        let all = lines(&ended.expect(0)).into_iter();
        all.filter(|line| ["five", "sliding"].iter().any(|query| line["query"] == *query)).collect()
    };
    let alone = answers(others);
    assert!(alone.len() > 10);
    assert_eq!(answers(&format!("{others} {chain}")), alone);
}

/// Numbers that look random (splitmix64).
fn random(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}

/// The length of the run's windows changes no answer and no event of queries with windows of their own.
#[test]
fn events_do_not_depend_on_the_length_of_the_runs_windows() {
    let scratch = Scratch::new();
    let chain = "p: select sum(total_count) as n every 5s; \
                 c: select sum(total_count) as n, count(*) every 5s when p.n > 4; \
                 d: select dst_port, sum(total_count) as n groupby dst_port every 5s when p.n < 3 run 10s; \
                 e: select sum(total_byte) as b every 10s when d.n > 1 cooldown 20s; \
                 f: select count(*) over 10s every 5s when c.n < 2;";
    let mut state = 5;
    let mut fired = 0;
    for round in 0..12 {
        let sources = ["A", "B"].map(|name| {
            let mut at = (random(&mut state) % 20) as f64 / 2.0;
            let frames: Vec<Frame> = (0..random(&mut state) % 60)
                .map(|_| {
                    // Bursts, and gaps of several windows.
                    at += [0.1, 0.4, 0.9, 2.5, 14.0][(random(&mut state) % 5) as usize];
                    segment(at, 1, 100, 33 + (random(&mut state) % 2) as u16)
                })
                .collect();
            let path = scratch.file(&format!("{name}.pcap"), capture::pcap(ETHERNET, &frames));
            format!("{name}={}", text(&path))
        });
        let [one, two] = &sources;
        let told = |every: &str| {
            let ended = call(&["run", one, two, "--json", "--every", every, "-q", chain]).expect(0);
            // Runs of windows without packets are told with what ends them, which may be another window.
            let is_told = |line: &Value| line.get("kind").is_some() || line.get("empty").is_none();
            let mut lines: Vec<String> =
                lines(&ended).iter().filter(|line| is_told(line)).map(Value::to_string).collect();
            lines.sort();
            lines
        };
        let (short, long) = (told("1s"), told("5s"));
        fired += short.iter().filter(|line| line.contains("\"fired\"")).count();
        assert_eq!(short, long, "round {round}");
    }
    assert!(fired > 50, "{fired}");
}

#[test]
fn each_node_has_its_files_and_its_report() {
    let scratch = Scratch::new();
    let nodes = [("A", 1), ("B", 2)].map(|(name, seed)| {
        let path = scratch.path(&format!("{name}.pcap"));
        call(&["generate", text(&path), &format!("packets=5k,flows=300,seed={seed}")]).expect(0);
        format!("{name}={}", text(&path))
    });
    let (flows, report) = (scratch.path("out.csv"), scratch.path("r.json"));
    let [one, two] = &nodes;
    call(&["run", one, two, "--flows", text(&flows), "--report", text(&report)]).expect(0);
    let report = output::report(&report);
    for name in ["A", "B"] {
        let records = output::records(&scratch.path(&format!("out.{name}.csv")));
        let packets: u64 = output::one_record_per_key(&records).values().map(|count| count.packets).sum();
        assert_eq!(packets, 5000, "{name}");
        assert_eq!(report["nodes"][name]["packets"]["received"], 5000, "{name}");
        assert_eq!(report["nodes"][name]["node"], name);
    }
    assert_eq!((&report["packets"]["received"], &report["node"]), (&10_000.into(), &"A, B".into()));
    // A node whose capture is damaged does not spoil the others.
    let whole = std::fs::read(scratch.path("B.pcap")).expect("a file");
    let cut = scratch.file("cut.pcap", &whole[..whole.len() / 2 + 7]);
    let cut = format!("B={}", text(&cut));
    let ended = call(&["run", one, &cut, "-q", "select sum(total_count)", "--json"])
        .says(3, &["error", "B: ", "cut short"]);
    let answers = lines(&ended);
    let sum = |node: &str| -> u64 {
        let own = answers.iter().filter(|answer| answer["node"] == node);
        own.flat_map(output::rows).map(|row| output::number(&row["sum(total_count)"])).sum()
    };
    assert_eq!(sum("A"), 5000);
    assert!((2000..3000).contains(&sum("B")), "{}", sum("B"));
}

#[test]
fn what_cannot_be_run_is_refused_in_words() {
    let scratch = Scratch::new();
    let path = scratch.file("t.pcap", capture::pcap(ETHERNET, &[segment(0.0, 1, 10, 33)]));
    let path = text(&path);
    let (named, other) = (format!("A={path}"), format!("B={path}"));
    let chain = "q1: select count(*) as n; q2: select count(*) when q1.n > 1;";
    for (arguments, words) in [
        (vec![named.as_str(), "B=missing.pcap"], vec!["B=missing.pcap: no such file"]),
        (vec![&named, path], vec![path, "NAME=SOURCE"]),
        (vec!["A=-", "B=-"], vec!["B=-", "standard input"]),
        (vec![&named, "--node", "B"], vec!["--node B"]),
        (vec![&named, "--synthetic", "packets=1k"], vec!["--synthetic"]),
        (vec![&named, "-r", path], vec!["--read"]),
        (vec![&named, &other, "--every", "1Mp"], vec!["--every", "windows of time"]),
        (vec![&named, &other, "--flows", "-"], vec!["a path instead of '-'"]),
        (vec![&named, &other, "--task", "entropy"], vec!["--task"]),
        (vec![path, "-q", chain, "--task", "entropy"], vec!["--task"]),
        (vec![path, "-q", chain, "--per", "1s"], vec!["--per"]),
        (
            vec![
                path,
                "-q",
                chain,
                "-q",
                "select dst_addr, sum(total_byte) groupby dst_addr limit 5 error 1%",
            ],
            vec!["'error'"],
        ),
        (
            vec![&named, &other, "-q", "select count(*) where node_id = C"],
            vec!["there is no node 'C'", "A, B"],
        ),
        (
            vec![path, "-q", "q2: select count(*) when q1.n > 1"],
            vec!["--query:1:26", "there is no query 'q1'"],
        ),
        (
            vec![path, "-q", "a: select count(*) as n when b.n > 1; b: select count(*) as n when a.n > 1"],
            vec!["a → b → a"],
        ),
        (
            vec![path, "-q", "q1: select count(*) as n; q2: select count(*) when q1.n > 5Mbps"],
            vec!["--query:1:", "5Mbps"],
        ),
    ] {
        let ended = call(&[&["run"], &arguments[..]].concat()).expect(2);
        let said = ended.stderr.lines().any(|line| words.iter().all(|word| line.contains(word)));
        assert!(said, "{arguments:?} {words:?}: {}", ended.stderr);
        assert!(ended.stdout.is_empty(), "{arguments:?}: {}", ended.stdout);
    }
    let flows = scratch.path("f.csv");
    call(&["run", path, "--flows", text(&flows)]).expect(0);
    call(&["query", text(&flows), chain]).says(2, &["q2: 'when' cannot be answered"]);
}

/// Windows of 5 s in which a packet comes and then none for a while: their answers are there in time, and watched from their begin.
#[test]
fn packets_that_are_far_apart_change_no_longer_window() {
    let scratch = Scratch::new();
    let times = (0..8).map(f64::from).chain([17.0]).chain((22..45).map(f64::from));
    let frames: Vec<Frame> = times.map(|at| segment(at + 0.5, 1, 100, 33)).collect();
    let path = scratch.file("a.pcap", capture::pcap(ETHERNET, &frames));
    for over in ["", "over 10s"] {
        let query = format!(
            "p: select sum(total_count) as n {over} every 5s; \
             c: select sum(total_count) as n {over} every 5s when p.n < 2 until p.n < 5; \
             d: select sum(total_count) as n every 5s when c.n < 5;"
        );
        let run = |every: &str| {
            let source = format!("A={}", text(&path));
            let ended = call(&["run", &source, "--every", every, "-q", &query, "--json"]).expect(0);
            let lines = lines(&ended);
            let of_child = |line: &&Value| line["query"] == "c" && line.get("kind").is_none();
            let answers: Vec<Value> = lines.iter().filter(of_child).cloned().collect();
            (events(&lines), answers)
        };
        let (found, answers) = run("5s");
        let expected = match over {
            // The window of the packet at 17.5 s is over at 20 s, although the next packet comes at 22.5 s.
            "" => vec![
                event("fired", "c", "A", 15),
                event("resolved", "c", "A", 20),
                event("fired", "d", "A", 25),
            ],
            _ => vec![event("fired", "c", "A", 20), event("resolved", "c", "A", 25)],
        };
        assert_eq!(found, expected, "{over}");
        assert_eq!(answers[0]["status"], "complete", "{over}");
        // The base window changes nothing.
        assert_eq!(run("1s"), (found, answers), "{over}");
    }
}
