//! The kind and the length of steps.

use model::view::now::NowKind;

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
