//! `edison rfc2544`: devices in a network namespace whose limit is known, and what is refused. Counts are compared, never times: what
//! passes far below the limit is not asserted, since a machine under load may lose frames at any rate.

use crate::support::output::{list, number};
use crate::support::program::{Ended, Running, edison, run};
use crate::support::schema;
use serde_json::Value;
use testbed::device::{ForwardingDevice, ForwardingKind, with_device};
use testbed::veth::{Veth, with_veth};

/// Bits per second that the devices forward, and the bytes that their bucket and their queue have room for.
const BITS: u64 = 256_000;
const BYTES: u64 = 2000;
/// Frames that the kernel keeps between two ends of a virtual link at the most (net.core.netdev_max_backlog).
const BACKLOG: u64 = 1000;

const PORTS: [&str; 4] = ["--tx", ForwardingDevice::LEFT, "--rx", ForwardingDevice::RIGHT];
const SHORT: [&str; 9] =
    ["--trial", "1s", "--settle", "200ms", "--pause", "1ms", "--resolution", "5%", "--json"];

fn rfc2544(ports: &[&str], more: &[&str]) -> Ended {
    run(edison().arg("rfc2544").args(ports).args(SHORT).args(more))
}

fn report(ended: &Ended) -> Value {
    schema::of_rfc2544(&ended.stdout)
}

/// All trials of a size, of all tests.
fn trials(size: &Value) -> Vec<&Value> {
    let mut all = Vec::new();
    for test in ["throughput", "latency"] {
        all.extend(size[test]["trials"].as_array().into_iter().flatten());
    }
    all.extend(size["frame_loss"]["steps"].as_array().into_iter().flatten().map(|step| &step["trial"]));
    for burst in size["back_to_back"]["bursts"].as_array().into_iter().flatten() {
        all.extend(list(&burst["trials"]));
    }
    all
}

/// Returns the most frames that the device can have forwarded while so many were sent at this rate: what the bucket and the queue
/// held, what was filled meanwhile, and what waits on the link when the last frame is sent.
fn most(trial: &Value) -> u64 {
    let (sent, rate) = (number(&trial["sent"]), number(&trial["offered_rate"]).max(1));
    let wire_len = number(&trial["frame_size"]) - 4;
    // A rate that was reached may have taken a hundredth and ten milliseconds longer.
    let bits = BITS * (sent * 102 / rate + 2) / 100 + 2 * BITS / 100;
    (bits / 8 + 2 * BYTES) / wire_len + 1 + BACKLOG
}

/// Compares the counts of each trial with each other and with the limit of the device. Returns how many there are.
fn check(size: &Value) -> usize {
    for trial in trials(size) {
        let of = |name: &str| number(&trial[name]);
        assert_eq!(of("sent"), of("received") + of("lost"), "{trial}");
        assert!(of("lost_by_sender") + of("lost_by_receiver") <= of("lost"), "{trial}");
        assert!(of("sent") <= of("planned") && of("offered_rate") <= of("rate"), "{trial}");
        assert_eq!((of("duplicates"), of("wrong_length")), (0, 0), "{trial}");
        assert!(of("received") <= most(trial), "more than {} came: {trial}", most(trial));
        if let Some(delay) = trial["delay"].as_object() {
            let of = |name: &str| delay[name].as_f64().expect("a number");
            assert!(of("min_ns") <= of("mean_ns") && of("mean_ns") <= of("max_ns"), "{trial}");
        }
    }
    trials(size).len()
}

#[test]
fn a_bridge_loses_what_is_beyond_its_limit() {
    with_device(ForwardingKind::Bridge, |device| {
        device.limit(BITS, BYTES);
        let tests = [
            "--tests",
            "throughput,frame-loss",
            "--sizes",
            "128,512",
            "--link",
            "100Mbps",
            "--loss-step",
            "50%",
        ];
        let report = report(&rfc2544(&PORTS, &tests).expect(0));
        assert_eq!((&report["ended_early"], &report["fault"]), (&Value::Bool(false), &Value::Null));
        let sizes = list(&report["sizes"]);
        assert_eq!(sizes.len(), 2);
        for (size, maximum) in sizes.iter().zip([84_459, 23_496]) {
            assert_eq!(number(&size["maximum"]), maximum);
            assert!(check(size) >= 3, "{size}");
            // The maximum is far beyond the limit.
            let throughput = &size["throughput"];
            let first = &list(&throughput["trials"])[0];
            assert_eq!(number(&first["rate"]), maximum);
            assert!(number(&first["lost"]) > 0, "{first}");
            // What passed, passed whole, so that it is within the device's limit.
            let rate = number(&throughput["frames_per_second"]);
            assert!(rate <= BITS / 8 / 124 + 100 + BACKLOG, "{throughput}");
            let passed = list(&throughput["trials"]).iter().filter(|trial| number(&trial["lost"]) == 0);
            assert_eq!(passed.map(|trial| number(&trial["offered_rate"])).max().unwrap_or(0), rate);
            let steps = list(&size["frame_loss"]["steps"]);
            assert_eq!(
                steps.iter().map(|step| step["share"].as_f64()).collect::<Vec<_>>(),
                [Some(1.0), Some(0.5)]
            );
            for step in steps {
                let (lost, sent) = (number(&step["trial"]["lost"]), number(&step["trial"]["sent"]));
                assert_eq!(step["loss"].as_f64(), Some(lost as f64 / sent as f64));
                assert!(lost > 0, "{step}");
            }
        }
    });
}

/// The four tests of a router, by ports of either kind.
pub(crate) fn through_a_router(ports: &'static [&str]) {
    with_device(ForwardingKind::Router, move |device| {
        device.limit(BITS, BYTES);
        let tests =
            ["--sizes", "256", "--link", "2Mbps", "--latency-trial", "500ms", "--latency-repeats", "2"];
        let router = [
            "--next-hop",
            ForwardingDevice::ROUTER_MAC,
            "--router-addr",
            ForwardingDevice::ROUTER_ADDR,
            "--burst",
            "1s",
            "--burst-repeats",
            "2",
            "--loss-step",
            "100%",
        ];
        let report = report(&rfc2544(ports, &[&tests[..], &router].concat()).expect(0));
        let size = &list(&report["sizes"])[0];
        assert!(check(size) >= 5, "{size}");
        let bursts = list(&size["back_to_back"]["bursts"]);
        assert_eq!(bursts.len(), 2);
        let longest = number(&size["back_to_back"]["longest_tried"]);
        assert_eq!(longest, 905);
        for burst in bursts {
            let first = &list(&burst["trials"])[0];
            assert_eq!((number(&first["planned"]), number(&first["rate"])), (longest, 905));
        }
        let rate = number(&size["throughput"]["frames_per_second"]);
        let latency = &size["latency"];
        assert_eq!(latency.is_null(), rate == 0, "a latency at no rate: {size}");
        for trial in list_or_none(&latency["trials"]) {
            assert_eq!(number(&trial["rate"]), rate);
            // A frame that came has a delay.
            assert_eq!(trial["delay"].is_null(), number(&trial["received"]) == 0, "{trial}");
        }
    });
}

fn list_or_none(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

#[test]
fn a_router_is_tested_between_interfaces() {
    through_a_router(&PORTS);
}

#[test]
fn the_screen_has_a_table_for_each_test() {
    with_device(ForwardingKind::Bridge, |device| {
        device.limit(BITS, BYTES);
        let short = [
            "--trial",
            "200ms",
            "--settle",
            "100ms",
            "--pause",
            "1ms",
            "--resolution",
            "20%",
            "--link",
            "10Mbps",
        ];
        let more = ["--sizes", "64", "--tests", "throughput,frame-loss", "--loss-step", "100%"];
        let ended = run(edison().arg("rfc2544").args(PORTS).args(short).args(more)).expect(0);
        let has = |start: &str| ended.stdout.lines().any(|line| line.starts_with(start));
        for start in [
            "RFC 2544: left to right, 10.00 Mbps",
            "Throughput (section 26.1)",
            "Frame loss rate (section 26.3)",
        ] {
            assert!(has(start), "no {start}: {}", ended.stdout);
        }
        assert!(!has("Latency") && !has("Back-to-back"), "{}", ended.stdout);
        assert!(has("frames of all trials: "), "{}", ended.stdout);
    });
}

#[test]
fn nothing_that_arrives_is_a_fault_with_what_to_look_at() {
    with_device(ForwardingKind::Bridge, |device| {
        device.block();
        let ended = rfc2544(&PORTS, &["--link", "10Mbps"]);
        let report = report(&ended);
        assert!(list(&report["sizes"]).iter().all(|size| trials(size).is_empty()));
        ended.says(
            1,
            &["none of 100 test frames that left sent arrived at right", "198.19.0.2", "02:00:00:00:00:02"],
        );
    });
    // A router that is sent to as if it was a bridge.
    with_device(ForwardingKind::Router, |_| {
        rfc2544(&PORTS, &["--link", "10Mbps"]).says(1, &["none of 100 test frames", "--next-hop"]);
    });
}

#[test]
fn an_interrupted_run_tells_what_was_measured() {
    with_device(ForwardingKind::Bridge, |device| {
        // Two rates without loss would end the run.
        device.limit(BITS, BYTES);
        let mut command = edison();
        command.arg("rfc2544").args(PORTS).args(SHORT).args(["--link", "1Mbps", "--tests", "frame-loss"]);
        let mut testing = Running::start(command.args(["--sizes", "64", "--loss-step", "0.001%"]));
        // The signals have their meaning when the first frames pass.
        let carried = || std::fs::read_to_string("/proc/thread-self/net/dev").expect("interfaces");
        let frames = |devices: &str| {
            let line = devices.lines().find(|line| line.trim_start().starts_with("right:"));
            line.and_then(|line| line.split_whitespace().nth(2)?.parse::<u64>().ok()).unwrap_or(0)
        };
        assert!(testing.wait_for("frames of some trials", |_| frames(&carried()) > 1000));
        testing.signal(libc::SIGINT);
        let ended = testing.wait().says(3, &["ended before the last trial"]);
        let report = report(&ended);
        assert_eq!((&report["ended_early"], &report["fault"]), (&Value::Bool(true), &Value::Null));
        let size = &list(&report["sizes"])[0];
        let frame_loss = &size["frame_loss"];
        if !frame_loss.is_null() {
            assert_eq!(frame_loss["is_complete"], false);
        }
        for trial in trials(size) {
            assert_eq!(number(&trial["sent"]), number(&trial["received"]) + number(&trial["lost"]));
        }
    });
}

#[test]
fn a_port_that_vanishes_is_a_fault() {
    with_device(ForwardingKind::Bridge, |device| {
        let mut command = edison();
        let tests = ["--link", "1Mbps", "--tests", "frame-loss", "--sizes", "64", "--loss-step", "0.001%"];
        let mut testing = Running::start(command.arg("rfc2544").args(PORTS).args(SHORT).args(tests));
        let carried = || std::fs::read_to_string("/proc/thread-self/net/dev").expect("interfaces");
        let before = carried();
        assert!(testing.wait_for("frames", |_| carried() != before));
        device.vanish();
        let ended = testing.wait();
        let report = report(&ended);
        assert_eq!(report["ended_early"], true);
        assert!(report["fault"].as_str().is_some_and(|fault| fault.contains("any more")), "{report}");
        ended.says(1, &["the interface '", "any more"]);
    });
}

#[test]
fn bad_wishes_are_answered_in_one_line() {
    with_veth(|_| {
        let (near, far) = (Veth::NEAR, Veth::FAR);
        let cases: [(&[&str], &[&str]); 11] = [
            (&["--tx", near, "--rx", near], &["near", "are the same port"]),
            (&["--tx", near, "--rx", "net_af_packet0,iface=near"], &["are the same port"]),
            (&["--tx", near, "--rx", "nosuch0"], &["--rx nosuch0", "no such interface", "edison ports"]),
            (&["--tx", "nosuch0", "--rx", far], &["--tx nosuch0", "no such interface"]),
            (
                &["--tx", near, "--rx", far, "--sizes", "64,1519"],
                &["1519 bytes", "longer than near takes", "1518", "MTU"],
            ),
            (&["--tx", near, "--rx", far, "--link", "100bps"], &["no frame of 64 bytes in a second"]),
            (&["--tx", near, "--rx", far, "--trial", "500000h"], &["too many frames"]),
            (&["--tx", near, "--rx", far, "--trial", "1ns"], &["a trial of 1 ns", "has no frame"]),
            (
                &["--tx", near, "--rx", far, "--tests", "throughput", "--link", "10Tbps"],
                &["a trial of 60 s", "too many frames"],
            ),
            (&["--tx", near, "--rx", far, "--eal", "--no-huge"], &["--eal", "neither"]),
            (&["--tx", "lo", "--rx", far], &["'lo'", "down"]),
        ];
        for (arguments, words) in cases {
            run(edison().arg("rfc2544").args(arguments)).says(2, words);
        }
    });
    for (arguments, word) in [
        (&["--tx", "a"][..], "--rx"),
        (&["--tx", "a", "--rx", "b", "--sizes", "63"], "64 to 9216"),
        (&["--tx", "a", "--rx", "b", "--tests", "latncy"], "did you mean 'latency'?"),
        (&["--tx", "a", "--rx", "b", "--dst-mac", "ff:ff:ff:ff:ff:ff"], "group"),
        (&["--tx", "a", "--rx", "b", "--settle", "1ms"], "50ms is the least"),
        (&["--tx", "a", "--rx", "b", "--link", "1Mpps"], "the speed of a link"),
        (&["--tx", "a", "--rx", "b", "--tolerance", "100%"], "less than 100%"),
        (
            &["--tx", "a", "--rx", "b", "--dst-mac", "02:00:00:00:00:01"],
            "--src-mac and --dst-mac are the same",
        ),
        (
            &["--tx", "a", "--rx", "b", "--next-hop", "02:00:00:00:00:01"],
            "--src-mac and --next-hop are the same",
        ),
    ] {
        let ended = run(edison().arg("rfc2544").args(arguments)).expect(2);
        assert!(ended.stderr.contains(word), "{}", ended.stderr);
    }
}
