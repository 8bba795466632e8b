//! The `edison` program: reads the command line, selects the parts and connects them.

// Only a deployment uses some pieces of the core; a build with everything shows what is never used.
#![cfg_attr(not(all(feature = "amqp", feature = "dpdk")), allow(dead_code))]

mod adapt;
mod alert_options;
mod alerts;
mod arguments;
mod asked;
mod bound;
mod captured;
mod check;
mod choices;
mod cli;
mod client;
mod collect;
mod config_file;
mod delivery;
#[cfg(feature = "amqp")]
mod deployment;
mod deployments;
#[cfg(feature = "dpdk")]
mod dpdk;
mod dry_run;
mod engine_options;
mod enrich;
mod exit;
mod explain;
mod fields;
mod generate;
mod history_asked;
mod import;
mod lacking;
mod live;
mod machine;
mod manual;
mod measurement;
mod names;
mod needs;
mod nodes;
mod open_files;
mod origin;
mod page;
mod page_store;
mod parallel;
mod parts;
mod patterns;
mod periods;
mod port_drivers;
mod ports;
mod positional;
mod quantity;
mod queries;
mod query;
mod query_text;
mod recorded;
mod refusal;
mod rehearsing;
mod report_file;
mod reporting;
mod resolver;
mod routers;
mod row_file;
mod row_store;
mod run;
mod screen;
mod signals;
mod sketches;
mod sources;
mod standard_output;
mod stored;
mod system;
mod tasks;
mod toml_file;
mod usage;
mod variable;
mod version;
mod views;
mod watched;
mod window_tally;
mod wording;

use clap::{CommandFactory, FromArgMatches};
use cli::{Cli, Command};
use exit::Failure;
use origin::Origins;
use std::process::ExitCode;
use usage::Refused;

fn main() -> ExitCode {
    let prepared =
        arguments::with_command(std::env::args_os().collect(), &Cli::command()).and_then(|words| {
            config_file::configured_command(&words).map(|(command, origins)| (words, command, origins))
        });
    let (words, command, origins) = match prepared {
        Ok(prepared) => prepared,
        Err(failure) => return failure.report(&Origins::default()),
    };
    let command = command.version(version::version());
    let parsed =
        command.clone().try_get_matches_from(&words).and_then(|matches| Cli::from_arg_matches(&matches));
    let result = match parsed {
        Ok(cli) => perform(cli.command, &origins),
        Err(error) => match usage::refused(&error, &words, &command) {
            Refused::Help(code) => Ok(code),
            Refused::Wrong(failure) => Err(failure),
        },
    };
    result.unwrap_or_else(|failure| failure.report(&origins))
}

fn perform(command: Command, origins: &Origins) -> Result<ExitCode, Failure> {
    match command {
        Command::Run(options) => run::run(&options, origins),
        Command::Query(options) => query::query(&options),
        Command::Collect(options) if options.config.is_some() => {
            (deployments::find("edison collect --config")?.collect)(&options)
        }
        Command::Collect(options) => collect::collect(&options),
        Command::Import(options) => import::import(&options),
        Command::DryRun(options) => dry_run::dry_run(&options),
        Command::Check(options) => check::check(&options),
        Command::Explain(options) => explain::explain(&options),
        Command::Probe(options) => (deployments::find("edison probe")?.probe)(&options),
        Command::Controller(options) => (deployments::find("edison controller")?.controller)(&options),
        Command::Authority(options) => (deployments::find("edison authority")?.authority)(&options),
        Command::Nodes(options) => client::nodes(&options),
        Command::Queries(options) => client::queries(&options),
        Command::Events(options) => client::events(&options),
        Command::Story(options) => client::story(&options),
        Command::Add(options) => client::add(&options),
        Command::Cancel(options) => client::cancel(&options),
        Command::Watch(options) => client::watch(&options),
        Command::Top(options) => client::top(&options),
        Command::Fields { json } => fields::print(json),
        Command::Ports => ports::print(),
        Command::Tasks => tasks::print(),
        Command::Generate(options) => generate::generate(&options),
        Command::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Cli::command(), "edison", &mut script);
            exit::print(&String::from_utf8_lossy(&script))
        }
        Command::Man { folder } => manual::write(&folder),
    }
}
