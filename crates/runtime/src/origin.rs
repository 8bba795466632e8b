//! The origins of the values of options, so that an error says where to put a value right.

use clap::{Arg, Command};
use std::ffi::OsString;
use std::path::Path;

/// The options of a run that are set, each with where that is done if it is not on the command line.
#[derive(Debug, Default)]
pub struct Origins(Vec<(String, Option<String>)>);

impl Origins {
    /// Returns the origins of the options of a command. `arguments`: the words of the command line. `set`: the options that each of the texts
    /// sets, the strongest first.
    pub fn from_command(run: &Command, arguments: &[OsString], set: &[(String, Vec<String>)]) -> Self {
        let origin = |argument: &Arg| {
            let name = argument.get_long()?;
            if is_given(argument, arguments) {
                return Some((name.to_owned(), None));
            }
            let variable = argument.get_env().filter(|variable| std::env::var_os(variable).is_some());
            let variable = variable.map(|variable| variable.to_string_lossy().into_owned());
            let from = || {
                set.iter()
                    .find(|(_, names)| names.iter().any(|set| set == name))
                    .map(|(from, _)| from.clone())
            };
            Some((name.to_owned(), Some(variable.or_else(from)?)))
        };
        Self(run.get_arguments().filter_map(origin).collect())
    }

    /// Returns the names of the options that the command line itself has.
    pub fn given(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter(|(_, origin)| origin.is_none()).map(|(name, _)| name.as_str())
    }

    /// Returns true if anything but the built-in default decides the option, on the command line or elsewhere.
    pub fn has(&self, option: &str) -> bool {
        self.0.iter().any(|(name, _)| name == option)
    }

    /// The message, behind the origin of the option with which it begins, in quotes, as `'spool'`, or behind the file that such an option is missing in.
    pub(crate) fn place(&self, message: &str, file: Option<&Path>) -> String {
        let named = message.strip_prefix('\'').and_then(|rest| rest.split('\'').next());
        let Some(named) = named else { return message.to_owned() };
        let origin = self.0.iter().find(|(name, _)| name == named).map(|(_, origin)| origin.clone());
        let file = file.map(|file| file.display().to_string());
        match origin.unwrap_or(file) {
            Some(from) => format!("{from}: {message}"),
            None => message.to_owned(),
        }
    }

    /// The message, behind the origin of the first option that it names.
    pub fn explain(&self, message: &str) -> String {
        let mut named = message.split("--").skip(1).map(|rest| {
            let end = rest.find(|letter: char| !letter.is_ascii_lowercase() && letter != '-');
            &rest[..end.unwrap_or(rest.len())]
        });
        let origin = named.next().and_then(|first| self.0.iter().find(|(name, _)| name == first));
        match origin {
            Some((_, Some(from))) => format!("{from}: {message}"),
            _ => message.to_owned(),
        }
    }
}

/// Returns the variables that are set of those of `options` that `command` has and `other` has not. Options are as they are typed, `--tee` or `-i`.
pub fn variables_of(
    command: &Command,
    other: &Command,
    options: impl Iterator<Item = &'static str>,
) -> Vec<String> {
    let has = |argument: &Arg, option: &str| match option.strip_prefix("--") {
        Some(long) => argument.get_long() == Some(long),
        None => option.chars().nth(1).is_some_and(|letter| argument.get_short() == Some(letter)),
    };
    let of = |option: &str| {
        let argument = command.get_arguments().find(|argument| has(argument, option))?;
        let is_its_too = other.get_arguments().any(|argument| has(argument, option));
        argument.get_env().filter(|variable| !is_its_too && std::env::var_os(variable).is_some())
    };
    let mut found: Vec<String> =
        options.filter_map(of).map(|variable| variable.to_string_lossy().into_owned()).collect();
    found.dedup();
    found
}

/// Returns true if the option stands on the command line, under its name or its letter.
pub fn is_given(argument: &Arg, arguments: &[OsString]) -> bool {
    let words = arguments.iter().map(|word| word.to_string_lossy());
    let mut words = words.take_while(|word| word != "--");
    let is_it = |word: &str| match (word.strip_prefix("--"), word.strip_prefix('-')) {
        (Some(long), _) => Some(long.split('=').next().unwrap_or_default()) == argument.get_long(),
        (None, Some(short)) => argument.get_short().is_some_and(|letter| short.starts_with(letter)),
        (None, None) => false,
    };
    words.any(|word| is_it(&word))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::RunSpec;
    use clap::Args;

    #[test]
    fn the_first_option_that_a_message_names_is_explained() {
        let run = RunSpec::augment_args(Command::new("run"));
        let set = [
            ("a.toml".to_owned(), vec!["every".to_owned(), "top".to_owned()]),
            ("--preset wu".to_owned(), vec!["top".to_owned(), "cores".to_owned()]),
        ];
        let arguments = ["edison", "run", "-n", "3"].map(OsString::from);
        let origins = Origins::from_command(&run, &arguments, &set);
        assert_eq!(
            origins.explain("bad value for '--every <TIME>'"),
            "a.toml: bad value for '--every <TIME>'"
        );
        assert_eq!(origins.explain("--cores 9: too many"), "--preset wu: --cores 9: too many");
        for untouched in ["--top x", "no option", "--split position: --every"] {
            assert_eq!(origins.explain(untouched), untouched);
        }
    }
}
