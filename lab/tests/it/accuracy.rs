//! `edison-lab bench accuracy`: what it accepts, and that each answer of it is compared.

use crate::program::{lab, run};
use port::CaptureWriter;
use serde_json::Value;
use std::path::Path;
use tempfile::tempdir;
use traffic::{Generator, TrafficSpec};

/// The link type of Ethernet in a capture.
const ETHERNET: u16 = 1;

const FEW: [&str; 6] = ["--packets", "2k", "--seconds", "0.1", "--zipf", "1"];

/// Writes a capture of generated traffic.
fn generate(path: &Path, spec: &str) {
    let mut generator = Generator::new(spec.parse::<TrafficSpec>().expect("a specification"));
    let mut frame = vec![0; generator.longest_capture()];
    let mut writer = CaptureWriter::create(path, ETHERNET, 65_535).expect("a file");
    while let Some(made) = generator.next_frame(&mut frame) {
        writer.write(made.time_ns, &frame[..made.captured as usize], made.wire_len).expect("written");
    }
    writer.finish().expect("written");
}

#[test]
fn a_captures_flows_are_measured_by_every_structure() {
    let scratch = tempdir().expect("a folder");
    let capture = scratch.path().join("t.pcap");
    generate(&capture, "packets=6k,flows=500,ipv6=30%,plant=scan:targets=50");
    let bench = || {
        let mut command = lab();
        command.args(["bench", "accuracy"]).arg(&capture).args(FEW);
        command
    };
    let lines = run(bench().arg("--json")).expect(0).stdout;
    let lines: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let tasks: std::collections::BTreeSet<_> =
        lines.iter().map(|line| line["params"]["task"].to_string()).collect();
    assert_eq!(tasks.len(), 10, "{tasks:?}");
    for line in &lines {
        let checked = if line["refused"].is_null() { true.into() } else { Value::Null };
        assert_eq!((&line["bench"], &line["checked"]), (&"accuracy".into(), &checked), "{line}");
        assert_eq!(
            (&line["params"]["stream"], &line["packets"]),
            (&"t.pcap".into(), &2_000.into()),
            "{line}"
        );
        let is_enough = line["params"]["memory"] == "2 MiB";
        if line["variant"] == "exact" && is_enough {
            for (measure, value) in
                [("f1", 1.0), ("coverage", 1.0), ("wmre", 0.0), ("relative_error", 0.0), ("rank_error", 0.0)]
            {
                assert!(line[measure].is_null() || line[measure] == value, "{measure}: {line}");
            }
        }
    }
    let page = run(bench().arg("--markdown")).expect(0).stdout;
    assert!(page.starts_with("### By skew: heavy hitters, 32 KiB") && page.contains("| exact |"), "{page}");
}

#[test]
fn what_cannot_be_measured_is_said_before_anything_is() {
    let scratch = tempdir().expect("a folder");
    let missing = scratch.path().join("missing.pcap");
    run(lab().args(["bench", "accuracy"]).arg(&missing)).says(2, &["missing.pcap"]);
    run(lab().args(["bench", "table"]).arg(&missing)).says(2, &["missing.pcap", "accuracy"]);
    run(lab().args(["bench", "table", "--markdown"])).says(2, &["--markdown", "accuracy"]);
    run(lab().args(["bench", "accuracy", "--markdown", "--json"])).expect(2);
    let foreign = scratch.path().join("foreign.pcap");
    std::fs::write(&foreign, "no capture").expect("a file");
    run(lab().args(["bench", "accuracy"]).arg(&foreign)).says(2, &["foreign.pcap"]);
}
