//! Helps and errors of the parser of the command line.

use clap::Error;
use clap::error::ErrorKind;
use std::process::ExitCode;

/// The exit code of wrong usage.
const USAGE: u8 = 2;

/// Prints the help or the version that the command line asks for, and returns the exit code. Returns `None` where the error is a wrong
/// command line.
pub fn print_help(error: &Error) -> Option<ExitCode> {
    let code = match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => ExitCode::SUCCESS,
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => ExitCode::from(USAGE),
        _ => return None,
    };
    // A reader that has seen enough (`| head`) is no fault.
    let _ = error.print();
    Some(code)
}

/// Returns the message and its tips as one line, without what follows on every error: how the command is used, and where help is.
pub fn one_line(error: &Error) -> String {
    let text = error.to_string();
    let text = text.strip_prefix("error: ").unwrap_or(&text);
    let is_message = |part: &&str| !part.starts_with("Usage:") && !part.starts_with("For more information");
    let mut parts = text.split("\n\n").take_while(is_message);
    let words = |part: &str| part.split_whitespace().collect::<Vec<_>>().join(" ");
    let message = parts.next().map(words).unwrap_or_default();
    let tips = parts.map(|tip| words(tip).trim_start_matches("tip: ").to_owned());
    [message].into_iter().chain(tips).collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::{Arg, Command};

    fn error(words: &[&str]) -> Error {
        let command = Command::new("program").arg(Arg::new("design").long("design"));
        command.try_get_matches_from(words).expect_err("a wrong command line")
    }

    #[test]
    fn an_error_is_one_line_with_its_tip() {
        let wrong = error(&["program", "--desgin", "rss"]);
        assert_eq!(
            one_line(&wrong),
            "unexpected argument '--desgin' found; a similar argument exists: '--design'"
        );
        assert!(print_help(&wrong).is_none());
        assert!(print_help(&error(&["program", "--help"])).is_some());
    }
}
