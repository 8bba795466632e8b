//! What tests of several crates stand on: captures, and a link of their own. Never part of a program.

pub mod captures;
pub mod veth;
