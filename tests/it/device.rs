//! A device between two nodes: what `examples/device.eq` and other derived queries say of the whole run, against maps of the frames themselves,
//! and against the kernel's counters of a bridge.

use crate::support::capture::{self, ETHERNET, Frame};
use crate::support::output::{self, list, number, of_run, rows, total};
use crate::support::program::{Running, call, edison, run};
use crate::support::schema;
use crate::support::scratch::{Scratch, text};
use serde_json::Value;
use std::collections::{BTreeMap, HashMap};
use testbed::device::{ForwardingDevice, ForwardingKind, with_device};

const SECOND: u64 = 1_000_000_000;
const START: u64 = 1_704_067_200 * SECOND;
const EXAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/device.eq");

/// Numbers that a seed makes.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }
}

/// What passes a device: frames before it and behind it.
#[derive(Default)]
struct Passed {
    sent: Vec<Frame>,
    arrived: Vec<Frame>,
}

/// Flows of some ports over half a minute through a device that loses and delays packets of each in its own way. Port 1 is lost wholly,
/// port 2 comes out of the device alone, port 3 is one packet, port 4 loses its first and port 5 its last one.
fn passed(seed: u64) -> Passed {
    let mut random = Random(seed);
    let mut passed = Passed::default();
    for port in 1..40_u16 {
        let packets = if port == 3 { 1 } else { 2 + random.below(60) };
        let (mut time_ns, delay_ns, loss) =
            (START + random.below(SECOND), 1000 + random.below(90_000_000), random.below(40));
        for number in 0..packets {
            time_ns += 1 + random.below(SECOND / 2);
            let is_lost = match port {
                1 => true,
                2 | 3 => false,
                4 => number == 0,
                5 => number + 1 == packets,
                _ => random.below(100) < loss,
            };
            let data = capture::udp(port);
            if port != 2 {
                passed.sent.push(Frame { time_ns, data: data.clone() });
            }
            if !is_lost {
                passed.arrived.push(Frame { time_ns: time_ns + delay_ns + random.below(1000), data });
            }
        }
    }
    [&mut passed.sent, &mut passed.arrived]
        .into_iter()
        .for_each(|frames| frames.sort_by_key(|frame| frame.time_ns));
    passed
}

impl Passed {
    /// The nodes, as the command line names them.
    fn nodes(&self, scratch: &Scratch) -> [String; 2] {
        let file = |name: &str, frames: &[Frame]| {
            format!(
                "{name}={}",
                text(&scratch.file(&format!("{name}.pcap"), capture::pcap(ETHERNET, frames)))
            )
        };
        [file("tx", &self.sent), file("rx", &self.arrived)]
    }
}

/// Packets, bytes, and the times of the first and the last packet.
type Seen = (u64, u64, u64, u64);

/// What was seen, by source port.
fn seen(frames: &[Frame]) -> HashMap<u64, Seen> {
    let mut seen = HashMap::new();
    for Frame { time_ns, data } in frames {
        let port = u64::from(u16::from_be_bytes([data[34], data[35]]));
        let (packets, bytes, first, last) = seen.entry(port).or_insert((0, 0, u64::MAX, 0));
        (*packets, *bytes) = (*packets + 1, *bytes + data.len() as u64);
        (*first, *last) = ((*first).min(*time_ns), (*last).max(*time_ns));
    }
    seen
}

/// Rows by source port.
fn by_port(answer: &Value) -> BTreeMap<u64, &Value> {
    rows(answer).iter().map(|row| (number(&row["src_port"]), row)).collect()
}

/// Compares the answer `flows` of the example with what passed.
fn check(answer: &Value, passed: &Passed) {
    let (sent, arrived) = (seen(&passed.sent), seen(&passed.arrived));
    let own = by_port(answer);
    let mut ports: Vec<u64> = sent.keys().chain(arrived.keys()).copied().collect();
    ports.sort_unstable();
    ports.dedup();
    assert_eq!(own.keys().copied().collect::<Vec<_>>(), ports);
    for (port, row) in own {
        let (before, behind) = (sent.get(&port), arrived.get(&port));
        let packets = |seen: Option<&Seen>| seen.map_or(0, |seen| seen.0 as i64);
        let lost = packets(before) - packets(behind);
        // Integers stay integers.
        assert_eq!(row["lost"].as_i64(), Some(lost), "{port}: {row}");
        let share = before.map(|before| lost as f64 / before.0 as f64);
        assert_eq!(row["share"].as_f64(), share, "{port}: {row}");
        let duration = behind.map(|behind| behind.3 - behind.2).filter(|duration| *duration != 0);
        let bps = behind.zip(duration).map(|(behind, duration)| 8e9 * behind.1 as f64 / duration as f64);
        match (row["bps"].as_f64(), bps) {
            (Some(own), Some(expected)) => assert!((own / expected - 1.0).abs() < 1e-12, "{port}: {row}"),
            (own, expected) => assert_eq!(own, expected, "{port}: {row}"),
        }
        for (name, of) in
            [("first_delay", (|seen| seen.2) as fn(&Seen) -> u64), ("last_delay", |seen| seen.3)]
        {
            let delay = before.zip(behind).map(|(before, behind)| of(behind) as i64 - of(before) as i64);
            assert_eq!(row[name].as_i64(), delay, "{name} of {port}: {row}");
            assert_eq!(row[name].is_null(), delay.is_none(), "{name} of {port}: {row}");
        }
    }
    let unit = |name: &str| {
        list(&answer["columns"]).iter().find(|column| column["name"] == name).map(|it| &it["unit"])
    };
    assert_eq!(unit("first_delay"), Some(&Value::from("ns")));
}

#[test]
fn each_flow_of_a_device_is_that_of_its_frames() {
    for seed in 0..4 {
        let (scratch, passed) = (Scratch::new(), passed(seed));
        let [tx, rx] = passed.nodes(&scratch);
        let path = scratch.path("report.json");
        let ended = call(&["run", &tx, &rx, "-f", EXAMPLE, "--json", "--report", text(&path)]).expect(0);
        let lines: Vec<Value> = ended.stdout.lines().map(schema::of_line).collect();
        let report = output::report(&path);
        // A line for each query: of the whole run, whose first and last packet bound the time.
        let names: Vec<&str> = lines.iter().filter_map(|line| line["query"].as_str()).collect();
        assert_eq!(names, ["before", "sent", "behind", "arrived", "flows", "device"]);
        // Counts are of the same packets; times are of two clocks.
        let clocks =
            "first_delay, last_delay compare times of tx and rx: how far their clocks differ is in it";
        for (query, bounds) in [("flows", "none"), ("device", "exact")] {
            let line = lines.iter().find(|line| line["query"] == query).expect("a line");
            let whole = of_run(&report, query);
            assert_eq!(line["window"]["start"], report["started"]);
            assert_eq!(line["window"]["end"], report["ended"]);
            for answer in [line, whole] {
                assert_eq!(
                    (&answer["status"], &answer["bounds"]),
                    (&"complete".into(), &bounds.into()),
                    "{answer}"
                );
                assert_eq!((&answer["node"], &answer["rest"]["groups"]), (&Value::Null, &0.into()));
                let reason = answer["reason"].as_str().expect("a reason");
                assert!(reason.contains("when the run began"), "{reason}");
                assert_eq!(reason.contains(clocks), query == "flows", "{reason}");
            }
            assert_eq!(line["rows"], whole["rows"]);
        }
        check(of_run(&report, "flows"), &passed);
        let lost = passed.sent.len() as i64 - passed.arrived.len() as i64;
        let row = &rows(of_run(&report, "device"))[0];
        assert_eq!(row["lost"].as_i64(), Some(lost));
        assert_eq!(row["share"].as_f64(), Some(lost as f64 / passed.sent.len() as f64));
        // The flow that came from nowhere is the last one.
        let all = rows(of_run(&report, "flows"));
        let order: Vec<i64> = all.iter().filter_map(|row| row["lost"].as_i64()).collect();
        assert!(order.is_sorted_by(|one, other| one >= other) && order.last().is_some_and(|last| *last < 0));

        // Windows change nothing, however short, nor how many cores each node has.
        for more in [&["--every", "100ms"][..], &["--every", "7s", "--max-flows", "10K"]] {
            let ended =
                call(&[&["run", &tx, &rx, "-f", EXAMPLE, "--json", "--report", text(&path)], more].concat())
                    .expect(0);
            let other = output::report(&path);
            assert_eq!(of_run(&other, "flows")["rows"], of_run(&report, "flows")["rows"]);
            // Lines are those of windows then.
            let of_flows = ended.stdout.lines().map(schema::of_line).filter(|line| line["query"] == "flows");
            assert!(of_flows.count() > 2);
        }
    }
}

#[test]
fn the_screen_has_each_answer_once_with_integers() {
    let (scratch, passed) = (Scratch::new(), passed(1));
    let nodes = passed.nodes(&scratch);
    let query = "a: select src_port, sum(total_count) as n where node_id = tx groupby src_port;\n\
                 b: select src_port, sum(total_count) as n where node_id = rx groupby src_port;\n\
                 lost: select src_port, a.n - b.n as lost from a, b;\n\
                 worst: select src_port, lost.lost * 2 as twice from lost having twice > 2 order by twice desc, src_port limit 3;";
    let ended = call(&["run", &nodes[0], &nodes[1], "-q", query]).expect(0);
    let (sent, arrived) = (seen(&passed.sent), seen(&passed.arrived));
    let lost = |port: &u64| {
        let packets = |seen: &HashMap<u64, Seen>| seen.get(port).map_or(0, |seen| seen.0 as i64);
        packets(&sent) - packets(&arrived)
    };
    let mut worst: Vec<(i64, u64)> =
        (1..40).map(|port| (2 * lost(&port), port)).filter(|(twice, _)| *twice > 2).collect();
    worst.sort_by_key(|(twice, port)| (-twice, *port));
    let (_, of_all) = ended.stdout.split_once("nodes     tx, rx\n").expect("answers of both");
    let (_, table) = of_all.split_once("\n  worst\n").expect("the chain's end");
    let shown: Vec<Vec<i64>> = table
        .lines()
        .skip_while(|line| !line.contains("src_port  twice"))
        .skip(1)
        .map_while(|line| line.split_whitespace().map(|word| word.parse().ok()).collect())
        .filter(|row: &Vec<i64>| !row.is_empty())
        .collect();
    assert_eq!(
        shown,
        worst[..3].iter().map(|(twice, port)| vec![*port as i64, *twice]).collect::<Vec<_>>(),
        "{of_all}"
    );
    assert!(table.contains(&format!("rest: {} groups", worst.len() - 3)), "{of_all}");
    // What came from nowhere is a negative integer.
    assert_eq!(ended.stdout.matches("\n  lost\n").count(), 1, "{}", ended.stdout);
    let json = call(&["run", &nodes[0], &nodes[1], "--json", "-q", query]).expect(0);
    let lines: Vec<Value> = json.stdout.lines().map(schema::of_line).collect();
    let line = lines.iter().find(|line| line["query"] == "lost").expect("a line");
    let own: BTreeMap<u64, i64> = by_port(line)
        .into_iter()
        .map(|(port, row)| (port, row["lost"].as_i64().expect("an integer")))
        .collect();
    assert_eq!(own, (1..40).map(|port| (port, lost(&port))).collect());
    assert!(own[&2] < 0 && own[&1] > 0);
}

/// What a node does not tell is not known: a group that is not listed is between bounds, and never a loss of 0.
#[test]
fn what_is_not_known_is_never_zero() {
    let (scratch, passed) = (Scratch::new(), passed(2));
    let nodes = passed.nodes(&scratch);
    let (sent, arrived) = (seen(&passed.sent), seen(&passed.arrived));
    let flows = |rx: &str| {
        format!(
            "a: select src_port, sum(total_count) as n where node_id = tx groupby src_port;\n\
             b: select src_port, sum(total_count) as n where node_id = rx groupby src_port {rx};\n\
             lost: select src_port, a.n - b.n as lost, a.n as sent from a, b;"
        )
    };
    let answer = |arguments: &[&str], code: i32| {
        let path = scratch.path("report.json");
        call(&[&["run", "--report", text(&path)], arguments].concat()).expect(code);
        let report: Value = serde_json::from_slice(&std::fs::read(&path).expect("a report")).expect("JSON");
        of_run(&report, "lost").clone()
    };
    let bounds = |value: &Value| match value {
        Value::Object(it) => {
            let of = |name: &str, none: f64| it[name].as_f64().unwrap_or(none);
            (of("lower", f64::NEG_INFINITY), of("upper", f64::INFINITY))
        }
        number => [number.as_f64().expect("a number"); 2].into(),
    };
    let truth = |port: &u64| {
        let packets = |seen: &HashMap<u64, Seen>| seen.get(port).map_or(0.0, |seen| seen.0 as f64);
        packets(&sent) - packets(&arrived)
    };
    for rx in ["limit 5", "having n > 20"] {
        let answer = answer(&[&nodes[0], &nodes[1], "-q", &flows(rx)], 0);
        assert_eq!(answer["bounds"], "certain", "{answer}");
        let mut open = 0;
        for (port, row) in by_port(&answer) {
            let (lower, upper) = bounds(&row["lost"]);
            assert!((lower..=upper).contains(&truth(&port)), "{rx}: {port}: {row}");
            open += usize::from(lower < upper);
        }
        assert!(open > 5, "{rx}: {answer}");
    }
    // A capture that is damaged in its middle: what follows may have had any packet.
    let mut damaged = capture::pcap(ETHERNET, &passed.arrived);
    damaged.truncate(damaged.len() / 2 + 3);
    let rx = format!("rx={}", text(&scratch.file("cut.pcap", damaged)));
    let cut = answer(&[&nodes[0], &rx, "-q", &flows("")], 3);
    assert_eq!(cut["status"], "partial", "{cut}");
    assert!(cut["reason"].as_str().is_some_and(|reason| reason.starts_with("b: ")), "{cut}");
    for (port, row) in by_port(&cut) {
        let (lower, upper) = bounds(&row["lost"]);
        assert!(lower <= truth(&port) && lower < upper && truth(&port) <= upper, "{port}: {row}");
    }
    // A sample lacks whole groups.
    let sampled = answer(&[&nodes[0], &nodes[1], "--tee", "20%", "--seed", "5", "-q", &flows("")], 0);
    assert_eq!(sampled["class"], "sample", "{sampled}");
    for (port, row) in by_port(&sampled) {
        assert!(row["lost"].is_null() || row["lost"].is_object(), "{port}: {row}");
    }
}

/// Groups that nobody limits are read beyond the ten thousand that an answer lists.
#[test]
fn losses_of_many_flows_are_all_found() {
    let scratch = Scratch::new();
    let ports = 1..12_001_u16;
    let frame = |port: u16| Frame { time_ns: START + u64::from(port) * 1000, data: capture::udp(port) };
    let sent: Vec<Frame> = ports.clone().map(frame).collect();
    let arrived: Vec<Frame> = ports.filter(|port| port % 4000 != 1).map(frame).collect();
    let nodes = Passed { sent, arrived }.nodes(&scratch);
    let query = "a: select src_port, sum(total_count) as n where node_id = tx groupby src_port;\n\
                 b: select src_port, sum(total_count) as n where node_id = rx groupby src_port;\n\
                 lost: select src_port, a.n - b.n as lost from a, b having lost != 0;";
    let path = scratch.path("report.json");
    call(&["run", &nodes[0], &nodes[1], "-q", query, "--report", text(&path)]).expect(0);
    let report = output::report(&path);
    let lost = of_run(&report, "lost");
    assert_eq!(by_port(lost).keys().copied().collect::<Vec<_>>(), [1, 4001, 8001]);
    assert_eq!(
        (&lost["status"], &lost["bounds"], &lost["rest"]["groups"]),
        (&"complete".into(), &"exact".into(), &0.into())
    );
    let a = of_run(&report, "a");
    assert_eq!((rows(a).len(), &a["rest"]["groups"], &a["rest"]["n"]), (10_000, &2000.into(), &2000.into()));
}

/// One node: two queries of the same traffic, on each of its cores. What only windows tell has answers of windows alone.
#[test]
fn two_queries_of_one_node_are_joined_over_the_run() {
    let (scratch, passed) = (Scratch::new(), passed(3));
    let path = text(&scratch.file("one.pcap", capture::pcap(ETHERNET, &passed.sent))).to_owned();
    let query = "a: select src_port, sum(total_count) as n groupby src_port;\n\
                 b: select src_port, sum(total_count) as n groupby src_port where src_port < 20;\n\
                 other: select src_port, a.n - b.n as others, b.n / a.n as share from a, b;\n\
                 more: select src_port, a.n - prev(a.n) as more from a;\n\
                 alarm: select count(*) when other.others > 1000;";
    let report = scratch.path("report.json");
    let of = |query: &str| {
        call(&["run", &path, "--node", "one", "-q", query, "--report", text(&report)]).expect(0);
        output::report(&report)
    };
    let (simple, _) = query.split_once("more:").expect("three queries");
    let whole = of(simple);
    let other = of_run(&whole, "other");
    assert_eq!((&other["node"], &other["bounds"]), (&"one".into(), &"exact".into()));
    for (port, (packets, ..)) in seen(&passed.sent) {
        let row = by_port(other)[&port];
        assert_eq!(row["others"].as_u64(), Some(if port < 20 { 0 } else { packets }), "{row}");
        assert_eq!(row["share"].as_f64(), Some(if port < 20 { 1.0 } else { 0.0 }), "{row}");
    }
    // A derived query with earlier windows, and what a condition judges.
    let windows = of(query);
    let has_whole = |query: &str| {
        list(&windows["answers"]).iter().any(|it| it["query"] == query && it["window"].is_null())
    };
    assert!(!["a", "b", "other", "more"].into_iter().any(has_whole), "{windows}");
}

/// A bridge that drops what is beyond its limit: the loss is what the kernel counted on its two sides.
#[test]
fn the_loss_of_a_live_bridge_is_that_of_the_kernels_counters() {
    with_device(ForwardingKind::Bridge, |device| {
        device.limit(256_000, 2000);
        let scratch = Scratch::new();
        let path = scratch.path("report.json");
        let right = format!("rx={}", ForwardingDevice::RIGHT);
        let mut command = edison();
        command.args(["run", "tx=port0", &right, "-f", EXAMPLE, "--every", "1s", "--report", text(&path)]);
        let mut running = Running::start(&mut command);
        running.wait_for("windows", |running| running.lines().iter().any(|line| line.contains("window")));
        let left = ForwardingDevice::LEFT;
        run(edison().args(["generate", "-i", left, "packets=2000,flows=20", "--rate", "10kpps"])).expect(0);
        // Until what the bridge holds has passed.
        let (mut last, mut same) = (0, 0);
        while same < 5 {
            std::thread::sleep(std::time::Duration::from_millis(200));
            let now = carried(ForwardingDevice::RIGHT, "rx");
            same = if now == last { same + 1 } else { 0 };
            last = now;
        }
        running.signal(libc::SIGINT);
        running.wait().expect(0);
        let report = output::report(&path);
        let lost = carried(left, "tx") as i64 - carried(ForwardingDevice::RIGHT, "rx") as i64;
        assert!(lost > 100, "{lost}");
        // What a slow machine does not take is counted as lost by the node, and its answer says so.
        let own: i64 = ["tx", "rx"].map(|node| total(&report["nodes"][node]["loss"]) as i64).iter().sum();
        let device = of_run(&report, "device");
        let found = rows(device)[0]["lost"].as_i64().expect("an integer");
        assert!((found - lost).abs() <= own, "{found} of {lost}, {own} lost by nodes: {device}");
        assert!(
            own == 0 || device["reason"].as_str().is_some_and(|reason| reason.contains("before it measured"))
        );
        let flows = rows(of_run(&report, "flows"));
        let each: i64 = flows.iter().map(|row| row["lost"].as_i64().expect("an integer")).sum();
        assert_eq!((each, flows.len()), (found, 20));
        // Nothing is faster than the bridge, by one clock.
        let delays = flows.iter().filter_map(|row| row["first_delay"].as_i64());
        assert!(own != 0 || delays.clone().count() > 0 && delays.clone().all(|delay| delay > 0), "{flows:?}");
    });
}

/// Frames that an interface sent (`tx`) or received (`rx`), by the kernel's count.
fn carried(interface: &str, direction: &str) -> u64 {
    let shown = std::process::Command::new("ip").args(["-j", "-s", "link", "show", interface]).output();
    let links: Value = serde_json::from_slice(&shown.expect("iproute2").stdout).expect("JSON");
    number(&links[0]["stats64"][direction]["packets"])
}
