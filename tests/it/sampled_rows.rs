//! `--tee` with `--store` and `--rows`: what is asked later of a sample has the estimates that the run had, and none where windows of different
//! shares would be one.

use crate::support::capture::{self, ETHERNET, Frame};
use crate::support::output::{self, number};
use crate::support::program::{Ended, call};
use crate::support::schema;
use crate::support::scratch::{Scratch, text};
use record::read::FlowFile;
use serde_json::Value;
use std::path::{Path, PathBuf};

const SECOND: u64 = 1_000_000_000;
/// 80 s from the begin of an hour.
const SPEC: &str = "packets=40k,flows=600,rate=500,zipf=1,ipv6=20%,size=64:3/1400:1,seed=9";
const SHARE: f64 = 0.2;
const TEE: [&str; 4] = ["--tee", "20%", "--seed", "5"];

const SECONDS: &str = "sec: select dst_addr, sum(total_count) as p, sum(total_byte) as b, sum(wire_byte) as w, count(*) as f \
                       groupby dst_addr order by p desc limit 7 every 1s;
                       many: select dst_addr, sum(total_count) as p groupby dst_addr having p > 30 every 1s;
                       two: select sum(total_count) as p, max(total_byte) as x where dst_port < 1024 every 2s over 4s;";
const RUN: &str = "all: select sum(total_count) as p, sum(total_byte) as b;
                   dst: select dst_addr, sum(total_count) as p, sum(total_byte) as b, count(*) as f groupby dst_addr order by p desc limit 9;";

/// What an answer says of its values.
fn told(answer: &Value) -> Value {
    let members =
        ["query", "window", "watched", "empty", "rows", "rest", "class", "bounds", "sampling", "reason"];
    members.iter().map(|member| ((*member).to_owned(), answer[*member].clone())).collect()
}

/// The same of an answer over all of a run, which does not say its time.
fn told_of_run(answer: &Value) -> Value {
    let mut told = told(answer);
    told["window"] = Value::Null;
    told
}

/// The answers to a query among lines.
fn of(ended: &Ended, query: &str) -> Vec<Value> {
    let lines = ended.stdout.lines().map(schema::of_line);
    lines
        .filter(|line| line["query"] == query && line["columns"].is_array())
        .map(|line| told(&line))
        .collect()
}

fn rows_of(store: &Path) -> String {
    format!("{}/rows/*/*/*/*.parquet", text(store))
}

/// A sampled run that keeps what it measures.
struct Kept {
    capture: PathBuf,
    frames: Vec<Frame>,
    store: PathBuf,
    rows: PathBuf,
    report: Value,
    /// The windows of the run.
    live: Ended,
}

fn kept(scratch: &Scratch) -> Kept {
    let generated = capture::generate(scratch, SPEC);
    let [store, rows, report] = ["store", "rows.parquet", "report.json"].map(|name| scratch.path(name));
    let queries = format!("{SECONDS}{RUN}");
    let outputs = ["--store", text(&store), "--rows", text(&rows), "--report", text(&report)];
    let common = ["run", text(&generated.path), "--node", "N", "--every", "1s", "--json", "-q", &queries];
    let live = call(&[&common, &outputs[..], &TEE].concat()).expect(0);
    let report = output::report(&report);
    Kept { capture: generated.path, frames: generated.frames, store, rows, report, live }
}

/// The ways in which a kept run is asked.
fn sources(kept: &Kept) -> [Vec<String>; 3] {
    let source = |arguments: &[&str]| arguments.iter().map(|one| (*one).to_owned()).collect();
    [source(&["--store", text(&kept.store)]), source(&[text(&kept.rows)]), source(&[&rows_of(&kept.store)])]
}

fn ask(source: &[String], more: &[&str]) -> Ended {
    let source: Vec<&str> = source.iter().map(String::as_str).collect();
    call(&[&["query", "--json"], &source[..], more].concat())
}

#[test]
fn what_is_kept_of_a_sample_is_answered_as_the_run_was() {
    let scratch = Scratch::new();
    let kept = kept(&scratch);
    let measured = number(&kept.report["packets"]["measured"]);
    assert_eq!(number(&kept.report["packets"]["received"]), kept.frames.len() as u64);
    for source in sources(&kept) {
        let windows = ask(&source, &["-q", SECONDS]).expect(0);
        for query in ["sec", "many", "two"] {
            let live = of(&kept.live, query);
            assert!(live.len() >= 20, "{query}: {live:?}");
            assert_eq!(of(&windows, query), live, "{source:?}");
        }
        let run = ask(&source, &["-q", RUN]).expect(0);
        for query in ["all", "dst"] {
            let answers: Vec<Value> = of(&run, query).iter().map(told_of_run).collect();
            assert_eq!(answers, [told_of_run(output::of_run(&kept.report, query))], "{source:?}");
        }
        // What was measured, by the share, and bounds that have what was sent.
        let [all] = &of(&run, "all")[..] else { panic!("one answer") };
        assert_eq!((&all["class"], &all["sampling"]["share"]), (&"sample".into(), &SHARE.into()), "{all}");
        let p = &all["rows"][0]["p"];
        assert_eq!(p["value"].as_f64(), Some((measured as f64 / SHARE).round()));
        let sent = kept.frames.len() as f64;
        assert!(p["lower"].as_f64() < Some(sent) && p["upper"].as_f64() > Some(sent), "{p}");
    }
}

/// A rollup joins windows of one share, and answers as the windows themselves do. The records of the store tell their share, as all do.
#[test]
fn rollups_and_records_keep_the_share() {
    let scratch = Scratch::new();
    let kept = kept(&scratch);
    // A minute is rolled up once a later hour has come.
    let later =
        scratch.file("later.pcap", capture::retimed(&kept.capture, |time| Some(time + 3600 * SECOND)));
    call(
        &[&["run", text(&later), "--node", "N", "--every", "1s", "--store", text(&kept.store)], &TEE[..]]
            .concat(),
    )
    .expect(0);
    let asked = [
        "--to",
        "2024-01-01 00:01",
        "-q",
        "m: select dst_addr, sum(total_count) as p groupby dst_addr order by p desc limit 9 every 1min",
    ];
    let [of_store, of_rows, _] = sources(&kept).map(|source| ask(&source, &asked).expect(0));
    assert!(of_store.stdout.contains(r#""levels":["1min"]"#), "{}", of_store.stdout);
    assert!(of(&of_store, "m")[0]["sampling"]["share"] == SHARE && of(&of_store, "m").len() == 1);
    assert_eq!(of(&of_store, "m"), of(&of_rows, "m"));
    let flows = format!("{}/flows/*/*/*/*.parquet", text(&kept.store));
    let records = ask(&[flows], &["-q", "all: select sum(total_count) as p"]).expect(0);
    let [all] = &of(&records, "all")[..] else { panic!("one answer") };
    // The same packets were drawn again.
    assert_eq!(number(&all["rows"][0]["p"]), 2 * number(&kept.report["packets"]["measured"]));
    assert!(all["reason"].as_str().is_some_and(|reason| reason.contains("(20% of the packets)")), "{all}");
}

/// A condition is judged by the bounds again.
#[test]
fn events_of_a_sample_are_those_of_the_run() {
    let scratch = Scratch::new();
    let chain =
        "a: select dst_addr, sum(total_count) as p groupby dst_addr order by p desc limit 30 every 1s;
                 b: select count(*) as n, sum(total_byte) as b every 2s over 4s when a.p > 20 run 3s;";
    let capture = capture::generate(&scratch, SPEC).path;
    let [store, rows] = ["store", "rows.parquet"].map(|name| scratch.path(name));
    let outputs = ["--store", text(&store), "--rows", text(&rows), "--node", "N", "--every", "1s"];
    let live =
        call(&[&["run", text(&capture), "--json", "-q", chain], &outputs[..], &TEE].concat()).expect(0);
    assert!(live.stdout.lines().filter(|line| line.starts_with(r#"{"event":"#)).count() > 3);
    for source in [&["--store", text(&store)][..], &[text(&rows)]] {
        let again = call(&[&["dry-run", "--json", "--answers", "-q", chain], source].concat()).expect(0);
        assert_eq!(again.stdout.lines().collect::<Vec<_>>(), live.stdout.lines().collect::<Vec<_>>());
        assert_eq!(again.stderr, live.stderr);
        let across = "a: select sum(total_count) as p every 1s across nodes by sum; b: select count(*) as n every 1s when a.p > 1";
        call(&[&["dry-run", "-q", across], source].concat()).says(2, &["across nodes", "a sample"]);
    }
}

/// Where nothing of a window was sampled, it had frames all the same; a window without any is empty.
#[test]
fn windows_of_which_nothing_was_sampled_had_packets() {
    let scratch = Scratch::new();
    let frames = |second: u64, count: u64| {
        (0..count).map(move |n| Frame {
            time_ns: (1_704_067_200 + second) * SECOND + n * 1000,
            data: capture::udp(7),
        })
    };
    let frames: Vec<Frame> = frames(0, 400).chain(frames(1, 1)).chain(frames(5, 400)).collect();
    let pcap = scratch.file("few.pcap", capture::pcap(ETHERNET, &frames));
    let [store, rows] = ["store", "rows.parquet"].map(|name| scratch.path(name));
    let query = "q: select sum(total_count) as p every 1s";
    let outputs = ["--store", text(&store), "--rows", text(&rows), "--node", "N", "--every", "1s"];
    let live = ["run", text(&pcap), "--tee", "2%", "--seed", "1", "--json", "-q", query];
    let live = call(&[&live, &outputs[..]].concat()).expect(0);
    let expected = of(&live, "q");
    let upper = |answer: &Value| answer["rows"][0]["p"]["upper"].as_f64();
    assert_eq!(expected.iter().filter(|answer| answer["empty"].is_null()).count(), 3, "{expected:?}");
    assert!(upper(&expected[1]) > Some(1.0), "{}", expected[1]);
    for source in [vec!["--store".to_owned(), text(&store).to_owned()], vec![text(&rows).to_owned()]] {
        assert_eq!(of(&ask(&source, &["-q", query]).expect(0), "q"), expected, "{source:?}");
    }
}

/// One store of a run with all packets and, half a minute later, of one with a sample.
#[test]
fn runs_of_different_shares_are_one_store_and_no_one_answer() {
    let scratch = Scratch::new();
    let Kept { capture, frames, store, report, live, .. } = kept(&scratch);
    let first = frames.iter().map(|frame| frame.time_ns).min().expect("frames");
    let begin = first - first % SECOND;
    // From 100 s on, within the same hour.
    let later = |time_ns: u64| Some(time_ns + 100 * SECOND);
    let whole = scratch.file("whole.pcap", capture::retimed(&capture, later));
    call(&["run", text(&whole), "--node", "N", "--every", "1s", "--store", text(&store)]).expect(0);
    let store = ["--store".to_owned(), text(&store).to_owned()];
    let at = |second: u64| model::format_time(begin + second * SECOND);

    // Windows of either share are answered as each run was.
    let windows = ask(&store, &["-q", SECONDS]).expect(0);
    let live = of(&live, "sec");
    let answers: Vec<Value> =
        of(&windows, "sec").into_iter().filter(|answer| answer["empty"].is_null()).collect();
    let (sampled, exact) = answers.split_at(live.len());
    for (sampled, live) in sampled.iter().zip(&live) {
        // The last one says, too, what lies behind it.
        let mut sampled = sampled.clone();
        let reason = sampled["reason"].as_str().expect("a reason");
        sampled["reason"] = reason.split("; between two recordings").next().expect("a reason").into();
        assert_eq!(sampled, *live);
    }
    assert!(exact.iter().all(|answer| answer["class"] == "row" && answer["sampling"].is_null()));
    let seen: u64 = exact
        .iter()
        .map(|answer| {
            output::rows(answer).iter().map(|row| number(&row["p"])).sum::<u64>()
                + number(&answer["rest"]["p"])
        })
        .sum();
    assert_eq!(seen, frames.len() as u64);

    // One answer over both has no estimate; over either it has.
    let words = ["20% and of 100% of the packets", &at(100)[..19]];
    for query in [
        RUN,
        "q: select sum(total_count) as p every 5min",
        "q: select sum(total_count) as p every 1s over 100s",
    ] {
        ask(&store, &["-q", query]).says(2, &words);
    }
    let [before, after] = [["--to", &at(100)], ["--from", &at(100)]]
        .map(|period| ask(&store, &[&period[..], &["-q", RUN]].concat()).expect(0));
    let [before, after] = [before, after].map(|ended| of(&ended, "all").remove(0));
    assert_eq!(before["rows"], told(output::of_run(&report, "all"))["rows"]);
    assert_eq!(before["sampling"]["share"], SHARE);
    assert_eq!((number(&after["rows"][0]["p"]), &after["class"]), (frames.len() as u64, &"row".into()));
    call(&["dry-run", "--store", &store[1], "-q", "select sum(total_count) as p every 1s"]).says(2, &words);

    // An engine would take the sample for all packets.
    let engine = ["--engine", "duckdb", "--engine-program", "/nonexistent", "-q", RUN];
    ask(&store, &engine).says(2, &["another engine does not scale samples"]);
}

/// Two runs with different shares in one window: no row of it tells of which run its packets are.
#[test]
fn a_window_of_two_shares_has_no_answer() {
    let scratch = Scratch::new();
    let Kept { capture, store, .. } = kept(&scratch);
    call(&["run", text(&capture), "--node", "N", "--every", "1s", "--store", text(&store)]).expect(0);
    let query = ["-q", "q: select sum(total_count) as p every 1s"];
    ask(&["--store".to_owned(), text(&store).to_owned()], &query)
        .says(2, &["20% and of 100% of the packets"]);
}

#[test]
fn a_file_of_rows_tells_the_share_of_each_window() {
    let scratch = Scratch::new();
    let kept = kept(&scratch);
    let file = FlowFile::open(&kept.rows).expect("a file of rows");
    let windows = file.contents().windows.as_ref().expect("a list");
    let longest = kept.frames.iter().map(|frame| frame.data.len()).max().expect("frames");
    for (_, _, facts) in windows.each() {
        let sample = facts.sample.expect("a sample");
        assert_eq!(sample.shares.map(flow::Share::ppm), [200_000; 2]);
        assert!(sample.longest_byte as usize <= longest && sample.has_frames());
    }
}
