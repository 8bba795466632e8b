//! The levels of a store: window rows, and rollups of them without ports over a minute and an hour.
//!
//! A [`Shelf`] is what a store's manifest names. [`Shelf::choose`] finds the coarsest rollup that answers a question exactly, and which files of
//! which levels cover the question's time: rollups as far as they are complete and their windows lie in it, finer ones or rows for the rest, and what was measured late and is in no rollup yet. A [`OpenStore`] answers from them.

mod cover;
mod elsewhere;
mod exact;
mod reading;
mod share;
mod shelf;
mod stored;
mod telling;
mod times;

pub use elsewhere::Elsewhere;
pub use reading::ScanPlan;
pub use share::QuestionShare;
pub use shelf::Shelf;
pub use stored::OpenStore;
