//! Answers that are computed of those of other queries, and of what these answered in earlier windows.

mod derivation;
mod evaluation;
mod formula;
mod known;
mod outcome;
mod table;

pub use derivation::{Derivation, Order, Source};
pub use formula::Formula;
pub use outcome::Outcome;

pub(crate) use known::{Known, Number};
