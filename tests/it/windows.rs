//! Windows, records and the report against a second count that the test makes itself from the frames.

use crate::support::capture::{self, Count, ETHERNET, Flows, Frame, Generated, Key};
use crate::support::output::{self, Record, number};
use crate::support::program::{Running, edison, run};
use crate::support::scratch::Scratch;
use serde_json::Value;
use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::process::Command;
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
    /// The latest time so far.
    latest: u64,
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
        sum(self.flows.values())
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
        let window = windows.last_mut().expect("just opened");
        window.add(frame, is_backwards);
        window.latest = now;
    }
    windows
}

/// Windows of `frames_each` frames, from the first one's time to just after the last one's.
fn by_packets(frames: &[Frame], frames_each: usize) -> Vec<Expected> {
    let windows = frames.chunks(frames_each).map(|chunk| {
        let ended_by = if chunk.len() == frames_each { "full" } else { "run_end" };
        let (start, end) = (chunk[0].time_ns, chunk[chunk.len() - 1].time_ns + 1);
        let mut window = Expected { start, end, ended_by, latest: end - 1, ..Expected::default() };
        chunk.iter().for_each(|frame| window.add(frame, false));
        window
    });
    windows.collect()
}

/// A ranking names distinct flows with their own counts, its values are the largest there are, and the rest is what is left.
fn check_ranking(answer: &Value, flows: &Flows, lines: usize, value: fn(&Count) -> u64) {
    let ranked: Vec<(Key, Count)> =
        output::rows(answer).iter().map(|row| (output::flow(row), output::count(row))).collect();
    for (key, count) in &ranked {
        assert_eq!(flows.get(key), Some(count), "{key:?}");
    }
    assert_eq!(ranked.iter().map(|(key, _)| key).collect::<HashSet<_>>().len(), ranked.len());
    let mut largest: Vec<u64> = flows.values().map(value).collect();
    largest.sort_unstable_by(|a, b| b.cmp(a));
    largest.truncate(lines);
    assert_eq!(ranked.iter().map(|(_, count)| value(count)).collect::<Vec<_>>(), largest);
    let (all, shown) = (sum(flows.values()), sum(ranked.iter().map(|(_, count)| count)));
    let rest = Count { packets: all.packets - shown.packets, total_byte: all.total_byte - shown.total_byte };
    assert_eq!(number(&answer["rest"]["groups"]), (flows.len() - ranked.len()) as u64);
    assert_eq!(output::count(&answer["rest"]), rest);
}

/// `answer` gives the answer of each query; `flows` is what `totals` has under that name.
fn check_answers<'a>(answer: impl Fn(&str) -> &'a Value, expected: &Expected, flows: usize, lines: usize) {
    let totals = &output::rows(answer("totals"))[0];
    assert_eq!(output::count(totals), expected.sum());
    assert_eq!(number(&totals["flows"]), flows as u64);
    check_ranking(answer("top_bytes"), &expected.flows, lines, |count| count.total_byte);
    check_ranking(answer("top_packets"), &expected.flows, lines, |count| count.packets);
}

/// Idle and active timeout, nanoseconds.
type Timeouts = Option<(u64, u64)>;

/// Measures `path` with these windows, and compares each of them and the report.
fn check_windows(
    scratch: &Scratch,
    path: &Path,
    every: &str,
    timeouts: Timeouts,
    expected: &[Expected],
    frames: &[Frame],
) {
    let report = scratch.path("report.json");
    let mut command = edison();
    command.arg("run").arg(path).args(["--json", "--top", "7", "--every", every]);
    let text = |timeout: Option<u64>| timeout.map_or("off".to_owned(), |timeout| format!("{timeout}ns"));
    command.args(["--idle-timeout", &text(timeouts.map(|both| both.0))]);
    command.args(["--active-timeout", &text(timeouts.map(|both| both.1))]);
    let ended = run(command.arg("--report").arg(&report)).expect(0);
    let windows = output::windows(ended.stdout.lines());
    let report = output::report(&report);
    assert_eq!(windows.len(), expected.len(), "--every {every}");
    for (index, (window, expected)) in windows.iter().zip(expected).enumerate() {
        assert_eq!((window.start, window.end), (expected.start, expected.end));
        assert_eq!(number(&window.packets()["received"]), expected.sum().packets);
        assert_eq!(output::total(&window.packets()["remarks"]), expected.backwards, "time_backwards");
        check_answers(|query| window.answer(query), expected, expected.flows.len(), 7);
        let empty_before = match index {
            0 => 0,
            _ if every.ends_with('p') => 0,
            _ => (window.start - windows[index - 1].end) / (window.end - window.start),
        };
        assert_eq!(window.empty_before, empty_before, "window {index}");
        // The run begins with the first frame and ends with the last one.
        let watched = (
            if index == 0 { expected.start.max(frames[0].time_ns) } else { expected.start },
            if expected.ended_by == "run_end" { expected.latest + 1 } else { expected.end },
        );
        let is_cut = watched != (expected.start, expected.end) || expected.ended_by == "run_end";
        for answer in &window.answers {
            assert_eq!(answer["status"], if is_cut { "cut" } else { "complete" }, "window {index}");
            let said = &answer["watched"];
            assert_eq!(said.is_null(), !is_cut, "window {index}");
            if is_cut {
                assert_eq!((output::time(&said["start"]), output::time(&said["end"])), watched, "{index}");
            }
        }
    }
    assert_eq!(number(&report["windows"]["count"]), expected.len() as u64);
    for how in ["full", "jump", "run_end"] {
        let count = expected.iter().filter(|window| window.ended_by == how).count() as u64;
        assert_eq!(number(&report["windows"][how]), count, "{how}");
    }
    let whole = whole(frames);
    // Rankings are by key, however many records a key has.
    let records = timeouts.map_or(whole.flows.len(), |(idle, active)| {
        let records = expire(frames, Some(idle), Some(active)).len();
        assert!(records > whole.flows.len(), "some keys have several records");
        records
    });
    assert_eq!(number(&report["flows"]["seen"]), records as u64);
    check_answers(|query| output::of_run(&report, query), &whole, records, 7);
}

fn sum<'a>(counts: impl IntoIterator<Item = &'a Count>) -> Count {
    counts.into_iter().fold(Count::default(), |sum, count| Count {
        packets: sum.packets + count.packets,
        total_byte: sum.total_byte + count.total_byte,
    })
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
    let short = Some((SECOND / 5, 2 * SECOND));
    for (every, length, timeouts) in [
        ("1s", SECOND, short),
        ("7s", 7 * SECOND, None),
        ("250ms", SECOND / 4, short),
        ("1h", 3600 * SECOND, None),
    ] {
        check_windows(&scratch, &path, every, timeouts, &by_time(&frames, length), &frames);
    }
    for (every, packets, timeouts) in
        [("1kp", 1000, None), ("777p", 777, short), ("1p", 1, None), ("1Mp", 1_000_000, short)]
    {
        check_windows(&scratch, &path, every, timeouts, &by_packets(&frames, packets), &frames);
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
    check_windows(&scratch, &path, "1s", None, &expected, &frames);
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

    let totals = &output::rows(output::of_run(&report, "totals"))[0];
    for (name, of_truth) in [
        ("total_count", "packets"),
        ("total_byte", "total_byte"),
        ("wire_byte", "wire_byte"),
        ("flows", "flows"),
    ] {
        assert_eq!(number(&totals[name]), number(&truth["totals"][of_truth]), "{name}");
    }
    let ipv6 = flows.keys().filter(|key| key.0.is_ipv6()).count() as u64;
    assert_eq!(ipv6, number(&truth["totals"]["ipv6_flows"]));
    assert_eq!(output::time(&report["started"]), number(&truth["totals"]["first_ns"]));
    assert_eq!(output::time(&report["ended"]), number(&truth["totals"]["last_ns"]));
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
        let (query, name) = match kind {
            "flood" => ("targets", "dst_addr"),
            "scan" => ("scanners", "src_addr"),
            _ => ("top_bytes", "src_addr"),
        };
        let first = &output::rows(output::of_run(&report, query))[0];
        assert_eq!(first[name], event[name], "{kind}");
        if kind != "elephant" {
            assert_eq!(first["flows"], event["flows"], "{kind}");
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

    let keys = placed;
    let (other, placed): (Vec<Record>, Vec<Record>) =
        output::records(&csv).into_iter().partition(|record| record.key.is_none());
    assert_eq!(output::one_record_per_key(&placed), capture::flows(inside.iter().copied()));
    let [other] = &other[..] else { panic!("one record `other`: {other:?}") };
    assert_eq!((other.packets, other.total_byte), (outside.len() as u64, bytes_outside));
    assert_eq!((other.stime, other.ltime), (outside[0].time_ns, outside[outside.len() - 1].time_ns));

    let report = output::report(&report);
    assert_eq!(report["packets"]["measured"], report["packets"]["received"]);
    assert_eq!(number(&report["flows"]["table_full"]), outside.len() as u64);
    assert_eq!(number(&report["flows"]["seen"]), MOST as u64);
    assert_eq!(number(&report["flows"]["exported"]), MOST as u64 + 1);
    let windows = output::windows(ended.stdout.lines());
    let mut full = 0;
    for (window, expected) in windows.iter().zip(by_time(&frames, SECOND)) {
        let [inside, outside]: [Flows; 2] = [true, false].map(|is_in| {
            expected
                .flows
                .iter()
                .filter(|flow| keys.contains(flow.0) == is_in)
                .map(|(k, c)| (*k, *c))
                .collect()
        });
        let outside = sum(outside.values());
        full += outside.packets;
        for query in ["top_bytes", "top_packets"] {
            let answer = window.answer(query);
            check_unplaced(answer, &inside, outside);
        }
    }
    assert_eq!(full, outside.len() as u64, "of all windows");
    let flows = capture::flows(inside.iter().copied());
    for query in ["top_bytes", "top_packets"] {
        check_unplaced(
            output::of_run(&report, query),
            &flows,
            sum(capture::flows(outside.iter().copied()).values()),
        );
    }
}

/// An answer has the flows that are in the table, and states how many packets are in none of them.
fn check_unplaced(answer: &Value, inside: &Flows, outside: Count) {
    let rows = output::rows(answer);
    let mut left = sum(inside.values());
    for row in rows {
        let (key, count) = (output::flow(row), output::count(row));
        assert_eq!(inside.get(&key), Some(&count), "{key:?}");
        left.packets -= count.packets;
        left.total_byte -= count.total_byte;
    }
    // The number of flows without a place is not known.
    let others = (outside.packets == 0).then_some(inside.len() - rows.len());
    assert_eq!(answer["rest"]["groups"].as_u64(), others.map(|others| others as u64), "{answer}");
    assert_eq!(output::count(&answer["rest"]), sum([&left, &outside]), "{answer}");
    let reason = answer["reason"].as_str().unwrap_or_default();
    if outside.packets == 0 {
        assert_eq!((&answer["status"] != "partial", reason), (true, ""), "{answer}");
    } else {
        assert_eq!(answer["status"], "partial", "{answer}");
        assert!(
            reason.contains(&format!("{} packets had no place in the table", outside.packets)),
            "{reason}"
        );
    }
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
        // The sweep may have reached it or not.
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
    // Lines of a ranking and windows state which value was taken.
    let lines_and_windows = |set: &dyn Fn(&mut Command)| {
        let mut command = edison();
        command.arg("run").arg(&generated.path);
        set(&mut command);
        let ended = run(&mut command).expect(0);
        let windows = output::windows(ended.stdout.lines());
        (output::rows(windows[0].answer("top_packets")).len(), windows.len())
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
