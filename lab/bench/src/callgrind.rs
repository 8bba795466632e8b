//! The instructions of the measuring thread, counted by callgrind. What other threads do is not in them.

use crate::program;
use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, Stdio};

/// The function that only a thread that measures runs: it polls a source.
const MEASURING: &str = "engine::poller::Poller";

/// The results of a run of the program, as callgrind and the program tell them.
pub(crate) struct CallgrindRun {
    /// The instructions of the measuring thread.
    pub(crate) instructions: u64,
    /// The packets that it measured.
    pub(crate) packets: u64,
    /// The lines that the program printed.
    pub(crate) lines: Vec<serde_json::Value>,
}

impl CallgrindRun {
    /// Instructions per packet, to two digits.
    pub(crate) fn per_packet(&self) -> f64 {
        crate::line::to_digits(self.instructions as f64 / self.packets as f64, 2)
    }
}

/// Returns true if there is a valgrind. If not, `bench` says what it leaves out.
pub(crate) fn is_there(bench: &str) -> bool {
    let is_there = Command::new("valgrind").arg("--version").stdout(Stdio::null()).status().is_ok();
    if !is_there {
        eprintln!("bench {bench}: there is no valgrind: instructions_per_packet is left out");
    }
    is_there
}

/// Runs `edison run` with these arguments under callgrind: windows of a second, answers as JSON.
pub(crate) fn count(arguments: impl IntoIterator<Item = OsString>) -> Result<CallgrindRun, String> {
    let program = program::edison()?;
    let directory = tempfile::tempdir().map_err(|error| format!("no place for temporary files: {error}"))?;
    let out = directory.path().join("callgrind.out");
    let report = directory.path().join("report.json");
    let mut command = Command::new("valgrind");
    command.args(["--tool=callgrind", "--separate-threads=yes", "--quiet"]);
    command.arg(format!("--callgrind-out-file={}", out.display())).arg(program);
    command.args(["run", "--memory", "512MiB", "--json", "-n", "0", "--seed", "1", "--every", "1s"]);
    command.arg("--report").arg(&report).args(arguments);
    let ran = command.stderr(Stdio::inherit()).output().map_err(|error| format!("valgrind: {error}"))?;
    if !ran.status.success() {
        return Err(format!("the program failed under callgrind: {}", ran.status));
    }
    let report = std::fs::read_to_string(&report).map_err(|error| error.to_string())?;
    let report: serde_json::Value = serde_json::from_str(&report).map_err(|error| error.to_string())?;
    let lines = serde_json::Deserializer::from_slice(&ran.stdout).into_iter().collect::<Result<_, _>>();
    Ok(CallgrindRun {
        instructions: count_instructions(directory.path())?,
        packets: report["packets"]["measured"].as_u64().unwrap_or(0),
        lines: lines.map_err(|error| format!("the program's answers under callgrind: {error}"))?,
    })
}

/// The instructions of the one thread that measures, of the profiles in a directory.
fn count_instructions(directory: &Path) -> Result<u64, String> {
    let no_counts = |error: std::io::Error| format!("callgrind's counts: {error}");
    let mut measuring = Vec::new();
    for entry in std::fs::read_dir(directory).map_err(no_counts)? {
        let profile = std::fs::read_to_string(entry.map_err(no_counts)?.path()).map_err(no_counts)?;
        measuring.extend(total(&profile).filter(|_| profile.contains(MEASURING)));
    }
    match measuring[..] {
        [instructions] => Ok(instructions),
        _ => Err(format!("{} threads run {MEASURING} under callgrind: one should", measuring.len())),
    }
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

    #[test]
    fn one_thread_must_measure() {
        let directory = tempfile::tempdir().expect("a place for files");
        let write = |name: &str, text: &str| {
            std::fs::write(directory.path().join(name), text).expect("it can be written");
        };
        write("callgrind.out-01", "fn=(1) main\ntotals: 5\n");
        assert!(count_instructions(directory.path()).is_err());
        write("callgrind.out-02", "fn=(1) <engine::poller::Poller<A, B>>::run\ntotals: 7\n");
        assert_eq!(count_instructions(directory.path()), Ok(7));
        write("callgrind.out-03", "fn=(1) <engine::poller::Poller<A, B>>::run\ntotals: 8\n");
        assert!(count_instructions(directory.path()).is_err());
    }
}
