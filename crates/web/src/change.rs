//! Why traffic changed between two periods: the groups that contribute most to the difference, by several fields.
//!
//! The stores of nodes are asked twice. First which groups lead in either period ([`text::ranking`]); then, in one read for all fields, what
//! those that can be among the largest contributors have in both, and what all have ([`text::figures`]). So each figure is exact on both sides,
//! and the groups and the rest add up to the whole.

mod asked;
mod condition;
mod contributors;
mod field;
mod leaders;
mod literal;
mod names;
mod outcome;
mod side;
mod text;

#[cfg(test)]
mod tests;

pub(crate) use asked::{ChangeAsked, MOST_GROUPS};
pub(crate) use condition::parts as condition_parts;
pub(crate) use contributors::outcome;
pub(crate) use field::{ChangeField, FIELDS, NODE};
pub(crate) use leaders::leaders;
pub(crate) use outcome::{Change, ChangeMeasure, Unanswered};
pub(crate) use text::{figures, is_answerable, ranking};
