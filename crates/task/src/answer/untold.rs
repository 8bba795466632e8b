//! Selects the numbers of untold values that the answer of a task depends on.

use super::name_of;
use crate::spec::{TaskKind, TaskSpec};
use crate::tasks::PlannedTask;
use flow::Untold;

/// Returns the numbers that matter to the answers of a task; the others are 0.
pub(crate) fn limit_to_task(task: &PlannedTask, untold: &Untold) -> Untold {
    let TaskSpec { kind, quantity, weight, of, .. } = &task.spec;
    let counted = name_of(*weight);
    match kind {
        TaskKind::Quantiles => {
            untold.limit_to_fields(|field| [quantity.field(), counted].contains(&field), &[], false)
        }
        TaskKind::SuperSpreaders => {
            let pair: Vec<_> = task.key.columns().chain(of.columns()).collect();
            untold.limit_to_fields(|_| false, &pair, false)
        }
        TaskKind::Inner => {
            let selected = task.spec.streams().flatten().flat_map(|only| only.spec().columns());
            let key: Vec<_> = task.key.columns().chain(selected).collect();
            untold.limit_to_fields(|field| field == counted, &key, false)
        }
        TaskKind::Distinct => {
            let key: Vec<_> = task.key.columns().collect();
            untold.limit_to_fields(|_| false, &key, false)
        }
        TaskKind::HeavyHitters | TaskKind::FlowSizes | TaskKind::Change | TaskKind::Entropy => {
            let key: Vec<_> = task.key.columns().collect();
            untold.limit_to_fields(|field| field == counted, &key, false)
        }
    }
}
