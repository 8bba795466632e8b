//! Titles: what `say` and conditions say of firings, the same in events, stories, on the terminal, and in a dry run.

use super::chained::{START, run};
use super::refusals::refused;
use crate::support::capture::{self, ETHERNET, Frame};
use crate::support::program::call;
use crate::support::scratch::{Scratch, text};
use std::path::PathBuf;

const SECOND: u64 = 1_000_000_000;

/// 1,500 packets in the second second, of 3 flows, and a few before and after.
fn frames() -> Vec<Frame> {
    let frame = |time_ns: u64, port: u16| Frame { time_ns: START + time_ns, data: capture::udp(port) };
    let quiet = (0..12).map(|at| frame(at * SECOND / 2 + 1, 1000));
    let burst = (0..1500).map(|at| frame(SECOND + SECOND / 4 + at * 100_000, 2000 + (at % 3) as u16));
    let mut frames: Vec<Frame> = quiet.chain(burst).collect();
    frames.sort_by_key(|frame| frame.time_ns);
    frames
}

fn recorded(scratch: &Scratch) -> PathBuf {
    scratch.file("burst.pcap", capture::pcap(ETHERNET, &frames()))
}

const QUERIES: &str = "\
    load: select sum(total_count) as packets, sum(total_byte) as bytes, count(*) as n every 1s;\n\
    much: select src_addr, sum(total_count) as own groupby src_addr every 1s when load.packets > 1000 in same window\n\
        say \"{packets} packets ({load.n} flows) at {node}, {{{bytes}}}\";\n\
    plain: select count(*) every 1s when load.packets > 1000;\n\
    after: select count(*) every 1s when much.own > 1 say '{own} packets of {src_addr}';\n";

#[test]
fn all_say_the_same_title() {
    let scratch = Scratch::new();
    let file = recorded(&scratch);
    // The run is compared with a dry run over its rows, and with one over its store.
    let chained = run(&scratch, 0, &[text(&file), "--node", "Node1", "-q", QUERIES]);
    let of = |query: &str| chained.of("fired", query)[0].json["title"].as_str().expect("a title").to_owned();
    // Each packet has 46 bytes from the IP header on.
    assert_eq!(of("much"), "1,502 packets (4 flows) at Node1, {69,092 bytes}");
    assert_eq!(of("plain"), "More than 1,000 packets at Node1");
    let after = of("after");
    assert_eq!(after, "1,502 packets of 192.0.2.1");
    // What follows and says something of its own is what the story is of.
    let story = chained.story(chained.of("fired", "much")[0]);
    assert_eq!(story.title.as_deref(), Some(after.as_str()));

    let shown = call(&["run", text(&file), "--node", "Node1", "-q", QUERIES]).expect(0).stdout;
    let heads: Vec<&str> = shown.lines().filter(|line| line.starts_with("story ")).collect();
    assert_eq!(heads.len(), 2, "{shown}");
    assert!(heads.contains(&format!("story     {}  {after}", story.id).as_str()), "{heads:?}");
    for line in story.text.lines() {
        assert!(shown.contains(&format!("\n  {line}\n")), "{line}");
    }
    assert!(shown.contains("\n  much fired at 2024-01-01 00:00:02Z because load on Node1 had "), "{shown}");
    // A dry run tells the same stories.
    let rows = scratch.path("burst.parquet");
    call(&["run", text(&file), "--node", "Node1", "-q", QUERIES, "--rows", text(&rows)]).expect(0);
    let dry = call(&["dry-run", "-q", QUERIES, text(&rows)]).expect(0).stdout;
    assert!(heads.iter().all(|head| dry.lines().any(|line| line == *head)), "{dry}");
}

#[test]
fn what_is_said_changes_no_event() {
    let scratch = Scratch::new();
    let file = recorded(&scratch);
    let ids = |queries: &str| {
        let chained = run(&scratch, 0, &[text(&file), "--node", "Node1", "-q", queries]);
        chained.events.iter().map(|event| event.id.clone()).collect::<Vec<_>>()
    };
    let silent: String = QUERIES
        .lines()
        .map(|line| line.split(" say ").next().expect("a line"))
        .map(|line| {
            let line = if line.trim_start().starts_with("say ") { ";" } else { line };
            let end = if line.contains("after:") { ";" } else { "" };
            format!("{line}{end}\n")
        })
        .collect();
    assert!(!silent.contains("say"), "{silent}");
    assert_eq!(ids(&silent), ids(QUERIES));
}

#[test]
fn errors_name_their_place() {
    let scratch = Scratch::new();
    let refused = |queries: &str, words: &[&str]| {
        let file = scratch.file("q.eq", queries);
        refused(&["check", text(&file)], words);
    };
    let columns =
        "what fires has no column 'packet'; 'packets' may be meant; its columns are packets, bytes, n, node";
    let unknown = QUERIES.replace("{packets} packets (", "{packet} packets (");
    refused(&unknown, &["q.eq:3:7: error: ", columns]);
    let vain = "'say' titles what fires, but no condition concerns 'q1'";
    refused("select count(*) as n say '{n}'", &["q.eq:1:22: error: ", vain]);
}
