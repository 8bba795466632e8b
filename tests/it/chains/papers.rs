//! The examples of the Edison paper, as printed.

use super::chained::{SECOND, START, run};
use crate::support::capture::{self, ETHERNET, Frame, Segment};
use crate::support::output::{self, number};
use crate::support::scratch::{Scratch, text};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

fn example(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("examples").join(name)
}

#[test]
fn example_1_counts_the_sources_of_each_destination() {
    let scratch = Scratch::new();
    let generated =
        capture::generate(&scratch, "packets=30k,flows=4k,rate=1k,ipv6=20%,plant=flood:sources=70");
    let source = format!("NodeX={}", text(&generated.path));
    let example = example("example1.eq");
    let chained = run(&scratch, 0, &[&source, "--every", "10s", "-f", text(&example)]);
    let mut expected: BTreeMap<i64, BTreeMap<String, BTreeSet<_>>> = BTreeMap::new();
    for frame in &generated.frames {
        let ((source, destination, ..), _) = capture::layer3(&frame.data);
        let window = (frame.time_ns - START) / SECOND / 10 * 10;
        let of_window = expected.entry(window.cast_signed()).or_default();
        of_window.entry(destination.to_string()).or_default().insert(source);
    }
    assert!(expected.len() > 2 && chained.events.is_empty());
    assert_eq!(chained.windows_of("q1", "NodeX"), expected.keys().map(|at| *at..at + 10).collect::<Vec<_>>());
    for (start, of_window) in expected {
        let rows = output::rows(chained.answer("q1", "NodeX", &(start..start + 10)));
        let count = |row: &serde_json::Value| {
            (row["dst_addr"].as_str().expect("an address").to_owned(), number(&row["count(src_addr)"]))
        };
        let counted: BTreeMap<_, _> = rows.iter().map(count).collect();
        assert_eq!(counted.len(), rows.len());
        assert_eq!(counted, of_window.iter().map(|(to, from)| (to.clone(), from.len() as u64)).collect());
    }
}

/// Frames of a connection from 10.0.0.1:22 to 10.0.0.2:33 as both nodes see it: four segments of 100 bytes a window, each acknowledged,
/// of which some were lost before Node1 in one window and come again.
fn connection(every: u64, windows: u64, lossy: u64) -> [Vec<Frame>; 2] {
    const PAYLOAD: u16 = 100;
    const LOST: u32 = 3;
    let ends = [([10, 0, 0, 1], 22), ([10, 0, 0, 2], 33)];
    let data = |seq| Segment { ends, seq, ack: 1, win: 1000, payload: PAYLOAD };
    let acknowledge = |ack| Segment { ends: [ends[1], ends[0]], seq: 1, ack, win: 2000, payload: 0 };
    let (mut frames, mut seq) = (Vec::new(), 1);
    let mut add =
        |time_ns: u64, segment: Segment| frames.push(Frame { time_ns, data: capture::tcp(&segment) });
    for n in 0..windows * 4 {
        let time = START + n * every * SECOND / 4 + SECOND / 100;
        let ms = SECOND / 1000;
        add(time, data(seq));
        seq += u32::from(PAYLOAD);
        if n == lossy * 4 + 1 {
            let lost = seq;
            seq += LOST * u32::from(PAYLOAD);
            add(time + 10 * ms, data(seq));
            seq += u32::from(PAYLOAD);
            add(time + 20 * ms, acknowledge(lost));
            (0..LOST).for_each(|n| add(time + (50 + u64::from(n)) * ms, data(lost + n * u32::from(PAYLOAD))));
            add(time + 60 * ms, acknowledge(seq));
        } else {
            add(time + 20 * ms, acknowledge(seq));
        }
    }
    let later = |frame: &Frame| Frame { time_ns: frame.time_ns + SECOND / 1000, ..frame.clone() };
    let other = frames.iter().map(later).collect();
    [frames, other]
}

#[test]
fn example_2_walks_from_query_to_query_in_windows_that_the_rule_names() {
    let scratch = Scratch::new();
    let example = example("example2.eq");
    for (every, k) in [(1, 3), (5, 2), (10, 2)] {
        let lossy = 2;
        let taps = connection(every, lossy + 3 * k + 3, lossy);
        let [one, two] = ["one.pcap", "two.pcap"];
        let file = |name, frames: &[Frame]| scratch.file(name, capture::pcap(ETHERNET, frames));
        let nodes = [file(one, &taps[0]), file(two, &taps[1])];
        let [one, two] = [1, 2].map(|number| format!("Node{number}={}", text(&nodes[number - 1])));
        let every_text = format!("{every}s");
        let thresholds = ["--set", "K1=100", "--set", "K2=10K", "--set", "K3=10K", "--every", &every_text];
        let chained = run(&scratch, 0, &[&[&one, &two, "-f", text(&example)], &thresholds[..]].concat());
        let window = |number: u64| (number * every).cast_signed()..((number + 1) * every).cast_signed();
        let mut parent = None;
        let mut story = None;
        for (step, (query, by, fired_on, runs_on, value)) in [
            ("q2", "q1", "Node1", "Node1", ("ploss_byte", 300)),
            ("q3", "q2", "Node1", "Node2", ("total_byte", 560)),
            ("q4", "q3", "Node2", "Node2", ("total_byte", 560)),
        ]
        .into_iter()
        .enumerate()
        {
            let fired = chained.of("fired", query);
            let [fired] = fired[..] else { panic!("{query} every {every} s: {fired:?}\n{}", chained.stdout) };
            let at = lossy + step as u64 * k;
            assert_eq!((fired.window.clone(), fired.node.as_str()), (window(at), fired_on), "{query}");
            assert_eq!((&fired.json["fired_by"], &fired.parent), (&by.into(), &parent), "{query}");
            assert_eq!(fired.json["values"][value.0], value.1, "{}", fired.json);
            assert_eq!(fired.json["key"]["src_addr"], "10.0.0.1");
            // It measures k windows later, on its node alone.
            assert_eq!(chained.windows_of(query, runs_on), [window(at + k)], "{query} every {every} s");
            assert_eq!(chained.answers_of(query).len(), 1, "{query}");
            assert_eq!(*story.get_or_insert(&chained.story(fired).id), &chained.story(fired).id, "one story");
            parent = Some(fired.id.clone());
        }
        let last = chained.answer("q4", "Node2", &window(lossy + 3 * k));
        assert_eq!((&last["rows"][0]["last_tcp_win"], &last["status"]), (&1000.into(), &"complete".into()));
        // q1 sees the loss in one window alone.
        let lossless = chained.of("resolved", "q2");
        assert_eq!(lossless[0].window, window(lossy + 1));
        assert!(chained.stderr.contains("warning: ':' ends this query"), "{}", chained.stderr);
    }
}
