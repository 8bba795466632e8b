//! Every capture under `EDISON_TEST_DATA` against tshark: number of frames, both lengths and time of each.

use port::{CaptureSource, PacketSource, Poll, SourceError};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What differs, and why.
const EXPLAINED: [(&str, &str); 2] = [
    (
        "tcpdump/atm-oam-loopback-print-overrun.pcap",
        "SunATM is no supported link type: tshark takes its 4-byte pseudo-header off the frame. The fraction of the \
         time is 1159821166 microseconds, which tshark multiplies in 32 bits",
    ),
    (
        "tcpdump/timestamp_invalid_nano.pcap",
        "a fraction of 2147483648 nanoseconds, which tshark takes for a negative number",
    ),
];

/// Captures that are read together.
const BATCH: usize = 16;

/// Captured length, wire length, time in nanoseconds (`None` if tshark shows none).
type Row = (u64, u64, Option<u64>);

fn captures(folder: &Path, list: &mut Vec<PathBuf>) {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    for path in entries.map(|entry| entry.expect("a folder entry").path()) {
        if path.is_dir() {
            captures(&path, list);
        } else if path.extension().is_some_and(|suffix| {
            ["pcap", "pcapng", "cap", "trace", "gz", "zst"].iter().any(|known| suffix == *known)
        }) {
            list.push(path);
        }
    }
}

fn by_edison(path: &Path) -> (Vec<Row>, Result<(), SourceError>) {
    let mut rows = Vec::new();
    let name = path.to_str().expect("a name in UTF-8");
    let mut source = CaptureSource::open(name, 64).unwrap_or_else(|error| panic!("{error}"));
    loop {
        match source.rx_burst() {
            Ok(Poll::Burst(burst)) => rows.extend(
                burst
                    .frames()
                    .map(|frame| (frame.data.len() as u64, u64::from(frame.wire_len), Some(frame.time_ns))),
            ),
            Ok(Poll::Idle) => {}
            Ok(Poll::Ended) => return (rows, Ok(())),
            Err(error) => return (rows, Err(error)),
        }
    }
}

/// Seconds and nanoseconds as tshark prints them; a record's fraction may be more than a second.
fn nanoseconds(text: &str) -> Option<u64> {
    let (seconds, fraction) = text.split_once('.')?;
    assert!(fraction.len() >= 9, "{text}");
    Some(seconds.parse::<u64>().ok()? * 1_000_000_000 + fraction.parse::<u64>().ok()?)
}

/// tshark's rows, and what it complained of.
fn by_tshark(path: &Path) -> (Vec<Row>, String) {
    let output = Command::new("tshark")
        .args([
            "-n",
            "-T",
            "fields",
            "-e",
            "frame.cap_len",
            "-e",
            "frame.len",
            "-e",
            "frame.time_epoch",
            "-r",
        ])
        .arg(path)
        .output()
        .expect("tshark runs");
    let rows = String::from_utf8(output.stdout).expect("numbers");
    let rows = rows.lines().map(|line| {
        let fields: Vec<&str> = line.split('\t').collect();
        let number = |at: usize| fields[at].parse::<u64>().unwrap_or_else(|_| panic!("{line}"));
        // A wire length below the captured one is raised to it: `Frame` promises that order.
        (number(0), number(1).max(number(0)), nanoseconds(fields[2]))
    });
    let complaints = String::from_utf8_lossy(&output.stderr);
    let complaints = complaints.lines().filter(|line| line.starts_with("tshark:"));
    (rows.collect(), complaints.collect::<Vec<_>>().join(" "))
}

/// Whether several sound captures agree, read by one tshark as one file that mergecap writes: a start of tshark takes a
/// third of a second. Where they do not, or are not sound, each is compared alone.
fn agree_together(number: usize, paths: &[PathBuf]) -> bool {
    let mut ours = Vec::new();
    for path in paths {
        match by_edison(path) {
            (rows, Ok(())) => ours.extend(rows),
            (_, Err(_)) => return false,
        }
    }
    let merged =
        Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("tshark-{}-{number}.pcapng", std::process::id()));
    let merge = Command::new("mergecap").args(["-a", "-I", "none", "-w"]).arg(&merged).args(paths).output();
    let agree = merge.is_ok_and(|merge| merge.status.success() && merge.stderr.is_empty())
        && by_tshark(&merged) == (ours, String::new());
    // It may not have been written at all.
    let _ = std::fs::remove_file(&merged);
    agree
}

/// What differs in each capture of a batch.
fn differences(number: usize, paths: &[PathBuf]) -> Vec<(&PathBuf, String)> {
    match paths {
        [path] => compare(path).map(|difference| (path, difference)).into_iter().collect(),
        _ if agree_together(number, paths) => Vec::new(),
        // The half without the odd one is still read at once.
        _ => {
            let (first, second) = paths.split_at(paths.len() / 2);
            [differences(number, first), differences(number, second)].concat()
        }
    }
}

fn compare(path: &Path) -> Option<String> {
    let (ours, end) = by_edison(path);
    let (theirs, complaint) = by_tshark(path);
    if complaint.contains("contains record data that TShark doesn't support") {
        // A link type that tshark does not know, nor does Edison; it shows no frames.
        return end.err().map(|error| format!("edison: {error}, tshark only does not know the link type"));
    }
    if end.is_err() == complaint.is_empty() {
        return Some(format!("edison: {end:?}, tshark: {complaint:?}"));
    }
    if ours.len() != theirs.len() {
        return Some(format!("{} frames, tshark has {} ({end:?}, {complaint:?})", ours.len(), theirs.len()));
    }
    let differs = ours.iter().zip(&theirs).position(|(our, their)| our != their)?;
    Some(format!("frame {}: {:?}, tshark has {:?}", differs + 1, ours[differs], theirs[differs]))
}

#[test]
fn every_capture_agrees_with_tshark() {
    let Some(folder) = std::env::var_os("EDISON_TEST_DATA") else {
        eprintln!("skipped: EDISON_TEST_DATA names no folder of captures");
        return;
    };
    if Command::new("tshark").arg("--version").output().is_err() {
        eprintln!("skipped: tshark is not installed");
        return;
    }
    let mut files = Vec::new();
    captures(Path::new(&folder), &mut files);
    assert!(!files.is_empty(), "no captures in {}", folder.display());
    let next = AtomicUsize::new(0);
    let unexplained = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    let Some(batch) = files.chunks(BATCH).nth(number) else { break };
                    for (path, difference) in differences(number, batch) {
                        match EXPLAINED.iter().find(|(name, _)| path.ends_with(name)) {
                            Some((_, reason)) => eprintln!("{}: {difference}: {reason}", path.display()),
                            None => unexplained.lock().expect("no panic").push((path, difference)),
                        }
                    }
                }
            });
        }
    });
    let unexplained = unexplained.into_inner().expect("no panic");
    for (path, difference) in &unexplained {
        eprintln!("{}: {difference}", path.display());
    }
    assert!(unexplained.is_empty(), "{} of {} files differ", unexplained.len(), files.len());
}
