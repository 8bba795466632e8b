//! SIGHUP and SIGTERM, while a capture comes in through standard input.

#[allow(dead_code, reason = "each test program uses a part")]
mod support;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};
use support::output::{self, number};
use support::program::{edison, run};
use support::scratch::Scratch;

/// Far beyond what anything here takes: only a program that hangs comes to it.
const PATIENCE: Duration = Duration::from_secs(60);

fn await_until(what: &str, mut is_there: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_there() {
        assert!(began.elapsed() < PATIENCE, "{what} does not come");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Files beside `flows.csv`, with this ending.
fn files(scratch: &Scratch, ending: &str) -> Vec<PathBuf> {
    let here = scratch.path("flows.csv").parent().unwrap().to_owned();
    let names = std::fs::read_dir(here).unwrap().map(|entry| entry.unwrap().path());
    let mut names: Vec<_> = names
        .filter(|path| {
            let name = path.file_name().unwrap().to_string_lossy();
            name.starts_with("flows") && name.ends_with(ending)
        })
        .collect();
    names.sort();
    names
}

fn signal(child: &Child, signal: i32) {
    // SAFETY: a call without memory; the child is not waited for yet, so that its number is its own.
    assert_eq!(unsafe { libc::kill(child.id() as i32, signal) }, 0);
}

fn lines(path: &Path) -> Vec<String> {
    std::fs::read_to_string(path).unwrap().lines().skip(1).map(str::to_owned).collect()
}

const SPEC: &str = "packets=4000,flows=900,seed=2";
/// Flows end between any two of their packets, so that records come while the capture does.
const OPTIONS: [&str; 7] = ["--idle-timeout", "1us", "--node", "here", "--seed", "1", "--every"];

/// The bytes of a capture, and the records of it as one run writes them.
fn capture(scratch: &Scratch) -> (Vec<u8>, Vec<String>) {
    let path = scratch.path("whole.pcap");
    run(edison().arg("generate").arg(&path).arg(SPEC)).expect(0);
    let csv = scratch.path("whole.csv");
    run(edison().arg("run").arg(&path).args(OPTIONS).arg("1s").arg("--flows").arg(&csv)).expect(0);
    let mut records = lines(&csv);
    records.sort();
    (std::fs::read(path).unwrap(), records)
}

#[test]
fn sighup_begins_the_next_file() {
    let scratch = Scratch::new();
    let (bytes, expected) = capture(&scratch);
    let mut command = edison();
    command.args(["run", "-", "--rotate", "hup"]).args(OPTIONS).arg("1s");
    command.arg("--flows").arg(scratch.path("flows.csv"));
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let (first, second) = bytes.split_at(bytes.len() / 2);
    input.write_all(first).unwrap();
    await_until("the first file", || !files(&scratch, ".part").is_empty());
    signal(&child, libc::SIGHUP);
    await_until("its end", || !files(&scratch, ".csv").is_empty());
    input.write_all(second).unwrap();
    drop(input);
    assert!(child.wait().unwrap().success());
    let parts = files(&scratch, ".csv");
    assert!(parts.len() >= 2, "{parts:?}");
    assert!(files(&scratch, ".part").is_empty());
    let mut found: Vec<_> = parts.iter().flat_map(|path| lines(path)).collect();
    found.sort();
    assert_eq!(found, expected);
}

#[test]
fn without_rotation_signals_end_the_run_with_its_report() {
    let scratch = Scratch::new();
    let (bytes, _) = capture(&scratch);
    for end in [libc::SIGHUP, libc::SIGTERM, libc::SIGINT] {
        let (report, csv) = (scratch.path(&format!("{end}.json")), scratch.path("flows.csv"));
        let mut command = edison();
        command.args(["run", "-"]).args(OPTIONS).arg("1s").arg("--report").arg(&report);
        command.arg("--flows").arg(&csv);
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let mut input = child.stdin.take().unwrap();
        input.write_all(&bytes[..bytes.len() / 2]).unwrap();
        await_until("a record", || !files(&scratch, ".part").is_empty());
        signal(&child, end);
        assert_eq!(child.wait().unwrap().code(), Some(3), "ended early, with what was measured written");
        let report = output::report(&report);
        assert!(number(&report["packets"]["received"]) > 0);
        assert_eq!(lines(&csv).len() as u64, number(&report["flows"]["exported"]));
        std::fs::remove_file(csv).unwrap();
    }
}
