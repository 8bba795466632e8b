//! Options from a TOML file (`--config`) and a paper's (`--preset`): they become the defaults of the command
//! line, so that the command line and the environment take precedence; the file takes precedence over the
//! preset.

use crate::commands::{self, Cli};
use crate::exit::Failure;
use crate::origin::Origins;
use crate::spec::Spec;
use crate::toml_file;
use clap::FromArgMatches;
use clap::builder::OsStr;
use clap::{Command, Id};
use engine::Preset;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The program's command line, its defaults taken from the file and the preset that these words name, if they name any; and
/// where options come from. The words begin with the program's name.
pub(crate) fn configured_command(arguments: &[OsString]) -> Result<(Command, Origins), Failure> {
    let command = commands::command();
    let named = |option| named(arguments, option);
    let path = named("config").map(PathBuf::from);
    let file = match &path {
        Some(path) => of_file(&command, path)?,
        None => Vec::new(),
    };
    let in_file = file.iter().find(|(id, _)| id == "preset").and_then(|(_, values)| values.first().cloned());
    let preset_name = named("preset").map(|name| name.to_string_lossy().into_owned()).or(in_file);
    let preset = match &preset_name {
        Some(name) => Preset::find(name).map_err(Failure::usage)?.run_options(),
        None => Vec::new(),
    };
    let names = |ids: Vec<&str>| ids.into_iter().map(|id| id.replace('_', "-")).collect();
    let of_file = path
        .iter()
        .map(|path| (path.display().to_string(), names(file.iter().map(|(id, _)| id.as_str()).collect())));
    let of_preset = preset_name
        .iter()
        .map(|name| (format!("--preset {name}"), names(preset.iter().map(|&(option, _)| option).collect())));
    let set: Vec<(String, Vec<String>)> = of_file.chain(of_preset).collect();
    // Of a command with other options than those of run, these are the ones whose origin matters.
    let name = arguments.get(1).filter(|name| *name == "collect").map_or("run", |_| "collect");
    let own = command.find_subcommand(name).expect("the command line has both");
    let origins = Origins::of(own, arguments, &set);
    let preset = preset.into_iter().map(|(option, value)| (Id::from(option), vec![value]));
    Ok((with_defaults(command, preset.chain(file)), origins))
}

/// The value of an option of `run`, found before the command line is parsed for good.
fn named(arguments: &[OsString], option: &str) -> Option<OsString> {
    let long = format!("--{option}");
    let mut arguments = arguments.iter().skip(1);
    if arguments.next()? != "run" {
        return None;
    }
    while let Some(argument) = arguments.next() {
        if argument == "--" {
            break;
        }
        if argument == long.as_str() {
            return arguments.next().cloned();
        }
        let value = argument.to_str().and_then(|text| text.strip_prefix(&long)?.strip_prefix('='));
        if let Some(value) = value {
            return Some(value.into());
        }
    }
    std::env::var_os(format!("EDISON_{}", option.to_uppercase()))
}

/// What a file sets.
fn of_file(command: &Command, path: &Path) -> Result<Vec<(Id, Vec<String>)>, Failure> {
    defaults(command, toml_file::read(path)?, path)
}

/// The values of options of `run` that a table sets.
fn defaults(command: &Command, table: toml::Table, path: &Path) -> Result<Vec<(Id, Vec<String>)>, Failure> {
    let run = command.find_subcommand("run").expect("the command line has `run`");
    let names: Vec<&str> = run
        .get_arguments()
        .filter_map(|argument| argument.get_long())
        .filter(|name| !["config", "help"].contains(name))
        .collect();
    let mut defaults = Vec::new();
    for (key, value) in table {
        if !names.contains(&&*key) {
            return Err(toml_file::unknown(path, &key, &names, "`edison run --help` lists all options"));
        }
        let argument = run.get_arguments().find(|a| a.get_long() == Some(&key)).expect("its name was found");
        defaults.push((argument.get_id().clone(), toml_file::texts(path, &key, &value)?));
    }
    Ok(defaults)
}

/// The options of `run` as a table sets them, and where they come from.
pub(crate) fn run_options(table: toml::Table, path: &Path) -> Result<(Spec, Origins), Failure> {
    let command = commands::command();
    let defaults = defaults(&command, table, path)?;
    let names = defaults.iter().map(|(id, _)| id.as_str().replace('_', "-")).collect();
    let words = ["edison", "run"].map(OsString::from);
    let run = command.find_subcommand("run").expect("the command line has `run`");
    let origins = Origins::of(run, &words, &[(path.display().to_string(), names)]);
    let command = with_defaults(command, defaults);
    let matches = command.try_get_matches_from(&words);
    let parsed = matches.and_then(|matches| Cli::from_arg_matches(&matches)).map_err(|error| {
        let text = error.to_string();
        let line = text.lines().next().unwrap_or_default();
        Failure::usage(format!("{}: {}", path.display(), line.strip_prefix("error: ").unwrap_or(line)))
    })?;
    match parsed.command {
        crate::commands::Command::Run(options) => Ok((options.spec(), origins)),
        _ => Err(Failure::fault("the options of run are not read")),
    }
}

/// The command line with other defaults of `run`.
fn with_defaults(command: Command, defaults: impl IntoIterator<Item = (Id, Vec<String>)>) -> Command {
    command.mut_subcommand("run", |run| {
        defaults.into_iter().fold(run, |run, (id, values)| {
            run.mut_arg(id, |argument| argument.default_values(values.into_iter().map(OsStr::from)))
        })
    })
}
