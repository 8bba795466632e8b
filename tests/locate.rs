//! Chains of queries over several nodes: where packets are lost on a path, and what is said of nodes that do not answer.

#[allow(dead_code, reason = "each test program uses a part")]
mod support;

use serde_json::Value;
use std::path::{Path, PathBuf};
use support::output;
use support::program::{Ended, call};
use support::scratch::{Scratch, text};

/// Ten seconds of connections over a path with a round trip of 200 ms.
const PATH: &str = "hops=3,connections=30,segments=700,over=8s,rtt=200000,loss=2%";

const PLACES: [&str; 3] = ["before", "between", "behind"];

fn locate() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/locate.eq")
}

/// The taps before and behind the second hop of a path.
fn taps(scratch: &Scratch, lossy: usize, seed: u64) -> [PathBuf; 2] {
    let path = scratch.path("p.pcap");
    let spec = format!("{PATH},lossy={lossy},seed={seed}");
    call(&["generate", text(&path), "--path", &spec]).expect(0);
    [1, 2].map(|tap| scratch.path(&format!("p.tap{tap}.pcap")))
}

/// Runs locate.eq over two captures.
fn run_over(taps: &[PathBuf; 2], options: &[&str]) -> Ended {
    let [one, two] = ["Node1", "Node2"].map(str::to_owned);
    let (one, two) = (format!("{one}={}", text(&taps[0])), format!("{two}={}", text(&taps[1])));
    let file = locate();
    call(&[&["run", &one, &two, "-f", text(&file), "--json"], options].concat())
}

fn lines(ended: &Ended) -> Vec<Value> {
    ended.stdout.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

fn events<'a>(lines: &'a [Value], kind: &'a str) -> impl Iterator<Item = &'a Value> + 'a {
    lines.iter().filter(move |line| line["kind"] == kind)
}

/// The queries of a kind of event, each once.
fn queries(lines: &[Value], kind: &str) -> Vec<String> {
    let mut names: Vec<String> =
        events(lines, kind).map(|event| event["query"].as_str().expect("a name").to_owned()).collect();
    names.sort();
    names.dedup();
    names
}

#[test]
fn the_place_of_loss_is_found_on_forty_paths() {
    let scratch = Scratch::new();
    for seed in 1..=10 {
        for lossy in 0..=3 {
            let ended = run_over(&taps(&scratch, lossy, seed), &[]).expect(0);
            let lines = lines(&ended);
            let fired = queries(&lines, "fired");
            let found: Vec<&str> =
                fired.iter().map(String::as_str).filter(|query| PLACES.contains(query)).collect();
            let expected: &[&str] = if lossy == 0 { &[] } else { &PLACES[lossy - 1..lossy] };
            assert_eq!(found, expected, "seed {seed}, hop {lossy}: {fired:?}");
            // What is started measures: its answer names the loss.
            for place in expected {
                let answers =
                    lines.iter().filter(|line| line["query"] == *place && line.get("rows").is_some());
                let rows: usize = answers.map(|answer| answer["rows"].as_array().expect("rows").len()).sum();
                assert!(rows > 0, "seed {seed}: {place} has no rows");
            }
        }
    }
}

#[test]
fn a_chain_tells_the_same_story_twice_on_one_core_and_on_two() {
    let scratch = Scratch::new();
    let taps = taps(&scratch, 2, 4);
    let report = scratch.path("r.json");
    let told = |options: &[&str]| {
        let ended = run_over(&taps, &[options, &["--report", text(&report)]].concat()).expect(0);
        let report: Value = serde_json::from_slice(&std::fs::read(&report).expect("a report")).expect("JSON");
        let stories = serde_json::to_string_pretty(&report["stories"]).expect("JSON");
        (ended.stdout, stories, report)
    };
    let (stdout, stories, report) = told(&["--cores", "1"]);
    for options in [&["--cores", "1"][..], &["--cores", "2"], &["--seed", "9", "--burst", "5"]] {
        let (other, others, _) = told(options);
        assert!(stdout == other && stories == others, "{options:?}");
    }
    // From the first query to the last, each event names the one that started its parent.
    let lines: Vec<Value> = stdout.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let fired: Vec<&Value> = events(&lines, "fired").collect();
    assert_eq!((&fired[0]["query"], &fired[0]["parent"]), (&"n2".into(), &Value::Null));
    assert_eq!((&fired[1]["query"], &fired[1]["parent"]), (&"between".into(), &fired[0]["event"]));
    let story = &report["stories"][0];
    assert_eq!(story["id"], fired[0]["event"]);
    assert_eq!(
        report["events"].as_array().expect("events").len(),
        lines.iter().filter(|line| line.get("kind").is_some()).count()
    );
    let told = story["text"].as_str().expect("a text");
    for words in [
        "n2 fired at ",
        "because n1 on Node1 had lost_behind = ",
        " bytes > 0",
        "Therefore n2 ran on Node2 in ",
        "between fired at ",
        "Therefore between ran on Node2",
    ] {
        assert!(told.contains(words), "{words}: {told}");
    }
    // Both nodes' packets are in the sums.
    let packets = |report: &Value| output::number(&report["packets"]["received"]);
    let of_nodes: u64 = ["Node1", "Node2"].iter().map(|node| packets(&report["nodes"][node])).sum();
    assert_eq!(packets(&report), of_nodes);
    let measured = output::number(&report["packets"]["measured"]);
    assert_eq!(measured, of_nodes);
}

/// The frames of a tap of which `keep` is true of the time since the first frame (nanoseconds), shifted by some seconds.
fn rewritten(scratch: &Scratch, tap: &Path, name: &str, shift: u32, keep: impl Fn(u64) -> bool) -> PathBuf {
    let bytes = std::fs::read(tap).expect("it was written");
    let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
    let (mut out, mut at) = (bytes[..24].to_vec(), 24);
    let time = |at: usize| u64::from(word(at)) * 1_000_000_000 + u64::from(word(at + 4));
    let first = time(24);
    while at < bytes.len() {
        let end = at + 16 + word(at + 8) as usize;
        if keep(time(at) - first) {
            out.extend((word(at) + shift).to_le_bytes());
            out.extend(&bytes[at + 4..end]);
        }
        at = end;
    }
    scratch.file(name, out)
}

#[test]
fn a_node_that_is_missing_or_empty_is_told_apart() {
    let scratch = Scratch::new();
    let [one, two] = taps(&scratch, 2, 5);
    let second = 1_000_000_000;
    let year = 31_536_000;
    let missing = [
        ("empty.pcap", rewritten(&scratch, &two, "empty.pcap", 0, |_| false)),
        ("short.pcap", rewritten(&scratch, &two, "short.pcap", 0, |time| time < 2 * second)),
        ("later.pcap", rewritten(&scratch, &two, "later.pcap", year, |_| true)),
    ];
    let report = scratch.path("r.json");
    for (name, two) in missing {
        let ended = run_over(&[one.clone(), two], &["--report", text(&report)]).expect(0);
        let lines = lines(&ended);
        assert_eq!(queries(&lines, "fired"), ["n2"], "{name}");
        let missed: Vec<&Value> = events(&lines, "missed").collect();
        assert_eq!(
            (missed.len(), &missed[0]["query"], &missed[0]["node"]),
            (1, &"n2".into(), &"Node2".into()),
            "{name}"
        );
        assert!(queries(&lines, "nodata").contains(&"between".to_owned()), "{name}");
        let report: Value = serde_json::from_slice(&std::fs::read(&report).expect("a report")).expect("JSON");
        let story = report["stories"][0]["text"].as_str().expect("a text");
        assert!(
            story.contains("n2 could not run on Node2 in ") && story.contains("was not watched then"),
            "{name}: {story}"
        );
    }
    // Packets before and after the windows that n2 measures, and none in them.
    let gap = |time: u64| !(2 * second..9 * second).contains(&time);
    let two = rewritten(&scratch, &two, "gap.pcap", 0, gap);
    let ended = run_over(&[one, two], &["--report", text(&report)]).expect(0);
    let lines = lines(&ended);
    assert_eq!((queries(&lines, "fired"), queries(&lines, "missed")), (vec!["n2".to_owned()], Vec::new()));
    let empty = lines.iter().filter(|line| line["query"] == "n2" && line["empty"] == 1);
    assert!(empty.count() >= 3);
    let report: Value = serde_json::from_slice(&std::fs::read(&report).expect("a report")).expect("JSON");
    let story = report["stories"][0]["text"].as_str().expect("a text");
    assert!(story.contains("the window had no packets"), "{story}");
}
