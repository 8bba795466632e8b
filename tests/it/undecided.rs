//! Conditions that windows did not decide: the run says which, how often and why.

use crate::support::capture::{self, ETHERNET, Frame};
use crate::support::output;
use crate::support::program::{call, edison, run};
use crate::support::schema;
use crate::support::scratch::{Scratch, text};
use serde_json::{Value, json};

const SECOND: u64 = 1_000_000_000;
const START: u64 = 1_700_000_400 * SECOND;
const CHAIN: &str =
    "q1: select src_addr, sum(total_count) as n groupby src_addr; q2: select count(*) when q1.n <= 5";

#[test]
fn a_cut_window_that_decides_nothing_is_said() {
    let scratch = Scratch::new();
    // Windows of 10 s, of which 1.6 s are watched: what is less then may be more in the rest.
    let short =
        (0..5).map(|at| Frame { time_ns: START + 3 * SECOND + at * SECOND / 3, data: capture::udp(7) });
    let path = scratch.file("short.pcap", capture::pcap(ETHERNET, &short.collect::<Vec<_>>()));
    let report = scratch.path("report.json");
    let shown =
        run(edison().arg("run").arg(&path).args(["--report", text(&report), "-q", CHAIN])).expect(0).stdout;
    let line =
        shown.lines().find(|line| line.starts_with("undecided q2: ")).unwrap_or_else(|| panic!("{shown}"));
    for word in ["q1.n <= 5", "1 window(s)", "cut"] {
        assert!(line.contains(word), "{word}: {line}");
    }
    schema::of_report(&std::fs::read_to_string(&report).expect("written"));
    let undecided = &output::report(&report)["undecided"];
    assert_eq!(undecided[0]["query"], "q2");
    assert_eq!(
        (&undecided[0]["windows"], &undecided[0]["reasons"]),
        (&json!(1), &json!({"cut": 1})),
        "{undecided}"
    );
    let ended = call(&["run", text(&path), "--json", "-q", CHAIN]).expect(0);
    assert!(ended.stderr.contains("undecided q2: "), "{ended:?}");
    // Windows that decide are not mentioned, although the last one is cut.
    let long = (0..=60).map(|at| Frame { time_ns: START + at * SECOND, data: capture::udp(7) });
    let path = scratch.file("long.pcap", capture::pcap(ETHERNET, &long.collect::<Vec<_>>()));
    let more = CHAIN.replace("<= 5", "> 0");
    let shown =
        run(edison().arg("run").arg(&path).args(["--report", text(&report), "-q", &more])).expect(0).stdout;
    assert!(!shown.contains("undecided"), "{shown}");
    assert_eq!(output::report(&report)["undecided"], Value::Null);
}
