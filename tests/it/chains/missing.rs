//! Windows of which nothing is known, and windows in which nothing was.

use super::chained::{Chained, run, udp};
use super::conditions::ask;
use crate::support::capture::{self, ETHERNET, Frame};
use crate::support::scratch::{Scratch, text};

/// A capture with a gap of a minute.
fn with_gap() -> impl Iterator<Item = Frame> {
    udp(1000, 0..5).chain(udp(1000, 65..72))
}

#[test]
fn a_quiet_minute_is_known_and_resolves_what_is_missing_would_not() {
    let chained = ask(
        with_gap(),
        "q: select sum(total_count) as c every 1s;
         low: select count(*) every 1s when q.c < 1 for 30s;
         high: select count(*) every 1s when q.c > 0;
         gone: select count(*) every 1s when q is missing for 3s",
    );
    // Seconds 5 to 34 are the first thirty without a packet.
    assert_eq!(chained.happened("low"), [("fired", 34..35), ("resolved", 65..66)], "{}", chained.stdout);
    assert_eq!(chained.happened("high"), [("fired", 0..1), ("resolved", 5..6), ("fired", 65..66)]);
    assert_eq!(chained.happened("gone"), []);
}

/// The same capture at one node, and traffic without a gap at another.
fn beside(frames: Vec<Frame>, queries: &str) -> Chained {
    let scratch = Scratch::new();
    let source = |name: &str, frames: &[Frame]| {
        let path = scratch.file(&format!("{name}.pcap"), capture::pcap(ETHERNET, frames));
        format!("{name}={}", text(&path))
    };
    let (a, b) = (source("A", &frames), source("B", &udp(2000, 0..72).collect::<Vec<_>>()));
    run(&scratch, 0, &[&a, &b, "-q", queries])
}

#[test]
fn a_node_that_is_missing_resolves_nothing_and_can_be_a_reason_itself() {
    let queries = "q: select sum(total_count) as c where node_id = A every 1s;
        high: select count(*) every 1s when q.c > 0;
        low: select count(*) every 1s when q.c < 1 for 3s;
        gone: select count(*) where node_id = B every 1s when q is missing for 30s";
    // The capture of A ends; nothing is known of A from then on.
    let chained = beside(udp(1000, 0..5).collect(), queries);
    assert_eq!(chained.happened("high"), [("fired", 0..1), ("nodata", 7..8)], "{}", chained.stdout);
    assert_eq!(chained.happened("low"), [("nodata", 7..8)]);
    assert_eq!(chained.happened("gone"), [("fired", 34..35)]);
    assert_eq!(chained.windows_of("gone", "B"), [37..38]);
    let story = chained.story(chained.of("fired", "gone")[0]);
    assert!(story.text.contains("no answer of q"), "{}", story.text);
    // A gap within the capture is quiet, not missing.
    let chained = beside(with_gap().collect(), queries);
    assert_eq!(chained.happened("gone"), [], "{}", chained.stdout);
    assert_eq!(chained.happened("low"), [("fired", 7..8), ("resolved", 65..66)]);
}
