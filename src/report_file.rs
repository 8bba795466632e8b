//! `--report`.

use crate::exit::{self, Failure};
use crate::standard_output;
use model::RunReport;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

/// `--report`: opened before measuring, so that a mistake in the path costs no run. `None` is standard output.
pub(crate) struct ReportFile(Option<OpenReport>);

impl ReportFile {
    /// Opens it.
    pub(crate) fn create(path: &Path) -> Result<Self, Failure> {
        if standard_output::is_meant(path) {
            return Ok(Self(None));
        }
        OpenReport::create(path).map(|open| Self(Some(open)))
    }

    /// Writes the report: one line behind the lines of windows, else indented.
    pub(crate) fn write(self, report: &RunReport, is_line: bool) -> Result<(), Failure> {
        let text = match &self.0 {
            None if is_line => serde_json::to_string(report),
            _ => serde_json::to_string_pretty(report),
        };
        let text = text.map_err(|error| Failure::fault(format!("the report: {error}")))? + "\n";
        match self.0 {
            None => exit::print(&text).map(|_| ()),
            Some(open) => open.write(&text),
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

    fn write(mut self, text: &str) -> Result<(), Failure> {
        let fail = |error: String| Failure::fault(format!("{}: {error}", self.path.display()));
        self.file
            .write_all(text.as_bytes())
            .and_then(|()| self.part.as_ref().map_or(Ok(()), |part| fs::rename(part, &self.path)))
            .map_err(|error| fail(error.to_string()))
    }
}
