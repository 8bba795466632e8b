//! Every capture under `EDISON_TEST_DATA` through the program, against tshark: packets and layer-3 bytes per 5-tuple,
//! of the outer and of the deepest IP header, and every frame accounted for. The totals of tshark's side are computed
//! here from tshark's fields: nothing of Edison's own parsing takes part.
//!
//! Differences of definition that remain are listed in `differences.txt`, key by key, each with its reason.
//! One that is not listed fails, and so does a listed one that is no more.

mod differences;
mod edison;
mod flow;
mod headers;
mod tshark;

use differences::{Listed, difference};
use flow::Level;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use testbed::captures::{self, CapturePath};

/// Captures that one tshark reads: its start takes longer than most of them.
const BATCH: usize = 50;

const THREADS: usize = 2;

#[test]
fn every_capture_agrees_with_tshark() {
    let Some(folder) = std::env::var_os("EDISON_TEST_DATA").map(PathBuf::from) else {
        eprintln!("skipped: EDISON_TEST_DATA names no folder of captures");
        return;
    };
    if let Some(missing) = tshark::missing_program() {
        eprintln!("skipped: {missing} is not installed");
        return;
    }
    let captures = captures::find(&folder);
    assert!(!captures.is_empty(), "no captures in {}", folder.display());
    let listed = Listed::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/oracle/differences.txt"));

    let failures = Mutex::new(Vec::new());
    let seen = Mutex::new(BTreeSet::new());
    let next = AtomicUsize::new(0);
    let batches: Vec<&[CapturePath]> = captures.chunks(BATCH).collect();
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                while let Some((number, batch)) = {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    batches.get(number).map(|batch| (number, batch))
                } {
                    for (capture, frames) in batch.iter().zip(tshark::read(number, batch)) {
                        for level in Level::ALL {
                            let result = check(capture, &frames, level, &listed);
                            seen.lock().expect("no panic").insert((capture.name.clone(), level));
                            failures.lock().expect("no panic").extend(result.err());
                        }
                    }
                }
            });
        }
    });
    let mut failures = failures.into_inner().expect("no panic");
    let seen = seen.into_inner().expect("no panic");
    failures.extend(listed.names().filter(|name| !seen.contains(name)).map(|(name, level)| {
        format!("{name} {level}\n  listed in differences.txt, but there is no such capture\n")
    }));
    failures.sort();
    assert!(
        failures.is_empty(),
        "{} of {} captures, each measured twice, do not agree with tshark\n\n{}",
        failures.len(),
        captures.len(),
        failures.join("\n")
    );
}

/// One capture at one level: every frame accounted for, and the flows equal to tshark's fields, except for
/// the listed differences.
fn check(
    capture: &CapturePath,
    frames: &tshark::Frames,
    level: Level,
    listed: &Listed,
) -> Result<(), String> {
    let fail = |what: String| Err(format!("{} {level}\n  {what}\n", capture.name));
    let run = edison::run(&capture.path, level)?;
    let measured: u64 = run.flows.values().map(|counts| counts.packets).sum();
    if run.received != run.measured + run.not_measured {
        return fail(format!(
            "received {} is not measured {} + not measured {}",
            run.received, run.measured, run.not_measured
        ));
    }
    if run.measured != measured {
        return fail(format!("the report has {} measured packets, the records {measured}", run.measured));
    }
    if let Some(rows) = &frames.rows
        && run.received != rows.len() as u64
    {
        return fail(format!("received {}, tshark reads {} frames", run.received, rows.len()));
    }
    let expected_exit = if frames.damaged { 3 } else { 0 };
    if frames.rows.is_some() && run.exit != expected_exit {
        return fail(format!("exit code {}, not {expected_exit}: {}", run.exit, run.messages));
    }
    if !matches!(run.exit, 0 | 3) || run.messages.contains("panicked") {
        return fail(format!("exit code {}: {}", run.exit, run.messages));
    }
    let Some(rows) = &frames.rows else {
        // tshark knows nothing of this link type; neither does Edison.
        return if run.measured == 0 { Ok(()) } else { fail("measured what tshark cannot read".to_owned()) };
    };
    let found = difference(&headers::flows(rows, level), &run.flows);
    let expected = listed.of(&capture.name, level);
    if found == expected {
        return Ok(());
    }
    fail(format!("{}\n  listed are {} lines", found.join("\n  "), expected.len()))
}
