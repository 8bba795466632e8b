//! Options from a TOML file (`--config`): they become the defaults of the command line, so that what is typed and the
//! environment win.

use crate::cli::Cli;
use crate::exit::Failure;
use clap::builder::OsStr;
use clap::{Command, CommandFactory};
use std::path::{Path, PathBuf};

/// The program's command line, its defaults taken from the file that this call names, if it names one.
pub(crate) fn configured_command() -> Result<Command, Failure> {
    let command = Cli::command();
    match named_file() {
        Some(path) => with_defaults(command, &path),
        None => Ok(command),
    }
}

/// The file, found before the command line is parsed for good.
fn named_file() -> Option<PathBuf> {
    let mut arguments = std::env::args_os().skip(1);
    if arguments.next()? != "run" {
        return None;
    }
    while let Some(argument) = arguments.next() {
        if argument == "--" {
            break;
        }
        if argument == "--config" {
            return arguments.next().map(PathBuf::from);
        }
        if let Some(path) = argument.to_str().and_then(|text| text.strip_prefix("--config=")) {
            return Some(PathBuf::from(path));
        }
    }
    std::env::var_os("EDISON_CONFIG").map(PathBuf::from)
}

fn with_defaults(command: Command, path: &Path) -> Result<Command, Failure> {
    let fail = |reason: String| Failure::usage(format!("{}: {reason}", path.display()));
    let text = std::fs::read_to_string(path).map_err(|error| fail(error.to_string()))?;
    let table: toml::Table = text.parse().map_err(|error: toml::de::Error| {
        let line = error.span().map_or(1, |span| text[..span.start.min(text.len())].lines().count().max(1));
        fail(format!("line {line}: {}", error.message().replace('\n', " ")))
    })?;
    let mut defaults = Vec::new();
    for (key, value) in table {
        let run = command.find_subcommand("run").expect("the command line has `run`");
        let names = || run.get_arguments().filter_map(|a| a.get_long()).filter(|&name| name != "config");
        if !names().any(|name| name == key) {
            let nearest = names().max_by(|a, b| strsim::jaro(a, &key).total_cmp(&strsim::jaro(b, &key)));
            return Err(fail(format!("unknown key '{key}'; did you mean '{}'?", nearest.unwrap_or("every"))));
        }
        let argument = run.get_arguments().find(|a| a.get_long() == Some(&key)).expect("its name was found");
        let values = texts(&value)
            .ok_or_else(|| fail(format!("'{key}' must be a text, a number, true or false, or a list")))?;
        defaults.push((argument.get_id().clone(), values));
    }
    Ok(command.mut_subcommand("run", |mut run| {
        for (id, values) in defaults {
            run = run.mut_arg(id, |argument| argument.default_values(values.into_iter().map(OsStr::from)));
        }
        run
    }))
}

/// A value as it would stand on the command line.
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
