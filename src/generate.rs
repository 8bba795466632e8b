//! `edison generate`: a capture of generated traffic, and its truth.

use crate::cli::GenerateOptions;
use crate::exit::{Failure, say};
use port::CaptureWriter;
use std::process::ExitCode;
use traffic::{Generator, Spec};

/// LINKTYPE_ETHERNET.
const ETHERNET: u16 = 1;

/// Writes the capture and the truth beside it.
pub(crate) fn generate(options: &GenerateOptions) -> Result<ExitCode, Failure> {
    let spec: Spec = options.spec.parse().map_err(Failure::usage)?;
    let path = &options.path;
    let fail = |error: std::io::Error| Failure::fault(format!("{}: {error}", path.display()));
    let mut generator = Generator::with_truth(spec);
    let mut frame = vec![0; generator.longest_capture()];
    let snap = u32::try_from(frame.len()).unwrap_or(u32::MAX);
    let mut writer = CaptureWriter::create(path, ETHERNET, snap)
        .map_err(|error| Failure::usage(format!("{}: {error}", path.display())))?;
    while let Some(generated) = generator.next_frame(&mut frame) {
        writer
            .write(generated.time_ns, &frame[..generated.captured as usize], generated.wire_len)
            .map_err(fail)?;
    }
    writer.finish().map_err(fail)?;
    let truth = generator.truth().ok_or_else(|| Failure::fault("the generator kept no truth"))?;
    let mut truth_path = path.as_os_str().to_owned();
    truth_path.push(".truth.json");
    let text = serde_json::to_string_pretty(&truth).map_err(Failure::fault)?;
    std::fs::write(&truth_path, text + "\n").map_err(fail)?;
    say(&format!("wrote {} and {}", path.display(), truth_path.to_string_lossy()));
    Ok(ExitCode::SUCCESS)
}
