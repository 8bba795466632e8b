//! Queries that nothing starts, while others come and go.

use super::chained::{Chained, SECOND, START, run};
use crate::support::capture;
use crate::support::output;
use crate::support::scratch::{Scratch, text};
use serde_json::Value;

const STANDING: &str = "tumbling: select src_addr, sum(total_byte) as b, count(*) as flows, count(dst_port) as ports, max(ltime) as latest
        groupby src_addr limit 30 every 5s;
    sliding: select dst_port, count(src_addr) as sources, quantile(total_byte, 0.9) as q, entropy(src_addr) as e
        groupby dst_port limit 20 over 10s every 5s;
    losses: select sum(ploss_byte) as lost, sum(retrans_byte) as again every 5s;
    flows: select src_addr, dst_addr, total_byte, tcp_flags order by total_byte desc limit 9 over 20s every 10s;
    totals_of_windows: select sum(total_count), sum(total_byte) every 5s;";

/// The answers of the standing queries by query, node and window.
fn answers(chained: &Chained) -> Vec<Value> {
    let names = ["tumbling", "sliding", "losses", "flows", "totals_of_windows"];
    let mut answers: Vec<_> = names.iter().flat_map(|name| chained.answers_of(name)).collect();
    answers.sort_by_key(|answer| (answer.json["query"].to_string(), &answer.node, answer.window.start));
    let mut answers: Vec<Value> = answers.into_iter().map(|answer| answer.json.clone()).collect();
    answers.iter_mut().for_each(output::round);
    answers
}

#[test]
fn standing_queries_do_not_feel_what_comes_and_goes() {
    let scratch = Scratch::new();
    let spec = "packets=24k,flows=900,rate=400,zipf=1.0,ipv6=20%,size=64:7/594:4/1518:1,tcp=handshake,plant=loss:connections=3";
    let generated = capture::generate(&scratch, spec);
    // Half of it comes a minute later, so that there are windows without packets, too.
    let middle = START + 33 * SECOND;
    let apart =
        capture::retimed(&generated.path, |time| Some(if time < middle { time } else { time + 60 * SECOND }));
    let apart = scratch.file("apart.pcap", apart);
    let sources = ["A", "B"].map(|node| format!("{node}={}", text(&apart)));
    let [a, b] = [&*sources[0], &*sources[1]];
    let alone = run(&scratch, 0, &[a, b, "-q", STANDING, "-q", "n: select sum(total_byte) as b every 1s"]);
    // Half of the windows fire.
    let mut bytes: Vec<u64> =
        alone.answers_of("n").iter().filter_map(|answer| answer.json["rows"][0]["b"].as_u64()).collect();
    bytes.sort_unstable();
    let chain = format!(
        "n: select sum(total_byte) as b every 1s;
         c: select src_addr, sum(total_byte) as b groupby src_addr limit 5 every 1s when n.b > {};
         d: select dst_addr, sum(ploss_byte), count(src_addr) groupby dst_addr limit 5 every 1s when c.b > 1K run 3s;
         e: select count(*) over 3s every 1s when n.b > {} run 2s",
        bytes[bytes.len() / 2],
        bytes[bytes.len() / 3],
    );
    for options in [&[][..], &["--cores", "2"], &["--every", "500ms"]] {
        let with = run(&scratch, 0, &[&[a, b, "-q", STANDING, "-q", &chain], options].concat());
        let runs = ["c", "d", "e"].map(|query| with.of("fired", query).len());
        assert!(runs.iter().all(|firings| *firings > 10), "{runs:?}");
        assert!(with.answers_of("d").len() > 10 && with.answers_of("e").len() > 10);
        let (with, alone) = (answers(&with), answers(&alone));
        for (with, alone) in with.iter().zip(&alone) {
            assert_eq!(with, alone, "{options:?}");
        }
        assert!(with.len() == alone.len() && with.len() > 50, "{} {}", with.len(), alone.len());
    }
    // Nor do they depend on the nodes' being together.
    let one = run(&scratch, 0, &[text(&apart), "--node", "A", "-q", STANDING]);
    let alone = answers(&alone);
    let of_a: Vec<_> = alone.into_iter().filter(|answer| answer["node"] == "A").collect();
    assert_eq!(answers(&one), of_a);
}
