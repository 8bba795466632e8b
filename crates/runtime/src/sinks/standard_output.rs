//! Standard output: what goes there, and who reads it.

use crate::spec::RunSpec;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// The reader of standard output may leave (`| head`), which ends the run quietly.
#[derive(Clone, Debug)]
pub struct OutputReader {
    left: Arc<AtomicBool>,
    stop: Arc<AtomicBool>,
}

impl OutputReader {
    /// The reader has not left yet. `stop` ends the run.
    pub fn new(stop: &Arc<AtomicBool>) -> Self {
        Self { left: Arc::default(), stop: Arc::clone(stop) }
    }

    /// Takes the error if it says that the reader has left.
    pub(crate) fn takes(&self, error: &io::Error) -> bool {
        let is_it = error.kind() == ErrorKind::BrokenPipe;
        if is_it {
            self.left.store(true, Relaxed);
            self.stop();
        }
        is_it
    }

    /// Ends the run.
    pub(crate) fn stop(&self) {
        self.stop.store(true, Relaxed);
    }

    /// Returns true if the run is to end.
    pub(crate) fn is_stopping(&self) -> bool {
        self.stop.load(Relaxed)
    }

    /// Returns true if the reader has left.
    pub fn has_left(&self) -> bool {
        self.left.load(Relaxed)
    }
}

/// The use of standard output: the tables or lines of windows go there, unless records or the report alone do.
pub(crate) struct StandardOutput {
    /// True if tables and lines of windows go to standard output.
    pub(crate) has_tables: bool,
}

impl StandardOutput {
    /// Returns what a run writes to standard output. The answers of a node of a deployment are its controller's.
    pub(crate) fn from_spec(spec: &RunSpec) -> Self {
        let goes_there = |path: &Option<PathBuf>| path.as_deref().is_some_and(is_meant);
        let is_taken = goes_there(&spec.output.flows) || goes_there(&spec.output.report);
        Self { has_tables: spec.link.is_none() && (spec.output.json || !is_taken) }
    }
}

/// Returns true if a path means standard output, by one of both names that [`record::create`] has.
pub(crate) fn is_meant(path: &Path) -> bool {
    path == Path::new("-") || path == Path::new("/dev/stdout")
}

/// Returns true if anything is written but to standard output.
pub(crate) fn writes_files(options: &RunSpec) -> bool {
    let is_file = |path: &Option<PathBuf>| path.as_deref().is_some_and(|path| !is_meant(path));
    options.output.export.is_some()
        || options.output.rows.is_some()
        || options.output.answers.is_some()
        || options.output.store.is_some()
        || is_file(&options.output.flows)
        || is_file(&options.output.report)
}
