//! Turns what the parser of the command line refuses into one line.

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, Error};
use runtime::exit::Failure;
use std::ffi::{OsStr, OsString};
use std::process::ExitCode;

/// The result of a command line that the parser refuses.
pub(crate) enum UsageError {
    /// A text was asked for and is printed.
    Help(ExitCode),
    /// The command line is wrong.
    Wrong(Failure),
}

/// Prints help and versions; puts every other error into a line. `arguments` begin with the program's name.
pub(crate) fn refused(error: &Error, arguments: &[OsString], command: &Command) -> UsageError {
    match console::print_help(error) {
        Some(code) => UsageError::Help(code),
        None => UsageError::Wrong(Failure::usage(line(error, arguments, command))),
    }
}

fn line(error: &Error, arguments: &[OsString], command: &Command) -> String {
    let said = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.as_str()),
        _ => None,
    };
    let argument = said(ContextKind::InvalidArg).unwrap_or_default();
    let name = arguments.get(1).map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    match error.kind() {
        ErrorKind::UnknownArgument if !argument.starts_with('-') => {
            format!("'{argument}' is one word too many; `edison {name} --help` shows what it takes")
        }
        ErrorKind::UnknownArgument => {
            let of_command = command.find_subcommand(&name);
            let names =
                || of_command.into_iter().flat_map(Command::get_arguments).filter_map(clap::Arg::get_long);
            let hint = match notation::nearest(argument.trim_start_matches('-'), names()) {
                Some(nearest) => format!("did you mean '--{nearest}'?"),
                None => format!("`edison {name} --help` lists all"),
            };
            format!("there is no option '{argument}'; {hint}")
        }
        ErrorKind::InvalidValue | ErrorKind::ValueValidation
            if argument.starts_with("--top") && has_short(arguments, 'n') =>
        {
            let value = said(ContextKind::InvalidValue).unwrap_or_default();
            let after = if value.is_empty() { String::new() } else { format!(", not '{value}'") };
            format!(
                "-n takes a number, the lines of a ranking (-n 20){after}; tcpdump's -n can be left out: addresses are \
                 never resolved"
            )
        }
        _ => console::one_line(error),
    }
}

/// Returns true if the option is given by its one letter.
fn has_short(arguments: &[OsString], letter: char) -> bool {
    let is_short =
        |word: &OsStr| word.to_string_lossy().strip_prefix('-').is_some_and(|rest| rest.starts_with(letter));
    arguments.iter().any(|word| is_short(word))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::Cli;
    use clap::CommandFactory;

    fn said(words: &str) -> String {
        let arguments: Vec<OsString> = words.split(' ').map(OsString::from).collect();
        let mut command = Cli::command();
        command.build();
        let error = command.clone().try_get_matches_from(&arguments).expect_err(words);
        match refused(&error, &arguments, &command) {
            UsageError::Help(_) => panic!("{words}: help"),
            UsageError::Wrong(failure) => format!("{failure:?}"),
        }
    }

    #[test]
    fn an_error_is_one_line_that_names_the_fix() {
        for (words, parts) in [
            ("edison run a.pcap --tpo 3", &["'--tpo'", "did you mean '--top'?"][..]),
            ("edison run a.pcap --xyzzyx", &["'--xyzzyx'", "`edison run --help`"]),
            ("edison run -n -r a.pcap", &["-n takes a number", "can be left out"]),
            ("edison run -nr a.pcap", &["-n takes a number", "not 'r'"]),
            ("edison run --top x a.pcap", &["'x'", "'--top <N>'"]),
            ("edison run --tunnel both a.pcap", &["'both'", "outer, inner"]),
            ("edison run a.pcap --flows", &["--flows"]),
            ("edison run a.pcap --key src_adr", &["did you mean src_addr?"]),
            ("edison import", &["required"]),
            (
                "edison tasks heavy-hitters",
                &["'heavy-hitters' is one word too many", "`edison tasks --help`"],
            ),
        ] {
            let line = said(words);
            assert!(parts.iter().all(|part| line.contains(part)), "{words}: {line}");
            assert!(!line.contains("\\n") && !line.contains("Usage"), "{words}: {line}");
        }
    }

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }
}
