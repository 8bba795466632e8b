//! Queries that answer in the window that fires, or in each window in which a condition holds.

use super::chained::{Chained, Span, udp};
use super::conditions::ask;
use crate::support::output::rows;

/// The windows in which a query has rows.
fn answered(chained: &Chained, query: &str) -> Vec<Span> {
    let with_rows = chained.answers_of(query).iter().filter(|answer| !rows(&answer.json).is_empty());
    with_rows.map(|answer| answer.window.clone()).collect()
}

/// Flows from ports 1000 and 2000, the second one in these seconds.
fn frames(seconds: std::ops::Range<u64>) -> impl Iterator<Item = crate::support::capture::Frame> {
    udp(1000, 0..14).chain(udp(2000, seconds))
}

const FLOWS: &str = "q: select count(*) as n every 1s;";

#[test]
fn while_answers_in_each_window_in_which_the_condition_holds() {
    let queries =
        format!("{FLOWS} more: select src_port, sum(total_count) groupby src_port every 1s while q.n > 1");
    let chained = ask(frames(4..7).chain(udp(2000, 9..10)), &queries);
    let windows = [4..5, 5..6, 6..7, 9..10];
    assert_eq!(chained.windows_of("more", "here"), windows, "{}", chained.stdout);
    assert_eq!(answered(&chained, "more"), windows);
    for window in &windows {
        let answer = chained.answer("more", "here", window);
        let ports: Vec<u64> =
            rows(answer).iter().map(|row| row["src_port"].as_u64().expect("a port")).collect();
        assert_eq!(ports, [1000, 2000], "{answer}");
    }
    let told = [("fired", 4..5), ("resolved", 7..8), ("fired", 9..10), ("resolved", 10..11)];
    assert_eq!(chained.happened("more"), told);
}

#[test]
fn when_each_fires_in_each_window_in_which_the_condition_holds() {
    let queries = format!("{FLOWS} more: select count(*) every 1s when each q.n > 1");
    let chained = ask(frames(4..7), &queries);
    assert_eq!(chained.happened("more"), [("fired", 4..5), ("fired", 5..6), ("fired", 6..7)]);
    // Each in the third window after it.
    assert_eq!(chained.windows_of("more", "here"), [7..8, 8..9, 9..10]);
}

#[test]
fn a_chain_answers_in_the_window_that_fired() {
    let queries = format!(
        "{FLOWS} second: select src_port, sum(total_count) as c groupby src_port every 1s when q.n > 1 in same window;
         third: select dst_port, count(*) groupby dst_port every 1s when second.c > 4 in same window;
         later: select count(*) every 1s when third.\"count(*)\" > 0"
    );
    let chained = ask(frames(4..9), &queries);
    for query in ["second", "third"] {
        assert_eq!(chained.windows_of(query, "here"), [4..5], "{query}: {}", chained.stdout);
        assert_eq!(rows(chained.answer(query, "here", &(4..5))).len(), if query == "second" { 2 } else { 1 });
    }
    assert_eq!(chained.happened("third").first(), Some(&("fired", 4..5)));
    assert_eq!(chained.windows_of("later", "here"), [7..8]);
    let story = chained.story(chained.of("fired", "second")[0]);
    assert!(story.text.contains("Therefore third ran on here"), "{}", story.text);
}

#[test]
fn the_last_window_of_a_capture_is_looked_back_at_too() {
    let queries =
        format!("{FLOWS} second: select src_port groupby src_port every 1s when q.n > 1 in same window");
    let chained = ask(udp(1000, 0..5).chain(udp(2000, 4..5)), &queries);
    assert_eq!(chained.windows_of("second", "here"), [4..5], "{}", chained.stdout);
    assert_eq!(chained.of("missed", "second").len(), 0, "{}", chained.stdout);
    let ports = rows(chained.answer("second", "here", &(4..5)));
    assert_eq!(ports.len(), 2, "{ports:?}");
}

#[test]
fn what_takes_too_much_memory_is_refused_with_its_size() {
    use crate::support::capture::{self, ETHERNET};
    use crate::support::program::call;
    use crate::support::scratch::{Scratch, text};
    let scratch = Scratch::new();
    let frames: Vec<_> = udp(1000, 0..6).collect();
    let capture = scratch.file("t.pcap", capture::pcap(ETHERNET, &frames));
    let queries = format!("{FLOWS} second: select count(*) every 1s when q.n > 0 in same window");
    let ended = call(&["run", text(&capture), "--memory", "128MiB", "-q", &queries]).expect(0);
    let said = "look-back: a ring of";
    assert!(ended.stderr.contains(said) && ended.stderr.contains("are allowed"), "{}", ended.stderr);
}
