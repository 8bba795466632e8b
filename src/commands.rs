//! The command line: each command with its own arguments and its help.

mod actions;
mod authority;
mod client;
mod collect;
mod controller;
mod dry_run;
mod explain;
mod generate;
mod import;
mod probe;
mod query;
mod rfc2544;
mod run;

pub(crate) use self::rfc2544::Rfc2544Options;
pub(crate) use actions::{ActionOptions, CommandWords, WebhookUrl};
pub(crate) use client::{
    AddOptions, ApiOptions, CancelOptions, ClientOptions, EventsOptions, StoryOptions, TopOptions,
    WatchOptions,
};
pub(crate) use collect::CollectOptions;
pub(crate) use controller::{ControllerCommand, ControllerOptions};
pub(crate) use explain::ExplainOptions;
pub(crate) use generate::GenerateOptions;
pub(crate) use import::ImportOptions;
pub(crate) use probe::ProbeOptions;
pub(crate) use query::QueryOptions;
pub(crate) use run::RunOptions;

use clap::{CommandFactory, Parser, Subcommand};
use deployment::options::AuthorityOptions;
use runtime::questions::query_text::QueryTextOptions;
use runtime::spec::DryRunOptions;
use runtime::spec::{LIMITS, OUTPUT, QUESTION};
use std::path::PathBuf;

const USAGE: &str = "edison SOURCE… [FILTER]
       edison COMMAND";

const EXAMPLES: &str = "\
Examples:
  edison trace.pcap                             measure a capture: short for edison run trace.pcap
  edison query flows.parquet --by src_addr      rank the sources of recorded flows

`edison COMMAND --help` has all of a command; `edison run -h` has the options that most runs need.";

/// The groups of commands by what they are for, and their names.
const GROUPS: [(&str, &[&str]); 5] = [
    ("Measure", &["run", "collect", "rfc2544"]),
    ("Ask", &["query", "dry-run", "check", "explain"]),
    ("Deploy", &["probe", "controller", "authority", "add", "cancel"]),
    ("Inspect", &["top", "watch", "nodes", "queries", "events", "story", "ports", "fields", "tasks"]),
    ("Make", &["generate", "import", "completions", "man"]),
];

/// Returns the command line, whose help has its commands by what they are for.
pub(crate) fn command() -> clap::Command {
    // `mut_subcommand` would put it behind all others.
    let command = Cli::command().mut_subcommands(|own| match own.get_name() {
        "probe" => {
            probe::REFUSED.into_iter().fold(own, |own, id| own.mut_arg(id, |option| option.hide(true)))
        }
        _ => own,
    });
    let width = command.get_subcommands().map(|known| known.get_name().len()).max().unwrap_or(0);
    let mut text = String::new();
    for (group, names) in GROUPS {
        text.push_str(&format!("\n{group}:\n"));
        for known in names.iter().filter_map(|name| command.find_subcommand(name)) {
            let about = known.get_about().map(ToString::to_string).unwrap_or_default();
            text.push_str(&format!("  {:width$}  {about}\n", known.get_name()));
        }
    }
    command.help_template(format!(
        "{{about}}\n\n{{usage-heading}} {{usage}}\n{text}\nOptions:\n{{options}}{{after-help}}\n"
    ))
}

/// Exact network measurement, with its own loss next to every figure.
#[derive(Debug, Parser)]
#[command(name = "edison", version, max_term_width = 110, override_usage = USAGE, after_help = EXAMPLES)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Measure captures, interfaces or ports, and answer
    Run(Box<RunOptions>),
    /// Answer questions about recorded flows: Parquet, CSV, JSON lines, IPFIX
    #[command(after_help = query::QUERY_EXAMPLES, override_usage = query::QUERY_USAGE)]
    Query(Box<QueryOptions>),
    /// Receive flow records of routers, NetFlow v5, v9 and IPFIX, and answer as run does
    #[command(after_help = collect::COLLECT_EXAMPLES)]
    Collect(Box<CollectOptions>),
    /// Read flow records into a store: nfdump's CSV, IPFIX, Parquet, CSV, JSON lines
    #[command(after_help = import::IMPORT_EXAMPLES)]
    Import(ImportOptions),
    /// List the events that queries would have caused over recorded windows or flows
    #[command(after_help = dry_run::DRY_RUN_EXAMPLES, override_usage = dry_run::DRY_RUN_USAGE)]
    DryRun(DryRunOptions),
    /// Check queries without traffic: errors, each with its place and what to do
    #[command(after_help = explain::CHECK_EXAMPLES)]
    Check(QueryTextOptions),
    /// Explain queries without traffic: class, place, cost, reaction time and SQL of each
    #[command(after_help = explain::EXPLAIN_EXAMPLES)]
    Explain(ExplainOptions),
    /// Measure as a node of a deployment, and answer what its controller asks
    #[command(after_help = probe::PROBE_EXAMPLES)]
    Probe(Box<ProbeOptions>),
    /// Join many probes: queries, events, the page and the API
    #[command(after_help = controller::CONTROLLER_EXAMPLES, args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
    Controller(Box<ControllerOptions>),
    /// Make a private authority and certificates of a broker, a controller and probes
    #[command(after_help = authority::AUTHORITY_EXAMPLES)]
    Authority(AuthorityOptions),
    /// List the nodes of a controller: state, packets, loss, coverage, tasks
    #[command(after_help = client::CLIENT_EXAMPLES)]
    Nodes(ClientOptions),
    /// List the queries of a controller
    Queries(ClientOptions),
    /// List the newest events
    Events(EventsOptions),
    /// Tell the story of an event
    Story(StoryOptions),
    /// Add queries to those that a controller answers
    #[command(after_help = client::ADD_EXAMPLES)]
    Add(AddOptions),
    /// Remove queries from those that a controller answers
    Cancel(CancelOptions),
    /// Show events as they happen, until Ctrl-C
    #[command(after_help = client::WATCH_EXAMPLES)]
    Watch(WatchOptions),
    /// Show a run with --web or a controller on this terminal as it goes: now, chains, nodes
    #[command(after_help = client::TOP_EXAMPLES)]
    Top(TopOptions),
    /// List the fields of a flow record
    Fields {
        /// As a JSON array
        #[arg(long)]
        json: bool,
    },
    /// List what can be measured on this machine, and what is missing for more
    Ports,
    /// List the tasks of `run --task`, the structures that answer them, and what is not built
    Tasks,
    /// Generate traffic, to a capture or out of a port, and the truth about it
    Generate(GenerateOptions),
    /// Test a device between two ports by RFC 2544: throughput, latency, frame loss, back-to-back
    Rfc2544(Box<Rfc2544Options>),
    /// Print a completion script for a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Write the manual pages, made from these helps, to a folder
    Man {
        /// The folder, as /usr/share/man/man1
        folder: PathBuf,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lines of a help that have more are broken again on a terminal of 100 columns.
    const COLUMNS: usize = 100;

    #[test]
    fn no_line_of_an_example_or_a_footer_is_broken_again() {
        fn wide(command: &clap::Command, found: &mut Vec<String>) {
            let texts = [command.get_after_help(), command.get_after_long_help()];
            for text in texts.into_iter().flatten().map(ToString::to_string) {
                found.extend(text.lines().filter(|line| line.chars().count() > COLUMNS).map(str::to_owned));
            }
            command.get_subcommands().for_each(|command| wide(command, found));
        }
        let mut found = Vec::new();
        wide(&Cli::command(), &mut found);
        assert!(found.is_empty(), "{}", found.join("\n"));
    }

    #[test]
    fn each_command_is_in_one_group() {
        let mut grouped: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        grouped.sort_unstable();
        let command = Cli::command();
        let mut known: Vec<&str> = command.get_subcommands().map(clap::Command::get_name).collect();
        known.sort_unstable();
        assert_eq!(grouped, known);
        let help = super::command().render_help().to_string();
        assert!(help.contains("\nMeasure:\n") && help.contains("edison COMMAND"), "{help}");
    }
}
