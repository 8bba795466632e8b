//! `edison bench`.

use crate::cli::BenchOptions;
use crate::exit::Failure;
use std::process::ExitCode;

pub(crate) fn bench(_options: &BenchOptions) -> Result<ExitCode, Failure> {
    Err(Failure::usage("later"))
}
