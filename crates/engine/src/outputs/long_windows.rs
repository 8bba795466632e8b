//! The begin of windows whose lengths differ from those of the run.

use crate::closed::ClosedWindow;
use crate::control::Control;
use crate::ids::WindowId;
use task::TaskSet;
use task::rows::LongWindows;

/// Begins windows of other lengths whose queries are new. They begin with the first window whose task set has their queries, although
/// the first packets may be in a later window. `has` returns true if a task set has the queries of these windows.
pub(crate) fn begin(
    long: &mut [LongWindows],
    control: &Control,
    closed: &ClosedWindow,
    has: impl Fn(&TaskSet, &LongWindows) -> bool,
) {
    if closed.empty_before == 0 {
        return;
    }
    let length = closed.span.end_ns - closed.span.start_ns;
    let since = WindowId::new(closed.window.number().saturating_sub(closed.empty_before));
    for windows in long.iter_mut().filter(|windows| !windows.has_begun()) {
        if let Some(first) = control.first_since(since, closed.window, |set| has(set, windows)) {
            windows.begin(first.number().saturating_mul(length));
        }
    }
}
