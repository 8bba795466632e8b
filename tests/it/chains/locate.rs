//! `examples/locate.eq`: where a path loses packets.

use super::chained::{Chained, SECOND, START, run};
use crate::support::capture;
use crate::support::output;
use crate::support::program::call;
use crate::support::scratch::{Scratch, text};
use std::path::{Path, PathBuf};

/// The queries that tell a place, in the order of a path's hops.
const PLACES: [&str; 3] = ["before", "between", "behind"];
/// The titles that the example gives to what fires there.
const TITLES: [&str; 3] = [
    "Packets to 192.0.2.1 are lost before Node1",
    "Packets to 192.0.2.1 are lost between Node1 and Node2",
    "Packets to 192.0.2.1 are lost behind Node2",
];

fn example() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/locate.eq")
}

/// The two taps within a path of three hops, of which this one loses packets; 0: none does.
fn taps(scratch: &Scratch, lossy: usize, seed: u64) -> [PathBuf; 2] {
    let path = scratch.path("path.pcap");
    let spec = format!("hops=3,lossy={lossy},seed={seed},rtt=400000,connections=8,segments=1000");
    call(&["generate", text(&path), "--path", &spec]).expect(0);
    [1, 2].map(|tap| scratch.path(&format!("path.tap{tap}.pcap")))
}

fn sources(nodes: [&Path; 2]) -> [String; 2] {
    [1, 2].map(|number| format!("Node{number}={}", text(nodes[number - 1])))
}

fn locate(scratch: &Scratch, nodes: [&Path; 2], options: &[&str]) -> Chained {
    let ([first, second], example) = (sources(nodes), example());
    run(scratch, 0, &[&[&first, &second, "-f", text(&example)], options].concat())
}

#[test]
fn forty_paths_lose_where_it_is_found() {
    for seed in 1..=40 {
        let scratch = Scratch::new();
        let lossy = seed as usize % 4;
        let [first, second] = taps(&scratch, lossy, seed);
        let chained = locate(&scratch, [&first, &second], &[]);
        let span = chained.report.span().expect("packets");
        let seconds = (span.end_ns - span.start_ns) / SECOND;
        assert!((10..=14).contains(&seconds), "seed {seed}: {seconds} s");
        let fired = PLACES.into_iter().filter(|place| !chained.of("fired", place).is_empty());
        let place = lossy.checked_sub(1).map(|hop| PLACES[hop]);
        assert_eq!(fired.collect::<Vec<_>>(), Vec::from_iter(place), "seed {seed}:\n{}", chained.stdout);
        // What it started shows who lost, and all is told from the first event on.
        let Some(place) = place else {
            assert!(
                chained.events.is_empty() && chained.report.occurrences.stories.is_empty(),
                "seed {seed}"
            );
            continue;
        };
        assert!(
            chained.answers_of(place).iter().any(|answer| !output::rows(&answer.json).is_empty()),
            "seed {seed}"
        );
        let story = chained.story(chained.of("fired", place)[0]);
        assert_eq!(story.id, chained.events[0].id, "seed {seed}");
        assert_eq!(story.title.as_deref(), Some(TITLES[lossy - 1]), "seed {seed}");
        let [first, second] = [&chained.events[0].json, &chained.of("fired", place)[0].json];
        assert_eq!(second["title"], TITLES[lossy - 1], "seed {seed}");
        if place != "before" {
            let condition = "More than 0 bytes lost behind and at most 0 bytes lost before";
            assert_eq!(first["title"], format!("{condition} for dst_addr 192.0.2.1 at Node1"), "seed {seed}");
        }
        assert!(
            story.text.contains(&format!("Therefore {place} ran for dst_addr 192.0.2.1 on")),
            "seed {seed}: {}",
            story.text
        );
    }
}

#[test]
fn every_run_is_the_same() {
    let scratch = Scratch::new();
    let [first, second] = taps(&scratch, 2, 5);
    let runs = [&[][..], &[], &["--cores", "1"], &["--cores", "2"], &["--cores", "2", "--burst", "7"]];
    let mut runs = runs.map(|options| locate(&scratch, [&first, &second], options)).into_iter();
    let one = runs.next().expect("a run");
    assert!(one.events.len() >= 3 && !one.report.occurrences.stories.is_empty(), "{}", one.stdout);
    for other in runs {
        assert_eq!(other.stdout, one.stdout);
        assert!(
            other.report.occurrences.events == one.report.occurrences.events
                && other.report.occurrences.stories == one.report.occurrences.stories
        );
    }
    // Nodes that are named in another order are told of in another order.
    let ([one_source, other_source], example) = (sources([&first, &second]), example());
    let turned = run(&scratch, 0, &[&other_source, &one_source, "-f", text(&example)]);
    let sorted = |chained: &Chained| {
        let mut events = chained.events.clone();
        events.sort_by(|a, b| a.id.cmp(&b.id));
        events
    };
    assert_eq!(sorted(&turned), sorted(&one));
}

/// The times that a capture's frames are given, or none.
type Times<'a> = &'a dyn Fn(u64) -> Option<u64>;

/// No firing is possible without packets of the other node, and its absence is told.
#[test]
fn a_node_without_packets_of_the_time_is_missed() {
    let scratch = Scratch::new();
    let [first, second] = taps(&scratch, 2, 7);
    let year = 365 * 86_400 * SECOND;
    let times: [(&str, Times<'_>); 4] = [
        ("none", &|_| None),
        ("three seconds", &|time| Some(time).filter(|time| *time < START + 3 * SECOND)),
        ("a year later", &|time| Some(time + year)),
        ("a year before", &|time| Some(time - year)),
    ];
    for (name, time) in times {
        let other = scratch.file("other.pcap", capture::retimed(&second, time));
        let chained = locate(&scratch, [&first, &other], &[]);
        let fired: Vec<_> = chained.events.iter().filter(|event| event.kind == "fired").collect();
        let [n2] = fired[..] else { panic!("{name}: {fired:?}") };
        assert_eq!((n2.query.as_str(), n2.node.as_str()), ("n2", "Node1"), "{name}");
        // The run lasts five windows, from the third after that of the firing on.
        let begin = n2.window.start + 3;
        let of = |kind: &str, query: &str| {
            let events = chained.of(kind, query).into_iter().map(|event| {
                assert_eq!(event.parent.as_ref(), Some(&n2.id), "{name}: {event:?}");
                (event.node.clone(), event.window.clone())
            });
            events.collect::<Vec<_>>()
        };
        assert_eq!(of("missed", "n2"), [("Node2".to_owned(), begin..begin + 1)], "{name}");
        for place in ["between", "behind"] {
            assert_eq!(of("nodata", place), [("Node2".to_owned(), begin + 2..begin + 3)], "{name}");
        }
        assert!(chained.answers_of("n2").is_empty(), "{name}");
        let text = &chained.story(n2).text;
        for said in [
            "n2 fired for dst_addr 192.0.2.1 at 2024-01-01 00:00:02Z because n1 on Node1 had lost_behind = ",
            "n2 could not run for dst_addr 192.0.2.1 on Node2 in [2024-01-01 00:00:04Z, 00:00:05Z): Node2 was not watched then, or the task came too late.",
            "between waits for data at 2024-01-01 00:00:07Z: n2 has had no answer of Node2 for three windows.",
        ] {
            assert!(text.contains(said), "{name}: no '{said}' in:\n{text}");
        }
    }
}

/// A node that ends within the run of a query is missed from there on.
#[test]
fn a_node_that_ends_within_a_run_is_missed_in_the_rest() {
    let scratch = Scratch::new();
    let [first, second] = taps(&scratch, 2, 7);
    let end = |time: u64| Some(time).filter(|time| *time < START + 13 * SECOND / 2);
    let other = scratch.file("other.pcap", capture::retimed(&second, end));
    let chained = locate(&scratch, [&first, &other], &[]);
    let n2 = chained.of("fired", "n2")[0];
    assert_eq!(n2.window, 1..2, "{}", chained.stdout);
    assert_eq!(chained.windows_of("n2", "Node2"), [4..5, 5..6, 6..7]);
    assert_eq!(chained.answer("n2", "Node2", &(6..7))["status"], "cut");
    let missed = chained.of("missed", "n2");
    assert_eq!((missed[0].window.clone(), &missed[0].parent), (7..8, &Some(n2.id.clone())));
}

/// A window without packets between others is an answer: nothing was lost in it.
#[test]
fn a_gap_in_a_capture_is_an_answer() {
    let scratch = Scratch::new();
    let [first, second] = taps(&scratch, 2, 7);
    let gap = START + 3 * SECOND..START + 10 * SECOND;
    let other = scratch
        .file("other.pcap", capture::retimed(&second, |time| Some(time).filter(|it| !gap.contains(it))));
    let chained = locate(&scratch, [&first, &other], &[]);
    let n2 = chained.of("fired", "n2")[0];
    assert_eq!(n2.window, 1..2, "{}", chained.stdout);
    assert!(chained.events.iter().all(|event| !["missed", "nodata"].contains(&event.kind.as_str())));
    for second in 4..9 {
        let answer = chained.answer("n2", "Node2", &(second..second + 1));
        assert_eq!((&answer["status"], &answer["empty"]), (&"complete".into(), &1.into()), "{answer}");
        assert!(output::rows(answer).is_empty(), "{answer}");
    }
    let text = &chained.story(n2).text;
    let said = "Therefore n2 ran for dst_addr 192.0.2.1 on Node2 in [2024-01-01 00:00:04Z, 00:00:05Z): the window had no packets.";
    assert!(text.contains(said), "{text}");
    let in_gap = |place: &str| chained.of("fired", place).into_iter().any(|event| event.window.end <= 10);
    assert!(!in_gap("between") && !in_gap("behind"), "{}", chained.stdout);
}
