//! Bad input and early ends: the exit code, one line that explains what is wrong, and a report of what was
//! measured.

use crate::support::capture::{self, ETHERNET, Frame};
use crate::support::output::{self, number};
use crate::support::program::{Ended, Running, edison, run};
use crate::support::scratch::{Scratch, text};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io::Write;
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Stdio};
use testbed::veth::{Veth, with_veth};

const START: u64 = 1_700_000_000_000_000_000;

/// `edison run` with these arguments.
fn measure(arguments: &[&str]) -> Ended {
    run(edison().arg("run").args(arguments))
}

/// `edison run FILE` with a report, which must have this many measured and received frames.
#[track_caller]
fn measure_file(scratch: &Scratch, name: &str, content: &[u8], measured: u64, received: u64) -> Ended {
    let path = scratch.file(name, content);
    let report = scratch.path("report.json");
    let ended = run(edison().arg("run").arg(&path).arg("--report").arg(&report));
    expect_report(&report, measured, received);
    ended
}

#[track_caller]
fn expect_report(path: &Path, measured: u64, received: u64) -> serde_json::Value {
    let report = output::report(path);
    let packets = &report["packets"];
    assert_eq!(
        (number(&packets["measured"]), number(&packets["received"])),
        (measured, received),
        "{packets}"
    );
    report
}

#[test]
fn what_is_not_there_is_wrong_usage() {
    let scratch = Scratch::new();
    measure(&["missing.pcap"]).says(2, &["missing.pcap", "no such file"]);
    measure(&[text(scratch.as_ref())]).says(2, &["directory"]);
    measure(&[]).says(2, &["nothing to measure"]);
    let good = scratch.file("good.pcap", capture::pcap(ETHERNET, &capture::udp_frames(1, START)));
    measure(&[text(&good), "missing.pcap"]).says(2, &["missing.pcap"]);
    measure(&[text(&good), "--flows", "/nonexistent/f.csv"]).says(2, &["/nonexistent/f.csv"]);
    measure(&[text(&good), "--report", "/nonexistent/r.json"]).says(2, &["/nonexistent/r.json"]);
    measure(&[text(&good), "--report", text(scratch.as_ref())]).says(2, &["directory"]);
}

#[test]
fn wrong_options_are_wrong_usage() {
    let scratch = Scratch::new();
    let good = scratch.file("good.pcap", capture::pcap(ETHERNET, &capture::udp_frames(10, START)));
    let good = text(&good);
    measure(&[good, "tcp prot 80"]).says(2, &["tcp prot 80", "filter"]);
    measure(&[good, "--flows", text(&scratch.path("f.txt"))]).says(2, &["suffix", ".csv"]);
    measure(&[good, "--flows", text(&scratch.path("f.csv")), "--fields", "src_adr"])
        .says(2, &["src_adr", "src_addr"]);
    measure(&[good, "--memory", "1M"]).says(2, &["--memory"]);
    measure(&["--synthetic", "packts=1"]).says(2, &["packts", "packets"]);
    for bad in
        [["--evry", "1s"], ["--every", "0s"], ["--burst", "0"], ["--packets", "1x"], ["--tunnel", "both"]]
    {
        let ended = measure(&[&[good][..], &bad].concat()).expect(2);
        assert!(ended.stderr.contains(bad[0]) && ended.stdout.is_empty(), "{}", ended.stderr);
    }
    assert!(!scratch.path("f.csv").exists() && !scratch.path("f.csv.part").exists());
}

#[test]
fn queues_without_a_port_are_refused_for_that_alone() {
    let scratch = Scratch::new();
    let good = scratch.file("good.pcap", capture::pcap(ETHERNET, &capture::udp_frames(10, START)));
    let flows = scratch.path("f.csv");
    for more in [&["--gap", "mean"][..], &["--key", "dst_addr"], &["--packets", "5"], &["--tee", "50%"]] {
        let arguments = [&[text(&good), "--flows", text(&flows), "--queues", "2"], more].concat();
        let ended = measure(&arguments).says(2, &["--queues is for DPDK ports"]);
        assert_eq!(ended.stderr.lines().count(), 1, "{}", ended.stderr);
    }
}

#[test]
fn a_run_that_is_refused_leaves_nothing() {
    let scratch = Scratch::new();
    let good = scratch.file("good.pcap", capture::pcap(ETHERNET, &capture::udp_frames(10, START)));
    let foreign = scratch.file("foreign.pcap", "no capture at all, but some text that is long enough");
    let (good, foreign) = (text(&good), text(&foreign));
    let names = ["store/s", "flows.parquet", "rows.parquet", "report.json", "captures"];
    let [store, flows, rows, report, captures] = names.map(|name| scratch.path(name).display().to_string());
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let web = taken.local_addr().expect("an address").to_string();
    let outputs = ["--store", &store, "--flows", &flows, "--rows", &rows, "--report", &report];
    let (a, b) = (format!("A={good}"), format!("B={good}"));
    let missing = text(&scratch.path("missing.pcap")).to_owned();
    let refused: [(&[&str], &str); 7] = [
        (&[&missing], "no such file"),
        (&[good, &missing], "missing.pcap"),
        (&[foreign], "foreign.pcap"),
        (&[good, "tcp prot 80"], "tcp prot 80"),
        (&[&a, &b, "tcp prot 80"], "tcp prot 80"),
        (&[good, "--web", &web], "--web"),
        (&[good, "--captures", good], "--captures"),
    ];
    let left = || files(scratch.as_ref());
    let before = left();
    for (arguments, says) in refused {
        measure(&[&outputs[..], arguments].concat()).says(2, &[says]);
        assert_eq!(left(), before, "{arguments:?}");
        measure(&[&["--captures", &captures][..], &outputs[..2], arguments].concat()).expect(2);
        assert_eq!(left(), before, "{arguments:?}");
    }
    // Of several outputs one cannot be made.
    for wrong in [["--flows", "/nonexistent/f.csv"], ["--rows", "rows.csv"], ["--store", good]] {
        let others = outputs.chunks(2).filter(|output| output[0] != wrong[0]).flatten().copied();
        let arguments: Vec<&str> = others.chain(wrong).chain([good]).collect();
        measure(&arguments).says(2, &[wrong[1]]);
        assert_eq!(left(), before, "{wrong:?}");
    }
    measure(&[&outputs[..], &[good]].concat()).expect(0);
    let kept = left();
    assert_eq!(kept.len(), before.len() + 4, "{kept:?}");
    // A store that is there stays as it is.
    measure(&["--store", &store, good, "tcp prot 80"]).says(2, &["tcp prot 80"]);
    measure(&["--store", &store, good]).expect(0);
}

/// The names in a folder.
fn files(folder: &Path) -> BTreeSet<OsString> {
    let entries = std::fs::read_dir(folder).expect("a folder");
    entries.map(|entry| entry.expect("an entry").file_name()).collect()
}

#[test]
fn a_wrong_configuration_file_says_where() {
    let scratch = Scratch::new();
    let good = scratch.file("good.pcap", capture::pcap(ETHERNET, &capture::udp_frames(10, START)));
    let with = |content: &str| {
        let file = scratch.file("edison.toml", content);
        measure(&[text(&good), "--config", text(&file)])
    };
    with("evry = \"1s\"").says(2, &["edison.toml", "'evry'", "'every'"]);
    with("top = 3\nevery = [").says(2, &["edison.toml", "line 2"]);
    with("[run]\ntop = 3").says(2, &["edison.toml", "'run'"]);
    with("memory = [\"1G\", \"2G\"]").says(2, &["edison.toml", "'memory' takes one value, not a list"]);
    with("query = { a = \"select count(*)\" }").says(2, &["edison.toml", "'query' has no names"]);
    with("every = { a = 1 }").says(2, &["edison.toml", "'every' has no names"]);
    with("top = 3").expect(0);
    measure(&[text(&good), "--config", "/nonexistent.toml"]).says(2, &["/nonexistent.toml"]);
}

#[test]
fn files_that_are_no_captures() {
    let scratch = Scratch::new();
    measure_file(&scratch, "empty.pcap", b"", 0, 0).says(3, &["empty.pcap", "it is empty", "byte 0"]);
    let foreign = scratch.file("foreign.pcap", b"#!/bin/sh\nexit 0\n");
    measure(&[text(&foreign)]).says(2, &["not a capture file", "23 21"]);
    // A file header and nothing else is a capture of no packets.
    measure_file(&scratch, "none.pcap", &capture::pcap(ETHERNET, &[]), 0, 0).expect(0);
    measure_file(&scratch, "none.pcapng", &capture::pcapng(&[]), 0, 0).expect(0);
}

#[test]
fn damaged_captures_are_measured_up_to_the_damage() {
    let scratch = Scratch::new();
    let frames = capture::udp_frames(1000, START);
    // Each record has 16 + 60 bytes after the first 24: byte 40,000 lies in the one that begins at 24 + 76 ×
    // 526 = 40,000.
    let pcap = capture::pcap(ETHERNET, &frames);
    let cut = measure_file(&scratch, "cut.pcap", &pcap[..40_010], 526, 526);
    cut.says(3, &["cut.pcap", "cut short", "at byte 40000"]);
    // 28 bytes of section, 32 of interface, then blocks of 32 + 60.
    let pcapng = capture::pcapng(&frames);
    assert_eq!(pcapng.len(), 28 + 32 + 92 * frames.len());
    let cut = measure_file(&scratch, "cut.pcapng", &pcapng[..28 + 32 + 92 * 100 + 50], 100, 100);
    cut.says(3, &["cut.pcapng", "cut short", "at byte 9260"]);
    // A captured length that no frame has.
    let mut absurd = pcap.clone();
    absurd[24 + 76 * 10 + 8..][..4].copy_from_slice(&u32::MAX.to_le_bytes());
    measure_file(&scratch, "absurd.pcap", &absurd, 10, 10).says(3, &["absurd.pcap", "at byte 784"]);
    // What remains of a compressed file gives a part of the frames, each whole.
    for (program, suffix) in [("gzip", "gz"), ("zstd", "zst")] {
        let whole = scratch.file("whole.pcap", &pcap);
        let Ok(packed) = Command::new(program).arg("-c").arg(&whole).output() else {
            eprintln!("skipped: {program} is not installed");
            continue;
        };
        let name = format!("cut.pcap.{suffix}");
        measure_file(&scratch, &name, &packed.stdout, 1000, 1000).expect(0);
        let path = scratch.file(&name, &packed.stdout[..packed.stdout.len() / 2]);
        let report = scratch.path("report.json");
        let ended = run(edison().arg("run").arg(&path).arg("--report").arg(&report));
        ended.says(3, &[&name, program, "cut short", "at byte"]);
        let report = output::report(&report);
        assert!(number(&report["packets"]["measured"]) < 1000);
        assert_eq!(report["packets"]["measured"], report["packets"]["received"]);
    }
}

#[test]
fn an_unsupported_link_type_is_a_warning() {
    let scratch = Scratch::new();
    // LINKTYPE_USB_LINUX.
    let bytes = capture::pcap(189, &capture::udp_frames(5, START));
    let ended = measure_file(&scratch, "usb.pcap", &bytes, 0, 5).says(0, &["usb.pcap", "link type", "189"]);
    assert!(ended.stdout.contains("link_type"), "{}", ended.stdout);
}

#[test]
fn frames_of_every_odd_length_have_a_name() {
    let scratch = Scratch::new();
    let whole = capture::udp(1);
    // The frame states 46 bytes of IP: what is shorter than 14 + 46 on the wire lies.
    let mut frames: Vec<Frame> =
        (0..=60).map(|n| Frame { time_ns: START + n as u64, data: whole[..n].to_vec() }).collect();
    frames.push(Frame { time_ns: START, data: [&whole[..], &vec![0; 65_535 - 60]].concat() });
    let received = frames.len() as u64;
    measure_file(&scratch, "lengths.pcap", &capture::pcap(ETHERNET, &frames), 2, received).expect(0);
}

#[test]
fn times_that_run_backwards_are_counted() {
    let scratch = Scratch::new();
    const SECOND: u64 = 1_000_000_000;
    let times = [0, 5 * SECOND, 2 * SECOND, 5 * SECOND, 100_000_000 * SECOND, 0];
    let frames = times.map(|time| Frame { time_ns: START + time, data: capture::udp(1) });
    let bytes = capture::pcap(ETHERNET, &frames);
    measure_file(&scratch, "times.pcap", &bytes, 6, 6).expect(0);
    let report = output::report(&scratch.path("report.json"));
    let remarks = &report["packets"]["remarks"];
    assert_eq!((number(&remarks["time_backwards"]), number(&remarks["time_ahead"])), (2, 1));
    // One frame alone does not move stream time by years.
    let ended = START + 5 * SECOND;
    assert_eq!((output::time(&report["started"]), output::time(&report["ended"])), (START, ended));
}

#[test]
fn several_files_are_one_run() {
    let scratch = Scratch::new();
    let one = scratch.file("one.pcap", capture::pcap(ETHERNET, &capture::udp_frames(100, START)));
    let two = scratch.file("two.pcapng", capture::pcapng(&capture::udp_frames(50, START + 1_000_000_000)));
    let empty = scratch.file("empty.pcap", "");
    let report = scratch.path("report.json");
    let all = [text(&one), text(&two), "--report", text(&report)];
    measure(&all).expect(0);
    expect_report(&report, 150, 150);
    // One of them is bad: the others are measured all the same.
    measure(&[&[text(&empty)], &all[..]].concat()).says(3, &["empty.pcap"]);
    expect_report(&report, 150, 150);
    measure(&[&all[..2], &["udp src port 1003"], &all[2..]].concat()).expect(0);
    let filtered = expect_report(&report, 14 + 7, 150);
    assert_eq!(number(&filtered["packets"]["not_measured"]["filter"]), 150 - 21);
}

#[test]
fn packets_and_duration_end_a_capture_to_the_frame() {
    let scratch = Scratch::new();
    let file = scratch.file("file.pcap", capture::pcap(ETHERNET, &capture::udp_frames(5000, START)));
    let report = scratch.path("report.json");
    let with = |option: &[&str]| {
        measure(&[&[text(&file), "--report", text(&report)], option].concat()).expect(0);
    };
    with(&["--packets", "1234"]);
    expect_report(&report, 1234, 1234);
    // A frame a millisecond: the one at 777 ms is no longer in it.
    with(&["--duration", "777ms"]);
    expect_report(&report, 777, 777);
    with(&["--duration", "777ms", "--every", "100p"]);
    expect_report(&report, 777, 777);
    with(&["--duration", "1h"]);
    expect_report(&report, 5000, 5000);
}

#[test]
fn standard_input_is_a_source() {
    let scratch = Scratch::new();
    let report = scratch.path("report.json");
    let mut command = edison();
    command.args(["run", "-", "--report", text(&report)]).stdin(Stdio::piped());
    let mut running = Running::start(&mut command);
    let mut stdin = running.child.stdin.take().expect("piped");
    stdin.write_all(&capture::pcap(ETHERNET, &capture::udp_frames(3000, START))).expect("it reads");
    drop(stdin);
    running.wait().expect(0);
    let report = expect_report(&report, 3000, 3000);
    assert_eq!(report["source"], "-");
}

#[test]
fn a_pipe_that_falls_silent() {
    let scratch = Scratch::new();
    let report = scratch.path("report.json");
    let flows = scratch.path("flows.csv");
    let mut command = edison();
    command.args([
        "run",
        "-",
        "--json",
        "--every",
        "1kp",
        "--report",
        text(&report),
        "--flows",
        text(&flows),
    ]);
    let bytes = capture::pcap(ETHERNET, &capture::udp_frames(3000, START));

    // It ends by itself as configured.
    let mut waiting = Running::start(command.arg("--idle-exit").arg("200ms").stdin(Stdio::piped()));
    let mut stdin = waiting.child.stdin.take().expect("piped");
    stdin.write_all(&bytes).expect("it reads");
    waiting.wait().expect(0);
    expect_report(&report, 3000, 3000);
    drop(stdin);

    // By Ctrl-C otherwise. Windows that are over are shown although no further frame comes.
    let mut command = edison();
    command.args([
        "run",
        "-",
        "--json",
        "--every",
        "1kp",
        "--report",
        text(&report),
        "--flows",
        text(&flows),
    ]);
    let mut running = Running::start(command.stdin(Stdio::piped()));
    let mut stdin = running.child.stdin.take().expect("piped");
    stdin.write_all(&bytes).expect("it reads");
    assert!(running.wait_for("three windows", |it| {
        output::windows_so_far(it.lines().iter().map(String::as_str)).len() == 3
    }));
    running.signal(libc::SIGINT);
    running.wait().says(3, &["stopped before the end"]);
    expect_report(&report, 3000, 3000);
    assert_eq!(output::one_record_per_key(&output::records(&flows)).len(), 7);
    drop(stdin);
}

#[test]
fn a_reader_that_has_seen_enough_is_no_fault() {
    let scratch = Scratch::new();
    let file = scratch.file("file.pcap", capture::pcap(ETHERNET, &capture::udp_frames(5000, START)));
    let program = env!("CARGO_BIN_EXE_edison");
    let script = format!("{{ {program} run {} --json --every 5p; echo $? >&2; }} | head -1", text(&file));
    let ended = run(Command::new("sh").args(["-c", &script])).expect(0);
    assert_eq!(output::windows(ended.stdout.lines()).len(), 1);
    let code = ended.stderr.lines().last().expect("the exit code");
    assert!(matches!(code, "0" | "3"), "{}", ended.stderr);
    assert!(!ended.stderr.contains("error") && !ended.stderr.contains("pipe"), "{}", ended.stderr);
}

#[test]
fn a_full_disk_keeps_whole_records() {
    let scratch = Scratch::new();
    let generated = capture::generate(&scratch, "packets=20k,flows=10k,zipf=uniform");
    let small = scratch.path("small");
    std::fs::create_dir(&small).expect("a new directory");
    let kept = scratch.path("kept.csv");
    let report = scratch.path("report.json");
    // The small disk is in a mount namespace that goes with its shell.
    let script = r#"mount -t tmpfs -o size=128k none "$1" || exit 77
        "$2" run "$3" --flows "$1/f.csv" --report "$4"; code=$?
        cp "$1/f.csv.part" "$5"; exit $code"#;
    let mut command = Command::new("unshare");
    command.args(["--mount", "--propagation", "private", "sh", "-c", script, "sh"]);
    command.args([
        text(&small),
        env!("CARGO_BIN_EXE_edison"),
        text(&generated.path),
        text(&report),
        text(&kept),
    ]);
    let ended = run(&mut command);
    if ended.code == Some(77) || ended.stderr.contains("unshare") {
        eprintln!("skipped: mounting takes root: {}", ended.stderr.trim_end());
        return;
    }
    let ended = ended.says(1, &["f.csv.part", "No space left"]);
    let text = std::fs::read_to_string(&kept).expect("it was copied");
    assert!(text.ends_with('\n'));
    let whole = output::parse_records(&text);
    assert!(!whole.is_empty());
    assert!(
        ended.stderr.contains(&format!("{} records were written whole", whole.len())),
        "{}",
        ended.stderr
    );
    let sent = capture::flows(&generated.frames);
    for (key, count) in output::one_record_per_key(&whole) {
        assert_eq!(sent[&key], count);
    }
    let flows = &expect_report(&report, 20_000, 20_000)["flows"];
    assert_eq!(number(&flows["exported"]) + number(&flows["dropped"]), sent.len() as u64);
    assert_eq!(number(&flows["exported"]), whole.len() as u64, "{flows}");
}

#[test]
fn a_device_is_written_and_not_replaced() {
    use std::os::unix::fs::FileTypeExt;
    let scratch = Scratch::new();
    let good = scratch.file("good.pcap", capture::pcap(ETHERNET, &capture::udp_frames(10, START)));
    measure(&[text(&good), "--flows", "/dev/full"]).says(1, &["/dev/full", "No space left"]);
    // By a link, so that a mistake here costs the machine nothing.
    let link = scratch.path("full");
    std::os::unix::fs::symlink("/dev/full", &link).expect("a link");
    measure(&[text(&good), "--report", text(&link)]).says(1, &["full", "No space left"]);
    assert!(std::fs::metadata(&link).expect("the link is there").file_type().is_char_device());
}

#[test]
fn rights_that_are_missing_are_named() {
    with_veth(|_| {
        // Where the program lies may be closed to others.
        let scratch = Scratch::new();
        let copy = scratch.path("edison");
        std::fs::copy(env!("CARGO_BIN_EXE_edison"), &copy).expect("a copy");
        let unprivileged = |source: &[&str]| {
            let mut command = Command::new("setpriv");
            command.args(["--reuid", "65534", "--regid", "65534", "--clear-groups"]);
            run(command.arg(&copy).arg("run").args(source))
        };
        unprivileged(&["-i", Veth::NEAR]).says(2, &["CAP_NET_RAW", "setcap"]);
        unprivileged(&["--port", "net_af_packet0,iface=near"]).says(2, &["net_af_packet0", "rights"]);
    });
}

#[test]
fn an_interface_that_vanishes_is_a_fault() {
    with_veth(|veth| {
        let (mut running, report) = live(&["--every", "50ms"]);
        (0..20).for_each(|n| veth.send(&capture::udp(n)));
        let frames = |it: &Running| -> u64 {
            let windows = output::windows_so_far(it.lines().iter().map(String::as_str));
            windows.iter().map(|window| number(&window.packets()["received"])).sum()
        };
        assert!(running.wait_for("the frames", |it| frames(it) == 20));
        veth.vanish();
        running.wait().says(1, &["'near'"]);
        expect_report(&report.path("report.json"), 20, 20);
    });
}

#[test]
fn an_interface_that_is_not_there_is_wrong_usage() {
    with_veth(|_| {
        measure(&["-i", "nosuch0"]).says(2, &["'nosuch0'", "none of this name", Veth::NEAR]);
    });
}

#[test]
fn a_live_source_ends_well() {
    with_veth(|_| {
        let (mut running, report) = live(&["--every", "50ms"]);
        running.signal(libc::SIGINT);
        running.wait().expect(0);
        expect_report(&report.path("report.json"), 0, 0);

        let (running, report) = live(&["--every", "50ms", "--duration", "300ms"]);
        running.wait().expect(0);
        let report = expect_report(&report.path("report.json"), 0, 0);
        let length = output::time(&report["ended"]) - output::time(&report["started"]);
        assert!(length >= 300_000_000, "{length} ns");

        let (running, report) = live(&["--every", "50ms", "--idle-exit", "300ms"]);
        running.wait().expect(0);
        expect_report(&report.path("report.json"), 0, 0);
    });
}

/// A run on the veth pair that has begun to measure, and where its report is.
fn live(options: &[&str]) -> (Running, Scratch) {
    let scratch = Scratch::new();
    let report = scratch.path("report.json");
    let mut command = edison();
    command.args(["run", "-i", Veth::NEAR, "--json", "--report", text(&report)]).args(options);
    let mut running = Running::start(&mut command);
    assert!(running.wait_for("the first window", |it| !it.lines().is_empty()));
    (running, scratch)
}
