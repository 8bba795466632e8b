//! The steps of all nodes, shared by those who record and those who ask.

use crate::group_key::KeyShape;
use crate::recorder::{NodeSetting, Recorder};
use crate::shared::Shared;
use model::view::now::NowKind;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The length of a step of what is measured live, nanoseconds.
pub const STEP_NS: u64 = 60_000_000_000;
/// The number of steps that are kept of a node.
pub const MOST_STEPS: usize = 120;

/// The kind and the length of steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OverviewSetting {
    pub(crate) kind: NowKind,
    pub(crate) step_ns: u64,
}

impl OverviewSetting {
    /// Steps of a minute of what is measured live, or of one window where that is longer. `window_ns`: the length of windows, nanoseconds.
    pub fn live(window_ns: u64) -> Self {
        Self { kind: NowKind::Live, step_ns: window_ns.max(STEP_NS) }
    }

    /// Steps of the whole time of captures. They begin with the length of a window, and become longer as there are more of them.
    pub fn capture(window_ns: u64) -> Self {
        Self { kind: NowKind::Capture, step_ns: window_ns }
    }
}

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

    /// Returns what records a node.
    pub fn recorder(&self, node: &str, setting: NodeSetting) -> Recorder {
        let shape = KeyShape { without_rows: setting.without_rows, ..KeyShape::from_spec(&setting.key) };
        let number = self.shared().node(node, shape, setting.tracks_loss);
        Recorder::new(self.clone(), number, shape, setting)
    }

    pub(crate) fn shared(&self) -> MutexGuard<'_, Shared> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
