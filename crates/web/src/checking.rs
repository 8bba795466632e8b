//! The settings that texts of clients are checked for.

use equery::{CheckOptions, ExplainContext};
use std::fmt;
use std::sync::Arc;

/// A function that tells why the queries of a file, a name and a text without errors, cannot stand here, or not in the places of those of their
/// names.
type Refuse = dyn Fn(&str, &str, bool) -> Vec<String> + Send + Sync;

/// The settings that texts of clients are checked and explained for. The default knows nothing.
#[derive(Clone, Default)]
pub struct Checking {
    pub(crate) options: CheckOptions,
    pub(crate) explain: ExplainContext,
    refuse: Option<Arc<Refuse>>,
}

impl Checking {
    /// Nodes, key, windows and queries as these options have them.
    pub fn new(options: CheckOptions) -> Self {
        Self { explain: ExplainContext::from_options(&options), options, refuse: None }
    }

    /// Sets how long a window waits for what is late, nanoseconds.
    pub fn with_grace(mut self, grace_ns: u64) -> Self {
        self.explain.grace_ns = grace_ns;
        self
    }

    /// Sets the function that says why the queries of a file, a name and a text without errors, are not installed; if so, in the places of those
    /// of their names. It runs on a thread of the server.
    pub fn with_refusals(
        self,
        refuse: impl Fn(&str, &str, bool) -> Vec<String> + Send + Sync + 'static,
    ) -> Self {
        Self { refuse: Some(Arc::new(refuse)), ..self }
    }

    pub(crate) fn refusals(&self, file: &str, text: &str, replaces: bool) -> Vec<String> {
        self.refuse.as_ref().map(|refuse| refuse(file, text, replaces)).unwrap_or_default()
    }
}

impl fmt::Debug for Checking {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Checking").field("options", &self.options).finish_non_exhaustive()
    }
}
