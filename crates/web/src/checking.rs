//! What texts of clients are checked for.

use equery::{CheckedQuery, ExplainOptions, Options};
use std::fmt;
use std::sync::Arc;

/// Why queries without errors, those of a file of this name, cannot stand here.
type Refuse = dyn Fn(&str, Vec<CheckedQuery>) -> Vec<String> + Send + Sync;

/// What texts of clients are checked and explained for. The default knows nothing.
#[derive(Clone, Default)]
pub struct Checking {
    pub(crate) options: Options,
    pub(crate) explain: ExplainOptions,
    refuse: Option<Arc<Refuse>>,
}

impl Checking {
    /// Nodes, key, windows and queries as these options have them.
    pub fn new(options: Options) -> Self {
        Self { explain: ExplainOptions::of(&options), options, refuse: None }
    }

    /// How long a window waits for what is late, nanoseconds.
    pub fn with_grace(mut self, grace_ns: u64) -> Self {
        self.explain.grace_ns = grace_ns;
        self
    }

    /// What says why queries without errors, those of a file of this name, are not installed. It runs on a thread of the server.
    pub fn with_refusals(
        self,
        refuse: impl Fn(&str, Vec<CheckedQuery>) -> Vec<String> + Send + Sync + 'static,
    ) -> Self {
        Self { refuse: Some(Arc::new(refuse)), ..self }
    }

    pub(crate) fn refusals(&self, file: &str, queries: Vec<CheckedQuery>) -> Vec<String> {
        self.refuse.as_ref().map(|refuse| refuse(file, queries)).unwrap_or_default()
    }
}

impl fmt::Debug for Checking {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Checking").field("options", &self.options).finish_non_exhaustive()
    }
}
