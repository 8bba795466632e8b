//! Rankings are of keys, however many records a key had.

use crate::support::capture::{self, Frame};
use crate::support::output::{self, number, rows};
use crate::support::program::{edison, run};
use crate::support::scratch::Scratch;
use serde_json::Value;
use std::collections::HashMap;

const SECOND: u64 = 1_000_000_000;
/// A multiple of the windows' length.
const START: u64 = 1_700_000_400 * SECOND;
const SOURCES: u8 = 12;

/// Twelve sources that fall silent for longer than the idle timeout, eight times, so that each has nine records with `--key src_addr` and more by
/// the 5-tuple.
fn frames() -> Vec<Frame> {
    let mut frames = Vec::new();
    for burst in 0..9 {
        for source in 0..SOURCES {
            for packet in 0..=source {
                let mut data = capture::udp(7 + u16::from(packet % 3));
                // The source address of IPv4 behind Ethernet, with the last byte as the source's number.
                data[26..30].copy_from_slice(&[10, 9, 8, source]);
                let at = burst * 40 * SECOND + u64::from(source) * 1_000_000 + u64::from(packet) * 1_000;
                frames.push(Frame { time_ns: START + at, data });
            }
        }
    }
    frames
}

/// Packets by source, of some frames.
fn truth<'a>(frames: impl Iterator<Item = &'a Frame>) -> HashMap<String, u64> {
    let mut truth = HashMap::new();
    frames.for_each(|frame| *truth.entry(capture::layer3(&frame.data).0.0.to_string()).or_default() += 1);
    truth
}

/// Each source is in the answer once, with all its packets, and they are in order.
fn check(answer: &Value, truth: &HashMap<String, u64>, what: &str) {
    let found: Vec<(String, u64)> = rows(answer)
        .iter()
        .map(|row| (row["src_addr"].as_str().expect("an address").to_owned(), number(&row["total_count"])))
        .collect();
    assert_eq!(found.len(), truth.len(), "{what}: {answer}");
    assert_eq!(found.iter().cloned().collect::<HashMap<_, _>>(), *truth, "{what}: {answer}");
    assert!(found.is_sorted_by(|a, b| a.1 >= b.1), "{what}: {answer}");
}

#[test]
fn a_key_whose_records_end_and_begin_again_is_ranked_once() {
    let scratch = Scratch::new();
    let frames = frames();
    let path = scratch.file("silent.pcap", capture::pcap(capture::ETHERNET, &frames));
    let report = scratch.path("report.json");
    for design in [&[][..], &["--design", "1x2"], &["--memory", "64MiB", "--burst", "1"]] {
        let of_all = ["--key", "src_addr", "--top", "100", "--every", "2min", "--idle-timeout", "30s"];
        let mut command = edison();
        command.arg("run").arg(&path).args(of_all).args(design).arg("--json").arg("--report").arg(&report);
        let ended = run(&mut command).expect(0);
        let windows = output::windows(ended.stdout.lines());
        assert_eq!(windows.len(), 3);
        for (window, query) in
            windows.iter().flat_map(|window| [(window, "top_bytes"), (window, "top_packets")])
        {
            let within = |frame: &&Frame| (window.start..window.end).contains(&frame.time_ns);
            check(window.answer(query), &truth(frames.iter().filter(within)), &format!("{design:?} {query}"));
        }
        let report = output::report(&report);
        // More records than sources: the ranking would have them all.
        assert!(number(&report["flows"]["seen"]) >= 9 * u64::from(SOURCES), "{}", report["flows"]);
        for query in ["top_bytes", "top_packets"] {
            check(output::of_run(&report, query), &truth(frames.iter()), &format!("{design:?} {query}"));
        }
        // On screen: a line for each source in each ranking by it.
        let mut command = edison();
        command.arg("run").arg(&path).args(of_all).args(design);
        let shown = run(&mut command).expect(0).stdout;
        let tables: Vec<&str> = shown.split("\n\n").filter(|table| table.contains("10.9.8.")).collect();
        assert!(!tables.is_empty(), "{shown}");
        for table in tables {
            for source in 0..SOURCES {
                let name = format!("10.9.8.{source} ");
                let lines = table.lines().filter(|line| line.contains(&name)).count();
                assert_eq!(lines, 1, "{design:?} {name}: {table}");
            }
        }
    }
}
