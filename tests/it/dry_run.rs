//! `edison dry-run`: the events of a run over the windows that it recorded. Every run of `tests/it/chains` is run dry too; here is what else a
//! recording can be: of several cores, cut, damaged, of flow records, or of another program.

use crate::support::capture::{self, ETHERNET, Frame};
use crate::support::output;
use crate::support::program::{Ended, call};
use crate::support::schema;
use crate::support::scratch::{Scratch, text};
use record::read::FlowFile;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

const SECOND: u64 = 1_000_000_000;
const START: u64 = 1_704_067_200 * SECOND;

/// A flood is found, and who sends; sliding windows, windows of 10 s, and a key that vanishes.
const CHAIN: &str = "
    q1: select dst_addr, count(src_addr) as c groupby dst_addr limit 50 every 1s;
    q2: select src_addr, sum(total_byte) as b groupby src_addr limit 9 every 1s when q1.c > 60 until q1.c < 9 cooldown 2s run 3s;
    q3: select count(*) as n every 2s over 4s;
    q4: select protocol, count(*) as n groupby protocol every 2s when q3.n > 10 for 4s;
    q5: select sum(total_byte) as b;
    q6: select count(*) as n when q5.b > 10K;
    q7: select src_addr, avg(last_tcp_win) as w groupby src_addr every 1s when q1.c < 2;";

const SPEC: &str = "packets=30k,flows=4k,rate=1k,ipv6=20%,plant=flood:sources=70";

/// The lines of events.
fn events(stdout: &str) -> Vec<&str> {
    stdout.lines().filter(|line| line.starts_with(r#"{"event":"#)).collect()
}

fn run(arguments: &[&str]) -> Ended {
    call(&[&["run", "--json"], arguments].concat()).expect(0)
}

fn dry(arguments: &[&str]) -> Ended {
    call(&[&["dry-run", "--json"], arguments].concat())
}

/// Query, kind and begin in seconds of each event.
fn happened(stdout: &str) -> Vec<(String, String, u64)> {
    let event = |line| {
        let event = schema::of_line(line);
        let name = |member: &str| event[member].as_str().expect("a name").to_owned();
        (name("query"), name("kind"), (output::time(&event["window"]["start"]) - START) / SECOND)
    };
    events(stdout).into_iter().map(event).collect()
}

/// Frames of the UDP flow from a port, five in each of these seconds.
fn udp(port: u16, seconds: std::ops::Range<u64>) -> Vec<Frame> {
    let time = |n: u64| START + n * SECOND / 5 + SECOND / 10;
    (seconds.start * 5..seconds.end * 5)
        .map(|n| Frame { time_ns: time(n), data: capture::udp(port) })
        .collect()
}

fn recorded(scratch: &Scratch, name: &str, frames: &[Frame], options: &[&str]) -> PathBuf {
    let pcap = scratch.file(&format!("{name}.pcap"), capture::pcap(ETHERNET, frames));
    let rows = scratch.path(&format!("{name}.parquet"));
    run(&[&[text(&pcap), "--rows", text(&rows)], options].concat());
    rows
}

#[test]
fn answers_and_events_are_those_of_the_run() {
    let scratch = Scratch::new();
    let generated = capture::generate(&scratch, SPEC);
    let rows = scratch.path("rows.parquet");
    for options in [
        &[][..],
        // Rows of two workers, which are not in the order of windows.
        &["--design", "1x2"],
        &["--key", "src_addr/24/48,dst_addr,protocol"],
        &["--node", "probe-1.example.net"],
    ] {
        let common = [text(&generated.path), "-q", CHAIN, "--rows", text(&rows)];
        let live = run(&[&common, options].concat());
        assert!(events(&live.stdout).len() > 5, "{options:?}: {}", live.stdout);
        let again = dry(&[text(&rows), "-q", CHAIN]).expect(0);
        assert_eq!(again.stdout.lines().collect::<Vec<_>>(), events(&live.stdout), "{options:?}");
        assert_eq!(again.stderr, live.stderr, "{options:?}");
        let again = dry(&[text(&rows), "-q", CHAIN, "--answers"]).expect(0);
        let mut lines: [Vec<_>; 2] = [&live.stdout, &again.stdout].map(|out| out.lines().collect());
        // Several workers give the answers of one window in the order in which they come.
        lines.iter_mut().for_each(|lines| lines.sort_unstable());
        let [live, again] = lines;
        assert_eq!(again, live, "{options:?}");
    }
}

#[test]
fn a_file_of_rows_tells_of_its_windows() {
    let scratch = Scratch::new();
    let generated = capture::generate(&scratch, SPEC);
    let rows = scratch.path("rows.parquet");
    run(&[text(&generated.path), "--rows", text(&rows), "-q", CHAIN]);
    let file = FlowFile::open(&rows).expect("a file of rows");
    let windows = file.contents().windows.as_ref().expect("a list");
    assert_eq!((windows.length_ns, windows.usual_ns), (SECOND, 10 * SECOND));
    let times = || generated.frames.iter().map(|frame| frame.time_ns);
    let (first, last) = (times().min().expect("frames"), times().max().expect("frames"));
    assert_eq!(windows.ends(), Some([first, last].map(|time| time - time % SECOND)));
    let seconds: BTreeSet<u64> = times().map(|time| time - time % SECOND).collect();
    let mut listed = Vec::new();
    let mut next = windows.since(0);
    while let Some((start, facts)) = next {
        listed.push(start);
        let end = start + SECOND;
        let (is_first, is_last) = (listed.len() == 1, end > last);
        let watched = [first.max(start), end.min(last + 1)];
        assert_eq!(facts.watched, (watched != [start, end]).then_some(watched), "{start}");
        assert!(is_first || is_last || facts.watched.is_none());
        assert_eq!((facts.ended, facts.lost), (is_last, None), "{start}");
        next = windows.since(start + 1);
    }
    assert_eq!(listed, seconds.into_iter().collect::<Vec<_>>());
    assert!(windows.runs() <= 3, "those between are one entry: {}", windows.runs());
}

#[test]
fn a_quiet_minute_is_empty_and_a_time_that_was_not_recorded_is_not() {
    let scratch = Scratch::new();
    let queries = "n: select count(*) as c every 1s; gone: select count(*) as c every 1s when n.c < 1;";
    let (early, late) = (udp(1, 0..5), udp(1, 65..70));
    let all = recorded(&scratch, "all", &[early.clone(), late.clone()].concat(), &["--every", "1s"]);
    let quiet = dry(&[text(&all), "-q", queries]).expect(0);
    let event = |kind: &str, second| ("gone".to_owned(), kind.to_owned(), second);
    assert_eq!(happened(&quiet.stdout), [event("fired", 5), event("resolved", 65)]);
    let options = ["--every", "1s", "--node", "A"];
    let parts = [recorded(&scratch, "early", &early, &options), recorded(&scratch, "late", &late, &options)];
    // In either order.
    for [one, other] in [[0, 1], [1, 0]] {
        let unknown = dry(&[text(&parts[one]), text(&parts[other]), "-q", queries, "--answers"]).expect(0);
        assert_eq!(happened(&unknown.stdout), [], "{}", unknown.stdout);
        let reasons = unknown.stdout.lines().filter(|line| line.contains("it was not recorded")).count();
        assert_eq!(reasons, 60);
    }
}

/// Two captures with a pause between them, measured by one run: groups are absent in the pause for certain, whatever is replayed.
#[test]
fn events_in_a_pause_are_those_of_the_run_over_rows_and_a_store() {
    let scratch = Scratch::new();
    let other = Scratch::new();
    let spec = |start: u64| format!("packets=300,flows=30,rate=15,start={start}");
    let first = capture::generate(&scratch, &spec(1_700_000_000)).path;
    let second = capture::generate(&other, &spec(1_700_000_060)).path;
    let (rows, store) = (scratch.path("rows.parquet"), scratch.path("store"));
    let asked = "a: select dst_port, sum(total_byte) as b, max(total_byte) as m groupby dst_port having m > 1 every 5s;\n\
                 b: select count(*) as z every 5s when a.m is null;\n\
                 c: select sum(total_count) as n every 5s; d: select count(*) as z every 5s when surely(c.n < 1);";
    let options =
        ["--every", "5s", "--rows", text(&rows), "--store", text(&store), "--store-keep", "rows=3650d"];
    let live = run(&[&[text(&first), text(&second), "-q", asked], &options[..]].concat());
    assert!(events(&live.stdout).len() > 20, "{}", live.stdout);
    for of in [&[text(&rows)][..], &["--store", text(&store)]] {
        let again = dry(&[of, &["-q", asked]].concat()).expect(0);
        assert_eq!(again.stdout.lines().collect::<Vec<_>>(), events(&live.stdout), "{of:?}");
    }
}

#[test]
fn several_nodes_are_named_by_the_files_or_the_user() {
    let scratch = Scratch::new();
    let queries = "a: select count(*) as c where node_id = A every 1s; b: select count(*) as c where node_id = B every 1s when a.c > 1;";
    let frames = [udp(1, 0..9), udp(2, 3..4)].concat();
    let frames = |shift: u64| {
        let mut frames = frames.clone();
        frames.iter_mut().for_each(|frame| frame.time_ns += shift);
        frames.sort_by_key(|frame| frame.time_ns);
        frames
    };
    let of = |name: &str, shift| recorded(&scratch, name, &frames(shift), &["--every", "1s", "--node", name]);
    let (one, two) = (of("A", 0), of("B", 1));
    let expected = [("b".to_owned(), "fired".to_owned(), 3), ("b".to_owned(), "resolved".to_owned(), 4)];
    let by_file = dry(&[text(&one), text(&two), "-q", queries]).expect(0);
    assert_eq!(happened(&by_file.stdout), expected);
    // The names of the user win.
    let [second, first] = [("A", &two), ("B", &one)].map(|(name, path)| format!("{name}={}", text(path)));
    assert_eq!(happened(&dry(&[&second, &first, "-q", queries]).expect(0).stdout), expected);
    let pattern = scratch.path("[AB].parquet");
    assert_eq!(dry(&[text(&pattern), "-q", queries]).expect(0).stdout, by_file.stdout);
    let unknown = dry(&[text(&one), "-q", queries]).expect(2);
    assert!(unknown.stderr.contains("there is no node 'B'"), "{}", unknown.stderr);
}

/// Rows as another program might write them, in no order: 10.0.0.1 and 10.0.0.2 send in seconds 0 to 3, and the second one is silent in 4 and 5.
fn foreign(scratch: &Scratch) -> PathBuf {
    let mut lines =
        vec!["window_start,src_addr,dst_addr,protocol,src_port,dst_port,total_count,total_byte".to_owned()];
    for second in [2, 0, 1, 3, 4, 6, 5] {
        for host in [1, 2] {
            if host == 1 || !(4..6).contains(&second) {
                let start = START + second * SECOND;
                lines.push(format!("{start},10.0.0.{host},10.0.0.9,17,7,53,{},{}", host, 100 * host));
            }
        }
    }
    scratch.file("foreign.csv", lines.join("\n") + "\n")
}

#[test]
fn rows_of_another_program_are_taken_as_complete() {
    let scratch = Scratch::new();
    let rows = foreign(&scratch);
    let queries =
        "n: select src_addr, sum(total_byte) as b groupby src_addr; g: select count(*) as c when n.b < 150;";
    dry(&[text(&rows), "-q", queries]).says(2, &["foreign.csv", "--every"]);
    let ended = dry(&[text(&rows), "-q", queries, "--every", "1s"]).says(0, &["foreign.csv", "complete"]);
    let of = |line: &&str| schema::of_line(line)["key"]["src_addr"] == "10.0.0.2";
    let of_second: String = ended.stdout.lines().filter(of).map(|line| format!("{line}\n")).collect();
    let event = |kind: &str, second| ("g".to_owned(), kind.to_owned(), second);
    assert_eq!(happened(&of_second), [event("fired", 4), event("resolved", 6)], "{}", ended.stdout);
    // It names no columns that these need.
    for needs in ["max(tcp_win)", "sum(ploss_byte)"] {
        let queries = format!("n: select {needs} as b; g: select count(*) as c when n.b < 150;");
        let column = needs.split(['(', ')']).nth(1).expect("a column");
        let ended = dry(&[text(&rows), "-q", &queries, "--every", "1s"]).expect(2);
        assert!(ended.stderr.contains(column) || ended.stderr.contains("losses"), "{}", ended.stderr);
        assert_eq!(ended.stdout, "");
    }
}

/// The seconds in which a destination has more than `more_than` sources, by the windows in which records end.
fn flooded(csv: &Path, more_than: usize) -> BTreeMap<String, Vec<u64>> {
    let content = std::fs::read_to_string(csv).expect("records");
    let mut lines = content.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let header = lines.next().expect("a header");
    let column = |name: &str| header.iter().position(|known| *known == name).expect("a column");
    let [source, destination, last] = ["src_addr", "dst_addr", "ltime"].map(column);
    let mut sources: BTreeMap<(String, u64), BTreeSet<String>> = BTreeMap::new();
    for line in lines {
        let second = (line[last].parse::<u64>().expect("a time") - START) / SECOND;
        let of = sources.entry((line[destination].to_owned(), second)).or_default();
        of.insert(line[source].to_owned());
    }
    let mut found: BTreeMap<String, Vec<u64>> = BTreeMap::new();
    for ((destination, second), _) in sources.into_iter().filter(|(_, sources)| sources.len() > more_than) {
        found.entry(destination).or_default().push(second);
    }
    found
}

#[test]
fn events_of_flow_records_are_approximate_and_say_so() {
    let scratch = Scratch::new();
    let generated = capture::generate(&scratch, SPEC);
    let queries = "q1: select dst_addr, count(src_addr) as c groupby dst_addr every 1s; q2: select count(*) as n every 1s when q1.c > 40;";
    let csv = scratch.path("flows.csv");
    let timeout = ["--idle-timeout", "2s"];
    call(&[&["run", text(&generated.path), "-w", text(&csv)], &timeout[..]].concat()).expect(0);
    let expected = flooded(&csv, 40);
    assert_eq!(expected.len(), 1, "one host is flooded: {expected:?}");
    let mut found = Vec::new();
    for format in ["csv", "jsonl", "parquet", "ipfix"] {
        let flows = scratch.path(&format!("flows.{format}"));
        call(&[&["run", text(&generated.path), "-w", text(&flows), "--node", "N"], &timeout[..]].concat())
            .expect(0);
        let ended = dry(&[&format!("N={}", text(&flows)), "-q", queries]).says(0, &["approximate", format]);
        assert_eq!(ended.stderr.matches("approximate").count(), 1, "{}", ended.stderr);
        let lines: Vec<Value> = ended.stdout.lines().map(schema::of_line).collect();
        assert!(lines.iter().all(|event| event["approximate"] == true), "{format}: {}", ended.stdout);
        let of_fired = |event: &&Value| event["kind"] == "fired";
        let fired: Vec<_> = lines.iter().filter(of_fired).collect();
        let seconds = |event: &Value| (output::time(&event["window"]["start"]) - START) / SECOND;
        let (victim, flooded) = expected.first_key_value().expect("one");
        let begins = flooded.iter().filter(|second| !flooded.contains(&(**second - 1)));
        assert!(fired.iter().all(|event| event["key"]["dst_addr"] == victim.as_str()), "{format}");
        let fired: Vec<_> = fired.into_iter().map(seconds).collect();
        assert_eq!(fired, begins.copied().collect::<Vec<_>>(), "{format}");
        found.push(ended.stdout);
    }
    assert!(found.iter().all(|lines| *lines == found[0]));
}

#[test]
fn records_of_one_flow_are_one_row_of_their_window() {
    let scratch = Scratch::new();
    let queries = "n: select count(*) as c, sum(total_count) as p every 10s; g: select count(*) as c every 10s when n.c > 0;";
    let csv = scratch.path("flows.csv");
    let pcap = scratch.file("udp.pcap", capture::pcap(ETHERNET, &udp(7, 0..25)));
    call(&["run", text(&pcap), "-w", text(&csv), "--active-timeout", "1s"]).expect(0);
    assert!(output::records(&csv).len() > 10, "records end all the time");
    let ended = dry(&[text(&csv), "-q", queries, "--answers"]).expect(0);
    let answers: Vec<Value> = ended
        .stdout
        .lines()
        .map(schema::of_line)
        .filter(|line| line["query"] == "n" && line.get("event").is_none())
        .collect();
    let of = |name: &str| {
        answers.iter().map(|answer| output::number(&answer["rows"][0][name])).collect::<Vec<_>>()
    };
    assert_eq!(of("c"), [1, 1, 1]);
    assert_eq!(of("p").iter().sum::<u64>(), 125);
    let status: Vec<_> = answers.iter().map(|answer| answer["status"].as_str().expect("a status")).collect();
    assert_eq!(status, ["cut", "complete", "cut"]);
}

#[test]
fn packets_without_a_place_make_windows_partial() {
    let scratch = Scratch::new();
    let generated = capture::generate(&scratch, SPEC);
    let rows = scratch.path("rows.parquet");
    run(&[text(&generated.path), "--rows", text(&rows), "-q", CHAIN, "--max-flows", "300"]);
    let ended = dry(&[text(&rows), "-q", CHAIN, "--answers"]).expect(0);
    assert!(ended.stderr.contains("no place in the table: the windows that have them are partial"));
    let reason = "packets had no place in the table";
    assert!(
        ended.stdout.lines().any(|line| line.contains(reason) && line.contains("partial")),
        "{}",
        ended.stdout
    );
}

#[test]
fn a_damaged_file_is_named_and_the_rest_is_answered() {
    let scratch = Scratch::new();
    let queries = "n: select count(*) as c every 1s; g: select count(*) as c every 1s when n.c > 1;";
    let mut frames = [udp(1, 0..30), udp(2, 7..8)].concat();
    frames.sort_by_key(|frame| frame.time_ns);
    let of = |name: &str| recorded(&scratch, name, &frames, &["--every", "1s", "--node", name]);
    let (good, bad) = (of("Good"), of("Bad"));
    let whole = dry(&[text(&good), text(&bad), "-q", queries]).expect(0).stdout;
    let of_good: Vec<_> =
        events(&whole).into_iter().filter(|line| line.contains(r#""node":"Good""#)).collect();
    assert!(!of_good.is_empty());
    // In the values of a column, and in the footer.
    let bytes = std::fs::read(&bad).expect("rows");
    let mut in_column = bytes.clone();
    in_column[40..400].fill(0xff);
    let cut = &bytes[..bytes.len() - 20];
    let [named_good, named_bad] =
        [("Good", &good), ("Bad", &bad)].map(|(name, path)| format!("{name}={}", text(path)));
    for (damaged, files) in [(&in_column[..], [text(&good), text(&bad)]), (cut, [&*named_good, &*named_bad])]
    {
        std::fs::write(&bad, damaged).expect("the file is there");
        let ended = dry(&[files[0], files[1], "-q", queries]).says(3, &["error", "Bad.parquet"]);
        let of_node = |line: &&str| line.contains(r#""node":"Good""#);
        assert_eq!(events(&ended.stdout).into_iter().filter(of_node).collect::<Vec<_>>(), of_good);
    }
    // A file that tells nothing may be of any node: nothing is known to be less than it was.
    let unknown = dry(&[text(&good), text(&bad), "-q", queries]).says(3, &["error", "Bad.parquet"]);
    assert_eq!(events(&unknown.stdout), of_good[..1]);
    dry(&[text(&bad), "-q", queries]).says(2, &["Bad.parquet"]);
    // Text that ends within a line.
    let rows = foreign(&scratch);
    let content = std::fs::read_to_string(&rows).expect("rows");
    std::fs::write(&rows, &content[..content.len() - 12]).expect("the file is there");
    let queries = "n: select sum(total_byte) as b; g: select count(*) as c when n.b > 250;";
    let ended = dry(&[text(&rows), "-q", queries, "--every", "1s"]).says(3, &["foreign.csv", "line"]);
    assert!(!events(&ended.stdout).is_empty(), "{}", ended.stdout);
}

#[test]
fn what_is_wrong_is_said() {
    let scratch = Scratch::new();
    let rows = recorded(&scratch, "a", &udp(1, 0..9), &["--every", "2s"]);
    let finer = recorded(&scratch, "b", &udp(1, 0..9), &["--every", "1s"]);
    let queries = scratch.file("chain.eq", "n: select count(*) as c; g: select count(*) as d when n.c > 1;");
    let (rows, finer, queries) = (text(&rows), text(&finer), text(&queries));
    dry(&[queries, rows]).expect(0);
    dry(&["-f", queries, rows, "--every", "4s"]).expect(0);
    for (arguments, words) in [
        (&[][..], &["no queries", "dry-run QUERIES.eq"][..]),
        (&[queries], &["no file of rows", "--rows"]),
        (&[rows], &["a.parquet", "no file of queries"]),
        (&[queries, "absent.parquet"], &["absent.parquet"]),
        (&[queries, queries], &["chain.eq"]),
        (&[queries, rows, "--every", "3s"], &["--every 3 s", "2 s"]),
        (&[queries, rows, "--every", "0s"], &["--every"]),
        (&[queries, rows, finer], &["b.parquet", "1 s", "2 s"]),
    ] {
        dry(arguments).says(2, words);
    }
    let wrong = dry(&["-q", "n: select nothing", rows]).expect(2);
    assert!(wrong.stderr.contains("nothing") && wrong.stdout.is_empty(), "{}", wrong.stderr);
    let idle = dry(&["-q", "n: select count(*)", rows]).says(0, &["nothing can fire"]);
    assert_eq!(idle.stdout, "");
    let shorter =
        dry(&["-q", "n: select count(*) as c every 1s; g: select count(*) when n.c > 1", rows]).expect(2);
    assert!(shorter.stderr.contains("2s") || shorter.stderr.contains("2 s"), "{}", shorter.stderr);
    let told = call(&["dry-run", queries, rows, "--set", "K=1"]).expect(0);
    assert!(told.stdout.contains("nothing would have fired in 5 windows with 5 rows"), "{}", told.stdout);
}

#[test]
fn losses_of_a_source_give_the_same_coverage() {
    let scratch = Scratch::new();
    let generated = capture::generate(&scratch, SPEC);
    let rows = scratch.path("rows.parquet");
    let queries = "n: select protocol, sum(total_byte) as b groupby protocol every 1s";
    // How much is lost is another in each run; what was recorded is the same.
    let wire = ["--wire", "rate=2Mpps,ring=64", "--rows", text(&rows), "-q", queries];
    let live = run(&[&[text(&generated.path)], &wire[..]].concat());
    let of_windows = |line: &&str| line.starts_with(r#"{"query":"n""#);
    let lines: Vec<_> = live.stdout.lines().filter(of_windows).collect();
    assert!(!lines.is_empty() && lines.iter().all(|line| !line.contains(r#""coverage":null"#)), "{lines:?}");
    let again = dry(&[text(&rows), "-q", queries, "--answers"]).expect(0);
    assert_eq!(again.stdout.lines().collect::<Vec<_>>(), lines);
}

/// Rows have the mean of their round trips, of which no window's follows.
#[test]
fn queries_that_read_mean_round_trips_are_refused() {
    let scratch = Scratch::new();
    let generated = capture::generate(&scratch, SPEC);
    let rows = scratch.path("rows.parquet");
    run(&[text(&generated.path), "--loss", "--every", "1s", "--rows", text(&rows)]);
    let asked = |field: &str| {
        format!("a: select max({field}) as r every 1s; b: select count(*) as n every 1s when a.r > 1us;")
    };
    dry(&[text(&rows), "-q", &asked("rtt_avg")]).says(2, &["rtt_avg is not known of recorded windows"]);
    dry(&[text(&rows), "-q", &asked("rtt_min")]).expect(0);
}

/// Rows that cannot be read may be of any window of their part: none of them is empty for certain.
#[test]
fn damage_anywhere_in_a_file_of_rows_fires_nothing() {
    let scratch = Scratch::new();
    let mut frames = [udp(1, 0..30), udp(2, 0..30), udp(3, 0..30)].concat();
    frames.sort_by_key(|frame| frame.time_ns);
    let rows = recorded(&scratch, "rows", &frames, &["--every", "1s", "--node", "N"]);
    let queries = "a: select count(*) as r every 1s; b: select count(*) as n every 1s when a.r < 3;";
    let whole = dry(&[text(&rows), "-q", queries]).expect(0);
    assert_eq!(whole.stdout, "");
    let bytes = std::fs::read(&rows).expect("rows");
    let mut damaged = 0;
    for at in (4..bytes.len().saturating_sub(40)).step_by(97) {
        let mut content = bytes.clone();
        content[at..at + 40].iter_mut().for_each(|byte| *byte ^= 0x55);
        std::fs::write(&rows, content).expect("the file is there");
        let ended = dry(&[&format!("N={}", text(&rows)), "-q", queries]);
        damaged += u32::from(ended.code != Some(0));
        assert_eq!(events(&ended.stdout), Vec::<&str>::new(), "at {at}: {}", ended.stderr);
    }
    assert!(damaged > 5, "most damage is found: {damaged}");
}
