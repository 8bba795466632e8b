//! What the tests of the program share: running it, and reading its input and output independently of it.

pub(crate) mod broker;
pub(crate) mod capture;
pub(crate) mod deployment;
pub(crate) mod ipfix;
pub(crate) mod made_store;
pub(crate) mod output;
pub(crate) mod program;
pub(crate) mod pty;
pub(crate) mod schema;
pub(crate) mod scratch;
pub(crate) mod terminal;
pub(crate) mod waiting;
