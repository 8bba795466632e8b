//! Answers that are computed of those of other queries, and of what these answered in earlier windows.

pub(crate) mod derivation;
pub(crate) mod formula;
pub(crate) mod outcome;
pub(crate) mod table;

#[cfg(test)]
mod tests;

pub use derivation::{Derivation, DerivationSource, ValueOrder};
pub use formula::Formula;
pub use outcome::DerivedResult;
