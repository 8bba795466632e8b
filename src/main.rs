//! The `edison` program: reads the command line, selects the parts and connects them.

mod adapt;
#[cfg_attr(not(feature = "web"), path = "no_alert_options.rs")]
mod alert_options;
#[cfg_attr(not(feature = "web"), path = "no_alerts.rs")]
mod alerts;
mod arguments;
mod asked;
#[cfg(feature = "amqp")]
mod authority;
mod bound;
mod captured;
mod check;
mod choices;
mod cli;
#[cfg(feature = "web")]
mod client;
mod collect;
mod config_file;
#[cfg_attr(not(feature = "kafka"), path = "no_delivery.rs")]
mod delivery;
#[cfg(feature = "amqp")]
mod deployment;
mod dry_run;
#[cfg(feature = "dpdk")]
mod eal;
mod engine_options;
mod enrich;
mod exit;
mod explain;
mod fields;
#[cfg(feature = "amqp")]
mod file_name;
mod generate;
#[cfg(feature = "web")]
mod history_asked;
mod import;
mod live;
mod machine;
mod manual;
mod measurement;
mod names;
mod needs;
mod nodes;
mod open_files;
mod origin;
#[cfg_attr(not(feature = "web"), path = "no_page.rs")]
mod page;
#[cfg(feature = "web")]
mod page_store;
mod parallel;
mod parts;
mod patterns;
mod periods;
mod ports;
mod positional;
mod quantity;
mod queries;
mod query;
mod query_text;
mod recorded;
mod refusal;
#[cfg(feature = "web")]
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
        Command::Collect(options) => collect::collect(&options),
        Command::Import(options) => import::import(&options),
        Command::DryRun(options) => dry_run::dry_run(&options),
        Command::Check(options) => check::check(&options),
        Command::Explain(options) => explain::explain(&options),
        #[cfg(feature = "amqp")]
        Command::Probe(options) => deployment::probe::run(&options),
        #[cfg(feature = "amqp")]
        Command::Controller(options) => deployment::controller::run(&options),
        #[cfg(feature = "amqp")]
        Command::Authority(options) => authority::run(&options),
        #[cfg(feature = "web")]
        Command::Nodes(options) => client::nodes(&options),
        #[cfg(feature = "web")]
        Command::Queries(options) => client::queries(&options),
        #[cfg(feature = "web")]
        Command::Events(options) => client::events(&options),
        #[cfg(feature = "web")]
        Command::Story(options) => client::story(&options),
        #[cfg(feature = "web")]
        Command::Add(options) => client::add(&options),
        #[cfg(feature = "web")]
        Command::Cancel(options) => client::cancel(&options),
        #[cfg(feature = "web")]
        Command::Watch(options) => client::watch(&options),
        #[cfg(feature = "web")]
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
