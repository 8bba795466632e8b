//! Windows without packets, of which a capture may have millions in a row.

use super::chained::{Answer, Chained, run, udp};
use crate::support::capture::{self, ETHERNET};
use crate::support::output::number;
use crate::support::scratch::{Scratch, text};

/// More than four years.
const EMPTY: u64 = 145_000_000;

/// Two bursts of five seconds, with `windows` windows of one second between them.
fn far_apart(scratch: &Scratch) -> String {
    let frames: Vec<_> = udp(1000, 0..5).chain(udp(1000, EMPTY + 5..EMPTY + 10)).collect();
    text(&scratch.file("far.pcap", capture::pcap(ETHERNET, &frames))).to_owned()
}

const RULES: &str = "s: select sum(total_byte) as b;
    low: select count(*) when s.b < 100;
    high: select count(*) when s.b > 100;
    long: select count(*) when s.b < 100 for 1000000s;
    by_port: select src_port, sum(total_byte) as b groupby src_port;
    lost: select count(*) when by_port.b < 100;
    there: select count(*) when by_port.b > 100;
    slide: select sum(total_byte) as b over 10s every 1s;
    calm: select count(*) when slide.b < 100";

fn check(chained: &Chained, node: &str) {
    let (first, last) = (5, 5 + EMPTY as i64);
    let of_node = |query: &str| {
        let events = chained.events.iter().filter(|event| event.query == query && event.node == node);
        events.map(|event| (event.kind.as_str(), event.window.start)).collect::<Vec<_>>()
    };
    // In the first window 'more' is certain already: what was not watched can only add to it.
    assert_eq!(of_node("high"), [("fired", 0), ("resolved", first), ("fired", last)]);
    assert_eq!(of_node("low"), [("fired", first), ("resolved", last)]);
    assert_eq!(of_node("long"), [("fired", first + 999_999), ("resolved", last)]);
    assert_eq!(of_node("there"), [("fired", 0), ("resolved", first), ("fired", last)]);
    // A key that nothing pins is forgotten after sixty windows; it is a new one when it comes back.
    assert_eq!(of_node("lost"), [("fired", first), ("expired", first + 59)]);
    // The first window of ten seconds without the burst begins with its end; the last one ends before the other burst.
    assert_eq!(of_node("calm"), [("fired", first), ("resolved", last - 9)]);
    // All empty windows are in one answer.
    for query in ["s", "by_port"] {
        let answers = chained.answers_on(query, node);
        let empty: Vec<_> = answers.filter(|answer| !answer.json["empty"].is_null()).collect();
        let [Answer { window, json, .. }] = empty[..] else { panic!("{query}: {}", chained.stdout) };
        assert_eq!((number(&json["empty"]), &json["status"]), (EMPTY, &"complete".into()), "{json}");
        assert_eq!(*window, first..last);
    }
    assert_eq!(chained.answer("low", node, &(first + 3..first + 4))["empty"], 1);
}

#[test]
fn millions_of_empty_windows_are_passed_at_once() {
    let scratch = Scratch::new();
    let far = far_apart(&scratch);
    let chained = run(&scratch, 0, &[&far, "--node", "A", "--every", "1s", "-q", RULES]);
    check(&chained, "A");
}

#[test]
fn two_nodes_pass_them_together() {
    let scratch = Scratch::new();
    let far = far_apart(&scratch);
    // The other node ends with the first burst.
    let near: Vec<_> = udp(1000, 0..5).collect();
    let near = scratch.file("near.pcap", capture::pcap(ETHERNET, &near));
    let [a, b, c] = [format!("A={far}"), format!("B={far}"), format!("C={}", text(&near))];
    let chained = run(&scratch, 0, &[&a, &b, &c, "--every", "1s", "-q", RULES]);
    check(&chained, "A");
    check(&chained, "B");
    let of_c = chained.events.iter().filter(|event| event.node == "C" && event.query == "low");
    assert_eq!(
        of_c.map(|event| (event.kind.as_str(), event.window.start)).collect::<Vec<_>>()[..1],
        [("nodata", 7)]
    );
}

/// Begin, packets and status of the answers of a query.
fn answered(chained: &Chained, query: &str) -> Vec<(i64, u64, String)> {
    let answers = chained.answers_of(query).iter().map(|answer| {
        let packets = answer.json["rows"][0]["n"].as_u64().unwrap_or(0);
        (answer.window.start, packets, answer.json["status"].as_str().expect("a status").to_owned())
    });
    answers.collect()
}

/// Five packets a second for some time, a pause, and again some time.
fn with_pause(queries: &str, before: u64, after: std::ops::Range<u64>) -> Chained {
    let scratch = Scratch::new();
    let frames: Vec<_> = udp(1000, 0..before).chain(udp(1000, after)).collect();
    let capture = scratch.file("pause.pcap", capture::pcap(ETHERNET, &frames));
    run(&scratch, 0, &[text(&capture), "--node", "A", "-q", queries])
}

/// Windows that are longer than the run's may end in a pause, and have packets of the time before.
#[test]
fn longer_windows_end_in_a_pause() {
    let queries = "s: select sum(total_count) as n every 1s;
        five: select sum(total_count) as n every 5s;
        low: select count(*) every 1s when five.n < 20;
        c: select sum(total_count) as n over 3s every 1s when s.n > 0 run 7s;
        d: select count(*) every 1s when c.n < 10";
    let chained = with_pause(queries, 7, 40..50);
    let complete = |start: i64, n: u64| (start, n, "complete".to_owned());
    assert_eq!(chained.happened("low"), [("fired", 5..10), ("resolved", 40..45)], "{}", chained.stdout);
    assert_eq!(chained.windows_of("low", "A"), [12..13]);
    let [.., before, pause, after, _] = &answered(&chained, "five")[..] else { panic!("{}", chained.stdout) };
    assert_eq!((before, pause, after), (&complete(5, 10), &complete(10, 0), &complete(40, 25)));
    // The run has windows of three seconds that begin in it, and no others.
    let expected = [(3, 15), (4, 15), (5, 10), (6, 5), (7, 0), (8, 0), (9, 0)];
    let of_run: Vec<_> = answered(&chained, "c").into_iter().filter(|answer| answer.0 < 40).collect();
    assert_eq!(of_run, expected.map(|(start, n)| complete(start, n)));
    assert_eq!(chained.happened("d")[..1], [("fired", 6..9)]);
    assert!(chained.of("missed", "c").is_empty() && chained.of("nodata", "low").is_empty());
}

/// What is asked in a pause is watched from then on, though no packet comes.
#[test]
fn a_run_that_begins_in_a_pause_watches_it() {
    let queries = "s: select sum(total_count) as n every 1s;
        c: select sum(total_count) as n over 4s every 2s when s.n < 1 run 20s";
    let chained = with_pause(queries, 6, 20..40);
    assert_eq!(chained.happened("c"), [("fired", 6..7), ("resolved", 20..21)], "{}", chained.stdout);
    let expected =
        [(10, 0), (12, 0), (14, 0), (16, 0), (18, 10), (20, 20), (22, 20), (24, 20), (26, 20), (28, 20)];
    assert_eq!(answered(&chained, "c"), expected.map(|(start, n)| (start, n, "complete".to_owned())));
}
