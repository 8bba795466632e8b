//! State that several cores update together, by the three methods of Wu et al. 2016, section 3.2: a counter
//! ([`AtomicCounter`], Algorithm 4), a set ([`Slots`], Algorithm 5), and a critical section ([`Section`], Algorithm
//! 6).
//!
//! `make loom` runs small programs on them through every order of events that the memory model allows.

mod counter;
#[cfg(all(test, loom))]
mod loom_tests;
mod section;
mod slots;

pub use counter::AtomicCounter;
pub use section::Section;
pub use slots::Slots;
