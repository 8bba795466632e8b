//! The commands of the program.

mod bench;
mod study;

pub(crate) use bench::bench;
pub(crate) use study::study;
