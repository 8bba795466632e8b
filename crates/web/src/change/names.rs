//! The names of the queries of a question.

/// The names of the two periods' queries.
const SIDES: [&str; 2] = ["before", "after"];

/// Returns the name of the query about all that pass, in a period.
pub(crate) fn name_of_all(side: usize) -> String {
    format!("all_{}", SIDES[side])
}

/// Returns the name of the query about a field's groups, in a period.
pub(crate) fn name_of_field(side: usize, field: usize) -> String {
    format!("{}_{field}", SIDES[side])
}
