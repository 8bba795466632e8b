//! Losses of flows that a query or a firing pins: without `--loss`, and those that `--loss` finds.

use crate::support;
use crate::support::output::{number, rows, time};
use crate::support::program::{call, edison, run};
use crate::support::scratch::{Scratch, text};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// The tap behind the hop that loses, of connections that begin over seven seconds.
fn tap(scratch: &Scratch) -> PathBuf {
    let path = scratch.path("path.pcap");
    let spec = "connections=70,over=7s,segments=400,hops=3,lossy=2,loss=2%,reorder=1%,seed=9";
    run(edison().arg("generate").arg(&path).args(["--path", spec])).expect(0);
    scratch.path("path.tap2.pcap")
}

/// All answers that a run prints.
fn answers(capture: &Path, arguments: &[&str]) -> Vec<Value> {
    let ended =
        run(edison().args(["run", "--json", "--every", "500ms"]).arg(capture).args(arguments)).expect(0);
    ended.stdout.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

/// Those of a query, which have this class.
fn of<'a>(answers: &'a [Value], query: &str, class: &str) -> Vec<&'a Value> {
    let of_query: Vec<_> =
        answers.iter().filter(|answer| answer["query"] == query && answer["event"].is_null()).collect();
    // What is not run in a window has no rows, and no class of its own.
    assert!(of_query.iter().all(|answer| answer["class"] == class), "{of_query:?}");
    of_query
}

const LOSSES: &str = "sum(ploss_byte) as lost, sum(ploss_count) as gone, sum(retrans_byte) as again, sum(retrans_count) as copies, \
                      sum(reorder_count) as late, sum(hole_count) as holes, sum(zero_window_count) as full, min(rtt_min) as trip";

#[test]
fn pinned_from_the_first_packet_on_losses_are_those_of_a_run_with_loss() {
    let scratch = Scratch::new();
    let tap = tap(&scratch);
    for pins in
        ["dst_port = 443", "src_addr in 10.0.0.0/8", "addr in (192.0.0.0/8, 10.0.0.0/8) and protocol = TCP"]
    {
        let query = format!(
            "q: select src_addr, dst_addr, {LOSSES} where {pins} groupby src_addr, dst_addr order by src_addr, dst_addr"
        );
        let zoomed = answers(&tap, &["-q", &query]);
        let tracked = answers(&tap, &["-q", &query, "--loss"]);
        let (zoomed, tracked) = (of(&zoomed, "q", "zoom"), of(&tracked, "q", "row"));
        assert!(zoomed.len() >= 10 && zoomed.len() == tracked.len());
        for (zoomed, tracked) in zoomed.iter().zip(&tracked) {
            assert_eq!((&zoomed["window"], &zoomed["status"]), (&tracked["window"], &tracked["status"]));
            assert_eq!(rows(zoomed), rows(tracked), "{pins} in {}", zoomed["window"]);
        }
        let lost = zoomed.iter().flat_map(|answer| rows(answer)).map(|row| number(&row["lost"])).sum::<u64>();
        assert!(lost > 0, "{pins}");
    }
}

#[test]
fn over_the_run_losses_are_those_of_its_windows() {
    let scratch = Scratch::new();
    let tap = tap(&scratch);
    let report = scratch.path("report.json");
    let of_run = |arguments: &[&str]| {
        let mut command = edison();
        command.args([
            "run",
            "-q",
            "q: select sum(ploss_byte) as lost, sum(total_count) as n where dst_port = 443",
        ]);
        run(command.arg(&tap).arg("--report").arg(&report).args(arguments)).expect(0);
        support::output::of_run(&support::output::report(&report), "q").clone()
    };
    let (zoomed, tracked) = (of_run(&[]), of_run(&["--loss"]));
    assert_eq!((&zoomed["class"], &tracked["class"]), (&"zoom".into(), &"row".into()));
    assert_eq!(rows(&zoomed), rows(&tracked));
    assert!(number(&rows(&zoomed)[0]["lost"]) > 0);
}

/// A firing pins flows from the middle of their connections on. A hole that opened before is not known: what repairs it
/// comes from before the first segment, and is a retransmission or, within the reordering window, reordered. From the window after the
/// one in which all that was open is repaired, both runs find the same.
#[test]
fn pinned_in_mid_connection_losses_differ_by_what_was_open() {
    let scratch = Scratch::new();
    let tap = tap(&scratch);
    let chain = format!(
        "start: select count(*) as flows every 500ms; \
         zoomed: select src_addr, {LOSSES} where dst_port = 443 groupby src_addr order by src_addr every 500ms \
         when start.flows > 5 run 3s"
    );
    let zoomed = answers(&tap, &["-q", &chain]);
    let tracked = answers(&tap, &["-q", &chain, "--loss"]);
    let (zoomed, tracked) = (of(&zoomed, "zoomed", "zoom"), of(&tracked, "zoomed", "row"));
    assert!(zoomed.len() >= 4 && zoomed.len() == tracked.len(), "{} {}", zoomed.len(), tracked.len());
    let first = time(&zoomed[0]["window"]["start"]);
    let mut later = 0;
    for (zoomed, tracked) in zoomed.iter().zip(&tracked) {
        assert_eq!(zoomed["window"], tracked["window"]);
        let is_first = time(&zoomed["window"]["start"]) == first;
        let of = |answer: &Value, item: &str| rows(answer).iter().map(|row| number(&row[item])).sum::<u64>();
        for item in ["lost", "gone", "again", "copies", "late", "holes", "full"] {
            let (zoomed, tracked) = (of(zoomed, item), of(tracked, item));
            match (is_first, item) {
                (false, _) => assert_eq!(zoomed, tracked, "{item}"),
                // Repairs of what was open before.
                (true, "again" | "copies" | "late") => {
                    assert!(zoomed >= tracked, "{item}: {zoomed} {tracked}")
                }
                (true, _) => assert!(zoomed <= tracked, "{item}: {zoomed} {tracked}"),
            }
        }
        later += if is_first { 0 } else { of(zoomed, "lost") };
    }
    assert!(later > 0);
}

#[test]
fn queries_that_pin_nothing_track_all_flows() {
    let scratch = Scratch::new();
    let tap = tap(&scratch);
    let all = answers(
        &tap,
        &[
            "-q",
            "all: select sum(ploss_byte) as lost; few: select sum(ploss_byte) as lost where dst_port = 443",
        ],
    );
    let (all, few) = (of(&all, "all", "row"), of(&all, "few", "row"));
    let lost =
        |answers: &[&Value]| answers.iter().map(|answer| number(&rows(answer)[0]["lost"])).sum::<u64>();
    assert!(lost(&all) > 0 && lost(&all) >= lost(&few));
    // A design that gives the directions of a connection to different workers tracks all flows too.
    let query = "few: select sum(ploss_byte) as lost where dst_port = 443";
    let spread = answers(&tap, &["-q", query, "--design", "1x2"]);
    assert_eq!(lost(&of(&spread, "few", "row")), lost(&few));
}

#[test]
fn what_is_zoomed_is_explained() {
    let scratch = Scratch::new();
    let file = scratch.file(
        "q.eq",
        "lost: select ploss_byte where src_addr = 10.0.0.1, dst_addr = 10.0.0.2, protocol = TCP;",
    );
    let said = call(&["explain", text(&file)]).expect(0).stdout;
    assert!(said.contains("class    zoom: 'where' pins the flows whose losses are tracked"), "{said}");
    assert!(said.contains("track losses of the TCP flows that 'where' pins"), "{said}");
    let file = scratch.file("all.eq", "lost: select sum(ploss_byte) where protocol = TCP;");
    let said = call(&["explain", text(&file)]).expect(0).stdout;
    assert!(said.contains("class    row") && said.contains("(--loss)"), "{said}");
}
