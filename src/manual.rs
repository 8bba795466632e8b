//! `edison man`: manual pages from the help of each command.

use crate::cli::Cli;
use crate::exit::Failure;
use clap::CommandFactory;
use std::path::Path;
use std::process::ExitCode;
use std::{fs, io};

/// Writes a page of the program, and one of each command, as `edison-run.1`.
pub(crate) fn write(folder: &Path) -> Result<ExitCode, Failure> {
    let pages = || {
        fs::create_dir_all(folder)?;
        clap_mangen::generate_to(Cli::command().disable_help_subcommand(true), folder)?;
        for page in fs::read_dir(folder)? {
            let path = page?.path();
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            if name.starts_with("edison") && name.ends_with(".1") {
                fs::write(&path, with_examples(&fs::read_to_string(&path)?))?;
            }
        }
        Ok(())
    };
    pages().map_err(|error: io::Error| Failure::usage(format!("{}: {error}", folder.display())))?;
    Ok(ExitCode::SUCCESS)
}

/// What follows the options in a help are examples, whose lines stay as they are.
fn with_examples(page: &str) -> String {
    let Some((before, examples)) = page.split_once(".SH EXTRA\n") else { return page.to_owned() };
    let (examples, after) = match examples.find("\n.SH ") {
        Some(at) => examples.split_at(at + 1),
        None => (examples, ""),
    };
    format!("{before}.SH EXAMPLES\n.nf\n{examples}.fi\n{after}")
}
