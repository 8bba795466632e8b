//! Paths that lose packets, seen by two taps; no run has `--loss`.

use super::played::{Played, SECOND, START, play};
use crate::support::capture;
use crate::support::output;
use crate::support::program::call;
use crate::support::scratch::{Scratch, text};
use std::collections::{BTreeMap, BTreeSet};

/// The queries that tell a place, in the order of a path's hops.
const PLACES: [&str; 3] = ["before", "between", "behind"];

/// The taps of both nodes on a path, as arguments.
fn taps(scratch: &Scratch, spec: &str) -> [String; 2] {
    let path = scratch.path("path.pcap");
    call(&["generate", text(&path), "--path", spec]).expect(0);
    [1, 2].map(|tap| format!("Node{tap}={}", text(&scratch.path(&format!("path.tap{tap}.pcap")))))
}

fn located(seed: u64, lossy: usize) -> Played {
    let scratch = Scratch::new();
    let spec = format!("hops=3,lossy={lossy},seed={seed},rtt=400000,connections=8,segments=1000");
    let [first, second] = taps(&scratch, &spec);
    play(&scratch, "Where packets are lost", &[&first, &second])
}

/// A number that the seed draws (splitmix64).
fn drawn(seed: u64) -> u64 {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    state = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    state = (state ^ state >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    state ^ state >> 31
}

#[test]
fn where_packets_are_lost() {
    let mut told = BTreeSet::new();
    for seed in 1..=30 {
        let lossy = drawn(seed) as usize % 3 + 1;
        let played = located(seed, lossy);
        let of = |kind: &'static str, place: &'static str| {
            let is_it = move |event: &&serde_json::Value| event["kind"] == kind && event["query"] == place;
            played.events.iter().filter(is_it)
        };
        let fired: Vec<&str> =
            PLACES.into_iter().filter(|place| of("fired", place).next().is_some()).collect();
        assert_eq!(fired, [PLACES[lossy - 1]], "seed {seed}: {:#?}", played.happened());
        // Each is of the server, and a chain from Node1 on.
        for event in played.events.iter().filter(|event| event["kind"] == "fired") {
            assert_eq!(event["key"]["dst_addr"], "192.0.2.1", "seed {seed}");
        }
        let place = fired[0];
        let rows: usize = played.answers_of(place).iter().map(|(_, rows)| rows.len()).sum();
        assert!(rows > 0, "seed {seed}: {place} has no rows");
        let is_pinned = |answer: &&serde_json::Value| answer["query"] == place;
        for answer in played.answers.iter().filter(is_pinned) {
            assert_eq!(
                (&answer["class"], &answer["bound"]["dst_addr"]),
                (&"zoom".into(), &"192.0.2.1".into())
            );
        }
        assert!(
            played.stories.contains(&format!("Therefore {place} ran for dst_addr 192.0.2.1")),
            "{}",
            played.stories
        );
        told.insert(place);
    }
    assert_eq!(told.len(), 3);
}

#[test]
fn no_packets_are_lost() {
    for seed in 1..=3 {
        assert_eq!(located(seed, 0).happened(), [] as [String; 0], "seed {seed}");
    }
}

fn one_way(scratch: &Scratch, lossy: usize) -> Played {
    let spec = format!("hops=3,lossy={lossy},seed=5,loss=5%,rtt=200000,connections=4,segments=4000");
    let [first, second] = taps(scratch, &spec);
    play(scratch, "Asymmetric loss", &[&first, &second])
}

/// Bytes from clients to the server by client, of one window of 10 s.
fn bytes(scratch: &Scratch, tap: u64, window: u64) -> BTreeMap<String, u64> {
    let mut bytes = BTreeMap::new();
    for frame in capture::read_cut(&scratch.path(&format!("path.tap{tap}.pcap"))) {
        let ((from, _, _, _, port), length) = capture::layer3(&frame.data);
        if port == 443 && (frame.time_ns - START) / (10 * SECOND) == window {
            *bytes.entry(from.to_string()).or_default() += length;
        }
    }
    bytes
}

#[test]
fn asymmetric_loss() {
    let scratch = Scratch::new();
    let played = one_way(&scratch, 2);
    // The first window and the last one are cut: their sums are no less than these.
    let (mut expected, mut has_fired) = (Vec::new(), BTreeSet::new());
    for window in 1..3 {
        let [near, far] = [1, 2].map(|tap| bytes(&scratch, tap, window));
        for (client, near) in &near {
            let lost = near - far[client];
            let kind = match lost > 70_000 {
                true if has_fired.insert(client.clone()) => "fired",
                false if has_fired.remove(client) => "resolved",
                _ => continue,
            };
            expected.push((window * 10_000, kind, client.clone(), lost));
        }
    }
    let event = |event: &serde_json::Value| {
        let start = (output::time(&event["window"]["start"]) - START) / 1_000_000;
        let kind = if event["kind"] == "fired" { "fired" } else { "resolved" };
        let key = event["key"]["conversation"].as_str().expect("a conversation");
        let client = key.split(':').next().expect("an address").to_owned();
        (start, kind, client, output::number(&event["values"]["there"]))
    };
    let mut events: Vec<_> = played.events.iter().map(event).collect();
    events.sort();
    expected.sort();
    assert_eq!(events, expected);
    assert_eq!(events.iter().filter(|(start, kind, ..)| (*start, *kind) == (10_000, "fired")).count(), 4);
    let windows: Vec<_> = played.answers_of("one_way").into_iter().map(|(window, _)| window).collect();
    assert_eq!(windows, [[30_000, 40_000]]);
}

#[test]
fn no_asymmetric_loss() {
    // What is lost before or behind both taps is lost between none.
    for lossy in [0, 1, 3] {
        let scratch = Scratch::new();
        assert_eq!(one_way(&scratch, lossy).happened(), [] as [String; 0], "{lossy}");
    }
}
