//! The `edison-lab` program: Edison's own measurements, and the papers' tables and figures measured here. Users of Edison do not need it.

mod cli;
mod commands;
mod failure;

use clap::{CommandFactory, Parser};
use cli::{LabCli, LabCommand};
use failure::LabFailure;
use std::process::ExitCode;

fn main() -> ExitCode {
    let result = match LabCli::try_parse() {
        Ok(cli) => perform(cli.command),
        Err(error) => match console::print_help(&error) {
            Some(code) => return code,
            None => Err(LabFailure::usage(console::one_line(&error))),
        },
    };
    result.unwrap_or_else(|failure| failure.report())
}

fn perform(command: LabCommand) -> Result<ExitCode, LabFailure> {
    match command {
        LabCommand::Bench(options) => commands::bench(&options),
        LabCommand::Study(options) => commands::study(&options),
        LabCommand::Pack { out } => commands::pack(&out),
        LabCommand::Man { folder } => {
            console::write_pages(LabCli::command(), &folder)
                .map_err(|error| LabFailure::usage(format!("{}: {error}", folder.display())))?;
            Ok(ExitCode::SUCCESS)
        }
    }
}
