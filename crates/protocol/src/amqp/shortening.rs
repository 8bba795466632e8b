//! Results that take less room in a spool that is nearly full.

use crate::FromProbe;
use crate::envelope::PackedBody;

/// The rows that are kept of an answer.
pub(super) const MOST_ROWS: usize = 100;
/// The reason why the other rows are not kept.
const REASON: &str = "the spool of the probe was nearly full";

/// The result of a window with the first rows of each answer; `None` where that is no less. Answers of tasks, whose bounds are of all
/// their rows, stay as they are.
pub(super) fn shortened(body: &PackedBody) -> Option<PackedBody> {
    let Ok(FromProbe::Window(mut result)) = body.open() else { return None };
    let long = result.answers.iter_mut().filter(|answer| answer.task.is_none());
    let cut: usize = long.map(|answer| answer.shorten(MOST_ROWS, REASON)).sum();
    if cut == 0 {
        return None;
    }
    PackedBody::new(&FromProbe::Window(result)).ok().filter(|short| short.len() < body.len())
}
