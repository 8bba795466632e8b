//! Options from a TOML file (`--config`) and a paper's (`--preset`): they become the defaults of the command
//! line, so that the command line and the environment take precedence; the file takes precedence over the
//! preset.

use crate::commands::{self, Cli};
use crate::toml_file;
use clap::FromArgMatches;
use clap::builder::OsStr;
use clap::{ArgAction, Command, Id};
use engine::Preset;
use runtime::exit::Failure;
use runtime::origin::Origins;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The commands whose options a file may set.
const CONFIGURED: [&str; 3] = ["run", "probe", "controller"];

/// The program's command line, its defaults taken from the file and the preset that these words name, if they name any; and
/// where options come from. The words begin with the program's name.
pub(crate) fn configured_command(
    command: Command,
    arguments: &[OsString],
) -> Result<(Command, Origins), Failure> {
    let name = configured(&command, arguments);
    let named = |option| name.and_then(|name| named(&command, name, arguments, option));
    let path = named("config").map(PathBuf::from);
    let file = match (&path, name) {
        (Some(path), Some(name)) => read_file(&command, name, path)?,
        _ => Vec::new(),
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
    let given = arguments.get(1).and_then(|word| word.to_str());
    let own = given.and_then(|given| command.find_subcommand(given));
    let origins = own.map(|own| Origins::from_command(own, arguments, &set)).unwrap_or_default();
    let preset = preset.into_iter().map(|(option, value)| (Id::from(option), vec![value]));
    let command = match name {
        Some(name) => with_defaults(command, name, preset.chain(file)),
        None => command,
    };
    Ok((command, origins))
}

/// The command of these words, if a file may set its options.
fn configured(command: &Command, arguments: &[OsString]) -> Option<&'static str> {
    let name = CONFIGURED.into_iter().find(|name| arguments.get(1).is_some_and(|word| word == name))?;
    // What is done for a controller has options of its own.
    let next = arguments.get(2).and_then(|word| word.to_str());
    let has_own = next.and_then(|next| command.find_subcommand(name)?.find_subcommand(next));
    has_own.is_none().then_some(name)
}

/// The value of an option, found before the command line is parsed for good.
fn named(command: &Command, name: &str, arguments: &[OsString], option: &str) -> Option<OsString> {
    let known =
        command.find_subcommand(name)?.get_arguments().find(|known| known.get_long() == Some(option))?;
    let long = format!("--{option}");
    let mut arguments = arguments.iter().skip(2);
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
    known.get_env().and_then(std::env::var_os)
}

/// The values of the options of a command that a file sets.
fn read_file(command: &Command, name: &str, path: &Path) -> Result<Vec<(Id, Vec<String>)>, Failure> {
    let own = command.find_subcommand(name).expect("the command line has it");
    let options = own.get_arguments().filter_map(|known| known.get_long().map(|long| (long, known)));
    let options: Vec<_> = options.filter(|(long, _)| !["config", "help"].contains(long)).collect();
    let mut defaults = Vec::new();
    for (key, value) in toml_file::read(path)? {
        let Some((_, known)) = options.iter().find(|(long, _)| *long == key) else {
            let names: Vec<&str> = options.iter().map(|(long, _)| *long).collect();
            let all = format!("`edison {name} --help` lists all options");
            return Err(toml_file::unknown(path, &key, &names, &all));
        };
        let takes_several = matches!(known.get_action(), ArgAction::Append);
        let takes_pairs = known.get_value_names().into_iter().flatten().any(|name| name.contains('='));
        match &value {
            toml::Value::Array(_) if !takes_several => {
                return Err(toml_file::wrong(path, &format!("'{key}' takes one value, not a list")));
            }
            toml::Value::Table(_) if !takes_pairs || !takes_several => {
                return Err(toml_file::wrong(path, &format!("'{key}' has no names: a table cannot set it")));
            }
            _ => {}
        }
        defaults.push((known.get_id().clone(), toml_file::texts(path, &key, &value)?));
    }
    Ok(defaults)
}

/// Returns a command as these words and the file that they name ask for it, and where its options come from. The words begin with the
/// program's name.
pub(crate) fn command_of(words: &[OsString]) -> Result<(commands::Command, Origins), Failure> {
    let (command, origins) = configured_command(commands::command(), words)?;
    let matches = command.try_get_matches_from(words);
    match matches.and_then(|matches| Cli::from_arg_matches(&matches)) {
        Ok(cli) => Ok((cli.command, origins)),
        Err(error) => Err(Failure::usage(origins.explain(&console::one_line(&error)))),
    }
}

/// The command line with other defaults of a command.
fn with_defaults(
    command: Command,
    name: &str,
    defaults: impl IntoIterator<Item = (Id, Vec<String>)>,
) -> Command {
    command.mut_subcommand(name, |run| {
        defaults.into_iter().fold(run, |run, (id, values)| {
            run.mut_arg(id, |argument| argument.default_values(values.into_iter().map(OsStr::from)))
        })
    })
}
