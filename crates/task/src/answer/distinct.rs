//! The number of distinct values.

use super::{AnswerInput, OK, QualifiedRows, sum};
use crate::state::{FamilyState, FlowCounter, StateKind};
use crate::task_answer::TaskRows;
use flow::Estimate;
use sketch::ByteKey;

pub(super) fn rows(asked: &AnswerInput<'_>) -> QualifiedRows {
    let state = asked.state();
    let (mut all, mut not_kept) = values_of_part(&state.v4);
    if let Some(v6) = &state.v6 {
        let (more, more_not_kept) = values_of_part(v6);
        all = sum(all, more);
        not_kept += more_not_kept;
    }
    let status = match not_kept {
        0 => OK.to_owned(),
        packets => {
            format!(
                "incomplete: {packets} packets with values for which there was no room; give it more memory"
            )
        }
    };
    (TaskRows::Distinct(all), status)
}

/// The distinct values of one family, and the packets whose value an exact table had no room for.
fn values_of_part<K: ByteKey>(part: &FamilyState<K>) -> (Estimate, u64) {
    let none = (Estimate::exact(0.0), 0);
    // A structure without packets would have bounds of its own.
    if part.total == 0 {
        return none;
    }
    let StateKind::Counted(counted) = &part.of else { return none };
    let values = counted.distinct().unwrap_or(Estimate::unbounded(0.0));
    match &**counted {
        // Each of these packets may have had a value of its own, or one that is kept.
        FlowCounter::Exact(table) if table.not_kept() > 0 => {
            let upper = values.value + table.not_kept() as f64;
            (Estimate::bounded(values.value, values.value, upper, 1.0), table.not_kept())
        }
        _ => (values, 0),
    }
}
