//! Options from a TOML file (`--config`) and a paper's (`--preset`): they become the defaults of the command
//! line, so that the command line and the environment take precedence; the file takes precedence over the
//! preset.

use crate::bench;
use crate::cli::Cli;
use crate::exit::Failure;
use crate::origin::Origins;
use clap::builder::OsStr;
use clap::{Command, CommandFactory, Id};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The program's command line, its defaults taken from the file and the preset that these words name, if they name any; and
/// where options come from. The words begin with the program's name.
pub(crate) fn configured_command(arguments: &[OsString]) -> Result<(Command, Origins), Failure> {
    let command = Cli::command();
    let named = |option| named(arguments, option);
    let path = named("config").map(PathBuf::from);
    let file = match &path {
        Some(path) => of_file(&command, path)?,
        None => Vec::new(),
    };
    let in_file = file.iter().find(|(id, _)| id == "preset").and_then(|(_, values)| values.first().cloned());
    let preset_name = named("preset").map(|name| name.to_string_lossy().into_owned()).or(in_file);
    let preset = match &preset_name {
        Some(name) => bench::preset(name)?.run_options(),
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
    let run = command.find_subcommand("run").expect("the command line has `run`");
    let origins = Origins::of(run, arguments, &set);
    let preset = preset.into_iter().map(|(option, value)| (Id::from(option), vec![value]));
    let configured = command.mut_subcommand("run", |run| {
        preset.chain(file).fold(run, |run, (id, values)| {
            run.mut_arg(id, |argument| argument.default_values(values.into_iter().map(OsStr::from)))
        })
    });
    Ok((configured, origins))
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
    let fail = |reason: String| Failure::usage(format!("{}: {reason}", path.display()));
    let text = match path == Path::new("-") {
        true => std::io::read_to_string(std::io::stdin()),
        false => std::fs::read_to_string(path),
    };
    let text = text.map_err(|error| fail(error.to_string()))?;
    let table: toml::Table = text.parse().map_err(|error: toml::de::Error| {
        let line = error.span().map_or(1, |span| text[..span.start.min(text.len())].lines().count().max(1));
        fail(format!("line {line}: {}", error.message().replace('\n', " ")))
    })?;
    let mut defaults = Vec::new();
    for (key, value) in table {
        let run = command.find_subcommand("run").expect("the command line has `run`");
        let names = || {
            run.get_arguments().filter_map(|a| a.get_long()).filter(|name| !["config", "help"].contains(name))
        };
        if !names().any(|name| name == key) {
            let hint = match notation::nearest(&key, names()) {
                Some(nearest) => format!("did you mean '{nearest}'?"),
                None => "`edison run --help` lists all options".to_owned(),
            };
            return Err(fail(format!("unknown key '{key}'; {hint}")));
        }
        let argument = run.get_arguments().find(|a| a.get_long() == Some(&key)).expect("its name was found");
        let values = texts(&value)
            .ok_or_else(|| fail(format!("'{key}' must be a text, a number, true or false, or a list")))?;
        defaults.push((argument.get_id().clone(), values));
    }
    Ok(defaults)
}

/// A value in its command-line form.
fn texts(value: &toml::Value) -> Option<Vec<String>> {
    Some(match value {
        toml::Value::String(text) => vec![text.clone()],
        toml::Value::Integer(number) => vec![number.to_string()],
        toml::Value::Float(number) => vec![number.to_string()],
        toml::Value::Boolean(flag) => vec![flag.to_string()],
        toml::Value::Array(list) => list.iter().map(texts).collect::<Option<Vec<_>>>()?.concat(),
        toml::Value::Datetime(_) | toml::Value::Table(_) => return None,
    })
}
