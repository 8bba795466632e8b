//! `--cores`, `--design` and `--wire`: the same answers by every design, and one line for what is not possible.

use crate::support::output::{self, number, total};
use crate::support::program::{Ended, edison, run};
use crate::support::scratch::Scratch;
use serde_json::Value;
use std::path::{Path, PathBuf};

const SPEC: &str = "packets=20k,flows=3k,ipv6=30%,size=64:3/590:1,plant=flood/scan";

fn capture(scratch: &Scratch) -> PathBuf {
    let path = scratch.path("t.pcap");
    run(edison().arg("generate").arg(&path).arg(SPEC)).expect(0);
    path
}

fn edison_run(arguments: &[&str]) -> Ended {
    run(edison().args(["run", "--memory", "512MiB"]).args(arguments))
}

/// Records and report of a run on a capture, which ends well.
fn measure(scratch: &Scratch, capture: &Path, arguments: &[&str]) -> (Vec<String>, Value) {
    let (csv, report) = (scratch.path("flows.csv"), scratch.path("report.json"));
    let mut command = edison();
    command.args(["run", "--memory", "512MiB"]).arg(capture).args(arguments);
    run(command.arg("--flows").arg(&csv).arg("--report").arg(&report)).expect(0);
    let mut lines: Vec<_> =
        std::fs::read_to_string(&csv).expect("written").lines().map(str::to_owned).collect();
    lines.sort_unstable();
    (lines, output::report(&report))
}

#[test]
fn the_same_records_by_every_design() {
    let scratch = Scratch::new();
    let capture = capture(&scratch);
    let (records, whole) = measure(&scratch, &capture, &[]);
    assert!(records.len() > 2000);
    assert_eq!(number(&whole["packets"]["received"]), 20_000);
    assert_eq!((&whole["design"]["name"], &whole["wire"]), (&"rss".into(), &Value::Null));
    let without_timeouts = measure(&scratch, &capture, &["--idle-timeout", "off", "--active-timeout", "off"]);
    let with_timeouts = (records, whole);
    for (arguments, receivers, workers) in [
        (&["--design", "async"][..], 1, 1),
        (&["--design", "sync"], 1, 1),
        (&["--design", "pipeline"], 1, 1),
        (&["--design", "cooperative"], 1, 0),
        (&["--design", "1x3"], 1, 3),
        (&["--cores", "1"], 1, 0),
        (&["--wire", "queues=2", "--design", "2x2"], 2, 2),
        (&["--wire", "queues=3", "--design", "3x1"], 3, 1),
        (&["--wire", "queues=2", "--design", "rss"], 2, 0),
        (&["--wire", "queues=2"], 2, 0),
        (&["--wire", ""], 1, 0),
        (&["--design", "sync", "--split", "position"], 1, 1),
        (
            &["--design", "1x3", "--split", "position", "--idle-timeout", "off", "--active-timeout", "off"],
            1,
            3,
        ),
        (
            &["--design", "async", "--state", "shared", "--idle-timeout", "off", "--active-timeout", "off"],
            1,
            1,
        ),
        (
            &[
                "--wire",
                "queues=2",
                "--design",
                "2x2",
                "--split",
                "position",
                "--state",
                "shared",
                "--idle-timeout",
                "off",
                "--active-timeout",
                "off",
            ],
            2,
            2,
        ),
    ] {
        let (found, report) = measure(&scratch, &capture, arguments);
        let (records, whole) = if arguments.contains(&"off") { &without_timeouts } else { &with_timeouts };
        assert!(found == *records, "{arguments:?} gives other records");
        for same in ["packets", "windows"] {
            assert_eq!(report[same], whole[same], "{arguments:?}");
        }
        // How many of them a sweep had reached before the end depends on its timing.
        assert_eq!(report["flows"]["seen"], whole["flows"]["seen"], "{arguments:?}");
        assert_eq!(whole["answers"].as_array().map(Vec::len), Some(9));
        for (at, answer) in output::list(&whole["answers"]).iter().enumerate() {
            for same in ["query", "status", "rows", "rest", "bounds"] {
                assert_eq!(report["answers"][at][same], answer[same], "{arguments:?}");
            }
        }
        let design = &report["design"];
        let threads = [number(&design["receivers"]), number(&design["workers"])];
        assert_eq!(threads, [receivers, workers], "{arguments:?}: {design}");
        for (option, value) in [("split", "position"), ("state", "shared")] {
            assert_eq!(design[option] == value, arguments.contains(&value), "{arguments:?}: {design}");
        }
        assert_eq!(report["wire"].is_null(), arguments[0] != "--wire", "{arguments:?}");
    }
}

#[test]
fn a_wire_with_a_rate_accounts_for_every_packet() {
    let scratch = Scratch::new();
    let path = scratch.path("report.json");
    for (wire, design) in [
        ("rate=200Mpps,queues=2,ring=64,packets=100k", "rss"),
        ("rate=200Mpps,ring=64,packets=100k", "1x2"),
        ("rate=500kpps,packets=5k", "cooperative"),
    ] {
        let arguments = ["--synthetic", "packets=10k,flows=500", "--wire", wire, "--design", design];
        run(edison().args(["run", "--memory", "512MiB", "--report"]).arg(&path).args(arguments)).expect(0);
        let report = output::report(&path);
        let (packets, loss, wire) = (&report["packets"], &report["loss"], &report["wire"]);
        let offered = number(&wire["offered"]);
        assert_eq!(number(&packets["received"]) + total(loss), offered, "{report}");
        assert_eq!(number(&wire["delivered"]) + number(&wire["imissed"]), offered);
        assert_eq!(offered, if design == "cooperative" { 5_000 } else { 100_000 });
    }
}

#[test]
fn what_is_not_possible_is_said_in_one_line() {
    let scratch = Scratch::new();
    let capture = capture(&scratch);
    let capture = capture.to_str().expect("UTF-8");
    for (arguments, words) in [
        (
            &["--design", "1x2", "--split", "position"][..],
            &["timeouts", "--idle-timeout off", "--split hash"][..],
        ),
        (&["--state", "shared"], &["timeouts", "--active-timeout off", "--state separate"]),
        (&["--state", "shared", "--loss"], &["--loss", "order", "--state shared", "--state separate"]),
        (
            &["--design", "1x2", "--split", "position", "--gap", "mean"],
            &["--gap", "one core", "--split hash"],
        ),
        (&["--cores", "4096"], &["--cores 4096", "there are"]),
        (&["--cores", "4000-4000"], &["no core 4000", "there are"]),
        (&["--design", "rss", "--wire", "queues=2", "--cores", "1"], &["2 queues", "--cores 2", "queues=1"]),
        (&["--design", "2x1"], &["2 receivers", "1 queue"]),
        (&["--design", "3x1", "--wire", "queues=2"], &["3 receivers", "2 queue"]),
        (&["--design", "async", "--cores", "1"], &["async needs 2 cores"]),
        (&["--design", "pipeline", "--cores", "1"], &["pipeline has 2 core"]),
        (&["--wire", "queues=2", "--design", "2x1", "--gap", "mean"], &["--gap", "2 receivers", "async"]),
        (&["--wire", "queues=2", "--design", "2x1", "--every", "1kp"], &["--every", "2 receivers"]),
        (&["--wire", "queues=2", "--design", "2x1", "--packets", "10"], &["--packets", "2 receivers"]),
        (&["--wire", "queues=2", "--design", "2x1", "--duration", "1s"], &["--duration", "2 receivers"]),
        (&["--wire", "queues=2", "--design", "2x1", "--key", "src_addr"], &["--key", "2 receivers"]),
        (&["--wire", "queues=2", "--design", "2x1", "--tunnel", "inner"], &["--tunnel inner", "2 receivers"]),
    ] {
        edison_run(&[&[capture], arguments].concat()).says(2, words);
    }
}

#[test]
fn values_that_cannot_be_are_wrong_usage() {
    for (arguments, words) in [
        (&["--design", "rsss"][..], &["rss, sync, async, pipeline, cooperative, or NxM"][..]),
        (&["--split", "flow"], &["by hash or by position"]),
        (&["--state", "common"], &["separate or shared"]),
        (&["--design", "0x1"], &["1 to 1024 threads"]),
        (&["--design", "100x100"], &["1 to 1024 threads"]),
        (&["--cores", "0"], &["at least one core"]),
        (&["--cores", "one"], &["a number (4) or a list (0,2-3)"]),
        (&["--cores", "0,0-1"], &["twice"]),
        (&["--wire", "rate=1Mpps,ring=1000"], &["power of two", "1024"]),
        (&["--wire", "rate=1"], &["rate"]),
        (&["--wire", "queues=0"], &["from 1 to 128"]),
        (&["--wire", "speed=1Mpps"], &["unknown key"]),
        (&["--wire", "ring=2048"], &["needs a rate"]),
    ] {
        let ended = edison_run(&[&["--synthetic", "packets=10"], arguments].concat()).expect(2);
        let is_said = ended.stderr.lines().any(|line| words.iter().all(|word| line.contains(word)));
        assert!(is_said, "{arguments:?}: no line with {words:?} in\n{}", ended.stderr);
        assert_eq!(ended.stdout, "");
    }
}

/// Packets before the damage are measured; what follows it is reported.
#[test]
fn a_damaged_capture_on_a_wire_ends_with_a_report() {
    let scratch = Scratch::new();
    let whole = std::fs::read(capture(&scratch)).expect("written");
    let (cut, path) = (scratch.path("cut.pcap"), scratch.path("report.json"));
    let report_of = |arguments: &[&str]| {
        let mut command = edison();
        command.args(["run", "--memory", "512MiB"]).arg(&cut).args(arguments).arg("--report").arg(&path);
        let ended = run(&mut command).expect(3);
        (output::report(&path), ended)
    };
    std::fs::write(&cut, &whole[..whole.len() / 2]).expect("written");
    let (without, _) = report_of(&[]);
    let received = number(&without["packets"]["received"]);
    assert!((5_000..15_000).contains(&received));
    for wire in ["", "queues=2", "rate=500kpps"] {
        let (report, ended) = report_of(&["--wire", wire]);
        assert_eq!(number(&report["wire"]["offered"]), received, "{wire}");
        assert_eq!(number(&report["packets"]["received"]) + total(&report["loss"]), received, "{wire}");
        assert_eq!(report["faults"], without["faults"], "{wire}");
        assert_eq!(report["faults"].as_array().map(Vec::len), Some(1), "{wire}: {}", ended.stderr);
    }
    // Not even a header: nothing arrives, and it is reported.
    std::fs::write(&cut, &whole[..10]).expect("written");
    let (report, _) = report_of(&["--wire", "rate=1Mpps"]);
    assert_eq!(number(&report["packets"]["received"]), 0);
    assert!(report["source"].as_str().is_some_and(|name| name.ends_with("cut.pcap")), "{}", report["source"]);
}

#[test]
fn a_wire_around_something_live_is_wrong_usage() {
    edison_run(&["-i", "lo", "--wire", "rate=1Mpps"]).expect(2);
}

/// Packets of a flow have one hash, whatever is hashed: each record is whole on some core.
#[test]
fn the_same_records_whatever_chooses_the_queue() {
    let scratch = Scratch::new();
    let capture = capture(&scratch);
    let (records, _) = measure(&scratch, &capture, &[]);
    let two = ["--wire", "queues=2"];
    for hash in [
        &["--rss", "src_addr+dst_addr"][..],
        &["--rss", "src_addr"],
        &["--rss", "dst_addr+dst_port"],
        &["--rss", "src_port+dst_port"],
        &["--rss-key", "6d5a56da255b0ec24167253d43a38fb0d0ca2bcbae7b30b477cb2da38030f20c6a42b73bbeac01fa"],
        &["--rss", "src_addr+dst_addr", "--rss-key", "0102030405"],
    ] {
        let (found, report) = measure(&scratch, &capture, &[&two, hash].concat());
        assert!(found == records, "{hash:?}");
        assert_eq!(number(&report["design"]["receivers"]), 2, "{hash:?}");
        assert_eq!(number(&report["wire"]["delivered"]), 20_000, "{hash:?}");
    }
    // A key that has what is hashed stays on one core, too.
    for (key, fields) in [("src_addr", "src_addr"), ("dst_addr,src_addr", "src_addr+dst_addr")] {
        let keyed = ["--key", key];
        let (records, _) = measure(&scratch, &capture, &keyed);
        let (found, _) = measure(&scratch, &capture, &[&two, &["--rss", fields], &keyed[..]].concat());
        assert!(records.len() > 10 && found == records, "{key}");
    }
    // Both directions of a connection meet by addresses, and by this key.
    let (losses, _) = measure(&scratch, &capture, &["--loss"]);
    for hash in [&["--rss", "src_addr+dst_addr"][..], &["--rss-key", "c3a1"]] {
        let (found, _) = measure(&scratch, &capture, &[&two, hash, &["--loss"]].concat());
        assert!(found == losses, "{hash:?}");
    }
}

#[test]
fn a_hash_that_does_not_keep_what_is_asked_for_together_is_refused() {
    let spec = ["--synthetic", "packets=10"];
    let two = ["--wire", "queues=2"];
    let apart = &["--loss and --biflow", "different queues", "--design async"][..];
    for (arguments, words) in [
        (&["--rss", "src_addr", "--loss"][..], apart),
        (&["--rss", "src_addr+dst_addr+dst_port", "--biflow"], apart),
        (&["--rss-key", "0102030405060708", "--loss"], apart),
        (
            &["--rss", "src_addr+dst_addr", "--key", "src_addr"],
            &["--key", "chosen by dst_addr,", "2 receivers"],
        ),
        (
            &["--rss", "src_addr+dst_addr", "--key", "src_addr/24,dst_addr"],
            &["--key", "chosen by src_addr,", "2 receivers"],
        ),
        // Without the protocol a key does not tell whether ports were hashed.
        (
            &["--rss", "src_addr+src_port", "--key", "src_addr,src_port"],
            &["--key", "chosen by protocol,", "2 receivers"],
        ),
        (&["--rss", "vlan"], &["vlan is not hashed", "src_addr, dst_addr, src_port, dst_port"]),
        (&["--rss-key", "6d5"], &["3 hexadecimal digits"]),
        (&["--rss-key", "00"], &["zeros"]),
    ] {
        edison_run(&[&spec[..], &two, arguments].concat()).says(2, words);
    }
    for arguments in [&["--rss", "src_addr"][..], &["--rss-key", "6d5a", "--wire", ""]] {
        edison_run(&[&spec[..], arguments].concat()).says(2, &[arguments[0], "--wire queues=N"]);
    }
    // With one receiver there is nothing to keep together.
    let one = ["--rss", "src_addr", "--loss", "--design", "async"];
    edison_run(&[&spec[..], &["--wire", "rate=1Mpps,queues=2"], &one].concat()).expect(0);
}

/// The steps of each design, with what they add up to, and that they change no record.
#[test]
fn steps_of_a_packet_are_reported() {
    let scratch = Scratch::new();
    let capture = capture(&scratch);
    let (records, without) = measure(&scratch, &capture, &[]);
    assert_eq!(without["steps"], Value::Null);
    for (arguments, threads, hands_over) in [
        (&[][..], 1, false),
        (&["--design", "async"], 2, true),
        (&["--design", "sync"], 2, true),
        (&["--design", "cooperative"], 1, false),
        (&["--wire", "queues=2"], 2, false),
        (&["--wire", "queues=2", "--design", "2x1"], 4, true),
    ] {
        let (found, report) = measure(&scratch, &capture, &[arguments, &["--steps"]].concat());
        assert!(found == records, "{arguments:?}");
        let steps = &report["steps"];
        let ns = |name: &str| steps[name].as_f64().expect(name);
        let parts = ["receive_ns", "parse_ns", "hand_over_ns", "processing_ns", "free_ns"].map(ns);
        assert!((parts.iter().sum::<f64>() - ns("delay_ns")).abs() < 0.1, "{steps}");
        assert!(parts[1] > 0.0 && parts[3] > 0.0, "{arguments:?}: {steps}");
        assert!(hands_over || parts[2] == 0.0, "{arguments:?}: {steps}");
        let timed = number(&steps["timed_packets"]);
        assert!((1..20_000).contains(&timed), "{steps}");
        assert!((0.0..100.0).contains(&ns("cost_percent")) && number(&steps["one_of"]) == 64, "{steps}");
        let listed = steps["threads"].as_array().expect("a list");
        assert_eq!(listed.len(), threads, "{arguments:?}");
        let of_role = |role: &str| {
            let threads = listed.iter().filter(|thread| thread["role"] == role);
            threads.map(|thread| number(&thread["packets"])).sum::<u64>()
        };
        assert_eq!(of_role("receiver"), 20_000, "{arguments:?}");
        let measured = number(&report["packets"]["measured"]);
        assert_eq!(of_role("worker"), if hands_over { measured } else { 0 }, "{arguments:?}");
    }
    let (_, report) = measure(&scratch, &capture, &["--steps", "--wire", "rate=100kpps,ring=64"]);
    let (received, lost) = (number(&report["packets"]["received"]), total(&report["loss"]));
    let drops = report["steps"]["drop_percent"].as_f64().expect("a wire counts its losses");
    assert!((drops - 100.0 * lost as f64 / (received + lost) as f64).abs() < 1e-9, "{drops}");
    let capture = capture.to_str().expect("UTF-8");
    let ended = edison_run(&[capture, "--steps"]).expect(0);
    for words in ["steps     ", "(PPT)", "(PDR)", "one burst in 64"] {
        assert!(ended.stdout.contains(words), "{words}: {}", ended.stdout);
    }
}

#[test]
fn a_preset_is_a_papers_settings_where_nothing_else_is_given() {
    let scratch = Scratch::new();
    let capture = capture(&scratch);
    let file = scratch.path("edison.toml");
    std::fs::write(&file, "preset = \"ares\"\n").expect("written");
    let file = file.to_str().expect("UTF-8");
    let (records, _) = measure(&scratch, &capture, &[]);
    for (arguments, design, receivers) in [
        (&["--preset", "wu", "--cores", "1"][..], "rss", 1),
        (&["--preset=ares", "--cores", "1", "--wire", "queues=3"], "3x1", 3),
        (&["--config", file, "--cores", "1", "--wire", "queues=3"], "3x1", 3),
        (&["--config", file, "--preset", "wu", "--cores", "1"], "rss", 1),
        (&["--preset", "flowatcher", "--cores", "1", "--design", "cooperative"], "cooperative", 1),
    ] {
        let (found, report) = measure(&scratch, &capture, arguments);
        assert!(found == records, "{arguments:?}");
        assert_eq!(report["design"]["name"], design, "{arguments:?}");
        assert_eq!(number(&report["design"]["receivers"]), receivers, "{arguments:?}");
    }
    edison_run(&["t.pcap", "--preset", "we"]).says(2, &["no preset 'we'", "wu, ares, flowatcher"]);
}

/// A capture has one queue, and a machine may have fewer cores than the paper's: the same records, with a remark.
#[test]
fn a_preset_takes_the_cores_and_the_queues_that_there_are() {
    let scratch = Scratch::new();
    let capture = capture(&scratch);
    let (records, _) = measure(&scratch, &capture, &[]);
    for preset in ["wu", "ares", "flowatcher"] {
        let (found, report) = measure(&scratch, &capture, &["--preset", preset]);
        assert!(found == records, "{preset}");
        assert_eq!(number(&report["design"]["receivers"]), 1, "{preset}");
        let why = report["design"]["why"].as_str().expect("a text");
        assert!(why.starts_with(&format!("--preset {preset} is ")) && why.ends_with("and 1 queue"), "{why}");
        let ended = edison_run(&[capture.to_str().expect("UTF-8"), "--preset", preset]).expect(0);
        let remark = ended.stderr.lines().find(|line| line.contains(why)).expect("a remark");
        assert!(remark.contains("thread") && remark.contains("--wire queues="), "{remark}");
        // Each queue of a replay has a receiver, whatever the cores.
        let queues = report["design"]["why"].as_str().and_then(|why| why.split(" queues").next());
        let queues = queues.and_then(|why| why.rsplit(' ').next()).expect("a number");
        let (found, report) =
            measure(&scratch, &capture, &["--preset", preset, "--wire", &format!("queues={queues}")]);
        assert!(found == records, "{preset} with {queues} queues");
        assert_eq!(number(&report["design"]["receivers"]).to_string(), queues, "{preset}");
        assert_eq!(report["design"]["workers"], u64::from(preset != "wu"), "{preset}");
    }
}
