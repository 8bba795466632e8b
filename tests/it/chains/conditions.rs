//! What conditions see of keys that vanish, that never were, and that a limit leaves out.

use super::chained::{Chained, Span, run, udp};
use crate::support::capture::{self, ETHERNET, Frame};
use crate::support::scratch::{Scratch, text};
use std::path::PathBuf;

fn written(scratch: &Scratch, mut frames: Vec<Frame>) -> PathBuf {
    frames.sort_by_key(|frame| frame.time_ns);
    scratch.file("t.pcap", capture::pcap(ETHERNET, &frames))
}

/// Asks about frames that one node sees.
pub(crate) fn ask(frames: impl IntoIterator<Item = Frame>, text_of_queries: &str) -> Chained {
    let scratch = Scratch::new();
    let capture = written(&scratch, frames.into_iter().collect());
    run(&scratch, 0, &[text(&capture), "--node", "here", "-q", text_of_queries])
}

/// A query that pins the flow from a port, and a rule that fires without it.
fn gone(port: u16) -> String {
    format!(
        "q: select total_byte where src_addr = 192.0.2.1, dst_addr = 198.51.100.1, src_port = {port}, dst_port = 53,
         protocol = UDP every 1s; gone: select count(*) every 1s when q.total_byte < 1"
    )
}

#[test]
fn a_flow_that_vanishes_fires_once_and_resolves_when_it_comes_back() {
    // Among other packets, and where windows have none at all.
    for others in [&[0..20][..], &[0..7, 10..20], &[0..6, 11..20]] {
        let flow = udp(1000, 0..6).chain(udp(1000, 11..20));
        let chained = ask(flow.chain(others.iter().cloned().flat_map(|of| udp(2000, of))), &gone(1000));
        assert_eq!(chained.happened("gone"), [("fired", 6..7), ("resolved", 11..12)], "{}", chained.stdout);
        let fired = chained.of("fired", "gone")[0];
        assert_eq!(
            (&fired.json["key"]["src_port"], &fired.json["values"]["total_byte"]),
            (&1000.into(), &0.into())
        );
        assert_eq!(fired.json["threshold"], 1.0);
        assert_eq!(chained.windows_of("gone", "here"), [9..10], "{}", chained.stdout);
    }
}

#[test]
fn a_flow_that_never_was_fires_in_the_first_complete_window() {
    let chained = ask(udp(2000, 0..12), &gone(1000));
    // The first window was watched from its first packet on: what it did not see may have been before.
    assert_eq!(chained.happened("gone"), [("fired", 1..2)], "{}", chained.stdout);
    assert_eq!(chained.answers_of("q")[0].json["status"], "cut");
    // Where it comes at last, that resolves it.
    let chained = ask(udp(2000, 0..12).chain(udp(1000, 8..12)), &gone(1000));
    assert_eq!(chained.happened("gone"), [("fired", 1..2), ("resolved", 8..9)], "{}", chained.stdout);
}

/// The port of a key, and the rest of an event.
fn of_ports(chained: &Chained, query: &str) -> Vec<(u64, String, Span)> {
    let events = chained.events.iter().filter(|event| event.query == query);
    let port = |key: &serde_json::Value| key["src_port"].as_u64().expect("a port");
    events.map(|event| (port(&event.json["key"]), event.kind.clone(), event.window.clone())).collect()
}

#[test]
fn a_key_that_was_seen_counts_as_nothing_where_all_groups_are_known() {
    let event = |port: u64, kind: &str, second: i64| (port, kind.to_owned(), second..second + 1);
    // The largest flow vanishes; of the others, only one is returned.
    let frames = || {
        let large =
            udp(1000, 0..6).chain(udp(1000, 0..6).map(|frame| Frame { time_ns: frame.time_ns + 1, ..frame }));
        large.chain(udp(2000, 0..12)).chain(udp(3000, 0..12))
    };
    let rule = |from: &str, below: u64| {
        format!(
            "q: select src_port, sum(total_byte) as b {from} every 1s; low: select count(*) every 1s when q.b < {below}"
        )
    };
    let all = ask(frames(), &rule("groupby src_port", 1));
    assert_eq!(of_ports(&all, "low"), [event(1000, "fired", 6)], "{}", all.stdout);
    // The value is between 0 and that of the row that is there, 230 bytes: known to be less than 231, not to be less than 1.
    let limited = ask(frames(), &rule("groupby src_port limit 1", 1));
    assert_eq!(of_ports(&limited, "low"), [], "{}", limited.stdout);
    let limited = ask(frames(), &rule("groupby src_port limit 1", 231));
    assert!(of_ports(&limited, "low").contains(&event(1000, "fired", 6)), "{}", limited.stdout);
    // Keys that are pinned are returned beyond the limit.
    let pinned = ask(frames(), &rule("where src_port in (1000, 2000, 3000) groupby src_port limit 1", 1));
    assert_eq!(of_ports(&pinned, "low"), [event(1000, "fired", 6)], "{}", pinned.stdout);
    // A key that was never seen is none of a query that pins nothing.
    let unseen = ask(udp(2000, 0..12), &rule("where src_port > 1000, src_port < 2000 groupby src_port", 1));
    assert!(unseen.events.is_empty(), "{}", unseen.stdout);
}
