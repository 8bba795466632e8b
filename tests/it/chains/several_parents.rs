//! Conditions on several queries.

use super::chained::{run, udp};
use super::conditions::ask;
use crate::support::capture::{self, ETHERNET, Frame};
use crate::support::scratch::{Scratch, text};

#[test]
fn keys_of_several_queries_are_judged_together() {
    let chained = ask(
        udp(1000, 0..12).chain(udp(2000, 2..12)).chain(udp(3000, 4..12)),
        "q: select src_port, sum(total_count) as c groupby src_port every 1s;
         p: select sum(total_byte) as b, src_port groupby src_port where src_port > 1500 every 1s;
         all: select count(*) as n every 1s;
         both: select count(*) every 1s when q.c > 4 and p.b > 0 and all.n > 2",
    );
    let fired = chained.of("fired", "both");
    let ports: Vec<_> =
        fired.iter().map(|event| (event.window.start, event.json["key"]["src_port"].clone())).collect();
    assert_eq!(ports, [(4, 2000.into()), (4, 3000.into())], "{}", chained.stdout);
    let event = &fired[0].json;
    assert_eq!(event["fired_by"], "all, p, q");
    let values = serde_json::json!({"q.c": 5, "p.b": 230, "all.n": 3});
    assert_eq!(event["values"], values);
    assert!(
        chained.story(fired[0]).text.contains("because all and p and q on here had"),
        "{}",
        chained.stdout
    );
}

#[test]
fn queries_of_one_node_each_are_judged_together() {
    let scratch = Scratch::new();
    let source = |name: &str, frames: Vec<Frame>| {
        let path = scratch.file(&format!("{name}.pcap"), capture::pcap(ETHERNET, &frames));
        format!("{name}={}", text(&path))
    };
    let (a, b) = (source("A", udp(1000, 0..12).collect()), source("B", udp(1000, 4..12).collect()));
    let queries = "a: select sum(total_count) as c where node_id = A every 1s;
        b: select sum(total_count) as c where node_id = B every 1s;
        both: select count(*) where node_id = A every 1s when a.c > 0 and b.c > 0;
        either: select count(*) where node_id = A every 1s when a.c > 0 or b.c > 0;
        alone: select count(*) where node_id = A every 1s when a.c > 0 and b is missing";
    let chained = run(&scratch, 0, &[&a, &b, "-q", queries]);
    assert_eq!(chained.happened("both"), [("nodata", 2..3), ("fired", 4..5)], "{}", chained.stdout);
    assert_eq!(chained.of("fired", "either").len(), 1);
    assert_eq!(chained.of("fired", "either")[0].window, 0..1);
    assert_eq!(chained.of("fired", "alone")[0].window, 0..1);
    assert!(chained.of("fired", "both")[0].json["node"].is_null());
}
