//! `edison bench`.

use crate::cli::BenchOptions;
use crate::exit::{self, Failure};
use bench::{BENCHES, Line, PRESETS, Points, Preset};
use std::process::ExitCode;

/// Runs a bench, or lists them.
pub(crate) fn bench(options: &BenchOptions) -> Result<ExitCode, Failure> {
    if options.list {
        let lines = BENCHES.iter().map(|bench| format!("{:<10} {}\n", bench.name, bench.about));
        let presets = PRESETS.iter().map(|preset| format!("{:<10} --preset {}\n", "", preset.text()));
        return exit::print(&lines.chain(presets).collect::<String>());
    }
    if let Some(file) = &options.file {
        let answer = bench::measure_file(file).map_err(Failure::fault)?;
        return exit::print(&format!("{answer}\n"));
    }
    let name = options.name.as_deref().unwrap_or_default();
    let Some(bench) = BENCHES.iter().find(|bench| bench.name == name) else {
        let names: Vec<_> = BENCHES.iter().map(|bench| bench.name).collect();
        return Err(Failure::usage(format!("no bench '{name}'; there are {}", names.join(", "))));
    };
    let preset = options.preset.as_deref().map(preset).transpose()?;
    if preset.is_some() && !bench.takes_preset {
        let names: Vec<_> =
            BENCHES.iter().filter(|bench| bench.takes_preset).map(|bench| bench.name).collect();
        return Err(Failure::usage(format!("--preset is for {}", names.join(", "))));
    }
    if let Some(preset) = preset.filter(|_| !options.json) {
        exit::print(&preset.text())?;
    }
    let points = Points {
        preset,
        packets: options.packets,
        flows: options.flows,
        zipf: options.zipf,
        seconds: options.seconds,
    };
    let mut wrong = 0;
    let mut print = |line: Line| {
        wrong += usize::from(line.is_wrong());
        let text = if options.json { line.json().to_string() } else { line.text() };
        // Nobody may be left to read; the bench still says by its exit code whether answers were right.
        let _ = exit::print(&(text + "\n"));
    };
    (bench.run)(&points, &mut print).map_err(Failure::fault)?;
    match wrong {
        0 => Ok(ExitCode::SUCCESS),
        wrong => Err(Failure::fault(format!("{wrong} lines were not checked or gave a wrong answer"))),
    }
}

/// The preset of this name.
pub(crate) fn preset(name: &str) -> Result<&'static Preset, Failure> {
    PRESETS.iter().find(|preset| preset.name == name).ok_or_else(|| {
        let names: Vec<_> = PRESETS.iter().map(|preset| preset.name).collect();
        Failure::usage(format!("no preset '{name}'; there are {}", names.join(", ")))
    })
}
