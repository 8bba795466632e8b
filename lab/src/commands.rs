//! The commands of the program.

mod bench;
mod pack;
mod study;

pub(crate) use bench::bench;
pub(crate) use pack::pack;
pub(crate) use study::study;
