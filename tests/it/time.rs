//! Captures whose times make trouble: late, ahead, impossible, spread over several files (`docs/counting.md`, "Time").

use crate::support::capture::{self, ETHERNET, Frame, Segment, layer3, pcap, pcapng, udp, udp_frames, udp6};
use crate::support::output::{Record, list, number, of_run, records, report, windows};
use crate::support::program::{edison, run};
use crate::support::scratch::Scratch;
use std::path::PathBuf;
use std::process::Command;

const SECOND: u64 = 1_000_000_000;
const DAY: u64 = 86_400 * SECOND;

fn measure(scratch: &Scratch, captures: &[PathBuf], options: &[&str]) -> (Vec<Record>, serde_json::Value) {
    let (csv, json) = (scratch.path("flows.csv"), scratch.path("report.json"));
    let mut command: Command = edison();
    command.arg("run").args(captures).args(["--active-timeout", "100s", "--json", "--flows"]).arg(&csv);
    run(command.arg("--report").arg(&json).args(options)).expect(0);
    let mut records = records(&csv);
    records.sort();
    (records, report(&json))
}

#[test]
fn a_packet_stamped_a_day_ahead_makes_two_records() {
    let scratch = Scratch::new();
    let mut frames: Vec<Frame> = (0..30)
        .map(|n| Frame { time_ns: 1_700_000_000 * SECOND + n * SECOND / 10, data: udp(1000) })
        .collect();
    frames[8].time_ns += DAY;
    let (records, report) = measure(&scratch, &[scratch.file("a.pcap", pcap(ETHERNET, &frames))], &[]);
    let packets: Vec<_> = records.iter().map(|record| (record.packets, record.end_reason.as_str())).collect();
    assert_eq!(packets, [(8, "idle"), (22, "end")]);
    assert_eq!(number(&report["packets"]["remarks"]["time_ahead"]), 1);
    assert_eq!(number(&report["flows"]["active"]), 1);
}

#[test]
fn a_connection_of_an_older_capture_is_one_record() {
    let scratch = Scratch::new();
    let mut frames = udp_frames(8, 1_700_000_000 * SECOND);
    frames.iter_mut().for_each(|frame| frame.data = udp(1000));
    let older = (0..50).map(|n| Frame { time_ns: 1_400_000_000 * SECOND + n * SECOND, data: udp(2000) });
    frames.extend(older);
    let (records, _) = measure(&scratch, &[scratch.file("a.pcap", pcap(ETHERNET, &frames))], &[]);
    let mut packets: Vec<_> = records.iter().map(|record| record.packets).collect();
    packets.sort_unstable();
    assert_eq!(packets, [8, 50]);
}

/// Two taps of one link, each with its own half of the frames.
#[test]
fn files_are_merged_by_time_stamp() {
    let scratch = Scratch::new();
    let frames: Vec<Frame> = (0..2400)
        .map(|n| Frame {
            time_ns: 1_700_000_000 * SECOND + n * SECOND / 20,
            data: udp(1000 + (n % 4) as u16),
        })
        .collect();
    let half = |odd: usize| -> Vec<Frame> {
        frames.iter().enumerate().filter(|(n, _)| n / 3 % 2 == odd).map(|(_, frame)| frame.clone()).collect()
    };
    let (first, second) = (half(0), half(1));
    let files = [scratch.file("a.pcap", pcap(ETHERNET, &first)), scratch.file("b.pcapng", pcapng(&second))];
    let whole = measure(&scratch, &[scratch.file("whole.pcap", pcap(ETHERNET, &frames))], &[]);
    let expected: Vec<Record> = whole.0;
    assert_eq!(expected.iter().map(|record| record.packets).sum::<u64>(), 2400);
    for files in [files.clone(), [files[1].clone(), files[0].clone()]] {
        let (records, report) = measure(&scratch, &files, &["--idle-timeout", "30s"]);
        assert_eq!(records, expected);
        assert!(report["packets"]["remarks"]["time_backwards"].is_null(), "{report}");
    }
    let mut command = edison();
    command.arg("run").args(&files).args(["--active-timeout", "off", "--json"]);
    let ended = run(command.arg("--report").arg(scratch.path("r.json"))).expect(0);
    assert!(!ended.stdout.is_empty());
    assert_eq!(number(&report(&scratch.path("r.json"))["flows"]["seen"]), 4);
}

/// A capture with resolutions that make times which no field can hold.
#[test]
fn impossible_times_are_named() {
    let scratch = Scratch::new();
    let mut frames = udp_frames(20, 1_700_000_000 * SECOND);
    for number in [0, 7, 8, 19] {
        frames[number].time_ns = u64::MAX - number as u64;
    }
    let capture = [scratch.file("a.pcapng", pcapng(&frames))];
    for options in [&["--burst", "1"][..], &["--burst", "256"], &["--every", "3p"], &["--wire", "queues=1"]] {
        let (records, report) = measure(&scratch, &capture, options);
        let packets = &report["packets"];
        assert_eq!(number(&packets["received"]), 20, "{options:?}");
        assert_eq!(number(&packets["measured"]), 16, "{options:?}");
        assert_eq!(number(&packets["not_measured"]["bad_time"]), 4, "{options:?}");
        assert_eq!(records.iter().map(|record| record.packets).sum::<u64>(), 16, "{options:?}");
        assert!(records.iter().all(|record| record.ltime < 1_700_000_001 * SECOND), "{options:?}");
    }
}

/// A frame past the duration ends the run, also as the last one of a burst.
#[test]
fn a_duration_ends_before_a_jump_in_any_burst() {
    let scratch = Scratch::new();
    let times = [0, SECOND, 7200 * SECOND, 7201 * SECOND, 7202 * SECOND];
    let frames = times.map(|time| Frame { time_ns: 1_700_000_000 * SECOND + time, data: udp(1000) });
    let capture = [scratch.file("a.pcap", pcap(ETHERNET, &frames))];
    for burst in ["1", "2", "3", "4", "256"] {
        let (records, report) = measure(&scratch, &capture, &["--duration", "10s", "--burst", burst]);
        assert_eq!(number(&report["packets"]["received"]), 2, "--burst {burst}");
        assert_eq!(records.iter().map(|record| record.packets).sum::<u64>(), 2, "--burst {burst}");
    }
}

/// Frames without a time are in windows too.
#[test]
fn windows_have_frames_without_a_time() {
    let scratch = Scratch::new();
    let mut frames = udp_frames(6, 1_700_000_000 * SECOND);
    (1..4).for_each(|number| frames[number].time_ns = 1 << 63);
    let capture = scratch.file("a.pcapng", pcapng(&frames));
    for (every, expected) in [("1p", vec![1; 6]), ("2p", vec![2; 3]), ("1s", vec![6])] {
        for burst in ["1", "4", "256"] {
            let mut command = edison();
            command.arg("run").arg(&capture).args(["--every", every, "--json", "--burst", burst]);
            let ended = run(&mut command).expect(0);
            let windows = windows(ended.stdout.lines());
            let received: Vec<u64> =
                windows.iter().map(|window| number(&window.packets()["received"])).collect();
            assert_eq!(received, expected, "--every {every} --burst {burst}");
        }
    }
}

/// A file behind standard input can be read once only.
#[test]
fn standard_input_is_one_of_several() {
    let scratch = Scratch::new();
    let frames = udp_frames(40, 1_700_000_000 * SECOND);
    let half = |odd: usize| -> Vec<Frame> {
        frames.iter().enumerate().filter(|(n, _)| n % 2 == odd).map(|(_, frame)| frame.clone()).collect()
    };
    let first = scratch.file("a.pcap", pcap(ETHERNET, &half(0)));
    let second = scratch.file("b.pcap", pcap(ETHERNET, &half(1)));
    let json = scratch.path("report.json");
    let mut command = edison();
    command.arg("run").arg(&first).arg("-").arg("--report").arg(&json);
    let file = std::fs::File::open(&second).expect("it was written");
    let ended = command.stdin(file).output().expect("the program runs");
    assert!(ended.status.success(), "{ended:?}");
    let report = report(&json);
    assert_eq!(number(&report["packets"]["received"]), 40);
    assert!(report["packets"]["remarks"]["time_backwards"].is_null(), "{report}");
}

/// Order of arrival decides who gets the last places, in whatever bursts the frames come.
#[test]
fn places_go_by_arrival() {
    let scratch = Scratch::new();
    let frames: Vec<Frame> = (0..40)
        .map(|n| Frame {
            time_ns: 1_700_000_000 * SECOND + n,
            data: if n % 3 == 0 { udp(n as u16) } else { udp6(n as u16) },
        })
        .collect();
    let capture = [scratch.file("a.pcap", pcap(ETHERNET, &frames))];
    let mut expected: Vec<_> = frames[..10].iter().map(|frame| layer3(&frame.data).0).collect();
    expected.sort_unstable();
    for burst in ["1", "8", "64"] {
        let (records, report) = measure(&scratch, &capture, &["--max-flows", "10", "--burst", burst]);
        let mut keys: Vec<_> = records.iter().filter_map(|record| record.key).collect();
        keys.sort_unstable();
        assert_eq!(keys, expected, "--burst {burst}");
        assert_eq!(number(&report["flows"]["table_full"]), 30, "--burst {burst}");
    }
}

/// A segment between two fixed hosts.
fn tcp(from_a: bool, seq: u32, ack: u32, payload: u16) -> Vec<u8> {
    let mut ends = [([192, 0, 2, 1], 40_000), ([198, 51, 100, 1], 80)];
    if !from_a {
        ends.reverse();
    }
    capture::tcp(&Segment { ends, seq, ack, win: u16::MAX, payload })
}

/// A sender falls silent while its peer continues: what the peer acknowledges later is in no record of the sender's, whenever records
/// are swept, and always in the run's sums.
#[test]
fn unseen_bytes_do_not_depend_on_bursts_and_cores() {
    let scratch = Scratch::new();
    let start = 1_700_000_000 * SECOND;
    let mut frames = Vec::new();
    let (mut seq, mut acked) = (1, 1);
    for round in 0..6 {
        let at = start + round * 50 * SECOND;
        for n in 0..5 {
            frames.push(Frame { time_ns: at + n * SECOND / 10, data: tcp(true, seq, 1, 1000) });
            seq += 1000;
        }
        // The tap misses as many bytes, which are acknowledged while the sender's record is there, and when it is no more.
        for n in 0..46 {
            acked = seq + 100 * n.min(44);
            frames.push(Frame { time_ns: at + SECOND + n as u64 * SECOND, data: tcp(false, 1, acked, 0) });
        }
        seq = acked;
    }
    // Frames of others, so that bursts end in many places.
    frames.extend(
        (0..3000).map(|n| Frame { time_ns: start + n * SECOND / 10 + 1, data: udp(1000 + (n % 7) as u16) }),
    );
    frames.sort_by_key(|frame| frame.time_ns);
    let capture = scratch.file("a.pcap", pcap(ETHERNET, &frames));
    let unseen = |options: &[&str]| {
        let (csv, json) = (scratch.path("flows.csv"), scratch.path("report.json"));
        let mut command = edison();
        command
            .args(["run", "--loss", "--fields", "src_port,stime,unseen_byte", "--flows"])
            .arg(&csv)
            .arg(&capture);
        run(command.arg("--report").arg(&json).args(options)).expect(0);
        let mut lines: Vec<String> =
            std::fs::read_to_string(&csv).expect("written").lines().map(str::to_owned).collect();
        lines.sort();
        let sum = number(&list(&of_run(&report(&json), "tcp_loss")["rows"])[0]["unseen_byte"]);
        (lines, sum)
    };
    let first = unseen(&["--burst", "1"]);
    assert_eq!(first.1, u64::from(acked) - 1 - 6 * 5 * 1000, "all that was acknowledged and not seen");
    let in_records: u64 =
        first.0.iter().filter_map(|line| line.rsplit(',').next()?.parse::<u64>().ok()).sum();
    assert!(in_records > 0 && in_records < first.1, "some belongs to no record");
    for options in [
        &["--burst", "3"][..],
        &["--burst", "64"],
        &["--burst", "256"],
        &["--design", "1x2"],
        &["--design", "1x3", "--burst", "9"],
    ] {
        assert_eq!(unseen(options), first, "{options:?}");
    }
}
