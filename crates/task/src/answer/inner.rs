//! The inner product of two streams: the size of their join.

use super::{AnswerInput, OK, QualifiedRows, sum};
use crate::state::{FamilyState, StateKind};
use crate::task_answer::TaskRows;
use flow::Estimate;
use sketch::{ByteKey, Unmergeable};

pub(super) fn rows(asked: &AnswerInput<'_>) -> QualifiedRows {
    // A stream that is joined with itself is counted once.
    let (a, b) = (asked.state(), asked.states.last().unwrap_or(asked.state()));
    let totals = [a.total(), b.total()];
    let of_both = || -> Result<(Estimate, u64), Unmergeable> {
        let (mut product, mut not_kept) = product_of_part(&a.v4, &b.v4)?;
        if let Some((a, b)) = a.v6.as_ref().zip(b.v6.as_ref()) {
            let (more, more_not_kept) = product_of_part(a, b)?;
            product = sum(product, more);
            not_kept += more_not_kept;
        }
        Ok((product, not_kept))
    };
    let figure = asked.figure();
    match of_both() {
        Ok((product, 0)) => (TaskRows::Inner { product, totals, figure }, OK.to_owned()),
        Ok((product, weight)) => {
            let product = Estimate::unbounded(product.value);
            let status = format!(
                "incomplete: {weight} of the weight is of keys for which there was no room; give it more memory"
            );
            (TaskRows::Inner { product, totals, figure }, status)
        }
        Err(error) => {
            let product = Estimate::unbounded(0.0);
            (TaskRows::Inner { product, totals, figure }, format!("incomplete: {error}"))
        }
    }
}

/// The product of one family, and the weight that found no room in exact tables.
fn product_of_part<K: ByteKey>(
    a: &FamilyState<K>,
    b: &FamilyState<K>,
) -> Result<(Estimate, u64), Unmergeable> {
    // Sketches without packets would have bounds of their own.
    let (true, StateKind::Products(ours), StateKind::Products(theirs)) =
        (a.total > 0 && b.total > 0, &a.of, &b.of)
    else {
        return Ok((Estimate::exact(0.0), 0));
    };
    Ok((ours.product(theirs)?, ours.not_kept().max(theirs.not_kept())))
}
