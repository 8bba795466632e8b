//! Queries that a firing pins: an instance for each key.

use super::chained::{Chained, udp};
use super::conditions::ask;
use crate::support::output::rows;
use serde_json::Value;

/// The answers of instances: window, pinned port, and the ports of their rows.
fn instances(chained: &Chained, query: &str) -> Vec<(i64, u64, Vec<u64>)> {
    let port = |value: &Value| value["src_port"].as_u64().expect("a port");
    let answers = chained.answers_of(query).iter();
    let mut found: Vec<_> = answers
        .map(|answer| {
            let ports = rows(&answer.json).iter().map(port).collect();
            (answer.window.start, port(&answer.json["bound"]), ports)
        })
        .collect();
    found.sort();
    found
}

const LOUD: &str = "q: select src_port, sum(total_count) as c groupby src_port every 1s;";

#[test]
fn each_key_that_fires_has_answers_of_its_own() {
    let queries = format!(
        "{LOUD} one: select src_port, sum(total_count) as c where src_port = q.src_port groupby src_port every 1s
         when q.c > 0 and q.src_port > 1500 run 2s"
    );
    let frames = udp(1000, 0..12).chain(udp(2000, 3..12)).chain(udp(3000, 5..12));
    let chained = ask(frames, &queries);
    // What fires in second 3 is measured from second 6 on.
    let found = instances(&chained, "one");
    let of = |start: i64, port: u64| (start, port, vec![port]);
    assert_eq!(found, [of(6, 2000), of(7, 2000), of(8, 3000), of(9, 3000)], "{}", chained.stdout);
    let fired = chained.of("fired", "one");
    assert_eq!(fired.len(), 2);
    let story = chained.story(fired[0]);
    assert!(story.text.contains("Therefore one ran for src_port 2,000 on here"), "{}", story.text);
}

#[test]
fn what_an_instance_finds_starts_what_is_pinned_next() {
    let queries = format!(
        "{LOUD} one: select dst_addr, src_port, sum(total_count) as c where src_port = q.src_port
           groupby dst_addr, src_port every 1s when q.c > 0 and q.src_port > 1500;
         two: select count(*) as n where dst_addr = one.dst_addr, src_port = one.src_port every 1s when one.c > 0;
         three: select sum(total_byte) where dst_addr = one.dst_addr every 1s when one.c > 0 and two.n > 5"
    );
    let chained = ask(udp(1000, 0..14).chain(udp(2000, 3..14)).chain(udp(3000, 3..14)), &queries);
    let bound = |query: &str| -> Vec<Value> {
        chained.answers_of(query).iter().map(|answer| answer.json["bound"].clone()).collect()
    };
    let pair = |port: u64| serde_json::json!({"dst_addr": "198.51.100.1", "src_port": port});
    let mut found = bound("two");
    found.sort_by_key(|bound| bound["src_port"].as_u64());
    assert_eq!(found, [pair(2000), pair(3000)], "{}", chained.stdout);
    assert_eq!(chained.of("fired", "three").len(), 0, "a flow is one");
    assert_eq!(chained.windows_of("one", "here"), [6..7, 6..7]);
    assert_eq!(chained.windows_of("two", "here"), [9..10, 9..10]);
}

#[test]
fn of_many_keys_the_largest_have_instances_and_the_others_are_counted() {
    let queries = format!("{LOUD} one: select count(*) where src_port = q.src_port every 1s when q.c > 0");
    let flows = (0..100).flat_map(|flow| udp(1000 + flow, 0..8));
    // The last ones send more.
    let large = (90..100).flat_map(|flow| udp(1000 + flow, 0..8)).map(|mut frame| {
        frame.time_ns += 1;
        frame
    });
    let chained = ask(flows.chain(large), &queries);
    let fired = chained.of("fired", "one");
    assert_eq!(fired.len(), 64, "{}", chained.stdout);
    let suppressed: u64 = chained
        .of("suppressed", "one")
        .iter()
        .map(|event| event.json["values"]["suppressed"].as_u64().expect("a number"))
        .sum();
    assert_eq!(suppressed, 36);
    let ports: Vec<u64> =
        fired.iter().map(|event| event.json["key"]["src_port"].as_u64().expect("a port")).collect();
    assert!((1090..1100).all(|port| ports[..10].contains(&port)), "{ports:?}");
    assert_eq!(chained.answers_of("one").len(), 64);
}

#[test]
fn a_pinned_node_is_the_one_that_fired() {
    use super::chained::run;
    use crate::support::capture::{self, ETHERNET};
    use crate::support::scratch::{Scratch, text};
    let scratch = Scratch::new();
    let source = |name: &str, ports: &[u16]| {
        let mut frames: Vec<_> = ports.iter().flat_map(|port| udp(*port, 0..10)).collect();
        frames.sort_by_key(|frame| frame.time_ns);
        let path = scratch.file(&format!("{name}.pcap"), capture::pcap(ETHERNET, &frames));
        format!("{name}={}", text(&path))
    };
    let (a, b) = (source("A", &[1000]), source("B", &[1000, 2000]));
    let queries = "q: select count(*) as n every 1s;
        one: select count(*) as n where node_id = q.node_id every 1s when q.n > 1";
    let chained = run(&scratch, 0, &[&a, &b, "-q", queries]);
    assert_eq!(chained.windows_of("one", "A"), [] as [super::chained::Span; 0]);
    assert_eq!(chained.windows_of("one", "B"), [3..4], "{}", chained.stdout);
}
