//! `edison bench accuracy`: what it accepts, and that each answer of it is compared.

use crate::support::program::{edison, run};
use crate::support::scratch::Scratch;
use serde_json::Value;

const FEW: [&str; 6] = ["--packets", "2k", "--seconds", "0.1", "--zipf", "1"];

#[test]
fn a_captures_flows_are_measured_by_every_structure() {
    let scratch = Scratch::new();
    let capture = scratch.path("t.pcap");
    run(edison().arg("generate").arg(&capture).arg("packets=6k,flows=500,ipv6=30%,plant=scan:targets=50"))
        .expect(0);
    let bench = || {
        let mut command = edison();
        command.args(["bench", "accuracy"]).arg(&capture).args(FEW);
        command
    };
    let lines = run(bench().arg("--json")).expect(0).stdout;
    let lines: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let tasks: std::collections::BTreeSet<_> =
        lines.iter().map(|line| line["params"]["task"].to_string()).collect();
    assert_eq!(tasks.len(), 8, "{tasks:?}");
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
    let scratch = Scratch::new();
    let missing = scratch.path("missing.pcap");
    run(edison().args(["bench", "accuracy"]).arg(&missing)).says(2, &["missing.pcap"]);
    run(edison().args(["bench", "table"]).arg(&missing)).says(2, &["missing.pcap", "accuracy"]);
    run(edison().args(["bench", "table", "--markdown"])).says(2, &["--markdown", "accuracy"]);
    run(edison().args(["bench", "accuracy", "--markdown", "--json"])).expect(2);
    let foreign = scratch.path("foreign.pcap");
    std::fs::write(&foreign, "no capture").expect("a file");
    run(edison().args(["bench", "accuracy"]).arg(&foreign)).says(2, &["foreign.pcap"]);
}
