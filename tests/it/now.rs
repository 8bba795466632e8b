//! `GET /now` and `GET /unusual` of a run: the traffic of a capture and of an interface, against a reading of the frames.

use crate::page::{address, get};
use crate::support::capture::{self, Frame};
use crate::support::deployment::{Broker, Deployment, send};
use crate::support::program::{Running, edison};
use crate::support::scratch::{Scratch, text};
use crate::support::waiting::until;
use serde_json::Value;
use std::collections::HashMap;
use testbed::veth::{Veth, with_veth};

/// Bytes by step and group.
type Sums = HashMap<(u64, String), u64>;

/// Reads sources, destinations and their bytes of frames of IPv4, and sums them by step.
fn sums(frames: &[Frame], step_ns: u64) -> [Sums; 3] {
    let [mut sources, mut destinations, mut all] = [(); 3].map(|()| Sums::new());
    for frame in frames.iter().filter(|frame| frame.data[12..14] == [8, 0]) {
        let header = &frame.data[14..];
        let address =
            |at: usize| format!("{}.{}.{}.{}", header[at], header[at + 1], header[at + 2], header[at + 3]);
        let bytes = u64::from(u16::from_be_bytes([header[2], header[3]]));
        let step = frame.time_ns - frame.time_ns % step_ns;
        for (sums, key) in
            [(&mut sources, address(12)), (&mut destinations, address(16)), (&mut all, String::new())]
        {
            *sums.entry((step, key)).or_default() += bytes;
        }
    }
    [sources, destinations, all]
}

fn time_ns(time: &Value) -> u64 {
    model::parse_time(time.as_str().expect("a text")).expect("a time")
}

/// Returns the bounds of a value.
fn bounds(value: &Value) -> [f64; 2] {
    match value {
        Value::Object(estimate) => {
            [estimate["lower"].as_f64().expect("a bound"), estimate["upper"].as_f64().expect("a bound")]
        }
        exact => [exact.as_f64().unwrap_or_else(|| panic!("{exact} is no count")); 2],
    }
}

fn contains(value: &Value, truth: u64) -> bool {
    let [lower, upper] = bounds(value);
    lower <= truth as f64 && truth as f64 <= upper
}

/// Compares what a run shows with what its frames have.
fn check(now: &Value, frames: &[Frame]) {
    let step_ns = now["step_ns"].as_u64().expect("a length");
    let start_ns = time_ns(&now["period"]["start"]);
    let steps = now["steps"].as_u64().expect("a number");
    let [sources, destinations, all] = sums(frames, step_ns);
    for at in 0..steps {
        let step = start_ns + at * step_ns;
        let expected = all.get(&(step, String::new())).copied().unwrap_or(0);
        let shown = &now["series"]["bytes"][at as usize];
        assert!(*shown == expected || shown.is_null() && expected == 0, "step {at}: {shown}, {expected}");
    }
    assert_eq!(now["figures"]["bytes"], all.values().sum::<u64>());
    for (by, member, truth) in [(0, "src_addr", &sources), (1, "dst_addr", &destinations)] {
        let ranking = &now["rankings"][by];
        let rows = ranking["rows"].as_array().expect("rows");
        assert!(!rows.is_empty());
        for row in rows {
            let key = row["key"][member].as_str().expect("an address");
            let own = truth.iter().filter(|((_, group), _)| group == key).map(|(_, bytes)| *bytes).sum();
            assert!(contains(&row["bytes"], own), "{key}: {row} {own}");
            for at in 0..steps {
                let step = start_ns + at * step_ns;
                let own = truth.get(&(step, key.to_owned())).copied().unwrap_or(0);
                let shown = &row["series"][at as usize];
                assert!(shown.is_null() && own == 0 || contains(shown, own), "{key} {at}: {shown} {own}");
            }
        }
        let all = rows.iter().chain([&ranking["rest"]]).map(|sums| bounds(&sums["bytes"]));
        let [lower, upper] = all.fold([0.0; 2], |sum, [lower, upper]| [sum[0] + lower, sum[1] + upper]);
        let whole = bounds(&now["figures"]["bytes"])[0];
        assert!(lower <= whole && whole <= upper);
    }
    let account = &now["account"];
    let not_measured: u64 =
        account["not_measured"].as_object().expect("reasons").values().filter_map(Value::as_u64).sum();
    assert_eq!(
        account["received"].as_u64(),
        account["measured"].as_u64().map(|measured| measured + not_measured)
    );
}

#[test]
fn a_capture_is_shown_by_60_to_120_steps() {
    let scratch = Scratch::new();
    let made = capture::generate(&scratch, "packets=20k,flows=400,zipf=1.1,seed=3");
    let mut running = Running::start(edison().args(["run", text(&made.path), "--web=127.0.0.1:0"]));
    let address = address(&mut running, "stays at");
    let now = get(&address, "/now");
    assert_eq!(
        (&now["kind"], &now["ended"], &now["before"]),
        (&"capture".into(), &true.into(), &Value::Null)
    );
    let steps = now["steps"].as_u64().expect("a number");
    assert!((60..=120).contains(&steps), "{steps} steps of {}", now["step_ns"]);
    check(&now, &made.frames);
    let missing = now["missing"].as_array().expect("a list");
    assert!(missing.is_empty(), "{missing:?}");
    // One ranking of three rows.
    let few = get(&address, "/now?by=port&top=3");
    assert_eq!(few["rankings"].as_array().map(Vec::len), Some(1));
    assert!(few["rankings"][0]["rows"].as_array().is_some_and(|rows| rows.len() <= 3));
    let refused =
        ureq::get(format!("{address}api/v1/now?node=none")).config().http_status_as_error(false).build();
    assert_eq!(refused.call().expect("an answer").status(), 404);
    running.signal(libc::SIGINT);
    running.wait().expect(0);
}

#[test]
fn windows_that_the_user_chooses_stay_as_they_are() {
    let scratch = Scratch::new();
    let made = capture::generate(&scratch, "packets=5k,flows=100,seed=4");
    let [report, other] = ["report.json", "other.json"].map(|name| scratch.path(name));
    let mut command = edison();
    command.args(["run", text(&made.path), "--web=127.0.0.1:0", "--every", "1ms", "--report", text(&report)]);
    let mut running = Running::start(&mut command);
    let address = address(&mut running, "stays at");
    check(&get(&address, "/now"), &made.frames);
    running.signal(libc::SIGINT);
    running.wait().expect(0);
    crate::support::program::run(edison().args([
        "run",
        text(&made.path),
        "--every",
        "1ms",
        "--report",
        text(&other),
    ]))
    .expect(0);
    // The page changes neither windows nor answers.
    let [shown, alone] = [&report, &other].map(|file| crate::support::output::report(file));
    assert_eq!(shown["windows"], alone["windows"]);
    assert_eq!(shown["packets"], alone["packets"]);
}

#[test]
fn nodes_under_a_controller_are_shown_together_and_alone() {
    let scratch = Scratch::new();
    let made = capture::generate(&scratch, "packets=5k,flows=100,seed=5");
    let nodes = ["tx", "rx"].map(|name| format!("{name}={}", made.path.display()));
    let mut running = Running::start(edison().arg("run").args(&nodes).arg("--web=127.0.0.1:0"));
    let address = address(&mut running, "stays at");
    let alone = get(&address, "/now?node=rx");
    check(&alone, &made.frames);
    let both = get(&address, "/now");
    assert_eq!(both["nodes"], serde_json::json!(["tx", "rx"]));
    assert_eq!(both["figures"]["bytes"].as_u64(), alone["figures"]["bytes"].as_u64().map(|bytes| 2 * bytes));
    running.signal(libc::SIGINT);
    running.wait().expect(0);
}

/// A scan of 600 addresses among other traffic is found without a question.
#[test]
fn a_planted_scan_is_unusual() {
    let scratch = Scratch::new();
    let made = capture::generate(&scratch, "packets=5k,flows=100,seed=6");
    let mut frames = made.frames.clone();
    let like = frames[0].clone();
    for number in 0..600_u32 {
        let mut frame = like.clone();
        let [.., c, d] = number.to_be_bytes();
        frame.time_ns += u64::from(number) * 1_000;
        frame.data[26..30].copy_from_slice(&[203, 0, 113, 9]);
        frame.data[30..34].copy_from_slice(&[10, 77, c, d]);
        frames.push(frame);
    }
    frames.sort_by_key(|frame| frame.time_ns);
    let path = scratch.file("scan.pcap", capture::pcap(capture::ETHERNET, &frames));
    let mut running = Running::start(edison().args(["run", text(&path), "--web=127.0.0.1:0"]));
    let address = address(&mut running, "stays at");
    check(&get(&address, "/now"), &frames);
    let unusual = get(&address, "/unusual");
    let scans: Vec<&Value> = unusual["entries"]
        .as_array()
        .expect("entries")
        .iter()
        .filter(|entry| entry["rule"] == "scan" && entry["key"]["src_addr"] == "203.0.113.9")
        .collect();
    assert_eq!(scans.len(), 1, "{unusual}");
    assert_eq!(scans[0]["figure"]["value"], 600, "{}", scans[0]);
    assert_eq!(unusual["rules"].as_array().map(Vec::len), Some(5));
    running.signal(libc::SIGINT);
    running.wait().expect(0);
}

/// Probes tell their controller of their traffic with their windows, and of the last minute with their end.
#[test]
fn a_controller_is_told_by_its_probes_over_amqp() {
    with_veth(|veth| {
        let deployment = Deployment::new();
        deployment.broker("start");
        let broker = Broker(&deployment);
        let text = "all: select sum(total_count) as n every 1s;";
        let controller = deployment.controller_of("\"near\", \"far\", \"none\"", text);
        let probes = [deployment.probe("near", Veth::NEAR), deployment.probe("far", Veth::FAR)];
        for node in ["near", "far"] {
            until("its first answer", || (!deployment.windows("all", node).is_empty()).then_some(()));
        }
        // Nothing was told yet, or nothing was in it: not known is no 404, and no traffic is no bytes.
        let now = deployment.get("/now").expect("an answer");
        assert!(now["figures"]["bytes"].is_null() || now["figures"]["bytes"] == 0, "{now}");
        let ports = 1_000..1_300;
        let frames = ports.clone().map(capture::udp);
        let bytes: u64 = frames.map(|frame| u64::from(u16::from_be_bytes([frame[16], frame[17]]))).sum();
        send(veth, ports);
        for node in ["near", "far"] {
            until("all frames in answers", || {
                (deployment.windows("all", node).values().sum::<u64>() == 300).then_some(())
            });
        }
        for mut probe in probes {
            probe.signal(libc::SIGTERM);
            probe.wait().expect(0);
        }
        let now = until("the last minutes", || {
            deployment.get("/now").filter(|now| now["figures"]["packets"] == 600)
        });
        assert_eq!(now["figures"]["bytes"], 2 * bytes);
        assert_eq!((&now["account"]["received"], &now["account"]["measured"]), (&600.into(), &600.into()));
        assert_eq!(now["nodes"], serde_json::json!(["near", "far", "none"]));
        let sources = now["rankings"][0]["rows"].as_array().expect("rows");
        assert_eq!(sources.iter().filter_map(|row| row["bytes"].as_u64()).sum::<u64>(), 2 * bytes, "{now}");
        let missing = now["missing"].as_array().expect("a list");
        let of_none: Vec<&Value> = missing.iter().filter(|one| one["node"] == "none").collect();
        assert_eq!(of_none.len(), 1, "{missing:?}");
        assert_eq!(of_none[0]["reason"], "not_sent");
        let alone = deployment.get("/now?node=far").expect("a node");
        assert_eq!(alone["figures"]["packets"], 300);
        let unusual = deployment.get("/unusual").expect("an answer");
        assert_eq!(unusual["entries"], serde_json::json!([]), "{unusual}");
        assert_eq!(unusual["rules"].as_array().map(Vec::len), Some(5));
        let status = deployment.get("/status").expect("a controller");
        assert_eq!(status["refused"], serde_json::json!({}));
        drop(controller);
        drop(broker);
    });
}
