//! Stream time and the ends of records (`docs/counting.md`) against a count that the test makes itself, frame by frame.

#[allow(dead_code, reason = "each test program uses a part")]
mod support;

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::process::Command;
use support::capture::{ETHERNET, Frame, Key, layer3, pcap, pcapng, udp, udp_frames};
use support::output::{Record, list, number, of_run, records, report, windows};
use support::program::{edison, run};
use support::scratch::Scratch;

const SECOND: u64 = 1_000_000_000;
const HOUR: u64 = 3600 * SECOND;
const DAY: u64 = 24 * HOUR;
const IDLE: u64 = 30 * SECOND;
const ACTIVE: u64 = 100 * SECOND;

/// Numbers by a linear congruential generator: the test is the same each time.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

fn arp() -> Vec<u8> {
    let mut frame = vec![0xff; 12];
    frame.extend([8, 6]);
    frame.resize(60, 0);
    frame
}

fn udp6(port: u16) -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x86, 0xdd, 0x60, 0, 0, 0, 0, 8, 17, 64];
    frame.extend([0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
    frame.extend([0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2]);
    frame.extend(port.to_be_bytes());
    frame.extend([0, 53, 0, 8, 0, 0]);
    frame
}

/// Frames of both families and others, a part of them late, some far ahead, alone and in twos.
fn disordered(seed: u64, count: usize) -> Vec<Frame> {
    let mut numbers = Numbers(seed);
    let mut now = 1_700_000_000 * SECOND;
    let mut frames = Vec::new();
    while frames.len() < count {
        now += numbers.below(4) * SECOND / 2 + numbers.below(3);
        if numbers.below(60) == 0 {
            now += numbers.below(HOUR / 2);
        }
        let port = 1000 + numbers.below(8) as u16;
        let data = match numbers.below(5) {
            0 => arp(),
            1 | 2 => udp6(port),
            _ => udp(port),
        };
        let time_ns = match numbers.below(12) {
            0..3 => now - numbers.below(50) * SECOND,
            3 if numbers.below(4) == 0 => now + 2 * HOUR,
            _ => now,
        };
        if time_ns > now {
            // Alone, or followed by others.
            frames.push(Frame { time_ns, data: data.clone() });
            now = if numbers.below(4) == 0 { time_ns + SECOND } else { now };
            frames.push(Frame { time_ns: now, data });
            continue;
        }
        frames.push(Frame { time_ns, data });
    }
    frames
}

/// What the documentation says, written down for one frame after the other.
#[derive(Default)]
struct Expected {
    records: Vec<Record>,
    backwards: u64,
    ahead: u64,
    /// Frames of each window of ten seconds, by its start.
    windows: BTreeMap<u64, u64>,
}

#[derive(Clone, Copy)]
struct Open {
    stime: u64,
    ltime: u64,
    began: u64,
    arrived: u64,
    packets: u64,
    bytes: u64,
}

/// Why a record ends at `now` that began then and has had nothing since: what was due first.
fn due(now: u64, first: u64, last: u64) -> Option<&'static str> {
    let (idle, active) = (last + IDLE + 1, first + ACTIVE);
    (now >= idle.min(active)).then_some(if idle <= active { "idle" } else { "active" })
}

fn expected(frames: &[Frame]) -> Expected {
    let mut all = Expected::default();
    let mut open: HashMap<Key, Open> = HashMap::new();
    let mut stream = frames[0].time_ns;
    let record = |key: Key, open: &Open, reason: &str| Record {
        key: Some(key),
        stime: open.stime,
        ltime: open.ltime,
        packets: open.packets,
        total_byte: open.bytes,
        end_reason: reason.to_owned(),
    };
    for (number, frame) in frames.iter().enumerate() {
        let time = frame.time_ns;
        let follows = frames.get(number + 1).is_some_and(|next| next.time_ns > stream + HOUR);
        match time {
            _ if time > stream + HOUR && !follows => all.ahead += 1,
            _ if time < stream => all.backwards += 1,
            _ => stream = time,
        }
        *all.windows.entry(stream / (10 * SECOND) * 10 * SECOND).or_default() += 1;
        if frame.data[12..14] == [8, 6] {
            continue;
        }
        let (key, bytes) = layer3(&frame.data);
        if let Some(flow) = open.get(&key)
            && let Some(reason) =
                due(stream, flow.began, flow.arrived).or_else(|| due(time, flow.stime, flow.ltime))
        {
            all.records.push(record(key, flow, reason));
            open.remove(&key);
        }
        let new = Open { stime: time, ltime: time, began: stream, arrived: stream, packets: 0, bytes: 0 };
        let flow = open.entry(key).or_insert(new);
        (flow.stime, flow.ltime) = (flow.stime.min(time), flow.ltime.max(time));
        flow.arrived = stream;
        (flow.packets, flow.bytes) = (flow.packets + 1, flow.bytes + bytes);
    }
    for (key, flow) in open {
        all.records.push(record(key, &flow, due(stream, flow.began, flow.arrived).unwrap_or("end")));
    }
    all.records.sort();
    all
}

fn measure(
    scratch: &Scratch,
    captures: &[PathBuf],
    options: &[&str],
) -> (Vec<Record>, serde_json::Value, String) {
    let (csv, json) = (scratch.path("flows.csv"), scratch.path("report.json"));
    let mut command: Command = edison();
    command.arg("run").args(captures).args(["--active-timeout", "100s", "--json", "--flows"]).arg(&csv);
    let ended = run(command.arg("--report").arg(&json).args(options)).expect(0);
    let mut records = records(&csv);
    records.sort();
    (records, report(&json), ended.stdout)
}

#[test]
fn records_and_windows_depend_on_the_order_of_frames_alone() {
    for seed in 1..=3 {
        let scratch = Scratch::new();
        let frames = disordered(seed, 3000);
        let expected = expected(&frames);
        let shape = (expected.ahead, expected.backwards, expected.records.len());
        assert!(shape.0 >= 20 && shape.1 > 200 && shape.2 > 300, "{shape:?}");
        let capture = [scratch.file("disordered.pcap", pcap(ETHERNET, &frames))];
        let designs: [&[&str]; 8] = [
            &["--burst", "1"],
            &["--burst", "2"],
            &["--burst", "7"],
            &["--burst", "256"],
            &["--design", "1x1", "--burst", "32"],
            &["--design", "1x3"],
            &["--design", "1x4", "--burst", "5"],
            &["--design", "cooperative"],
        ];
        for options in designs {
            let (records, report, lines) = measure(&scratch, &capture, options);
            let other = records.iter().zip(&expected.records).find(|(record, expected)| record != expected);
            assert_eq!(other, None, "seed {seed}, {options:?}");
            assert_eq!(records.len(), expected.records.len(), "seed {seed}, {options:?}");
            let remarks = &report["packets"]["remarks"];
            assert_eq!(number(&remarks["time_backwards"]), expected.backwards, "seed {seed}, {options:?}");
            assert_eq!(number(&remarks["time_ahead"]), expected.ahead, "seed {seed}, {options:?}");
            let windows = windows(lines.lines());
            let received =
                |window: &support::output::Window| (window.start, number(&window.packets()["received"]));
            let received: BTreeMap<u64, u64> =
                windows.iter().map(received).filter(|window| window.1 != 0).collect();
            assert_eq!(received, expected.windows, "seed {seed}, {options:?}");
        }
    }
}

#[test]
fn a_packet_stamped_a_day_ahead_makes_two_records() {
    let scratch = Scratch::new();
    let mut frames: Vec<Frame> = (0..30)
        .map(|n| Frame { time_ns: 1_700_000_000 * SECOND + n * SECOND / 10, data: udp(1000) })
        .collect();
    frames[8].time_ns += DAY;
    let (records, report, _) = measure(&scratch, &[scratch.file("a.pcap", pcap(ETHERNET, &frames))], &[]);
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
    let (records, ..) = measure(&scratch, &[scratch.file("a.pcap", pcap(ETHERNET, &frames))], &[]);
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
        let (records, report, _) = measure(&scratch, &files, &["--idle-timeout", "30s"]);
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
        let (records, report, _) = measure(&scratch, &capture, options);
        let packets = &report["packets"];
        assert_eq!(number(&packets["received"]), 20, "{options:?}");
        assert_eq!(number(&packets["measured"]), 16, "{options:?}");
        assert_eq!(number(&packets["not_measured"]["bad_time"]), 4, "{options:?}");
        assert_eq!(records.iter().map(|record| record.packets).sum::<u64>(), 16, "{options:?}");
        assert!(records.iter().all(|record| record.ltime < 1_700_000_001 * SECOND), "{options:?}");
    }
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
        let (records, report, _) = measure(&scratch, &capture, &["--max-flows", "10", "--burst", burst]);
        let mut keys: Vec<_> = records.iter().filter_map(|record| record.key).collect();
        keys.sort_unstable();
        assert_eq!(keys, expected, "--burst {burst}");
        assert_eq!(number(&report["flows"]["table_full"]), 30, "--burst {burst}");
    }
}

fn tcp(from_a: bool, seq: u32, ack: u32, payload: usize) -> Vec<u8> {
    let (a, b) = ([192, 0, 2, 1], [198, 51, 100, 1]);
    let (source, destination, ports) =
        if from_a { (a, b, [0x9c, 0x40, 0, 80]) } else { (b, a, [0, 80, 0x9c, 0x40]) };
    let mut frame = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0];
    let length = (40 + payload) as u16;
    frame.extend([0x45, 0]);
    frame.extend(length.to_be_bytes());
    frame.extend([0, 0, 0, 0, 64, 6, 0, 0]);
    frame.extend(source);
    frame.extend(destination);
    frame.extend(ports);
    frame.extend(seq.to_be_bytes());
    frame.extend(ack.to_be_bytes());
    frame.extend([0x50, 0x10, 0xff, 0xff, 0, 0, 0, 0]);
    frame.resize(14 + usize::from(length), 0);
    frame
}

/// A sender falls silent while its peer goes on: what the peer acknowledges later is in no record of the sender's, whoever looks
/// when, and in the run's sums always.
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
