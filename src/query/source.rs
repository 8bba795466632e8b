//! The source from which questions are answered: files, or a store.

use super::files;
use crate::commands::QueryOptions;
use history::FlowFiles;
use history::levels::OpenStore;
use runtime::exit::Failure;
use runtime::questions::facts::RowFacts;

/// The source from which questions are answered.
pub(super) enum AnswerSource {
    /// Files that are open.
    Files(Box<FlowFiles>),
    /// A store, whose files are opened for each question.
    Store(Box<OpenStore>),
}

impl AnswerSource {
    /// Opens the source that the options name.
    pub(super) fn open(options: &QueryOptions, patterns: &[String]) -> Result<Self, Failure> {
        match &options.store {
            Some(folder) => {
                // Engines have other current folders.
                let whole = options.engine.engine.and_then(|_| folder.canonicalize().ok());
                let stored =
                    OpenStore::open(whole.as_deref().unwrap_or(folder)).map_err(
                        |line| match store::is_damage(&line) {
                            true => Failure::damage(line),
                            false => Failure::usage(line),
                        },
                    )?;
                Ok(Self::Store(Box::new(stored)))
            }
            None => Ok(Self::Files(Box::new(files::open(patterns)?))),
        }
    }

    /// Returns the remark that answers have where records are of samples and are not scaled; `None` where none are.
    pub(super) fn sampled(&self) -> Option<String> {
        match self {
            Self::Files(files) => files.sampled(),
            Self::Store(_) => None,
        }
    }

    /// Returns what is wrong with the manifest of a store.
    pub(super) fn damage(&self) -> Option<String> {
        match self {
            Self::Files(_) => None,
            Self::Store(stored) => stored.shelf().damage().map(ToString::to_string),
        }
    }

    /// Returns the facts that the checker of queries has to know.
    pub(super) fn facts(&self) -> RowFacts {
        match self {
            Self::Files(files) => RowFacts {
                key: *files.key(),
                window_ns: files.window_ns(),
                statistics: files.statistics(),
                rows: files.rows(),
                tracked: files.tracked_parts(),
                has_records: files.contents().any(|(_, contents)| !contents.has_windows),
                span: files.span(),
                lengths: files
                    .contents()
                    .filter_map(|(path, contents)| Some((path.display().to_string(), contents.window_ns?)))
                    .collect(),
            },
            Self::Store(stored) => read_store_facts(stored),
        }
    }
}

fn read_store_facts(stored: &OpenStore) -> RowFacts {
    let (shelf, folder) = (stored.shelf(), stored.folder().display().to_string());
    RowFacts {
        key: shelf.key(),
        window_ns: shelf.windows_ns().last().copied(),
        statistics: Vec::new(),
        rows: Some(shelf.rows()),
        // The files tell, once they are open.
        tracked: flow::TrackedParts::ALL,
        has_records: false,
        span: None,
        lengths: shelf.windows_ns().into_iter().map(|length| (folder.clone(), length)).collect(),
    }
}
