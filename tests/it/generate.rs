//! `edison generate`: the same bytes for the same seed, TCP in which `--loss` finds what was planted and nothing else, and
//! what leaves by an interface or a port.

use crate::support::capture::{self, Count, Flows, Key};
use crate::support::output::{self, number, of_run, rows};
use crate::support::program::{Running, edison, run};
use crate::support::scratch::Scratch;
use serde_json::Value;
use std::path::Path;
use testbed::veth::{Veth, with_veth};

fn json(path: &Path) -> Value {
    let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).expect("JSON")
}

#[test]
fn the_same_seed_gives_the_same_bytes() {
    let scratch = Scratch::new();
    let spec =
        "packets=5k,flows=800,size=64/594,ipv6=20%,tcp=handshake,plant=flood:sources=9/loss:connections=2";
    let bytes = |name: &str, spec: &str| {
        let path = scratch.path(name);
        run(edison().arg("generate").arg(&path).arg(spec)).expect(0);
        (std::fs::read(&path).unwrap(), json(&scratch.path(&format!("{name}.truth.json"))))
    };
    let first = bytes("first.pcap", spec);
    assert_eq!(first, bytes("again.pcap", spec));
    // The truth's own specification has every default in it, and gives the same.
    assert_eq!(first, bytes("spelled.pcap", first.1["spec"].as_str().unwrap()));
    assert_ne!(first.0, bytes("other.pcap", &format!("{spec},seed=2")).0);
}

/// The eleven figures of `--loss` over a whole run, by name.
fn loss(scratch: &Scratch, source: &[&str]) -> impl Fn(&str) -> u64 + use<> {
    let path = scratch.path("report.json");
    run(edison().args(["run", "--loss", "--report"]).arg(&path).args(source)).expect(0);
    let report = output::report(&path);
    let row = rows(of_run(&report, "tcp_loss"))[0].clone();
    move |name: &str| number(&row[name])
}

const PLANTABLE: [&str; 5] = ["ploss_byte", "ploss_count", "reorder_count", "retrans_byte", "retrans_count"];
const NEVER: [&str; 3] = ["unseen_byte", "zero_window_count", "resync_count"];

#[test]
fn the_background_loses_nothing() {
    let scratch = Scratch::new();
    for spec in [
        "packets=200k,flows=20k",
        "packets=200k,flows=500,size=64:3/1518:1,ipv6=30%,snap=96,plant=elephant",
        // Minutes, in which flows end by their timeout and continue.
        "packets=100k,flows=20k,zipf=uniform,rate=300,tcp=handshake",
        "packets=200k,flows=3k,size=64/594/1518,ipv6=30%,tcp=handshake:5,snap=60",
        // More than 2^32 bytes a flow.
        "packets=600k,flows=4,zipf=uniform,size=9216,snap=80",
        "packets=1M,flows=4,zipf=uniform,size=9216,snap=80,tcp=handshake:30k",
    ] {
        let found = loss(&scratch, &["--synthetic", spec]);
        for name in PLANTABLE.into_iter().chain(NEVER).chain(["hole_count"]) {
            assert_eq!(found(name), 0, "{name} of {spec}");
        }
    }
}

#[test]
fn what_was_planted_is_found_and_nothing_else() {
    let scratch = Scratch::new();
    for (spec, planted) in [
        ("packets=60k,flows=5k,plant=loss", &["ploss_byte", "ploss_count"][..]),
        ("packets=60k,flows=5k,tcp=handshake,plant=retransmission", &["retrans_byte", "retrans_count"]),
        ("packets=60k,flows=5k,rate=1M,plant=reorder:reorder=5%", &["reorder_count"]),
        ("packets=60k,plant=flood:sources=70", &["retrans_count"]),
        // All at once; cut frames; the last begins where the others end.
        (
            "packets=150k,size=64/1518,ipv6=40%,snap=70,plant=loss:loss=3%:connections=20:reorder=1%/\
             retransmission:start=0:segments=900/elephant/reorder:loss=0.5%:start=1",
            &PLANTABLE,
        ),
    ] {
        let generated = scratch.path("planted.pcap");
        run(edison().arg("generate").arg(&generated).arg(spec)).expect(0);
        let truth = json(&scratch.path("planted.pcap.truth.json"));
        let found = loss(&scratch, &[generated.to_str().unwrap()]);
        let figure = |of: &Value, name: &str| number(&of["tcp_loss"][name]);
        for name in PLANTABLE {
            let expected = figure(&truth["totals"], name);
            assert_eq!(found(name), expected, "{name} of {spec}");
            assert_eq!(expected > 0, planted.contains(&name), "{name} of {spec}");
            let of_events = truth["events"].as_array().unwrap().iter().map(|event| figure(event, name));
            assert_eq!(of_events.sum::<u64>(), expected, "{name} of {spec}");
        }
        for name in NEVER {
            assert_eq!(found(name), 0, "{name} of {spec}");
        }
        let count = if spec.contains("150k") { 150_000 } else { 60_000 };
        assert_eq!(number(&truth["totals"]["packets"]), count);
        let report = output::report(&scratch.path("report.json"));
        let measured = number(&rows(of_run(&report, "totals"))[0]["total_count"]);
        assert_eq!(measured, count, "{spec}");
    }
}

/// All flows of a truth that has not more than it lists.
fn flows(truth: &Value) -> Flows {
    let listed = truth["top_packets"].as_array().expect("a list");
    assert_eq!(listed.len() as u64, number(&truth["totals"]["flows"]), "more than are listed");
    listed
        .iter()
        .map(|flow| {
            let address =
                |name: &str| flow[name].as_str().and_then(|text| text.parse().ok()).expect("an address");
            let small = |name: &str| u16::try_from(number(&flow[name])).expect("16 bits");
            let key: Key = (
                address("src_addr"),
                address("dst_addr"),
                small("protocol") as u8,
                small("src_port"),
                small("dst_port"),
            );
            (key, Count { packets: number(&flow["packets"]), total_byte: number(&flow["total_byte"]) })
        })
        .collect()
}

/// Sends `spec` to `sink` and measures the other end of the pair.
fn sent_is_measured(sink: &[&str], spec: &str, sent: u64, too_long: u64) {
    let scratch = Scratch::new();
    let (csv, report, truth) =
        (scratch.path("flows.csv"), scratch.path("report.json"), scratch.path("truth.json"));
    let mut command = edison();
    command.args(["run", "-i", Veth::NEAR, "--json", "--every", "50ms", "--packets", &sent.to_string()]);
    let mut measuring = Running::start(command.arg("--flows").arg(&csv).arg("--report").arg(&report));
    assert!(measuring.wait_for("the first window", |it| !it.lines().is_empty()));
    let ended = run(edison().arg("generate").args(sink).arg(spec).arg("--truth").arg(&truth)).expect(0);
    assert_eq!(ended.stderr.contains("too_long: "), too_long != 0, "{}", ended.stderr);
    measuring.wait().expect(0);

    let (truth, report) = (json(&truth), output::report(&report));
    let sending = &truth["sending"];
    assert_eq!((number(&sending["frames"]), number(&sending["not_sent"]["too_long"])), (sent, too_long));
    assert_eq!(output::total(&sending["lost"]), 0, "{sending}");
    let totals = &truth["totals"];
    let expected = ["packets", "total_byte", "wire_byte"].map(|name| number(&totals[name]));
    let measured = &rows(of_run(&report, "totals"))[0];
    let measured = ["total_count", "total_byte", "wire_byte"].map(|name| number(&measured[name]));
    assert_eq!(measured, expected, "{report}");
    assert_eq!((expected[0], expected[2]), (sent, number(&sending["wire_byte"])));
    assert_eq!(output::one_record_per_key(&output::records(&csv)), flows(&truth));
    assert_eq!(output::total(&report["loss"]), 0);
}

const TO_SEND: &str = "packets=20k,flows=70,size=64:3/594:2/1518:1,ipv6=30%,tcp=handshake,seed=11";

#[test]
fn an_interface_sends_what_the_other_end_counts() {
    with_veth(|_| {
        sent_is_measured(&["-i", Veth::FAR], TO_SEND, 20_000, 0);
        sent_is_measured(&["-i", Veth::FAR, "--rate", "200kpps"], TO_SEND, 20_000, 0);
        sent_is_measured(&["-i", Veth::FAR, "--rate", "1Gbps"], TO_SEND, 20_000, 0);
    });
}

#[test]
fn a_frame_beyond_the_mtu_is_counted_and_left_out() {
    with_veth(|_| {
        let spec = TO_SEND.replace("1518", "1519").replace(",tcp=handshake", "");
        let scratch = Scratch::new();
        let generated = capture::generate(&scratch, &spec);
        // Ethernet's header and the usual MTU.
        let short = generated.frames.iter().filter(|frame| frame.data.len() <= 14 + 1500).count() as u64;
        assert!((1..20_000).contains(&short));
        sent_is_measured(&["-i", Veth::FAR], &spec, short, 20_000 - short);
    });
}

#[test]
fn an_interrupted_run_tells_what_was_sent() {
    with_veth(|veth| {
        let scratch = Scratch::new();
        let truth = scratch.path("truth.json");
        let mut command = edison();
        command.args([
            "generate",
            "-i",
            Veth::FAR,
            "packets=1G,flows=90",
            "--rate",
            "5kpps",
            "--json",
            "--truth",
        ]);
        let before = veth.carried();
        let mut sending = Running::start(command.arg(&truth));
        assert!(sending.wait_for("frames", |_| veth.carried() > before));
        sending.signal(libc::SIGINT);
        let ended = sending.wait().says(3, &["stopped before the last frame"]);
        let carried = veth.carried() - before;
        let truth = json(&truth);
        assert_eq!(number(&truth["sending"]["frames"]), carried);
        assert_eq!(number(&truth["totals"]["packets"]), carried);
        assert_eq!(flows(&truth).values().map(|count| count.packets).sum::<u64>(), carried);
        assert_eq!(truth["sending"]["stopped"], true);
        assert_eq!(truth["totals"]["tcp_loss"], Value::Null, "not all came");
        let printed: Value = serde_json::from_str(&ended.stdout).expect("one line of JSON");
        assert_eq!(printed, truth);
    });
}

#[test]
fn an_interface_that_vanishes_is_a_fault_with_the_truth_of_what_was_sent() {
    with_veth(|veth| {
        let scratch = Scratch::new();
        let truth = scratch.path("truth.json");
        let mut command = edison();
        command.args(["generate", "-i", Veth::FAR, "packets=1G,flows=9", "--rate", "5kpps", "--truth"]);
        let before = veth.carried();
        let mut sending = Running::start(command.arg(&truth));
        assert!(sending.wait_for("frames", |_| veth.carried() > before));
        veth.vanish();
        sending.wait().says(1, &["'far'", "cannot send any more"]);
        let truth = json(&truth);
        assert!(number(&truth["sending"]["frames"]) > 0);
        assert_eq!(truth["sending"]["frames"], truth["totals"]["packets"]);
    });
}

mod dpdk {
    use super::*;

    #[test]
    fn a_port_sends_the_frames_of_the_file_in_order() {
        for spec in [TO_SEND, "packets=3k,size=64/9216,plant=loss:connections=2:segments=100/flood:sources=3"]
        {
            let scratch = Scratch::new();
            let generated = capture::generate(&scratch, spec);
            let (sent, truth) = (scratch.path("sent.pcap"), scratch.path("sent.json"));
            let port = format!("net_pcap0,tx_pcap={}", sent.display());
            run(edison().args(["generate", "--port", &port, spec, "--truth"]).arg(&truth)).expect(0);
            // The driver writes the clock's times.
            let bytes =
                |frames: Vec<capture::Frame>| frames.into_iter().map(|frame| frame.data).collect::<Vec<_>>();
            let count = generated.frames.len();
            assert!(bytes(capture::read(&sent)) == bytes(generated.frames), "{spec}");
            let truth = json(&truth);
            assert_eq!(number(&truth["sending"]["frames"]), count as u64);
            for part in ["spec", "totals", "events", "top_packets", "top_bytes"] {
                assert_eq!(truth[part], generated.truth[part], "{part} of {spec}");
            }
        }
    }

    #[test]
    fn a_port_over_an_interface_sends_what_the_other_end_counts() {
        with_veth(|_| {
            sent_is_measured(&["--port", "net_af_packet0,iface=far", "--rate", "40kpps"], TO_SEND, 20_000, 0);
        });
    }

    #[test]
    fn a_port_that_nobody_receives_from_is_given_up() {
        let scratch = Scratch::new();
        let truth = scratch.path("truth.json");
        let mut command = edison();
        command.args(["generate", "--port", "net_ring0", "packets=100k,flows=50", "--truth"]);
        run(command.arg(&truth)).says(1, &["net_ring0 has taken no frame for a second"]);
        let truth = json(&truth);
        // A ring of 1,024 has room for one less.
        assert_eq!((number(&truth["sending"]["frames"]), number(&truth["totals"]["packets"])), (1023, 1023));
        assert_eq!(flows(&truth).values().map(|count| count.packets).sum::<u64>(), 1023);
    }

    #[test]
    fn ports_that_cannot_send_say_why() {
        run(edison().args(["generate", "--port", "net_nothing0"])).says(2, &["net_nothing0", "edison ports"]);
        run(edison().args(["generate", "--port", "net_null0", "packets=10,snap=20"])).says(2, &["snap=20"]);
    }
}

#[test]
fn bad_wishes_are_answered_in_one_line() {
    let cases: [(&[&str], &[&str]); 16] = [
        (&[], &["nowhere to write to", "-i NAME", "--port"]),
        (&["x.pcap", "flow=3"], &["did you mean \"flows\""]),
        (&["x.pcap", "tcp=no"], &["tcp=no", "handshake"]),
        (&["x.pcap", "plant=loss:loss=30%"], &["plant: loss", "at most 20%"]),
        (&["x.pcap", "packets=100,plant=loss"], &["the run has 100"]),
        (&["x.pcap", "packets=1", "--path", "hops=2"], &["packets=1", "--path"]),
        (&["x.pcap", "--path", "reorder=50%"], &["reorder", "20%"]),
        (&["x.pcap", "--rate", "1Gbps"], &["--rate", "rate="]),
        (&["-i", "nosuch0"], &["nosuch0", "no such interface", "ip link"]),
        (&["-i", "nosuch0", "x.pcap", "packets=1"], &["'x.pcap'", "not both"]),
        (&["-i", "nosuch0", "flow=1"], &["did you mean \"flows\""]),
        (&["-i", "lo", "snap=60,size=1518"], &["snap=60", "whole"]),
        (&["-i", "lo", "--truth", "/nonexistent/truth.json"], &["/nonexistent/truth.json"]),
        (&["/nonexistent/x.pcap"], &["/nonexistent/x.pcap"]),
        (&["-i", "an-interface-of-a-name-that-is-too-long"], &["too-long", "no such interface"]),
        (&["-i", ""], &["no such interface"]),
    ];
    for (arguments, words) in cases {
        run(edison().arg("generate").args(arguments)).says(2, words);
    }
    for (arguments, word) in [
        (["-i", "lo", "--rate", "fast"], "not a rate such as 100kpps or 1.5Gbps, times or max"),
        (["-i", "lo", "--port", "net_null0"], "cannot be used with"),
        (["--path", "hops=2", "-i", "lo"], "cannot be used with"),
    ] {
        let ended = run(edison().arg("generate").args(arguments)).expect(2);
        assert!(ended.stderr.contains(word), "{}", ended.stderr);
    }
}
