//! Nodes of one run: their files, their reports, and the one that is damaged.

use super::chained::{Chained, run, udp};
use crate::support::capture::{self, ETHERNET};
use crate::support::output::{self, number};
use crate::support::program::call;
use crate::support::scratch::{Scratch, text};
use model::RunReport;
use serde_json::Value;

const CHAIN: &str =
    "a: select sum(total_byte) as b every 1s; c: select count(*) as n every 1s when a.b > 100";

/// Two captures, which differ in all numbers.
fn sources(scratch: &Scratch) -> [String; 2] {
    let frames = |port: u16, seconds| udp(port, 0..seconds).chain(udp(port + 1, 2..seconds));
    let one: Vec<_> = frames(1000, 8).collect();
    let two: Vec<_> = frames(2000, 11).chain(udp(3000, 0..9)).collect();
    let sorted = |mut frames: Vec<capture::Frame>| {
        frames.sort_by_key(|frame| frame.time_ns);
        capture::pcap(ETHERNET, &frames)
    };
    let [one, two] = [scratch.file("one.pcap", sorted(one)), scratch.file("two.pcap", sorted(two))];
    [format!("Node1={}", text(&one)), format!("Node2={}", text(&two))]
}

#[test]
fn each_node_has_its_flows_and_its_report() {
    let scratch = Scratch::new();
    let [one, two] = sources(&scratch);
    let flows = scratch.path("out.csv");
    // The filter keeps one flow from being measured on each node.
    let filter = "not src port 1001 and not src port 3000";
    let chained = run(&scratch, 0, &[&one, &two, filter, "-q", CHAIN, "--flows", text(&flows)]);
    let report = &chained.report;
    assert_eq!(report.node, "Node1, Node2");
    assert_eq!(report.nodes.keys().collect::<Vec<_>>(), ["Node1", "Node2"]);
    assert!(!flows.exists(), "each node has a file of its own");
    for (name, received, unmeasured) in [("Node1", 70, 30), ("Node2", 145, 45)] {
        let own = &report.nodes[name];
        assert_eq!((own.node.as_str(), own.packets.received), (name, received));
        assert_eq!((own.packets.measured, reason(own, "filter")), (received - unmeasured, unmeasured));
        let records = output::records(&scratch.path(&format!("out.{name}.csv")));
        assert_eq!(records.iter().map(|record| record.packets).sum::<u64>(), own.packets.measured, "{name}");
        assert_eq!(records.len() as u64, own.flows.exported, "{name}");
        let totals = own.answer("totals").expect("totals");
        assert_eq!(totals.node.as_deref(), Some(name));
    }
    let sum = |of: fn(&RunReport) -> u64| {
        assert_eq!(of(report), report.nodes.values().map(of).sum::<u64>());
        of(report)
    };
    assert_eq!(sum(|report| report.packets.received), 215);
    assert_eq!(sum(|report| report.packets.measured), 140);
    assert_eq!(sum(|report| reason(report, "filter")), 75);
    assert_eq!(sum(|report| report.flows.seen), 3);
    sum(|report| report.flows.exported);
    sum(|report| report.windows.count);
    assert!(chained.of("fired", "c").iter().any(|event| event.node == "Node2"));
}

/// Packets that were not measured for a reason.
fn reason(report: &RunReport, name: &str) -> u64 {
    report.packets.not_measured.0.iter().filter(|(reason, _)| reason == name).map(|(_, count)| *count).sum()
}

/// The answers and the events of one node.
fn of_node<'a>(chained: &'a Chained, node: &str) -> Vec<&'a Value> {
    let answers = chained.answers.values().flatten().filter(|answer| answer.node == node);
    let events = chained.events.iter().filter(|event| event.node == node);
    answers.map(|answer| &answer.json).chain(events.map(|event| &event.json)).collect()
}

#[test]
fn a_damaged_capture_ends_its_node_and_not_the_other() {
    let scratch = Scratch::new();
    let [one, two] = sources(&scratch);
    let whole = run(&scratch, 0, &[&one, &two, "-q", CHAIN]);
    let path = one.strip_prefix("Node1=").expect("a node");
    let bytes = std::fs::read(path).expect("it was written");
    // Somewhat more than half of the capture, up to the middle of a frame.
    std::fs::write(path, &bytes[..24 + 42 * 76 + 40]).expect("a writable file");
    let damaged = run(&scratch, 3, &[&one, &two, "-q", CHAIN]);
    let said: Vec<&str> = damaged.stderr.lines().filter(|line| line.contains("cut short")).collect();
    let [said] = said[..] else { panic!("{}", damaged.stderr) };
    assert!(said.starts_with("edison: error: Node1: ") && said.contains("one.pcap"), "{said}");
    assert_eq!(of_node(&damaged, "Node2"), of_node(&whole, "Node2"));
    // The report of all says whose fault it was, that of the node what it was.
    let faults = |report: &RunReport| report.faults.clone();
    let [fault] = &faults(&damaged.report)[..] else { panic!("{:?}", damaged.report.faults) };
    assert_eq!(format!("Node1: {}", faults(&damaged.report.nodes["Node1"]).join("; ")), *fault);
    assert!(said.ends_with(fault) && faults(&damaged.report.nodes["Node2"]).is_empty());
    assert_eq!(damaged.report.nodes["Node1"].packets.received, 42);
    // What was answered before the damage stands; the window with the damage was watched in part.
    let answers = |chained: &Chained| -> Vec<Value> {
        chained.answers_on("a", "Node1").map(|answer| answer.json.clone()).collect()
    };
    let (whole, damaged) = (answers(&whole), answers(&damaged));
    let (last, before) = damaged.split_last().expect("an answer");
    assert_eq!(*before, whole[..before.len()]);
    assert!(last["status"] == "partial" && last["watched"].is_object(), "{last}");
    assert!(damaged.len() > 3 && damaged.len() < whole.len(), "{last}");
    assert!(number(&last["rows"][0]["b"]) < number(&whole[before.len()]["rows"][0]["b"]), "{last}");
}

#[test]
fn one_node_without_a_name_fires_too() {
    let scratch = Scratch::new();
    let [one, _] = sources(&scratch);
    let path = one.strip_prefix("Node1=").expect("a node");
    let unnamed = run(&scratch, 0, &[path, "-q", CHAIN]);
    let fired = unnamed.of("fired", "c");
    assert_eq!((fired.len(), fired[0].window.clone(), &fired[0].node), (1, 0..1, &unnamed.report.node));
    assert_eq!(unnamed.windows_of("c", &unnamed.report.node), [3..4]);
    // It is what a node with a name does.
    let named = run(&scratch, 0, &[path, "--node", "Node1", "-q", CHAIN]);
    let of_node = run(&scratch, 0, &[&one, "-q", CHAIN]);
    assert_eq!(named.stdout, of_node.stdout);
    assert_eq!(named.report.occurrences.stories, of_node.report.occurrences.stories);
    // On a terminal, the story is told.
    let told = call(&["run", path, "-q", CHAIN]).expect(0);
    assert!(told.stdout.contains("c fired at 2024-01-01 00:00:01Z because a on "), "{}", told.stdout);
}
