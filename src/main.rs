//! The `edison` program: reads the command line, selects the parts and connects them.

// Only a deployment uses some pieces of the core; a build with everything shows what is never used.
#![cfg_attr(not(all(feature = "amqp", feature = "dpdk")), allow(dead_code))]

mod arguments;
mod check;
mod client;
mod commands;
mod config_file;
mod engine_options;
mod explain;
mod fields;
mod generate;
mod import;
mod manual;
mod ports;
mod query;
mod rfc2544;
mod tasks;
mod toml_file;
mod usage;
mod version;

use clap::FromArgMatches;
use commands::{Cli, Command, ControllerCommand};
use runtime::assembly;
use runtime::exit::{self, Failure};
use runtime::origin::Origins;
use std::process::ExitCode;
use usage::UsageError;

fn main() -> ExitCode {
    // Made once: in the quick program it takes a tenth of the time of a run of fifteen packets.
    let command = commands::command();
    let prepared = arguments::with_command(std::env::args_os().collect(), &command).and_then(|words| {
        config_file::configured_command(command, &words).map(|(command, origins)| (words, command, origins))
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
            UsageError::Help(code) => Ok(code),
            UsageError::Wrong(failure) => Err(failure),
        },
    };
    result.unwrap_or_else(|failure| failure.report(&origins))
}

fn perform(command: Command, origins: &Origins) -> Result<ExitCode, Failure> {
    match command {
        Command::Run(options) => assembly::run(&options.spec, origins),
        Command::Query(options) => query::query(&options),
        Command::Collect(options) => collect(*options, origins),
        Command::Import(options) => import::import(&options),
        Command::DryRun(options) => assembly::run(&options.into_spec(), origins),
        Command::Check(options) => check::check(&options),
        Command::Explain(options) => explain::explain(&options),
        Command::Probe(options) => assembly::run(&options.into_spec(), origins),
        Command::Controller(options) => controller(&options, origins),
        Command::Authority(options) => (deployment::find("edison authority")?.authority)(&options),
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
        Command::Rfc2544(options) => rfc2544::rfc2544(&options),
        Command::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut commands::command(), "edison", &mut script);
            exit::print(&String::from_utf8_lossy(&script))
        }
        Command::Man { folder } => manual::write(&folder),
    }
}

/// Receives what routers send, as a node of a deployment where a file of settings is named.
fn collect(options: commands::CollectOptions, origins: &Origins) -> Result<ExitCode, Failure> {
    let Some(path) = &options.config else {
        let spec = options.into_spec()?;
        say_unused_of_collect();
        return assembly::run(&spec, origins);
    };
    options.check_alone(origins)?;
    let words = ["edison".into(), "probe".into(), "--config".into(), path.clone().into_os_string()];
    let (command, of_file) = config_file::command_of(&words)?;
    let Command::Probe(node) = command else {
        return Err(Failure::fault("the file of settings is not read"));
    };
    let spec = options.apply_to_node(*node)?;
    assembly::run(&spec, &of_file).map_err(|failure| failure.explained(&of_file))
}

/// Joins the probes of a deployment, or does what is asked for instead.
fn controller(options: &commands::ControllerOptions, origins: &Origins) -> Result<ExitCode, Failure> {
    let deployment = deployment::find("edison controller")?;
    match &options.command {
        None => (deployment.controller)(&options.settings)
            .map_err(|failure| failure.placed(origins, options.config.as_deref())),
        Some(ControllerCommand::Token(options)) => (deployment.token)(options),
        Some(ControllerCommand::Provision(options)) => {
            let config = options.config.clone().into_os_string();
            let words = ["edison".into(), "controller".into(), "--config".into(), config];
            match config_file::command_of(&words)? {
                (Command::Controller(controller), of_file) => {
                    (deployment.provision)(options, controller.settings)
                        .map_err(|failure| failure.placed(&of_file, Some(&options.config)))
                }
                _ => Err(Failure::fault("the settings of the controller are not read")),
            }
        }
    }
}

/// Says which variables of `edison run` that are set `edison collect` does not use, as routers send no packets that they could be about.
fn say_unused_of_collect() {
    let program = commands::command();
    let [run, collect] = ["run", "collect"].map(|name| program.find_subcommand(name));
    let Some((run, collect)) = run.zip(collect) else { return };
    let unused = runtime::origin::variables_of(run, collect, assembly::refused_with_routers());
    if !unused.is_empty() {
        exit::say(&format!("{}: not used, as routers send flow records, no packets", unused.join(", ")));
    }
}
