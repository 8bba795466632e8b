//! Windows, records and the report against a second count that the test makes itself from the frames.

#[allow(dead_code, reason = "each test program uses a part")]
mod support;

use serde_json::Value;
use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::process::Command;
use support::capture::{self, Count, ETHERNET, Flows, Frame, Generated, Key};
use support::output::{self, Record, number};
use support::program::{Running, edison, run};
use support::scratch::Scratch;
use testbed::veth::{Veth, with_veth};

const SECOND: u64 = 1_000_000_000;

const PLANTED: &str = "packets=20k,flows=3k,size=64:7/594:4/1518:1,ipv6=30%,rate=1k,start=1704067203.5,\
                       plant=flood:sources=400/scan/elephant:share=8%";

/// A window of the second count.
#[derive(Debug, Default)]
struct Expected {
    start: u64,
    end: u64,
    ended_by: &'static str,
    backwards: u64,
    flows: Flows,
}

impl Expected {
    fn add(&mut self, frame: &Frame, is_backwards: bool) {
        let (key, length) = capture::layer3(&frame.data);
        let count = self.flows.entry(key).or_default();
        count.packets += 1;
        count.total_byte += length;
        self.backwards += u64::from(is_backwards);
    }

    fn sum(&self) -> Count {
        self.flows.values().fold(Count::default(), |sum, count| Count {
            packets: sum.packets + count.packets,
            total_byte: sum.total_byte + count.total_byte,
        })
    }
}

/// Windows of `length` nanoseconds, aligned, by stream time, which never goes back.
fn by_time(frames: &[Frame], length: u64) -> Vec<Expected> {
    let mut windows: Vec<Expected> = Vec::new();
    let mut now = 0;
    for frame in frames {
        let is_backwards = frame.time_ns < now;
        now = now.max(frame.time_ns);
        let start = now / length * length;
        match windows.last_mut() {
            Some(open) if open.start == start => {}
            before => {
                if let Some(before) = before {
                    before.ended_by = if start == before.end { "full" } else { "jump" };
                }
                windows.push(Expected {
                    start,
                    end: start + length,
                    ended_by: "run_end",
                    ..Expected::default()
                });
            }
        }
        windows.last_mut().expect("just opened").add(frame, is_backwards);
    }
    windows
}

/// Windows of `frames_each` frames, from the first one's time to just behind the last one's.
fn by_packets(frames: &[Frame], frames_each: usize) -> Vec<Expected> {
    let windows = frames.chunks(frames_each).map(|chunk| {
        let ended_by = if chunk.len() == frames_each { "full" } else { "run_end" };
        let (start, end) = (chunk[0].time_ns, chunk[chunk.len() - 1].time_ns + 1);
        let mut window = Expected { start, end, ended_by, ..Expected::default() };
        chunk.iter().for_each(|frame| window.add(frame, false));
        window
    });
    windows.collect()
}

/// A ranking names distinct flows with their own counts, and its values are the largest there are.
fn check_ranking(rows: &[Value], flows: &Flows, lines: usize, value: fn(&Count) -> u64) {
    let ranked: Vec<(Key, Count)> = rows.iter().map(output::ranked_flow).collect();
    for (key, count) in &ranked {
        assert_eq!(flows.get(key), Some(count), "{key:?}");
    }
    assert_eq!(ranked.iter().map(|(key, _)| key).collect::<HashSet<_>>().len(), ranked.len());
    let mut largest: Vec<u64> = flows.values().map(value).collect();
    largest.sort_unstable_by(|a, b| b.cmp(a));
    largest.truncate(lines);
    assert_eq!(ranked.iter().map(|(_, count)| value(count)).collect::<Vec<_>>(), largest);
}

fn check_answers(report: &Value, expected: &Expected, lines: usize) {
    let totals = &output::row(report, "totals")[0];
    let sum = expected.sum();
    let got = [0, 1, 3].map(|column| number(&totals[column]));
    assert_eq!(got, [sum.packets, sum.total_byte, expected.flows.len() as u64]);
    check_ranking(output::row(report, "top_bytes"), &expected.flows, lines, |count| count.total_byte);
    check_ranking(output::row(report, "top_packets"), &expected.flows, lines, |count| count.packets);
}

/// Measures `path` with these windows, and compares each of them and the report.
fn check_windows(scratch: &Scratch, path: &Path, every: &str, expected: &[Expected], whole: &Expected) {
    let report = scratch.path("report.json");
    let mut command = edison();
    command.arg("run").arg(path).args(["--json", "--top", "7", "--every", every]);
    // One record per flow, so that the report ranks flows.
    command.args(["--idle-timeout", "off", "--active-timeout", "off", "--report"]).arg(&report);
    let ended = run(&mut command).expect(0);
    let windows = output::windows(ended.stdout.lines());
    // Between windows that time left out, one line stands for all of them.
    let left_out = expected.windows(2).filter(|pair| pair[0].ended_by == "jump");
    let left_out: Vec<_> = left_out
        .map(|pair| {
            let (start, end) = (pair[0].end, pair[1].start);
            ((end - start) / (pair[0].end - pair[0].start), Value::from(start), Value::from(end))
        })
        .collect();
    assert_eq!(output::empty_windows(&ended.stdout), left_out, "--every {every}");
    let report = output::report(&report);
    assert_eq!(windows.len(), expected.len(), "--every {every}");
    let (started, ended_at) = (number(&report["started"]), number(&report["ended"]));
    for (window, expected) in windows.iter().zip(expected) {
        let span = |span: &Value| (number(&span["start"]), number(&span["end"]));
        assert_eq!(span(&window["window"]), (expected.start, expected.end));
        // The first one is watched from the first frame on, the last one up to the last frame.
        let is_last = expected.ended_by == "run_end";
        let watched = (expected.start.max(started), if is_last { ended_at + 1 } else { expected.end });
        if is_last || watched.0 != expected.start {
            assert_eq!((window["status"].as_str(), span(&window["watched"])), (Some("cut"), watched));
        } else {
            assert_eq!((window["status"].as_str(), &window["watched"]), (Some("complete"), &Value::Null));
        }
        assert_eq!(number(&window["packets"]["received"]), expected.sum().packets);
        assert_eq!(output::total(&window["packets"]["remarks"]), expected.backwards, "time_backwards");
        check_answers(window, expected, 7);
    }
    assert_eq!(number(&report["windows"]["count"]), expected.len() as u64);
    for how in ["full", "jump", "run_end"] {
        let count = expected.iter().filter(|window| window.ended_by == how).count() as u64;
        assert_eq!(number(&report["windows"][how]), count, "{how}");
    }
    check_answers(&report, whole, 7);
}

/// All frames as if they were in one window.
fn whole(frames: &[Frame]) -> Expected {
    let mut whole = Expected::default();
    frames.iter().for_each(|frame| whole.add(frame, false));
    whole
}

#[test]
fn windows_are_what_a_second_count_says() {
    let scratch = Scratch::new();
    let Generated { path, frames, .. } = capture::generate(&scratch, PLANTED);
    let all = whole(&frames);
    for (every, length) in [("1s", SECOND), ("7s", 7 * SECOND), ("250ms", SECOND / 4), ("1h", 3600 * SECOND)]
    {
        check_windows(&scratch, &path, every, &by_time(&frames, length), &all);
    }
    for (every, packets) in [("1kp", 1000), ("777p", 777), ("1p", 1), ("1Mp", 1_000_000)] {
        check_windows(&scratch, &path, every, &by_packets(&frames, packets), &all);
    }
}

#[test]
fn windows_of_times_that_jump_and_run_backwards() {
    let scratch = Scratch::new();
    // Milliseconds since the first frame: within a window, to the next, over some, over years, and back.
    let times = [
        0,
        900,
        1000,
        1999,
        5000,
        5001,
        4000,
        100,
        5999,
        6000,
        94_608_000_000,
        94_608_000_500,
        7000,
        94_608_001_000,
    ];
    let frames: Vec<Frame> = (0..)
        .zip(times)
        .map(|(n, time)| Frame { time_ns: 1_000_000 * SECOND + time * 1_000_000, data: capture::udp(n % 3) })
        .collect();
    let path = scratch.file("jumps.pcap", capture::pcap(ETHERNET, &frames));
    let expected = by_time(&frames, SECOND);
    let ends: Vec<&str> = expected.iter().map(|window| window.ended_by).collect();
    assert_eq!(ends, ["full", "jump", "full", "jump", "full", "run_end"]);
    check_windows(&scratch, &path, "1s", &expected, &whole(&frames));
}

#[test]
fn the_truth_of_generated_traffic_is_what_is_measured() {
    let scratch = Scratch::new();
    let Generated { path, truth, .. } = capture::generate(&scratch, PLANTED);
    let (flows, report) = (scratch.path("flows.csv"), scratch.path("report.json"));
    let mut command = edison();
    command.arg("run").arg(&path).args(["--idle-timeout", "off", "--active-timeout", "off", "--flows"]);
    run(command.arg(&flows).arg("--report").arg(&report)).expect(0);
    let report = output::report(&report);
    let records = output::records(&flows);
    let flows = output::one_record_per_key(&records);

    let totals = output::row(&report, "totals")[0].as_array().expect("a row");
    let totals: Vec<u64> = totals.iter().map(number).collect();
    let names = ["packets", "total_byte", "wire_byte", "flows"];
    assert_eq!(totals, names.map(|name| number(&truth["totals"][name])));
    let ipv6 = flows.keys().filter(|key| key.0.is_ipv6()).count() as u64;
    assert_eq!(ipv6, number(&truth["totals"]["ipv6_flows"]));
    assert_eq!(number(&report["started"]), number(&truth["totals"]["first_ns"]));
    assert_eq!(number(&report["ended"]), number(&truth["totals"]["last_ns"]));
    for flow in truth["top_packets"].as_array().expect("a list") {
        let address =
            |name: &str| flow[name].as_str().and_then(|text| text.parse().ok()).expect("an address");
        let port = |name: &str| u16::try_from(number(&flow[name])).expect("a port");
        let protocol = u8::try_from(number(&flow["protocol"])).expect("a protocol");
        let key = (address("src_addr"), address("dst_addr"), protocol, port("src_port"), port("dst_port"));
        let count = Count { packets: number(&flow["packets"]), total_byte: number(&flow["total_byte"]) };
        assert_eq!(flows.get(&key), Some(&count), "{key:?}");
    }

    let events = truth["events"].as_array().expect("a list");
    assert_eq!(events.len(), 3);
    for event in events {
        let kind = event["kind"].as_str().expect("a name");
        // Its own records, by what is the same in all of them.
        let is_it = |key: &Key| {
            let is =
                |name: &str, value: String| event[name].is_null() || event[name].as_str() == Some(&value);
            let is_port = event["dst_port"].is_null() || number(&event["dst_port"]) == u64::from(key.4);
            is("src_addr", key.0.to_string()) && is("dst_addr", key.1.to_string()) && is_port
        };
        let own: Vec<&Record> =
            records.iter().filter(|record| record.key.as_ref().is_some_and(is_it)).collect();
        assert_eq!(own.len() as u64, number(&event["flows"]), "{kind}");
        assert_eq!(own.iter().map(|it| it.packets).sum::<u64>(), number(&event["packets"]), "{kind}");
        assert_eq!(own.iter().map(|it| it.total_byte).sum::<u64>(), number(&event["total_byte"]), "{kind}");
        assert_eq!(own.iter().map(|it| it.stime).min(), Some(number(&event["first_ns"])), "{kind}");
        assert_eq!(own.iter().map(|it| it.ltime).max(), Some(number(&event["last_ns"])), "{kind}");
        // The answer names it.
        let (query, column, name) = match kind {
            "flood" => ("top_destinations", 0, "dst_addr"),
            "scan" => ("top_sources", 0, "src_addr"),
            _ => ("top_bytes", 0, "src_addr"),
        };
        let first = &output::row(&report, query)[0];
        assert_eq!(first[column], event[name], "{kind}");
        if kind != "elephant" {
            assert_eq!(first[1], event["flows"], "{kind}");
        }
    }
}

#[test]
fn what_finds_no_place_is_counted_in_other() {
    const MOST: usize = 100;
    let scratch = Scratch::new();
    // One address family, so that keys find their places in the order of the frames.
    let Generated { path, frames, .. } = capture::generate(&scratch, "packets=10k,flows=2k,rate=1k");
    let (csv, report) = (scratch.path("flows.csv"), scratch.path("report.json"));
    let mut command = edison();
    command.arg("run").arg(&path).args(["--max-flows", &MOST.to_string(), "--json", "--every", "1s"]);
    command.args(["--idle-timeout", "off", "--active-timeout", "off", "--flows"]).arg(&csv);
    let ended = run(command.arg("--report").arg(&report)).expect(0);

    let mut placed = HashSet::new();
    for frame in &frames {
        let (key, _) = capture::layer3(&frame.data);
        if placed.len() < MOST {
            placed.insert(key);
        }
    }
    let (inside, outside): (Vec<&Frame>, Vec<&Frame>) =
        frames.iter().partition(|frame| placed.contains(&capture::layer3(&frame.data).0));
    let bytes_outside: u64 = outside.iter().map(|frame| capture::layer3(&frame.data).1).sum();

    let (other, placed): (Vec<Record>, Vec<Record>) =
        output::records(&csv).into_iter().partition(|record| record.key.is_none());
    assert_eq!(output::one_record_per_key(&placed), capture::flows(inside));
    let [other] = &other[..] else { panic!("one record `other`: {other:?}") };
    assert_eq!((other.packets, other.total_byte), (outside.len() as u64, bytes_outside));
    assert_eq!((other.stime, other.ltime), (outside[0].time_ns, outside[outside.len() - 1].time_ns));

    let report = output::report(&report);
    assert_eq!(report["packets"]["measured"], report["packets"]["received"]);
    assert_eq!(number(&report["flows"]["table_full"]), outside.len() as u64);
    assert_eq!(number(&report["flows"]["seen"]), MOST as u64);
    assert_eq!(number(&report["flows"]["exported"]), MOST as u64 + 1);
    let windows = output::windows(ended.stdout.lines());
    let without_place = |window: &Value| match &window["packets"]["remarks"]["table_full"] {
        Value::Null => 0,
        packets => number(packets),
    };
    assert_eq!(windows.iter().map(without_place).sum::<u64>(), outside.len() as u64);
    // They are in no group: the answer says so, and its rest has them.
    let last = output::answer(&windows[9], "top_packets");
    let reason = format!("{} packets had no place", without_place(&windows[9]));
    assert_eq!(last["status"], "partial");
    assert!(last["reason"].as_str().is_some_and(|it| it.contains(&reason)), "{last}");
    let shown: u64 = output::row(&windows[9], "top_packets").iter().map(|row| number(&row[5])).sum();
    assert_eq!(shown + number(&last["rest"]["total_count"]), number(&windows[9]["packets"]["measured"]));
}

/// A record of the second count, and how it may have ended.
struct Expired {
    record: Record,
    reasons: Vec<&'static str>,
}

/// The records of a capture whose times never go back.
fn expire(frames: &[Frame], idle: Option<u64>, active: Option<u64>) -> Vec<Expired> {
    let due = |record: &Record, now: u64| {
        let mut reasons = Vec::new();
        if idle.is_some_and(|idle| now - record.ltime > idle) {
            reasons.push("idle");
        }
        if active.is_some_and(|active| now - record.stime >= active) {
            reasons.push("active");
        }
        reasons
    };
    let mut open: HashMap<Key, Record> = HashMap::new();
    let mut ended = Vec::new();
    for frame in frames {
        let (key, length) = capture::layer3(&frame.data);
        if let Some(record) = open.get(&key) {
            let reasons = due(record, frame.time_ns);
            if !reasons.is_empty() {
                ended.push(Expired { record: open.remove(&key).expect("just found"), reasons });
            }
        }
        let record = open.entry(key).or_insert(Record {
            key: Some(key),
            stime: frame.time_ns,
            ltime: 0,
            packets: 0,
            total_byte: 0,
            end_reason: String::new(),
        });
        record.ltime = frame.time_ns;
        record.packets += 1;
        record.total_byte += length;
    }
    let now = frames.last().expect("frames").time_ns;
    ended.extend(open.into_values().map(|record| {
        // The sweep may have come by or not.
        let reasons = [due(&record, now), vec!["end"]].concat();
        Expired { record, reasons }
    }));
    ended
}

#[test]
fn records_end_by_their_timeouts() {
    let scratch = Scratch::new();
    let spec = "packets=20k,flows=2k,ipv6=30%,rate=100,plant=elephant:share=8%";
    let Generated { path, frames, .. } = capture::generate(&scratch, spec);
    let csv = scratch.path("flows.csv");
    let cases = [
        ("5s", Some(5 * SECOND), "20s", Some(20 * SECOND)),
        ("700ms", Some(700_000_000), "off", None),
        ("off", None, "1s", Some(SECOND)),
        ("30s", Some(30 * SECOND), "30min", Some(1800 * SECOND)),
    ];
    for (idle_text, idle, active_text, active) in cases {
        let mut command = edison();
        command.arg("run").arg(&path).args([
            "--idle-timeout",
            idle_text,
            "--active-timeout",
            active_text,
            "--flows",
        ]);
        run(command.arg(&csv)).expect(0);
        let mut expected = expire(&frames, idle, active);
        expected.sort_by(|a, b| a.record.cmp(&b.record));
        let mut got = output::records(&csv);
        got.sort();
        assert_eq!(got.len(), expected.len(), "{idle_text} {active_text}");
        let mut by_reason: HashMap<&str, u64> = HashMap::new();
        for (got, expected) in got.iter().zip(&expected) {
            let reason = got.end_reason.as_str();
            assert!(expected.reasons.contains(&reason), "{got:?}: {:?}", expected.reasons);
            *by_reason.entry(reason).or_default() += 1;
            assert_eq!(*got, Record { end_reason: got.end_reason.clone(), ..expected.record.clone() });
        }
        assert_eq!(by_reason.contains_key("idle"), idle.is_some(), "{by_reason:?}");
        assert_eq!(
            by_reason.contains_key("active"),
            active.is_some_and(|it| it < 100 * SECOND),
            "{by_reason:?}"
        );
    }
}

#[test]
fn the_command_line_wins_over_environment_file_and_default() {
    let scratch = Scratch::new();
    let generated = capture::generate(&scratch, "packets=1000,flows=100,rate=1k");
    let file =
        scratch.file("edison.toml", "top = 3\njson = true\n\"every\" = \"100ms\"\nidle-timeout = \"off\"\n");
    // Lines of a ranking and windows say which value was taken.
    let lines_and_windows = |set: &dyn Fn(&mut Command)| {
        let mut command = edison();
        command.arg("run").arg(&generated.path);
        set(&mut command);
        let ended = run(&mut command).expect(0);
        let windows = output::windows(ended.stdout.lines());
        (output::row(&windows[0], "top_packets").len(), windows.len())
    };
    let by_default = lines_and_windows(&|c| {
        c.arg("--json");
    });
    assert_eq!(by_default, (10, 1));
    let by_file = lines_and_windows(&|c| {
        c.arg("--config").arg(&file);
    });
    assert_eq!(by_file, (3, 10));
    let by_file = lines_and_windows(&|c| {
        c.env("EDISON_CONFIG", &file);
    });
    assert_eq!(by_file, (3, 10));
    let by_environment = lines_and_windows(&|c| {
        c.env("EDISON_TOP", "4").arg("--config").arg(&file);
    });
    assert_eq!(by_environment, (4, 10));
    let without_file = lines_and_windows(&|c| {
        c.env("EDISON_TOP", "4").env("EDISON_JSON", "1");
    });
    assert_eq!(without_file, (4, 1));
    let by_command_line = lines_and_windows(&|c| {
        c.env("EDISON_TOP", "4").env("EDISON_EVERY", "50ms").arg("--config").arg(&file);
        c.args(["--top", "5", "--every", "200p"]);
    });
    assert_eq!(by_command_line, (5, 5));
}

#[test]
fn a_live_record_is_out_when_it_is_due() {
    with_veth(|veth| {
        let scratch = Scratch::new();
        let (csv, part) = (scratch.path("flows.csv"), scratch.path("flows.csv.part"));
        let mut command = edison();
        command.args([
            "run",
            "-i",
            Veth::NEAR,
            "--json",
            "--every",
            "50ms",
            "--idle-timeout",
            "1s",
            "--flows",
        ]);
        let mut running = Running::start(command.arg(&csv));
        assert!(running.wait_for("the first window", |it| !it.lines().is_empty()));
        let frames = capture::udp_frames(70, 0);
        frames.iter().for_each(|frame| veth.send(&frame.data));
        let so_far = || output::parse_records(&std::fs::read_to_string(&part).unwrap_or_default());
        assert!(running.wait_for("the records", |_| so_far().len() == 7), "the run must go on");
        assert!(!csv.exists(), "the file has its name only when it is complete");
        running.signal(libc::SIGINT);
        running.wait().expect(0);
        let records = output::records(&csv);
        assert_eq!(output::one_record_per_key(&records), capture::flows(&frames));
        assert!(records.iter().all(|record| record.end_reason == "idle"), "{records:?}");
    });
}
