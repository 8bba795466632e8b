//! The steps of all nodes, shared by those who record and those who ask.

use crate::setting::OverviewSetting;
use crate::shared::Shared;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

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
