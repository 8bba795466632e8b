//! The records of a table that counts over the whole run (`--table`).

use crate::spec::RunSpec;

/// The fields of its records, beside those of the key.
const TOLD: [&str; 6] = ["node_id", "stime", "ltime", "total_count", "total_byte", "end_reason"];

/// Returns true if its records have a field.
pub(super) fn is_told(spec: &RunSpec, name: &str) -> bool {
    TOLD.contains(&name) || spec.question.key.columns().any(|member| member == name)
}
