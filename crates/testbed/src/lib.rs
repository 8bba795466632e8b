//! What tests of several crates share: captures, and a dedicated link. Never part of a program.

pub mod captures;
pub mod veth;
