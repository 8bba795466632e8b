//! A function that each measuring thread calls before it measures.

use std::fmt;
use std::sync::Arc;

/// A function that each measuring thread calls before any of them receives. It returns a warning for the user where it fails.
#[derive(Clone)]
pub struct ThreadSetup(Arc<dyn Fn() -> Result<(), String> + Send + Sync>);

impl ThreadSetup {
    /// Makes this function the one that threads call first.
    pub fn new(setup: impl Fn() -> Result<(), String> + Send + Sync + 'static) -> Self {
        Self(Arc::new(setup))
    }

    pub(crate) fn run(&self) -> Result<(), String> {
        (self.0)()
    }
}

impl fmt::Debug for ThreadSetup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ThreadSetup(…)")
    }
}
