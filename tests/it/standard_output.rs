//! Exit codes of sources and outputs that give or take nothing, and standard output as a place to write to.

use crate::support::capture::{self, ETHERNET};
use crate::support::output::{self, number};
use crate::support::program::{call, edison};
use crate::support::scratch::{Scratch, text};
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::Stdio;

const START: u64 = 1_700_000_000_000_000_000;

#[test]
fn a_text_is_no_capture() {
    let scratch = Scratch::new();
    let text_file = scratch.file("notes.pcap", "These are notes.\n");
    let good = scratch.file("good.pcap", capture::pcap(ETHERNET, &capture::udp_frames(10, START)));
    let csv = scratch.path("flows.csv");
    call(&[text(&text_file)]).says(2, &["notes.pcap", "not a capture file"]);
    // Nothing is measured, nothing is written.
    let ended = call(&[text(&good), text(&text_file), "-w", text(&csv)])
        .says(2, &["notes.pcap", "not a capture file"]);
    assert!(ended.stdout.is_empty() && !csv.exists() && !scratch.path("flows.csv.part").exists());
    let file = std::fs::File::open(&text_file).expect("it was written");
    let ended = edison().arg("-").stdin(file).stdout(Stdio::null()).output().expect("the program starts");
    assert_eq!(ended.status.code(), Some(2), "{ended:?}");
}

#[test]
fn an_output_that_loses_everything_is_said() {
    let scratch = Scratch::new();
    let good = scratch.file("good.pcap", capture::pcap(ETHERNET, &capture::udp_frames(700, START)));
    // A port that was free a moment ago, and that has no listener.
    let port =
        std::net::TcpListener::bind("127.0.0.1:0").and_then(|it| it.local_addr()).expect("a port").port();
    let url = format!("ipfix://127.0.0.1:{port}?transport=tcp");
    let csv = scratch.path("flows.csv");
    let seven = "all of its 7 records were lost";
    call(&[text(&good), "--export", &url]).says(3, &[&url, seven]);
    call(&[text(&good), "--export", &url, "-w", text(&csv)]).says(3, &[&url, seven]);
    assert_eq!(output::records(&csv).len(), 7);
}

#[test]
fn reports_and_records_go_to_standard_output() {
    let scratch = Scratch::new();
    let frames = capture::udp_frames(700, START);
    let good = scratch.file("good.pcap", capture::pcap(ETHERNET, &frames));
    let good = text(&good);
    let report = call(&[good, "--report", "-"]).expect(0).stdout;
    let report: serde_json::Value = serde_json::from_str(&report).expect("the report alone");
    assert_eq!(number(&report["packets"]["measured"]), frames.len() as u64);
    // Behind the windows, in a line.
    let lines = call(&[good, "--report", "-", "--json", "--every", "100ms"]).expect(0).stdout;
    let lines: Vec<&str> = lines.lines().collect();
    let (last, windows) = lines.split_last().expect("lines");
    let report: serde_json::Value = serde_json::from_str(last).expect("the report");
    assert_eq!(number(&report["packets"]["measured"]), frames.len() as u64);
    assert_eq!(output::windows(windows.iter().copied()).len(), 7);
    // Answers of tasks are in it, though no window is shown.
    let report = call(&[good, "--report", "-", "--task", "entropy"]).expect(0).stdout;
    let report: serde_json::Value = serde_json::from_str(&report).expect("the report alone");
    assert!(output::list(&report["answers"]).iter().any(|answer| answer["query"] == "entropy"), "{report}");
    let csv = call(&[good, "--flows", "-"]).expect(0).stdout;
    assert_eq!(output::one_record_per_key(&output::parse_records(&csv)), capture::flows(&frames));
    call(&[good, "--flows", "-", "--report", "-"]).says(2, &["--flows -", "--report -"]);
    call(&[good, "--flows", "-", "--json"]).says(2, &["--flows -", "--json"]);
    assert!(!Path::new("-").exists());
}

/// Runs the program until its reader has read one line of what it says.
fn read_one_line(arguments: &[&str]) -> (Option<i32>, String) {
    let mut child = edison()
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut line = String::new();
    BufReader::new(child.stdout.take().expect("piped")).read_line(&mut line).expect("a line");
    assert!(!line.is_empty());
    let mut said = String::new();
    child.stderr.take().expect("piped").read_to_string(&mut said).expect("UTF-8");
    (child.wait().expect("own child").code(), said)
}

#[test]
fn a_reader_that_has_seen_enough_ends_the_run_quietly() {
    let scratch = Scratch::new();
    // Far more than a pipe and a reader hold: 3,000 windows, 21,000 records.
    let frames = capture::udp_frames(21_000, START);
    let good = scratch.file("good.pcap", capture::pcap(ETHERNET, &frames));
    let good = text(&good);
    let quiet = (Some(0), String::new());
    assert_eq!(read_one_line(&[good, "--json", "--every", "7ms"]), quiet);
    assert_eq!(read_one_line(&[good, "--every", "7ms"]), quiet);
    let records = ["--flows", "-", "--idle-timeout", "1ms"];
    assert_eq!(read_one_line(&[&[good][..], &records].concat()), quiet);
    assert_eq!(read_one_line(&[good]), quiet);
    assert_eq!(read_one_line(&["fields"]), quiet);
    // What a file lacks then is said.
    let csv = scratch.path("flows.csv");
    let (code, said) = read_one_line(&[good, "--json", "--every", "7ms", "-w", text(&csv)]);
    assert!(code == Some(3) && said.contains("stopped before the end"), "{code:?} {said}");
    // What the reader did not get is not counted as exported.
    let json = scratch.path("report.json");
    let (code, _) = read_one_line(&[&[good, "--report", text(&json)][..], &records].concat());
    let flows = output::report(&json)["flows"].clone();
    let [seen, exported, dropped] = ["seen", "exported", "dropped"].map(|name| number(&flows[name]));
    assert!(code == Some(3) && exported + dropped == seen, "{flows}");
    // A pipe and a reader hold some 100 KiB of lines, each of which has 50 bytes at least. How far the run comes before it notices
    // depends on the machine.
    assert!(exported < 4_000, "{flows}");
}
