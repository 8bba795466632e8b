//! What questions are answered from: files, or a store.

use super::facts::Facts;
use super::files;
use super::stored::Stored;
use crate::cli::QueryOptions;
use crate::exit::Failure;
use history::FlowFiles;

/// What questions are answered from.
pub(super) enum Source {
    /// Files that are open.
    Files(FlowFiles),
    /// A store, whose files are opened for each question.
    Store(Box<Stored>),
}

impl Source {
    /// What the options name.
    pub(super) fn open(options: &QueryOptions, patterns: &[String]) -> Result<Self, Failure> {
        match &options.store {
            Some(folder) => Ok(Self::Store(Box::new(Stored::open(folder)?))),
            None => Ok(Self::Files(files::open(patterns)?)),
        }
    }

    /// What the checker of queries has to know.
    pub(super) fn facts(&self) -> Facts {
        match self {
            Self::Files(files) => Facts {
                key: *files.key(),
                window_ns: files.window_ns(),
                statistics: files.statistics(),
                rows: files.rows(),
                tracks_loss: files.track_losses(),
                has_records: files.contents().any(|(_, contents)| !contents.has_windows),
                lengths: files
                    .contents()
                    .filter_map(|(path, contents)| Some((path.display().to_string(), contents.window_ns?)))
                    .collect(),
            },
            Self::Store(stored) => stored.facts(),
        }
    }
}
