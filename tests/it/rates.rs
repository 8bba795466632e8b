//! Rates: of what was measured, over its own time; and one answer of a capture in all formats.

use crate::support::capture::{self, ETHERNET, Frame};
use crate::support::output::{self, number, rows};
use crate::support::program::{call, edison, run};
use crate::support::scratch::{Scratch, text};
use serde_json::Value;
use std::path::PathBuf;

const SECOND: u64 = 1_000_000_000;
const START: u64 = 1_700_000_400 * SECOND;

/// A minute of one packet a second from port 7, and within it a second of eleven packets from port 9.
fn capture_of_two(scratch: &Scratch) -> PathBuf {
    let slow = (0..=60).map(|at| (at * SECOND, 7));
    let fast = (0..=10).map(|at| (30 * SECOND + 1 + at * SECOND / 10, 9));
    let mut all: Vec<(u64, u16)> = slow.chain(fast).collect();
    all.sort_unstable();
    let frames = all.into_iter().map(|(at, port)| Frame { time_ns: START + at, data: capture::udp(port) });
    scratch.file("two.pcap", capture::pcap(ETHERNET, &frames.collect::<Vec<_>>()))
}

#[test]
fn a_filter_leaves_the_rates_of_what_passes() {
    let scratch = Scratch::new();
    let path = capture_of_two(&scratch);
    let report = scratch.path("report.json");
    let shown =
        run(edison().arg("run").arg(&path).args(["src port 9", "--report", text(&report)])).expect(0).stdout;
    let report = output::report(&report);
    let totals = &rows(output::of_run(&report, "totals"))[0];
    assert_eq!(number(&report["packets"]["received"]), 72);
    assert_eq!(number(&totals["total_count"]), 11);
    // Eleven packets within a second.
    let rate = |name: &str| report["rates"][name].as_f64().expect("a rate");
    assert!((rate("packets_per_second") - 11.0).abs() < 1e-6, "{}", report["rates"]);
    let bits = 8.0 * number(&totals["wire_byte"]) as f64;
    assert!((rate("bits_per_second") - bits).abs() < 1e-3, "{}", report["rates"]);
    assert_eq!(output::time(&totals["ltime"]) - output::time(&totals["stime"]), SECOND);
    let line = shown.lines().find(|line| line.starts_with("traffic")).expect("a line");
    for word in ["L3 bytes in 1 flow records", "over 1 s", "11 pps", "bps on the wire"] {
        assert!(line.contains(word), "{word}: {line}");
    }
}

#[test]
fn json_of_a_capture_is_what_the_screen_shows() {
    let scratch = Scratch::new();
    let path = capture_of_two(&scratch);
    let lines = |options: &[&str]| -> Vec<Value> {
        let shown = call(&[&["run", text(&path), "--json"], options].concat()).expect(0).stdout;
        shown.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
    };
    let by = ["--by", "src_port"];
    let answers = lines(&by);
    let [whole] = &answers[..] else { panic!("one answer: {answers:?}") };
    let packets: u64 = rows(whole).iter().map(|row| number(&row["total_count"])).sum();
    assert_eq!(packets, 72);
    assert_eq!(whole["status"], "complete");
    let span = |of: &str| output::time(&whole["window"][of]);
    assert_eq!((span("start"), span("end")), (START, START + 60 * SECOND));
    let screen = call(&["run", text(&path), by[0], by[1]]).expect(0).stdout;
    for row in rows(whole) {
        let first = format!("{}", row["src_port"]);
        let of_port = screen.lines().find(|line| line.trim_start().starts_with(&first)).expect("a line");
        assert!(of_port.contains(&number(&row["total_count"]).to_string()), "{of_port}: {row}");
    }
    // Windows come where they are asked for.
    let windows = lines(&["--by", "src_port", "--every", "20s"]);
    assert!(windows.len() > 2 && windows.iter().all(|line| line["window"] != whole["window"]));
    assert!(lines(&["--by", "src_port", "--per", "20s"]).len() > 2);
    let own = lines(&["-q", "a: select sum(total_count) as n; b: select sum(total_count) as n every 20s"]);
    assert_eq!(own.iter().filter(|line| line["query"] == "a").count(), 1);
    assert!(own.iter().filter(|line| line["query"] == "b").count() > 2);
    // What the program asks by itself is that of the screen too.
    let queries: Vec<Value> = lines(&[]).iter().map(|line| line["query"].clone()).collect();
    for query in ["totals", "hosts", "conversations", "scanners"] {
        assert_eq!(queries.iter().filter(|known| *known == query).count(), 1, "{query}: {queries:?}");
    }
}

#[test]
fn groups_are_ranked_by_their_own_rate_and_time() {
    let scratch = Scratch::new();
    let path = capture_of_two(&scratch);
    let flows = scratch.path("flows.csv");
    let report = scratch.path("report.json");
    run(edison().arg("run").arg(&path).args(["--flows", text(&flows)])).expect(0);
    for (item, first, value) in
        [("pps", 9, 11.0), ("duration", 7, 60.0 * 1e9), ("bps", 9, 11.0 * 8.0 * f64::from(LENGTH))]
    {
        let by = ["--by", "src_port", "--sort", item];
        run(edison().arg("run").arg(&path).args(by).args(["--report", text(&report)])).expect(0);
        let live = output::of_run(&output::report(&report), "by").clone();
        let asked = call(&[&["query", text(&flows), "--json"], &by[..]].concat()).expect(0).stdout;
        let recorded: Value = serde_json::from_str(asked.trim()).expect("one answer");
        for answer in [live, recorded] {
            let row = &rows(&answer)[0];
            assert_eq!(number(&row["src_port"]), first, "{item}: {answer}");
            let found = row[item].as_f64().expect("a number");
            assert!((found - value).abs() < 1e-3 * value, "{item}: {answer}");
        }
    }
}

/// The length that the headers of [`capture::udp`] state.
const LENGTH: u16 = 46;

#[test]
fn headings_name_the_prefixes_of_both_families() {
    let scratch = Scratch::new();
    let path = capture_of_two(&scratch);
    let shown = call(&["run", text(&path), "--by", "src_addr/24"]).expect(0).stdout;
    assert!(shown.contains("source/24/96"), "{shown}");
}
