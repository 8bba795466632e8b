//! The length of a run's windows changes no answer and no event of queries with windows of their own.

use super::chained::{self, Chained, SECOND, START};
use super::second_reading::{frames, random_packets};
use crate::support::capture::{self, ETHERNET, Frame, udp};
use crate::support::scratch::{Scratch, text};

const CHAIN: &str = "p: select sum(total_count) as n every 5s; \
    c: select sum(total_count) as n, count(*) every 5s when p.n > 9; \
    d: select dst_port, sum(total_count) as n groupby dst_port every 5s when p.n < 3 run 10s; \
    e: select sum(total_byte) as b every 10s when d.n > 1 cooldown 20s; \
    f: select count(*) over 10s every 5s when c.n < 8;";

/// Answers and events, without those of times without packets, which are told with what ends them.
fn told(chained: &Chained) -> Vec<String> {
    let lines = chained.stdout.lines().filter(|line| !line.contains("\"empty\""));
    let mut lines: Vec<String> = lines.map(str::to_owned).collect();
    lines.sort();
    lines
}

#[test]
fn random_traffic_of_two_nodes() {
    let scratch = Scratch::new();
    let mut fired = 0;
    for seed in 0..testbed::cases(4).into() {
        let sources = [("A", 2 * seed), ("B", 2 * seed + 1)].map(|(name, seed)| {
            let frames = frames(&random_packets(seed + 100));
            let path = scratch.file(&format!("{name}.pcap"), capture::pcap(ETHERNET, &frames));
            format!("{name}={}", text(&path))
        });
        let run = |every: &str| {
            let [one, two] = &sources;
            chained::run(&scratch, 0, &[one, two, "--every", every, "-q", CHAIN])
        };
        let (short, long) = (run("1s"), run("5s"));
        fired += short.events.iter().filter(|event| event.kind == "fired").count();
        assert_eq!(told(&short), told(&long), "seed {seed}");
    }
    assert!(fired > 50, "{fired}");
}

/// The window of the packet at 17.5 s is over at 20 s, although the next packet comes at 22.5 s.
#[test]
fn packets_that_are_far_apart() {
    let scratch = Scratch::new();
    let seconds = (0..8).chain([17]).chain(22..45);
    let frame = |second: u64| Frame { time_ns: START + second * SECOND + SECOND / 2, data: udp(1000) };
    let frames: Vec<Frame> = seconds.map(frame).collect();
    let source = format!("A={}", text(&scratch.file("a.pcap", capture::pcap(ETHERNET, &frames))));
    for over in ["", "over 10s"] {
        let query = format!(
            "p: select sum(total_count) as n {over} every 5s; \
             c: select sum(total_count) as n {over} every 5s when p.n < 2 until p.n < 5; \
             d: select sum(total_count) as n every 5s when c.n < 5;"
        );
        let run = |every| chained::run(&scratch, 0, &[&source, "--every", every, "-q", &query]);
        let long = run("5s");
        let ends = |query| {
            long.happened(query).into_iter().map(|(kind, window)| (kind, window.end)).collect::<Vec<_>>()
        };
        let (c, d) = match over {
            "" => (vec![("fired", 15), ("resolved", 20)], vec![("fired", 25)]),
            _ => (vec![("fired", 20), ("resolved", 25)], vec![]),
        };
        assert_eq!((ends("c"), ends("d")), (c, d), "{over}");
        assert_eq!(long.answers_of("c")[0].json["status"], "complete", "{over}");
        assert_eq!(told(&run("1s")), told(&long), "{over}");
    }
}
