//! `edison man`: manual pages from the help of each command.

use crate::commands::Cli;
use clap::CommandFactory;
use runtime::exit::Failure;
use std::path::Path;
use std::process::ExitCode;

/// Writes a page of the program, and one of each command, as `edison-run.1`.
pub(crate) fn write(folder: &Path) -> Result<ExitCode, Failure> {
    console::write_pages(Cli::command(), folder)
        .map_err(|error| {
            let folder = folder.display();
            Failure::usage(format!("no manual pages can be written to {folder}: {error}; name a folder that can be made or written to"))
        })?;
    Ok(ExitCode::SUCCESS)
}
