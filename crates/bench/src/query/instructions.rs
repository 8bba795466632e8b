//! What ten queries cost the measuring core: the instructions of its thread, counted by callgrind over a replay on the software wire.

use crate::{Line, Points};
use serde_json::json;
use std::path::Path;
use std::process::{Command, Stdio};

/// The ten questions, as a user asks them, of windows that the run has.
const QUESTIONS: [&str; 10] = [
    "select addr, sum(total_byte) groupby addr order by sum(total_byte) desc limit 20",
    "select protocol, port, sum(total_byte) groupby protocol, port order by sum(total_byte) desc limit 20",
    "select protocol, sum(total_byte) groupby protocol",
    "select src_addr/24/64, sum(total_byte) groupby src_addr/24/64 order by sum(total_byte) desc limit 20",
    "select conversation, sum(total_byte) groupby conversation order by sum(total_byte) desc limit 20",
    "select dst_addr, count(src_addr) groupby dst_addr order by count(src_addr) desc limit 20",
    "select entropy(dst_port)",
    "select dst_addr, sum(total_byte) where dst_port in (80, 443) and total_byte > 1000 groupby dst_addr limit 20",
    "select protocol, sum(total_byte) / sum(total_count) groupby protocol",
    "select sum(total_count)",
];

/// Runs the program under callgrind, without and with the queries.
pub(super) fn run(points: &Points, out: &mut dyn FnMut(Line)) -> Result<(), String> {
    let has_callgrind = Command::new("valgrind").arg("--version").stdout(Stdio::null()).status().is_ok();
    if !has_callgrind {
        eprintln!("bench query: there is no valgrind: instructions_per_packet is left out");
        return Ok(());
    }
    // The program itself, unless a test runs this.
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let packets = points.packets.unwrap_or(1_000_000).max(1);
    let flows = points.flows.unwrap_or(50_000).clamp(1, packets);
    for queries in [0, QUESTIONS.len()] {
        let (instructions, received) = count(&program, packets, flows, &QUESTIONS[..queries])?;
        out(Line {
            bench: "query",
            variant: format!("queries_{queries}"),
            params: vec![("flows", json!(flows)), ("zipf", json!(1.0)), ("cores", json!(1))],
            packets,
            rounds_ns: Vec::new(),
            memory_bytes: None,
            checked: received == packets,
            more: vec![(
                "instructions_per_packet",
                json!((100.0 * instructions as f64 / packets as f64).round() / 100.0),
            )],
        });
        if received != packets {
            return Err(format!("{received} of {packets} packets were measured under callgrind"));
        }
    }
    Ok(())
}

/// The instructions of the measuring thread, which is the program's first, and the packets that it measured.
fn count(program: &Path, packets: u64, flows: u64, queries: &[&str]) -> Result<(u64, u64), String> {
    let directory = tempfile::tempdir().map_err(|error| format!("no place for temporary files: {error}"))?;
    let out = directory.path().join("callgrind.out");
    let report = directory.path().join("report.json");
    let mut command = Command::new("valgrind");
    command.args(["--tool=callgrind", "--separate-threads=yes", "--quiet"]);
    command.arg(format!("--callgrind-out-file={}", out.display())).arg(program);
    command.args(["run", "--memory", "512MiB", "--json", "-n", "0", "--seed", "1", "--wire", "queues=1"]);
    command.arg("--synthetic").arg(format!("packets={packets},flows={flows},zipf=1.0,seed=1"));
    command.arg("--report").arg(&report);
    for query in queries {
        command.args(["-q", query]);
    }
    let ran = command.stdout(Stdio::null()).status().map_err(|error| format!("valgrind: {error}"))?;
    if !ran.success() {
        return Err(format!("the program failed under callgrind: {ran}"));
    }
    let report = std::fs::read_to_string(&report).map_err(|error| error.to_string())?;
    let report: serde_json::Value = serde_json::from_str(&report).map_err(|error| error.to_string())?;
    let measured = report["packets"]["measured"].as_u64().unwrap_or(0);
    let first = out.with_file_name("callgrind.out-01");
    let text = std::fs::read_to_string(&first).map_err(|error| format!("callgrind's counts: {error}"))?;
    let counted = text.lines().find_map(|line| {
        let numbers = line.strip_prefix("totals:").or_else(|| line.strip_prefix("summary:"))?;
        numbers.split_whitespace().next()?.parse().ok()
    });
    counted.map(|instructions| (instructions, measured)).ok_or_else(|| "callgrind counted nothing".to_owned())
}
