//! Random captures, measured with random options by every design, against a count that the test makes itself, frame by frame, as
//! `docs/counting.md` says. `make soak` takes many captures.

use crate::support::capture::{ETHERNET, Frame, Key, layer3, pcap, udp, udp6};
use crate::support::output::{Record, Window, number, records, report, windows};
use crate::support::program::{edison, run};
use crate::support::scratch::Scratch;
use std::collections::{BTreeMap, HashMap};

const SECOND: u64 = 1_000_000_000;
const HOUR: u64 = 3600 * SECOND;
/// No timeout.
const OFF: u64 = u64::MAX;

/// Numbers by a linear congruential generator: the test is the same each time.
struct Numbers(u64);

impl Numbers {
    fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len() as u64) as usize]
    }

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

/// Frames of both families and others, a part of them late, some far ahead, alone and in twos.
fn disordered(numbers: &mut Numbers, count: usize) -> Vec<Frame> {
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
    /// Frames of each window, by its start.
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

/// Timeouts, and the length of windows, all in nanoseconds.
#[derive(Clone, Copy, Debug)]
struct Setting {
    idle: u64,
    active: u64,
    every: u64,
}

impl Setting {
    /// Why a record ends at `now` that began then and has had nothing since: what was due first.
    fn due(&self, now: u64, first: u64, last: u64) -> Option<&'static str> {
        let (idle, active) =
            (last.saturating_add(self.idle).saturating_add(1), first.saturating_add(self.active));
        let first = idle.min(active);
        (first != OFF && now >= first).then_some(if idle <= active { "idle" } else { "active" })
    }
}

fn expected(frames: &[Frame], setting: Setting) -> Expected {
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
        *all.windows.entry(stream / setting.every * setting.every).or_default() += 1;
        if frame.data[12..14] == [8, 6] {
            continue;
        }
        let (key, bytes) = layer3(&frame.data);
        if let Some(flow) = open.get(&key)
            && let Some(reason) = setting
                .due(stream, flow.began, flow.arrived)
                .or_else(|| setting.due(time, flow.stime, flow.ltime))
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
        all.records.push(record(key, &flow, setting.due(stream, flow.began, flow.arrived).unwrap_or("end")));
    }
    all.records.sort();
    all
}

fn text(ns: u64) -> String {
    if ns == OFF { "off".to_owned() } else { format!("{}s", ns / SECOND) }
}

/// Runs the capture with a setting and other options, and compares all that it tells.
fn check(scratch: &Scratch, expected: &Expected, setting: Setting, options: &[&str]) {
    let (csv, json) = (scratch.path("flows.csv"), scratch.path("report.json"));
    let mut command = edison();
    command.arg("run").arg(scratch.path("random.pcap")).args(["--json", "--every", &text(setting.every)]);
    command.args(["--idle-timeout", &text(setting.idle), "--active-timeout", &text(setting.active)]);
    command.args(options).arg("--flows").arg(&csv).arg("--report").arg(&json);
    let ended = run(&mut command).expect(0);
    let mut records = records(&csv);
    records.sort();
    let report = report(&json);
    let what = format!("{setting:?} {options:?}");
    let other = records.iter().zip(&expected.records).find(|(record, expected)| record != expected);
    assert_eq!(other, None, "{what}");
    assert_eq!(records.len(), expected.records.len(), "{what}");
    let remark = |name: &str| report["packets"]["remarks"][name].as_u64().unwrap_or(0);
    assert_eq!(
        (remark("time_backwards"), remark("time_ahead")),
        (expected.backwards, expected.ahead),
        "{what}"
    );
    let received = |window: &Window| (window.start, number(&window.packets()["received"]));
    let received: BTreeMap<u64, u64> =
        windows(ended.stdout.lines()).iter().map(received).filter(|window| window.1 != 0).collect();
    assert_eq!(received, expected.windows, "{what}");
}

#[test]
fn records_and_windows_depend_on_the_order_of_frames_alone() {
    for seed in 1..=testbed::cases(4).into() {
        let scratch = Scratch::new();
        let numbers = &mut Numbers(seed);
        let frames = disordered(numbers, 2000);
        scratch.file("random.pcap", pcap(ETHERNET, &frames));
        let setting = Setting {
            idle: numbers.of(&[SECOND, 30 * SECOND, 30 * SECOND, OFF]),
            active: numbers.of(&[20 * SECOND, 100 * SECOND, OFF]),
            every: numbers.of(&[SECOND, 10 * SECOND, 60 * SECOND]),
        };
        let expected = expected(&frames, setting);
        assert!(expected.ahead > 0 && expected.backwards > 100, "seed {seed}");
        let any = numbers.below(300) + 1;
        for burst in ["1", "2", "64", &any.to_string()] {
            check(&scratch, &expected, setting, &["--burst", burst]);
        }
        for design in ["1x1", "1x2", "1x3", "cooperative"] {
            check(&scratch, &expected, setting, &["--design", design, "--burst", &any.to_string()]);
        }
        if (setting.idle, setting.active) == (OFF, OFF) {
            check(
                &scratch,
                &expected,
                setting,
                &["--design", "1x2", "--split", "position", "--state", "shared"],
            );
        }
    }
}
