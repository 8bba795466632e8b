//! `edison generate`: captures of generated traffic, and the truth about it.

use crate::cli::GenerateOptions;
use crate::exit::{Failure, say};
use port::CaptureWriter;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use traffic::{Generator, PathSpec, Spec};

/// LINKTYPE_ETHERNET.
const ETHERNET: u16 = 1;

/// Writes what the options say, and the truth beside it.
pub(crate) fn generate(options: &GenerateOptions) -> Result<ExitCode, Failure> {
    match &options.path_of {
        Some(spec) => generate_path(&options.path, spec),
        None => generate_capture(&options.path, &options.spec),
    }
}

fn generate_capture(path: &Path, spec: &str) -> Result<ExitCode, Failure> {
    let spec: Spec = spec.parse().map_err(Failure::usage)?;
    let mut generator = Generator::with_truth(spec);
    let mut frame = vec![0; generator.longest_capture()];
    let mut writer = create(path, frame.len())?;
    while let Some(generated) = generator.next_frame(&mut frame) {
        let captured = &frame[..generated.captured as usize];
        writer.write(generated.time_ns, captured, generated.wire_len).map_err(|error| fault(path, error))?;
    }
    writer.finish().map_err(|error| fault(path, error))?;
    let truth = generator.truth().ok_or_else(|| Failure::fault("the generator kept no truth"))?;
    let truth_path = write_truth(path, &truth)?;
    say(&format!("wrote {} and {}", path.display(), truth_path.display()));
    Ok(ExitCode::SUCCESS)
}

/// A capture for each tap: `NAME.tap0.pcap` at the client, and so on.
fn generate_path(path: &Path, spec: &str) -> Result<ExitCode, Failure> {
    let spec: PathSpec = spec.parse().map_err(Failure::usage)?;
    let taps: Vec<PathBuf> = (0..=spec.hops).map(|tap| tap_path(path, tap)).collect();
    let mut writers =
        taps.iter().map(|path| create(path, traffic::Path::LONGEST)).collect::<Result<Vec<_>, _>>()?;
    let mut simulation = traffic::Path::new(spec);
    while let Some(frame) = simulation.next_frame() {
        let tap = frame.tap as usize;
        writers[tap]
            .write(frame.time_ns, &frame.data, frame.wire_len)
            .map_err(|error| fault(&taps[tap], error))?;
    }
    for (writer, path) in writers.into_iter().zip(&taps) {
        writer.finish().map_err(|error| fault(path, error))?;
    }
    let truth_path = write_truth(path, simulation.truth())?;
    let names: Vec<_> = taps.iter().map(|path| path.display().to_string()).collect();
    say(&format!("wrote {} and {}", names.join(", "), truth_path.display()));
    Ok(ExitCode::SUCCESS)
}

fn tap_path(path: &Path, tap: u32) -> PathBuf {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let suffix = path.extension().map_or("pcap".into(), |suffix| suffix.to_string_lossy());
    path.with_file_name(format!("{stem}.tap{tap}.{suffix}"))
}

fn create(path: &Path, snap: usize) -> Result<CaptureWriter<File>, Failure> {
    let snap = u32::try_from(snap).unwrap_or(u32::MAX);
    CaptureWriter::create(path, ETHERNET, snap)
        .map_err(|error| Failure::usage(format!("{}: {error}", path.display())))
}

fn write_truth(path: &Path, truth: &impl serde::Serialize) -> Result<PathBuf, Failure> {
    let mut truth_path = path.as_os_str().to_owned();
    truth_path.push(".truth.json");
    let truth_path = PathBuf::from(truth_path);
    let text = serde_json::to_string_pretty(truth).map_err(Failure::fault)?;
    std::fs::write(&truth_path, text + "\n").map_err(|error| fault(&truth_path, error))?;
    Ok(truth_path)
}

fn fault(path: &Path, error: std::io::Error) -> Failure {
    Failure::fault(format!("{}: {error}", path.display()))
}
