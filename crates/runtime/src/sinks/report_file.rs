//! The report of a run as a file.

use super::{Sink, SinkContext, standard_output};
use crate::exit::{self, Failure};
use model::RunReport;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// The file of `--report`: opened before measuring, so that a mistake in the path costs no run.
pub(crate) struct ReportFile {
    /// The file; `None` is standard output.
    file: Option<Mutex<OpenReport>>,
    /// True if the report on standard output is one line, behind the lines of windows.
    is_line: bool,
}

impl ReportFile {
    /// Opens the file where the options ask for it.
    pub(super) fn start(context: &SinkContext<'_>) -> Result<Option<Box<dyn Sink>>, Failure> {
        let Some(path) = &context.options.output.report else { return Ok(None) };
        let is_file = !standard_output::is_meant(path);
        let file = is_file.then(|| OpenReport::create(path)).transpose()?.map(Mutex::new);
        Ok(Some(Box::new(Self { file, is_line: context.options.output.json })))
    }
}

impl Sink for ReportFile {
    fn report(&self, report: &RunReport) -> Result<(), Failure> {
        let text = match &self.file {
            None if self.is_line => serde_json::to_string(report),
            _ => serde_json::to_string_pretty(report),
        };
        let text = text.map_err(|error| Failure::fault(format!("the report: {error}")))? + "\n";
        match &self.file {
            None => exit::print(&text).map(|_| ()),
            Some(open) => open.lock().unwrap_or_else(PoisonError::into_inner).write(&text),
        }
    }
}

struct OpenReport {
    file: File,
    path: PathBuf,
    /// The name until it is complete; `None` for a device, a pipe or a link, which must not be replaced by a file.
    part: Option<PathBuf>,
}

impl OpenReport {
    fn create(path: &Path) -> Result<Self, Failure> {
        let is_special = fs::symlink_metadata(path).is_ok_and(|found| !found.is_file());
        let part = (!is_special).then(|| {
            let mut part = path.as_os_str().to_owned();
            part.push(".part");
            PathBuf::from(part)
        });
        let opened = part.as_deref().unwrap_or(path);
        let file = File::options()
            .write(true)
            .create(part.is_some())
            .truncate(true)
            .open(opened)
            .map_err(|error| Failure::usage(format!("{}: {error}", opened.display())))?;
        Ok(Self { file, path: path.to_owned(), part })
    }

    fn write(&mut self, text: &str) -> Result<(), Failure> {
        let fail = |error: String| Failure::fault(format!("{}: {error}", self.path.display()));
        self.file
            .write_all(text.as_bytes())
            .and_then(|()| self.part.as_ref().map_or(Ok(()), |part| fs::rename(part, &self.path)))
            .map_err(|error| fail(error.to_string()))
    }
}

/// A run that is refused after this was opened has no report, and leaves no empty file.
impl Drop for OpenReport {
    fn drop(&mut self) {
        if let Some(part) = &self.part
            && self.file.metadata().is_ok_and(|found| found.len() == 0)
        {
            let _ = fs::remove_file(part);
        }
    }
}
