//! The words of Edison's programs to their users: messages on standard error, answers on standard output, a wrong command line in one line,
//! and manual pages.
//!
//! The crate does not know what a command does.
#![forbid(unsafe_code)]

mod manual;
mod output;
mod usage;

pub use manual::write_pages;
pub use output::{print, say};
pub use usage::{one_line, print_help};
