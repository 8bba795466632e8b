//! The pipeline of a run, always the same: what is to be run ([`spec`]), what is asked ([`questions`]), how nodes measure and a controller
//! joins them ([`assembly`]), and where that goes ([`sinks`]). A program turns its options into a [`spec::RunSpec`] and calls [`assembly::run`].

// Only a deployment uses some pieces; a build with everything shows what is never used.
#![cfg_attr(not(all(feature = "amqp", feature = "dpdk")), allow(dead_code))]

pub mod assembly;
pub mod bound;
#[cfg(feature = "amqp")]
pub mod broker;
pub mod choices;
pub mod enrich;
pub mod exit;
pub mod lacking;
pub mod machine;
pub mod names;
pub mod open_files;
pub mod origin;
pub mod patterns;
pub mod quantity;
pub mod questions;
pub mod recorded;
pub mod resolver;
pub mod scheduler;
pub mod signals;
pub mod sinks;
pub mod spec;
mod tasks;
pub mod trust;
pub mod variable;
mod verdict;
pub mod wording;
