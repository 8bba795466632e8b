//! The `edison` program: reads the command line, selects the parts and connects them.

mod bench;
mod cli;
mod config_file;
#[cfg(feature = "dpdk")]
mod eal;
mod exit;
mod fields;
mod generate;
mod machine;
mod parallel;
mod parts;
mod ports;
mod positional;
mod quantity;
mod queries;
mod refusal;
mod run;
mod screen;
mod signals;
mod sources;
mod tasks;
mod wording;

use clap::{CommandFactory, FromArgMatches};
use cli::{Cli, Command};
use exit::Failure;
use std::process::ExitCode;

fn main() -> ExitCode {
    let matches = match config_file::configured_command().map(|command| command.try_get_matches()) {
        Ok(Ok(matches)) => matches,
        Ok(Err(error)) => error.exit(),
        Err(failure) => return failure.report(),
    };
    let result = match Cli::from_arg_matches(&matches) {
        Ok(cli) => perform(cli.command),
        Err(error) => error.exit(),
    };
    match result {
        Ok(code) => code,
        Err(failure) => failure.report(),
    }
}

fn perform(command: Command) -> Result<ExitCode, Failure> {
    match command {
        Command::Run(options) => run::run(&options),
        Command::Fields { json } => fields::print(json),
        Command::Ports => ports::print(),
        Command::Tasks => tasks::print(),
        Command::Generate(options) => generate::generate(&options),
        Command::Bench(options) => bench::bench(&options),
        Command::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Cli::command(), "edison", &mut script);
            exit::print(&String::from_utf8_lossy(&script))
        }
    }
}
