//! What the tests of the program share: running it, and reading what goes in and comes out by means of their own.

pub(crate) mod capture;
pub(crate) mod ipfix;
pub(crate) mod output;
pub(crate) mod program;
pub(crate) mod scratch;
