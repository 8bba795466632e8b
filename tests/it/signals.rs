//! SIGHUP and SIGTERM, while a capture is read from standard input.

use crate::support::output::{self, number};
use crate::support::program::{Running, edison, run};
use crate::support::scratch::Scratch;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, Stdio};

/// Files next to `flows.csv`, with this ending.
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

/// A run that reads its capture from standard input, into `flows.csv`.
fn start(scratch: &Scratch, options: &[&str]) -> (Running, ChildStdin) {
    let mut command = edison();
    command.args(["run", "-"]).args(options).args(OPTIONS).arg("1s");
    command.arg("--flows").arg(scratch.path("flows.csv")).stdin(Stdio::piped());
    let mut running = Running::start(&mut command);
    let input = running.child.stdin.take().expect("piped");
    (running, input)
}

#[test]
fn sighup_begins_the_next_file() {
    let scratch = Scratch::new();
    let (bytes, expected) = capture(&scratch);
    let (mut running, mut input) = start(&scratch, &["--rotate", "hup"]);
    let (first, second) = bytes.split_at(bytes.len() / 2);
    input.write_all(first).unwrap();
    assert!(running.wait_for("the first file", |_| !files(&scratch, ".part").is_empty()));
    running.signal(libc::SIGHUP);
    assert!(running.wait_for("its end", |_| !files(&scratch, ".csv").is_empty()));
    input.write_all(second).unwrap();
    drop(input);
    running.wait().expect(0);
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
        let (mut running, mut input) = start(&scratch, &["--report", report.to_str().expect("UTF-8")]);
        input.write_all(&bytes[..bytes.len() / 2]).unwrap();
        assert!(running.wait_for("a record", |_| !files(&scratch, ".part").is_empty()));
        running.signal(end);
        // Ended early, with what was measured written.
        running.wait().expect(3);
        let report = output::report(&report);
        assert!(number(&report["packets"]["received"]) > 0);
        assert_eq!(lines(&csv).len() as u64, number(&report["flows"]["exported"]));
        std::fs::remove_file(csv).unwrap();
    }
}
