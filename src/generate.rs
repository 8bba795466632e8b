//! `edison generate`: generated traffic, to captures or from a port, and the truth about it.

mod send;

use crate::commands::GenerateOptions;
use port::{CaptureWriter, Pacing};
use runtime::exit::{self, Failure, say};
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use traffic::{Generator, PathSpec, TrafficSpec};

/// LINKTYPE_ETHERNET.
const ETHERNET: u16 = 1;

/// The default specification.
const DEFAULT_SPEC: &str = "packets=1M,flows=100k,zipf=1.0";

/// Writes or sends as the options request.
pub(crate) fn generate(options: &GenerateOptions) -> Result<ExitCode, Failure> {
    let spec = |text: Option<&String>| {
        text.map_or(DEFAULT_SPEC, String::as_str).parse::<TrafficSpec>().map_err(Failure::usage)
    };
    if options.interface.is_some() || options.port.is_some() {
        return match options.words.as_slice() {
            [] => send::send(options, spec(None)?),
            [text] => send::send(options, spec(Some(text))?),
            [path, ..] => Err(Failure::usage(format!(
                "'{path}': frames go to a file or out of a port, not both: leave the file or -i and --port out"
            ))),
        };
    }
    if options.rate != Pacing::Unlimited {
        return Err(Failure::usage(
            "--rate is for -i and --port; the times in a capture come from rate= in the specification",
        ));
    }
    let (path, text) = match options.words.as_slice() {
        [] => {
            return Err(Failure::usage(
                "nowhere to write to: name a capture file, or an interface (-i NAME) or a port (--port DEVARGS)",
            ));
        }
        [path] => (Path::new(path), None),
        [path, text, ..] => (Path::new(path), Some(text)),
    };
    match (&options.path_of, text) {
        (Some(_), Some(text)) => {
            Err(Failure::usage(format!("'{text}': with --path it takes no other specification")))
        }
        (Some(path_spec), None) => generate_path(options, path, path_spec),
        (None, text) => generate_capture(options, path, spec(text)?),
    }
}

fn generate_capture(options: &GenerateOptions, path: &Path, spec: TrafficSpec) -> Result<ExitCode, Failure> {
    let mut generator = Generator::with_truth(spec);
    let mut frame = vec![0; generator.longest_capture()];
    let mut writer = create(path, frame.len())?;
    while let Some(generated) = generator.next_frame(&mut frame) {
        let captured = &frame[..generated.captured as usize];
        writer.write(generated.time_ns, captured, generated.wire_len).map_err(|error| fault(path, error))?;
    }
    writer.finish().map_err(|error| fault(path, error))?;
    let truth = generator.truth().ok_or_else(|| Failure::fault("the generator kept no truth"))?;
    let truth_path = write_truth(options, path, &truth)?;
    say(&format!("wrote {} and {}", path.display(), truth_path.display()));
    Ok(ExitCode::SUCCESS)
}

/// A capture for each tap: `NAME.tap0.pcap` at the client, and so on.
fn generate_path(options: &GenerateOptions, path: &Path, spec: &str) -> Result<ExitCode, Failure> {
    let spec: PathSpec = spec.parse().map_err(Failure::usage)?;
    let taps: Vec<PathBuf> = (0..=spec.hops).map(|tap| tap_path(path, tap)).collect();
    let mut writers = taps
        .iter()
        .map(|path| create(path, traffic::PathSimulation::LONGEST))
        .collect::<Result<Vec<_>, _>>()?;
    let mut simulation = traffic::PathSimulation::new(spec);
    while let Some(frame) = simulation.next_frame() {
        let tap = frame.tap as usize;
        writers[tap]
            .write(frame.time_ns, &frame.data, frame.wire_len)
            .map_err(|error| fault(&taps[tap], error))?;
    }
    for (writer, path) in writers.into_iter().zip(&taps) {
        writer.finish().map_err(|error| fault(path, error))?;
    }
    let truth_path = write_truth(options, path, simulation.truth())?;
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

/// Writes the truth next to the capture, or to the path of `--truth`.
fn write_truth(
    options: &GenerateOptions,
    path: &Path,
    truth: &impl serde::Serialize,
) -> Result<PathBuf, Failure> {
    let truth_path = options.truth.clone().unwrap_or_else(|| {
        let mut beside = path.as_os_str().to_owned();
        beside.push(".truth.json");
        PathBuf::from(beside)
    });
    File::create(&truth_path)
        .and_then(|file| write_json(file, truth))
        .map_err(|error| fault(&truth_path, error))?;
    if options.json {
        exit::print(&(serde_json::to_string(truth).map_err(Failure::fault)? + "\n"))?;
    }
    Ok(truth_path)
}

fn write_json(mut file: File, value: &impl serde::Serialize) -> std::io::Result<()> {
    file.write_all(serde_json::to_string_pretty(value)?.as_bytes())?;
    file.write_all(b"\n")
}

fn fault(path: &Path, error: std::io::Error) -> Failure {
    Failure::fault(format!("{}: {error}", path.display()))
}
