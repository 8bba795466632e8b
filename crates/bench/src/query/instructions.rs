//! What ten queries cost the measuring core: the instructions of its thread, counted by callgrind over a replay on the software wire.
//! Generating the frames, which the program's first thread does, is not in them.

use crate::{Line, Points};
use serde_json::json;
use std::path::Path;
use std::process::{Command, Stdio};

/// Packets per second of the traffic, whose windows last a second: one row for some twenty packets, several times as many as a link of
/// 100 Gbit/s has.
const RATE: u64 = 1_000_000;
/// Packets of the trace that the wire repeats.
const LAP: u64 = 1_000_000;
/// What only a thread that measures runs: it polls a source.
const MEASURING: &str = "engine::poller::Poller";

/// The ten questions, as a user asks them, of the run's windows.
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
    let packets = points.packets.unwrap_or(4_000_000).max(1);
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

/// The instructions of the measuring thread, and the packets that it measured.
fn count(program: &Path, packets: u64, flows: u64, queries: &[&str]) -> Result<(u64, u64), String> {
    let directory = tempfile::tempdir().map_err(|error| format!("no place for temporary files: {error}"))?;
    let out = directory.path().join("callgrind.out");
    let report = directory.path().join("report.json");
    let mut command = Command::new("valgrind");
    command.args(["--tool=callgrind", "--separate-threads=yes", "--quiet"]);
    command.arg(format!("--callgrind-out-file={}", out.display())).arg(program);
    command.args(["run", "--memory", "512MiB", "--json", "-n", "0", "--seed", "1", "--every", "1s"]);
    command.arg("--wire").arg(format!("queues=1,packets={packets}"));
    let lap = packets.min(LAP);
    command.arg("--synthetic").arg(format!("packets={lap},flows={flows},zipf=1.0,rate={RATE},seed=1"));
    command.arg("--report").arg(&report);
    for query in queries {
        command.arg("-q").arg(format!("{query} every 1s"));
    }
    let ran = command.stderr(Stdio::inherit()).output().map_err(|error| format!("valgrind: {error}"))?;
    if !ran.status.success() {
        return Err(format!("the program failed under callgrind: {}", ran.status));
    }
    let report = std::fs::read_to_string(&report).map_err(|error| error.to_string())?;
    let report: serde_json::Value = serde_json::from_str(&report).map_err(|error| error.to_string())?;
    let measured = report["packets"]["measured"].as_u64().unwrap_or(0);
    let counted = total_of_answers(&ran.stdout);
    if !queries.is_empty() && counted != measured {
        return Err(format!("the answers under callgrind have {counted} of {measured} packets"));
    }
    let no_counts = |error: std::io::Error| format!("callgrind's counts: {error}");
    let mut measuring = Vec::new();
    for entry in std::fs::read_dir(directory.path()).map_err(no_counts)? {
        let profile = std::fs::read_to_string(entry.map_err(no_counts)?.path()).map_err(no_counts)?;
        measuring.extend(total(&profile).filter(|_| profile.contains(MEASURING)));
    }
    match measuring[..] {
        [instructions] => Ok((instructions, measured)),
        _ => Err(format!("{} threads run {MEASURING} under callgrind: one should", measuring.len())),
    }
}

/// The packets that the last question counted, of all windows.
fn total_of_answers(lines: &[u8]) -> u64 {
    let answers = serde_json::Deserializer::from_slice(lines).into_iter::<serde_json::Value>().flatten();
    answers.filter_map(|answer| answer["rows"][0]["sum(total_count)"].as_u64()).sum()
}

/// The instructions of a thread's profile.
fn total(profile: &str) -> Option<u64> {
    let numbers = profile.lines().find_map(|line| line.strip_prefix("totals:"))?;
    numbers.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_total_of_a_profile_is_read() {
        assert_eq!(total("version: 1\nthread: 5\nfn=(1) f\n3 77\ntotals: 370856770\n"), Some(370_856_770));
        assert_eq!([total(""), total("summary: 7\n"), total("totals:\n")], [None; 3]);
    }
}
