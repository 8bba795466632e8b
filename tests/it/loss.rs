//! Losses planted at a known hop, or at the tap itself, and what the reports state of them before and after
//! it.

use crate::support::capture::{self, Frame};
use crate::support::output::{self, number, of_run, rows};
use crate::support::program::{edison, run};
use crate::support::scratch::Scratch;
use serde_json::Value;
use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// What is known of one tap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Found {
    ploss_byte: u64,
    ploss_count: u64,
    reorder_count: u64,
    retrans_byte: u64,
    retrans_count: u64,
}

impl Found {
    /// Of a row of losses, or of a tap's truth.
    fn of(row: &Value) -> Self {
        let of = |name: &str| number(&row[name]);
        Self {
            ploss_byte: of("ploss_byte"),
            ploss_count: of("ploss_count"),
            reorder_count: of("reorder_count"),
            retrans_byte: of("retrans_byte"),
            retrans_count: of("retrans_count"),
        }
    }

    fn plus(self, other: Self) -> Self {
        Self {
            ploss_byte: self.ploss_byte + other.ploss_byte,
            ploss_count: self.ploss_count + other.ploss_count,
            reorder_count: self.reorder_count + other.reorder_count,
            retrans_byte: self.retrans_byte + other.retrans_byte,
            retrans_count: self.retrans_count + other.retrans_count,
        }
    }
}

/// What one run of `--loss` found.
struct Measured {
    report: Value,
    /// In all, in its windows together, in its records together.
    sums: [Found; 3],
    /// Of each record, its destination port and least round trip.
    round_trips: Vec<(u16, Option<u64>)>,
}

fn measure(scratch: &Scratch, capture: &Path) -> Measured {
    let (csv, report) = (scratch.path("flows.csv"), scratch.path("report.json"));
    let mut command = edison();
    command.args(["run", "--loss", "--json", "--every", "50ms", "--top", "1000"]).arg(capture);
    command.arg("--flows").arg(&csv).arg("--report").arg(&report);
    let ended = run(&mut command).expect(0);
    let report = output::report(&report);
    let windows = output::windows(ended.stdout.lines());
    let in_windows = windows.iter().map(|window| Found::of(&rows(window.answer("tcp_loss"))[0]));
    let text = std::fs::read_to_string(&csv).unwrap();
    let mut lines = text.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let header = lines.next().unwrap();
    let records: Vec<_> = lines.collect();
    let of = |cells: &[&str], name: &str| {
        cells[header.iter().position(|it| *it == name).unwrap()].parse::<u64>().ok()
    };
    let in_records = records.iter().map(|cells| {
        let of = |name: &str| of(cells, name).unwrap();
        Found {
            ploss_byte: of("ploss_byte"),
            ploss_count: of("ploss_count"),
            reorder_count: of("reorder_count"),
            retrans_byte: of("retrans_byte"),
            retrans_count: of("retrans_count"),
        }
    });
    let round_trip = |cells: &Vec<&str>| (of(cells, "dst_port").unwrap() as u16, of(cells, "rtt_min"));
    let round_trips = records.iter().map(round_trip).collect();
    let in_all = Found::of(&rows(of_run(&report, "tcp_loss"))[0]);
    // All flows with losses have a row, and their losses are all there are.
    let rankings = windows.iter().map(|window| (window.answer("tcp_loss"), window.answer("top_loss")));
    for (all, ranking) in rankings.chain([(of_run(&report, "tcp_loss"), of_run(&report, "top_loss"))]) {
        check_ranking(&rows(all)[0], rows(ranking));
    }
    let sums = [
        in_all,
        in_windows.fold(Found::default(), Found::plus),
        in_records.fold(Found::default(), Found::plus),
    ];
    Measured { report, sums, round_trips }
}

/// The flows with losses are distinct, in order, and have all the losses.
fn check_ranking(all: &Value, ranking: &[Value]) {
    const LOST: [&str; 3] = ["ploss_byte", "retrans_byte", "unseen_byte"];
    for name in LOST {
        assert_eq!(ranking.iter().map(|row| number(&row[name])).sum::<u64>(), number(&all[name]), "{name}");
    }
    let lost = |row: &Value| LOST.iter().map(|name| number(&row[*name])).sum::<u64>();
    assert!(ranking.iter().all(|row| lost(row) == number(&row["loss_byte"]) && lost(row) != 0));
    assert!(ranking.is_sorted_by(|a, b| lost(a) >= lost(b)));
    let flows: HashSet<_> = ranking.iter().map(output::flow).collect();
    assert_eq!(flows.len(), ranking.len());
}

fn taps(scratch: &Scratch, spec: &str, hops: u32) -> (Value, Vec<PathBuf>) {
    let path = scratch.path("path.pcap");
    run(edison().arg("generate").arg(&path).args(["--path", spec])).expect(0);
    let truth = std::fs::read_to_string(scratch.path("path.pcap.truth.json")).unwrap();
    let taps = (0..=hops).map(|tap| scratch.path(&format!("path.tap{tap}.pcap"))).collect();
    (serde_json::from_str(&truth).unwrap(), taps)
}

#[test]
fn the_reports_before_and_behind_name_the_hop() {
    for (spec, hops, lossy) in [
        ("connections=8,segments=700,hops=3,lossy=2,loss=1%,seed=4", 3, 2),
        ("connections=3,segments=2000,hops=2,lossy=1,loss=2%,rtt=50k,seed=5", 2, 1),
        ("connections=5,segments=500,hops=4,lossy=4,loss=3%,seed=6", 4, 4),
        ("connections=6,segments=800,hops=3,lossy=2,loss=2%,reorder=4%,seed=8", 3, 2),
    ] {
        let scratch = Scratch::new();
        let (truth, taps) = taps(&scratch, spec, hops);
        let mut lost_before = Vec::new();
        for (tap, capture) in taps.iter().enumerate() {
            let expected = Found::of(&truth["taps"][tap]);
            let Measured { report, sums: found, round_trips } = measure(&scratch, capture);
            assert_eq!(found, [expected; 3], "{spec} tap {tap}");
            let sum = &rows(of_run(&report, "tcp_loss"))[0];
            assert_eq!(
                (number(&sum["unseen_byte"]), number(&sum["resync_count"])),
                (0, 0),
                "nothing unseen, nothing taken anew"
            );
            // Either end is as far away as the tap says, and answers within a microsecond.
            let rtt_us = if spec.contains("50k") { 50_000 } else { 20_000 };
            let hop_ns = rtt_us * 1000 / 2 / u64::from(hops);
            assert!(!round_trips.is_empty());
            for (dst_port, rtt_min) in round_trips {
                let away = if dst_port == 443 { u64::from(hops) - tap as u64 } else { tap as u64 };
                assert_eq!(rtt_min, Some(2 * away * hop_ns + 1000), "{spec} tap {tap} to port {dst_port}");
            }
            lost_before.push(found[0].ploss_byte > 0);
        }
        let first = lost_before.iter().position(|&lost| lost);
        assert_eq!(first, Some(lossy), "{spec}: the hop before the first tap that misses bytes");
    }
}

/// A pcap file (nanoseconds, this machine's byte order) without the frames that `keep` rejects, and what was
/// left out.
fn thin_out(from: &Path, to: &Path, mut keep: impl FnMut(usize, &[u8], u32) -> bool) {
    let bytes = std::fs::read(from).unwrap();
    let word = |at: usize| u32::from_ne_bytes(bytes[at..at + 4].try_into().unwrap());
    let mut out = bytes[..24].to_vec();
    let (mut at, mut number) = (24, 0);
    while at < bytes.len() {
        let captured = word(at + 8) as usize;
        if keep(number, &bytes[at + 16..at + 16 + captured], word(at + 12)) {
            out.extend(&bytes[at..at + 16 + captured]);
        }
        at += 16 + captured;
        number += 1;
    }
    std::fs::write(to, out).unwrap();
}

#[test]
fn what_the_tap_missed_is_not_the_networks_loss() {
    let scratch = Scratch::new();
    let (_, taps) = taps(&scratch, "connections=4,segments=1000,hops=1,lossy=1,loss=0%,seed=7", 1);
    let thinned = scratch.path("thinned.pcap");
    let mut missed = 0;
    thin_out(&taps[0], &thinned, |number, frame, wire_len| {
        let is_data = wire_len > 1000;
        assert_eq!(frame.len(), 54);
        // Every 40th frame, but for the connections' beginnings and ends.
        let drop = is_data && number % 40 == 7;
        missed += if drop { u64::from(wire_len) - 54 } else { 0 };
        !drop
    });
    assert!(missed > 100_000);
    let Measured { report, sums: found, .. } = measure(&scratch, &thinned);
    let sum = &rows(of_run(&report, "tcp_loss"))[0];
    assert_eq!(number(&sum["unseen_byte"]), missed, "unseen_byte");
    assert_eq!(found[0], Found::default(), "nothing was lost or sent again");
}

#[test]
fn other_keys_have_no_connections() {
    run(edison().args(["run", "--synthetic", "packets=1", "--loss", "--key", "src_addr"]))
        .says(2, &["--loss", "--key"]);
}

/// A generator that numbers all its segments by one counter, whatever their flow: nothing was lost.
#[test]
fn senseless_sequence_numbers_are_said_and_not_summed() {
    let scratch = Scratch::new();
    let generated = capture::generate(&scratch, "packets=30k,flows=300,zipf=uniform,size=594");
    let mut counter = 0_u32;
    let mut bytes = 0;
    let renumbered = |frame: &Frame| {
        let mut data = frame.data.clone();
        let (key, length) = capture::layer3(&data);
        if key.2 == 6 && key.0.is_ipv4() {
            data[38..42].copy_from_slice(&counter.to_be_bytes());
            data[42..46].fill(0);
            counter = counter.wrapping_add(length as u32 - 40);
            bytes += length - 40;
        }
        Frame { data, ..*frame }
    };
    let frames: Vec<Frame> = generated.frames.iter().map(renumbered).collect();
    assert!(bytes > 1_000_000);
    let path = scratch.file("counter.pcap", capture::pcap(capture::ETHERNET, &frames));
    let report = scratch.path("counter.json");
    let ended = run(edison().args(["run", "--loss"]).arg(&path).arg("--report").arg(&report)).expect(0);
    let report = output::report(&report);
    let lost = &rows(of_run(&report, "tcp_loss"))[0];
    assert!(number(&lost["ploss_byte"]) + number(&lost["unseen_byte"]) < bytes / 10, "{lost}");
    assert!(number(&lost["resync_count"]) > 10_000, "{lost}");
    assert!(ended.stdout.contains("segments with senseless sequence numbers"), "{}", ended.stdout);
}
