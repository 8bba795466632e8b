//! The `edison-lab` program: Edison's own measurements, and the papers' tables and figures measured here. Users of Edison do not need it.

mod cli;
mod commands;
mod failure;

use clap::{CommandFactory, Parser};
use cli::{Cli, Command};
use failure::Failure;
use std::process::ExitCode;

fn main() -> ExitCode {
    let result = match Cli::try_parse() {
        Ok(cli) => perform(cli.command),
        Err(error) => match console::print_help(&error) {
            Some(code) => return code,
            None => Err(Failure::usage(console::one_line(&error))),
        },
    };
    result.unwrap_or_else(|failure| failure.report())
}

fn perform(command: Command) -> Result<ExitCode, Failure> {
    match command {
        Command::Bench(options) => commands::bench(&options),
        Command::Study(options) => commands::study(&options),
        Command::Man { folder } => {
            console::write_pages(Cli::command(), &folder)
                .map_err(|error| Failure::usage(format!("{}: {error}", folder.display())))?;
            Ok(ExitCode::SUCCESS)
        }
    }
}
