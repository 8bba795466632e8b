//! `edison-lab bench`.

use crate::cli::BenchOptions;
use crate::failure::{LabFailure, print, say};
use bench::{BENCHES, Bench, BenchResult, Points, TextTable};
use engine::{PRESETS, Preset};
use port::{CaptureSource, PacketSource, SourceError};
use rustix::termios::tcgetwinsize;
use std::io::IsTerminal;
use std::process::ExitCode;

/// The columns of a table that goes into a file or a pipe.
const PAGE: usize = 120;

/// Runs a bench, or lists them.
pub(crate) fn bench(options: &BenchOptions) -> Result<ExitCode, LabFailure> {
    if options.list {
        let lines = BENCHES.iter().map(|bench| format!("{:<10} {}\n", bench.name, bench.about));
        let presets = PRESETS.iter().map(|preset| format!("{:<10} --preset {}\n", "", preset.text()));
        return print(&lines.chain(presets).collect::<String>());
    }
    if let Some(file) = &options.file {
        let answer = bench::measure_file(file).map_err(LabFailure::fault)?;
        return print(&format!("{answer}\n"));
    }
    let bench = named(options.name.as_deref().unwrap_or_default())?;
    let preset = options.preset.as_deref().map(Preset::find).transpose().map_err(LabFailure::usage)?;
    if preset.is_some() && !bench.takes_preset {
        return Err(LabFailure::usage(format!("--preset is for {}", names(|bench| bench.takes_preset))));
    }
    if let Some(capture) = &options.capture {
        check_capture(bench, capture)?;
    }
    let tables = match (options.markdown, bench.tables) {
        (true, None) => {
            return Err(LabFailure::usage(format!(
                "--markdown is for {}",
                names(|bench| bench.tables.is_some())
            )));
        }
        (true, tables) => tables,
        (false, _) => None,
    };
    if let Some(preset) = preset.filter(|_| !options.json) {
        print(&preset.text())?;
    }
    let points = Points {
        preset,
        packets: options.packets,
        flows: options.flows,
        zipf: options.zipf,
        seconds: options.seconds.unwrap_or(bench.seconds),
        probes: options.probes,
        capture: options.capture.clone(),
    };
    let (mut wrong, mut all) = (0, Vec::new());
    let is_terminal = std::io::stdout().is_terminal();
    let text = TextTable::new(if is_terminal { columns() } else { PAGE });
    if !options.json && tables.is_none() {
        print(&(text.heading() + "\n"))?;
    }
    let mut emit = |line: BenchResult| {
        wrong += usize::from(line.is_wrong());
        if tables.is_some() {
            all.push(line);
            return;
        }
        let text = if options.json { line.json().to_string() } else { text.row(&line) };
        // The reader may be gone; the exit code of the bench still says whether answers were right.
        let _ = print(&(text + "\n"));
    };
    let ended = (bench.run)(&points, &mut emit).map_err(LabFailure::fault);
    if let Some(tables) = tables {
        print(&tables(&all))?;
    } else if !options.json && is_terminal {
        say("--json prints every figure");
    }
    ended?;
    match wrong {
        0 => Ok(ExitCode::SUCCESS),
        wrong => Err(LabFailure::fault(format!("{wrong} lines were not checked or gave a wrong answer"))),
    }
}

/// Returns the bench of this name.
fn named(name: &str) -> Result<&'static Bench, LabFailure> {
    let Some(bench) = BENCHES.iter().find(|bench| bench.name == name) else {
        let nearest = notation::nearest(name, BENCHES.iter().map(|bench| bench.name));
        let hint = nearest.map_or(String::new(), |nearest| format!(": did you mean '{nearest}'?"));
        return Err(LabFailure::usage(format!("no bench '{name}'{hint}; there are {}", names(|_| true))));
    };
    Ok(bench)
}

/// Refuses a capture that the bench does not take or that cannot be read, before anything is measured.
fn check_capture(bench: &Bench, capture: &str) -> Result<(), LabFailure> {
    if !bench.takes_capture {
        return Err(LabFailure::usage(format!(
            "'{capture}': a capture is for {}",
            names(|bench| bench.takes_capture)
        )));
    }
    let unreadable = |error: SourceError| LabFailure::usage(error);
    CaptureSource::open(capture, 1).map_err(unreadable)?.rx_burst().map_err(unreadable)?;
    Ok(())
}

/// Returns the width of the terminal at standard output.
fn columns() -> usize {
    match tcgetwinsize(std::io::stdout()) {
        Ok(size) if size.ws_col != 0 => usize::from(size.ws_col),
        _ => PAGE,
    }
}

/// Returns the names of some benches.
fn names(are_meant: impl Fn(&Bench) -> bool) -> String {
    let names: Vec<_> = BENCHES.iter().filter(|bench| are_meant(bench)).map(|bench| bench.name).collect();
    names.join(", ")
}
