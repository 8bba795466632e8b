//! Floods, with room in the flow table and without.

use super::played::{Played, SECOND, START, play};
use crate::support::capture::{self, Frame};
use crate::support::output::{list, number};
use crate::support::scratch::{Scratch, text};
use std::net::IpAddr;
use std::path::Path;

/// The destination of a planted flood.
const VICTIM: &str = "203.0.113.10";

fn is_to_victim(frame: &Frame) -> bool {
    let ((_, to, ..), _) = capture::layer3(&frame.data);
    to == VICTIM.parse::<IpAddr>().expect("an address")
}

/// The packets of a pcapng file of one section: time and bytes.
fn pcapng(path: &Path) -> Vec<(u64, Vec<u8>)> {
    let bytes = std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
    let (mut packets, mut at) = (Vec::new(), 0);
    while at < bytes.len() {
        // An Enhanced Packet Block: interface, time, captured length, length on the wire.
        if word(at) == 6 {
            let time = u64::from(word(at + 12)) << 32 | u64::from(word(at + 16));
            packets.push((time, bytes[at + 28..][..word(at + 20) as usize].to_vec()));
        }
        at += word(at + 4) as usize;
    }
    packets
}

#[test]
fn ddos_victim() {
    const PACKETS: usize = 500;
    let scratch = Scratch::new();
    let spec = "packets=60k,flows=1k,rate=2k,plant=flood:share=20%:sources=4k";
    let generated = capture::generate(&scratch, spec);
    let folder = scratch.path("captures");
    let arguments = ["--captures", text(&folder), "--node", "here", text(&generated.path)];
    let played = play(&scratch, "DDoS victim", &arguments);
    let expected =
        [format!("12000..13000 fired victim {VICTIM}"), format!("18000..19000 resolved victim {VICTIM}")];
    assert_eq!(played.happened(), expected);
    let windows: Vec<_> = played.answers_of("victim").into_iter().map(|(window, _)| window).collect();
    assert_eq!(windows, [[15_000, 16_000], [16_000, 17_000], [17_000, 18_000]]);
    // Two thousand sources take turns.
    for (_, rows) in played.answers_of("victim") {
        assert_eq!((rows.len(), number(&rows[0]["sources"]), number(&rows[0]["packets"])), (1, 2000, 2000));
    }
    // The file has the next packets to the victim: their headers, of Ethernet, IPv4 and TCP.
    let event = played.events[0]["event"].as_str().expect("an identifier");
    let file = folder.join(format!("{event}.here.pcapng"));
    let captured = pcapng(&file);
    let in_time = |frame: &&Frame| frame.time_ns >= START + 15 * SECOND && is_to_victim(frame);
    let sent = generated.frames.iter().filter(in_time).take(PACKETS);
    let sent: Vec<_> = sent.map(|frame| (frame.time_ns, frame.data[..54].to_vec())).collect();
    assert!(captured == sent, "{} packets, not these {}", captured.len(), sent.len());
    let said = format!("victim captured {PACKETS} packets on here: {}.\n", text(&file));
    assert!(played.stories.contains(&said), "{}", played.stories);
}

#[test]
fn no_ddos_victim() {
    let scratch = Scratch::new();
    let generated = capture::generate(&scratch, "packets=60k,flows=1k,rate=2k");
    let folder = scratch.path("captures");
    let played = play(&scratch, "DDoS victim", &["--captures", text(&folder), text(&generated.path)]);
    assert_eq!(played.happened(), [] as [String; 0]);
    assert!(std::fs::read_dir(folder).is_ok_and(|mut files| files.next().is_none()));
}

/// Plays the flood of a seed, or none, against a table of 1,000 flows.
fn play_full(seed: u64, plant: &str) -> Played {
    let scratch = Scratch::new();
    let spec = format!("packets=24k,flows=3k,zipf=0.5,rate=2k,seed={seed}{plant}");
    let generated = capture::generate(&scratch, &spec);
    let heading = "A flood that fills the flow table";
    let played = play(&scratch, heading, &["--max-flows", "1000", text(&generated.path)]);
    let report = std::fs::read_to_string(scratch.path("report.json")).expect("a report");
    let report: serde_json::Value = serde_json::from_str(&report).expect("JSON");
    // Most packets are of flows without a place.
    let without = number(&report["flows"]["table_full"]);
    assert!(number(&report["flows"]["seen"]) == 1000 && without > 10_000, "seed {seed}: {without}");
    played
}

/// All flows of the flood come once or twice, and few of them have a place in the table.
fn fires_for_the_victim(seed: u64) {
    let sources = 5000 + seed % 7 * 1000;
    let played = play_full(seed, &format!(",plant=flood:share=50%:sources={sources}:start=20%:end=80%"));
    let expected = [
        format!("4000..5000 fired flooded {VICTIM}"),
        format!("7000..8000 fired replies {VICTIM} 443"),
        format!("9000..10000 resolved flooded {VICTIM}"),
    ];
    assert_eq!(played.happened(), expected, "seed {seed}");
    assert_eq!(played.events[1]["parent"], played.events[0]["event"]);
    let [(window, rows)] = played.answers_of("replies")[..] else { panic!("seed {seed}: one answer") };
    assert_eq!((window, number(&rows[0]["packets"])), ([10_000, 11_000], 0), "seed {seed}");
}

#[test]
fn a_flood_that_fills_the_flow_table() {
    const SEEDS: u64 = 100;
    const THREADS: u64 = 4;
    std::thread::scope(|scope| {
        for first in 1..=THREADS {
            let own = (first..=SEEDS).step_by(THREADS as usize);
            scope.spawn(|| own.for_each(fires_for_the_victim));
        }
    });
}

#[test]
fn a_full_flow_table_without_a_flood() {
    for seed in 1..=3 {
        let played = play_full(seed, "");
        assert_eq!(played.happened(), [] as [String; 0]);
        assert!(list(&serde_json::json!(played.answers)).len() >= 12);
    }
}
