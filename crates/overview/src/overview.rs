//! The steps of all nodes, shared by those who record and those who ask.

use crate::setting::OverviewSetting;
use crate::shared::Shared;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The reason why a question has no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OverviewError {
    /// There is no node of this name.
    NoNode(String),
}

impl fmt::Display for OverviewError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoNode(line) => f.write_str(line),
        }
    }
}

impl std::error::Error for OverviewError {}

/// The steps of all nodes. Clones are the same.
#[derive(Clone, Debug)]
pub struct Overview(Arc<Mutex<Shared>>);

impl Overview {
    /// Creates an overview without nodes.
    pub fn new(setting: OverviewSetting) -> Self {
        Self(Arc::new(Mutex::new(Shared::new(setting))))
    }

    pub(crate) fn shared(&self) -> MutexGuard<'_, Shared> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
