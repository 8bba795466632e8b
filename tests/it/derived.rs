//! Answers of other queries and of earlier windows in runs of the program: what a path loses against its known truth, the ratio of two
//! queries against sums of their own answers, and what is unusual for a host.

use crate::support;
use crate::support::capture::{self, ETHERNET, Frame};
use crate::support::output::{list, number, rows};
use crate::support::program::call;
use crate::support::schema;
use crate::support::scratch::{Scratch, text};
use serde_json::Value;
use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

const SECOND: u64 = 1_000_000_000;
/// A multiple of all windows here: 2024-01-01.
const START: u64 = 1_704_067_200 * SECOND;

/// Runs `edison run --json` and returns its lines: answers by query, and events.
#[track_caller]
fn run(arguments: &[&str]) -> (BTreeMap<String, Vec<Value>>, Vec<Value>) {
    let ended = call(&[&["run", "--json"], arguments].concat()).expect(0);
    let (mut answers, mut events) = (BTreeMap::<String, Vec<Value>>::new(), Vec::new());
    for line in ended.stdout.lines().map(schema::of_line) {
        match line.get("event") {
            Some(_) => events.push(line),
            None => {
                answers.entry(line["query"].as_str().expect("a query").to_owned()).or_default().push(line)
            }
        }
    }
    (answers, events)
}

/// The capture with all times some whole windows later, and a packet long before and long after, so that no window with packets of the
/// path is cut.
fn within(scratch: &Scratch, path: &Path, name: &str) -> String {
    let last_ns = Cell::new(0);
    let later = |time_ns: u64| {
        last_ns.set(last_ns.get().max(time_ns + 20 * SECOND));
        Some(time_ns + 20 * SECOND)
    };
    let own = capture::retimed(path, later);
    let other = |time_ns| capture::pcap(ETHERNET, &[Frame { time_ns, data: capture::udp(1) }]);
    let (first, last) = (other(START + 1), other(last_ns.get() + 40 * SECOND));
    // The records behind each file's header.
    let all = [&first[..], &own[24..], &last[24..]].concat();
    text(&scratch.file(name, all)).to_owned()
}

#[test]
fn the_loss_between_two_taps_is_that_of_the_path() {
    for (seed, lossy) in [(3, 2), (4, 2), (5, 1), (6, 3)] {
        let scratch = Scratch::new();
        let path = scratch.path("path.pcap");
        let spec = format!("hops=3,lossy={lossy},seed={seed},rtt=400000,connections=8,segments=1000");
        call(&["generate", text(&path), "--path", &spec]).expect(0);
        let truth = std::fs::read_to_string(scratch.path("path.pcap.truth.json")).expect("the truth");
        let truth: Value = serde_json::from_str(&truth).expect("JSON");
        let [one, two] = [1, 2].map(|tap| {
            let own = scratch.path(&format!("path.tap{tap}.pcap"));
            format!("Node{tap}={}", within(&scratch, &own, &format!("tap{tap}.pcap")))
        });
        let queries = "a: select dst_addr, sum(total_count) as n groupby dst_addr where node_id = Node1 every 20s;\n\
                       b: select dst_addr, sum(total_count) as n groupby dst_addr where node_id = Node2 every 20s;\n\
                       lost: select dst_addr, a.n - b.n as lost from a, b;";
        let (answers, _) = run(&[&one, &two, "-q", queries]);
        let whole = answers["lost"].iter().filter(|answer| answer["status"] == "complete");
        let rows: Vec<&Value> = whole.flat_map(rows).collect();
        // All packets of the path are in whole windows.
        assert!(rows.len() >= 9, "{answers:?}");
        let lost: i64 = rows.iter().map(|row| row["lost"].as_i64().expect("a number")).sum();
        let [before, behind] = [1, 2].map(|tap| truth["taps"][tap]["packets"].as_i64().expect("a number"));
        assert_eq!(lost, before - behind, "seed {seed}");
        let expected = if lossy == 2 { truth["lost_count"].as_i64().expect("a number") } else { 0 };
        assert_eq!(lost, expected, "seed {seed}");
        assert!(lossy != 2 || lost > 0, "seed {seed}");
    }
}

/// UDP frames of a port, evenly over these seconds.
fn frames(port: u16, seconds: std::ops::Range<u64>, each: u64) -> impl Iterator<Item = Frame> {
    let time = move |n: u64| START + n * SECOND / each + SECOND / (2 * each) + u64::from(port);
    (seconds.start * each..seconds.end * each)
        .map(move |n| Frame { time_ns: time(n), data: capture::udp(port) })
}

fn capture(scratch: &Scratch, mut frames: Vec<Frame>) -> String {
    frames.sort_by_key(|frame| frame.time_ns);
    text(&scratch.file("t.pcap", capture::pcap(ETHERNET, &frames))).to_owned()
}

/// Rows by source port.
fn by_port(answer: &Value) -> BTreeMap<u64, &Value> {
    rows(answer).iter().map(|row| (number(&row["src_port"]), row)).collect()
}

#[test]
fn a_ratio_of_two_queries_is_that_of_their_answers() {
    let scratch = Scratch::new();
    let all = [(1000, 0..9, 5), (2000, 2..6, 8), (3000, 1..3, 2), (3000, 6..8, 3)];
    let path =
        capture(&scratch, all.into_iter().flat_map(|(port, time, each)| frames(port, time, each)).collect());
    let queries = "a: select src_port, sum(total_count) as n groupby src_port every 1s;\n\
                   b: select src_port, sum(total_byte) as b groupby src_port where src_port > 1000 every 1s;\n\
                   r: select src_port, b.b / a.n as ratio from a, b having ratio >= 0 every 1s;";
    let (answers, events) = run(&[&path, "-q", queries]);
    assert!(events.is_empty());
    let mut whole = 0;
    for answer in answers["r"].iter().filter(|answer| answer["status"] == "complete") {
        let of = |query: &str| {
            let found = answers[query].iter().find(|other| other["window"] == answer["window"]);
            by_port(found.expect("an answer"))
        };
        let (a, b) = (of("a"), of("b"));
        let expected: BTreeMap<u64, f64> = a
            .iter()
            .map(|(port, row)| {
                let bytes = b.get(port).map_or(0, |row| number(&row["b"]));
                (*port, bytes as f64 / number(&row["n"]) as f64)
            })
            .collect();
        let own =
            by_port(answer).into_iter().map(|(port, row)| (port, row["ratio"].as_f64().expect("a ratio")));
        assert_eq!(own.collect::<BTreeMap<_, _>>(), expected);
        whole += 1;
    }
    assert!(whole >= 7, "{answers:?}");
}

/// What fires: a query, for a port, in a second.
type Fired = (&'static str, u64, i64);

const BASELINE: &str = "q: select src_port, sum(total_byte) as b, avg_over(sum(total_byte), 30s) as usual groupby src_port every 1s;\n\
    alarm: select count(*) every 1s when q.b > 4 * q.usual;\n\
    silent: select count(*) every 1s when q.b < q.usual / 4;";

#[test]
fn what_is_usual_for_a_host_fires_only_where_it_is_exceeded() {
    let steady = || frames(1000, 0..80, 4).chain(frames(2000, 0..80, 9));
    let cases: [(Vec<Frame>, &[Fired]); 3] = [
        (steady().collect(), &[]),
        // A burst of one host, which is little for the other one.
        (steady().chain(frames(1000, 50..51, 20)).collect(), &[("alarm", 1000, 50)]),
        // A host that falls silent.
        (frames(1000, 0..80, 4).chain(frames(2000, 0..45, 9)).collect(), &[("silent", 2000, 45)]),
    ];
    for (frames, expected) in cases {
        let scratch = Scratch::new();
        let path = capture(&scratch, frames);
        let (answers, events) = run(&[&path, "--node", "N", "-q", BASELINE]);
        let fired = events.iter().filter(|event| event["kind"] == "fired").map(|event| {
            let second = (support::output::time(&event["window"]["start"]) - START) / SECOND;
            let query = event["query"].as_str().expect("a query");
            (query, number(&event["key"]["src_port"]), second as i64)
        });
        assert_eq!(fired.collect::<Vec<_>>(), expected);
        // What is exceeded is so no more; once 0 is usual, silence is.
        let resolved = events.iter().filter(|event| event["kind"] == "resolved");
        assert_eq!(resolved.count(), expected.len(), "{events:?}");
        // Each value against the answers of the query itself.
        let answers = &answers["q"];
        let at = |second: i64| usize::try_from(second).ok().and_then(|second| answers.get(second));
        for (second, answer) in
            answers.iter().enumerate().filter(|(_, answer)| answer["status"] == "complete")
        {
            for (port, row) in by_port(answer) {
                let known = (1..=30).filter_map(|before| at(second as i64 - before));
                let known = known.filter(|answer| answer["status"] == "complete");
                let of = |answer: &Value| by_port(answer).get(&port).map_or(0, |row| number(&row["b"]));
                let values: Vec<u64> = known.map(of).collect();
                match values.len() >= 15 {
                    true => {
                        let mean = values.iter().sum::<u64>() as f64 / values.len() as f64;
                        assert_eq!(row["usual"].as_f64(), Some(mean), "{second} {port}");
                    }
                    false => assert!(row["usual"].is_null(), "{second} {port}: {row}"),
                }
            }
        }
        assert!(list(&answers[40]["rows"]).len() == 2);
    }
}

/// A gap of a year costs nothing, and what comes after it has only zeros before.
#[test]
fn a_year_without_packets_is_all_zeros() {
    let scratch = Scratch::new();
    let year = 365 * 86_400;
    let path = capture(&scratch, frames(1000, 0..5, 4).chain(frames(1000, year..year + 4, 4)).collect());
    let query = "q: select src_port, sum(total_count) as n, prev(sum(total_count)) as p, avg_over(sum(total_count), 10s) as usual \
                 groupby src_port every 1s; more: select count(*) as n every 1s when q.n > 4 * q.usual";
    let (answers, events) = run(&[&path, "--node", "N", "-q", query]);
    let answers = &answers["q"];
    let last = answers.iter().rev().find(|answer| answer["status"] == "complete").expect("a whole window");
    let row = &rows(last)[0];
    // Two of the ten windows before have packets.
    assert_eq!((number(&row["n"]), number(&row["p"]), row["usual"].as_f64()), (4, 4, Some(0.8)), "{last}");
    let empty: u64 = answers.iter().filter_map(|answer| answer["empty"].as_u64()).sum();
    // While the mean has packets in it, windows without any have rows, and one more in which it is 0.
    assert_eq!(empty, year - 5 - 11, "{answers:?}");
    assert_eq!(events.iter().filter(|event| event["kind"] == "fired").count(), 1, "{events:?}");
}

#[test]
fn what_is_not_possible_is_refused_by_name() {
    let scratch = Scratch::new();
    let path = capture(&scratch, frames(1000, 0..3, 4).collect());
    let (one, two) = (format!("A={path}"), format!("B={path}"));
    let queries = "a: select dst_addr, count(*) as n groupby dst_addr where node_id = A; \
                   b: select dst_addr, count(*) as n groupby dst_addr; d: select a.n - b.n as n from a, b";
    call(&["run", &one, &two, "-q", queries]).says(2, &["d: a and b run on different nodes"]);
    let flows = scratch.path("flows.csv");
    call(&["run", &path, "--flows", text(&flows)]).expect(0);
    call(&["query", text(&flows), "a: select count(*) as n; select a.n from a"])
        .says(2, &["q1: 'from' cannot be answered"]);
    call(&["query", text(&flows), "select prev(count(*)) as n every 1s"])
        .says(2, &["q1: 'values of earlier windows' cannot be answered"]);
}

/// Two taps with a queue of 80 ms between them, which drops some packets of the last seconds: nothing of a single window is the loss,
/// and the answer says so; the documented query, which sums from a quiet window to a quiet one, has it.
#[test]
fn a_difference_of_two_nodes_has_no_bounds_and_a_sum_over_quiet_edges_is_the_loss() {
    const DELAY: u64 = 80_000_000;
    let scratch = Scratch::new();
    let sent: Vec<Frame> = frames(1000, 3..9, 400).collect();
    let is_dropped = |(number, frame): &(usize, Frame)| frame.time_ns > START + 7 * SECOND && number % 7 == 0;
    let arrived = sent.iter().cloned().enumerate().filter(|packet| !is_dropped(packet));
    let mut arrived: Vec<Frame> =
        arrived.map(|(_, frame)| Frame { time_ns: frame.time_ns + DELAY, ..frame }).collect();
    let lost = sent.len() - arrived.len();
    assert!(lost > 100);
    // Both taps watch for long enough before and after.
    let edges: Vec<Frame> = frames(2000, 0..1, 1).chain(frames(2000, 24..25, 1)).collect();
    let mut before = sent;
    before.extend(edges.iter().cloned());
    arrived.extend(edges);
    let files = [("a.pcap", before), ("b.pcap", arrived)].map(|(name, mut frames)| {
        frames.sort_by_key(|frame| frame.time_ns);
        text(&scratch.file(name, capture::pcap(ETHERNET, &frames))).to_owned()
    });
    let nodes = [format!("Node1={}", files[0]), format!("Node2={}", files[1])];

    let query = "before: select src_port, sum(total_count) as n groupby src_port where node_id = Node1 every 1s;\n\
                 behind: select src_port, sum(total_count) as n groupby src_port where node_id = Node2 every 1s;\n\
                 lost: select src_port, before.n - behind.n as lost, before.n as sent from before, behind;\n\
                 again: select src_port, lost.lost * 2 as twice from lost;\n\
                 share: select src_port, behind.n as n from before, behind;";
    let (answers, _) = run(&[&nodes[0], &nodes[1], "-q", query]);
    let of =
        |answer: &Value| by_port(answer).get(&1000).map_or(0, |row| row["lost"].as_i64().expect("a number"));
    let each: Vec<i64> = answers["lost"].iter().map(of).collect();
    assert_eq!(each.iter().sum::<i64>(), lost as i64, "{each:?}");
    let first = each.iter().find(|difference| **difference != 0).expect("a difference");
    assert_eq!(*first, 400 * 80 / 1000, "what is under way, where nothing is lost: {each:?}");
    let has_rows = |answer: &&Value| !rows(answer).is_empty();
    for (name, bounds, words) in [
        ("lost", "none", "lost compares counts of different nodes"),
        ("again", "none", "lost: lost compares counts of different nodes"),
        ("share", "exact", ""),
    ] {
        assert!(answers[name].iter().any(|answer| has_rows(&answer)), "{name}");
        for answer in answers[name].iter().filter(has_rows).filter(|answer| answer["status"] == "complete") {
            assert_eq!(answer["bounds"], bounds, "{name}: {answer}");
            assert!(answer["reason"].as_str().unwrap_or_default().contains(words), "{name}: {answer}");
        }
    }

    // The documented query, by another key.
    let documented = include_str!("../../docs/equery.md");
    let at = documented.find("before: select dst_addr, sum(total_count)").expect("it is documented");
    let documented = documented[at..].split("```").next().expect("a text").replace("dst_addr", "src_port");
    let (answers, _) = run(&[&nodes[0], &nodes[1], "-q", &documented]);
    let found: BTreeSet<i64> = answers["lost"]
        .iter()
        .flat_map(|answer| by_port(answer).get(&1000).and_then(|row| row["lost"].as_f64()))
        .filter(|lost| *lost != 0.0)
        .map(|lost| lost.round() as i64)
        .collect();
    assert_eq!(found, BTreeSet::from([lost as i64]), "{:?}", answers["lost"]);
}
