//! Runs the program on a capture and reads back what it wrote.

use super::flow::{Counts, Flows, Key, Level};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The result of a run.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) exit: i32,
    /// Standard error.
    pub(crate) messages: String,
    pub(crate) flows: Flows,
    pub(crate) received: u64,
    pub(crate) measured: u64,
    /// The sum over all reasons.
    pub(crate) not_measured: u64,
}

fn scratch_file(suffix: &str) -> PathBuf {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("oracle-{}-{number}.{suffix}", std::process::id()))
}

fn read(path: &Path) -> Result<String, String> {
    let text = std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    std::fs::remove_file(path).map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(text)
}

/// Measures `capture` with one record per key.
pub(crate) fn run(capture: &Path, level: Level) -> Result<Run, String> {
    let (flows, report) = (scratch_file("csv"), scratch_file("json"));
    let output = Command::new(env!("CARGO_BIN_EXE_edison"))
        .args(["run", "--idle-timeout", "off", "--active-timeout", "off", "--tunnel", level.name()])
        .args(["--fields", "src_addr,dst_addr,protocol,src_port,dst_port,total_count,total_byte"])
        .arg("--flows")
        .arg(&flows)
        .arg("--report")
        .arg(&report)
        .arg(capture)
        .output()
        .expect("the program starts");
    let messages = String::from_utf8_lossy(&output.stderr).into_owned();
    let failed = |what: String| format!("{} {level}\n  {what}: {messages}\n", capture.display());
    let Some(exit) = output.status.code() else {
        return Err(failed(output.status.to_string()));
    };
    let (flows, report) = read(&flows).and_then(|flows| Ok((flows, read(&report)?))).map_err(failed)?;
    let report: serde_json::Value =
        serde_json::from_str(&report).map_err(|error| failed(format!("report: {error}")))?;
    let packets = &report["packets"];
    let number = |value: &serde_json::Value| value.as_u64().ok_or_else(|| failed(format!("report: {value}")));
    let reasons =
        packets["not_measured"].as_object().ok_or_else(|| failed("report: no reasons".to_owned()))?;
    Ok(Run {
        exit,
        flows: flows_of(&flows).ok_or_else(|| failed(format!("records: {flows}")))?,
        received: number(&packets["received"])?,
        measured: number(&packets["measured"])?,
        not_measured: reasons.values().map(number).sum::<Result<_, _>>()?,
        messages,
    })
}

/// Records as CSV; two of one key would be an error.
fn flows_of(csv: &str) -> Option<Flows> {
    let mut flows = Flows::new();
    for line in csv.lines().skip(1) {
        let cells: Vec<&str> = line.split(',').collect();
        let [src, dst, protocol, src_port, dst_port, packets, bytes] = cells[..] else { return None };
        let key = Key {
            src: src.parse().ok()?,
            dst: dst.parse().ok()?,
            protocol: protocol.parse().ok()?,
            src_port: src_port.parse().ok()?,
            dst_port: dst_port.parse().ok()?,
        };
        let counts = Counts { packets: packets.parse().ok()?, bytes: bytes.parse().ok()? };
        if flows.insert(key, counts).is_some() {
            return None;
        }
    }
    Some(flows)
}
