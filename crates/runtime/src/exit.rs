//! The end of the program: a message, or one for each reason, and an exit code.

use crate::origin::Origins;
use crate::wording;
use std::path::Path;
use std::process::ExitCode;

/// A failure that kept the program from doing what was requested.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    code: u8,
    /// The messages, one line each.
    messages: Vec<String>,
}

/// A fault while running.
pub const FAULT: u8 = 1;
/// Wrong usage, or a source that cannot be opened.
pub const USAGE: u8 = 2;
/// Ended early; what was measured is written.
pub const EARLY: u8 = 3;

impl Failure {
    /// The user's request is impossible.
    pub fn usage(message: impl ToString) -> Self {
        Self::usages([message.to_string()])
    }

    /// A failure for several reasons at once.
    pub fn usages(messages: impl IntoIterator<Item = String>) -> Self {
        Self { code: USAGE, messages: messages.into_iter().collect() }
    }

    /// The requested data is damaged, so that nothing is answered.
    pub fn damage(message: impl ToString) -> Self {
        Self { code: EARLY, messages: vec![message.to_string()] }
    }

    /// The user ended the program before anything was answered.
    pub fn early(message: impl ToString) -> Self {
        Self::damage(message)
    }

    /// Something failed while running.
    pub fn fault(message: impl ToString) -> Self {
        Self::faults([message.to_string()])
    }

    /// A failure for several reasons at once.
    pub fn faults(messages: impl IntoIterator<Item = String>) -> Self {
        Self { code: FAULT, messages: messages.into_iter().collect() }
    }

    /// Joins failures to one, which is a fault if one of them is; `None` if there are none.
    pub fn joined(failures: Vec<Self>) -> Option<Self> {
        // Of the codes of failures a fault's is the least.
        let code = failures.iter().map(|failure| failure.code).min()?;
        Some(Self { code, messages: failures.into_iter().flat_map(|failure| failure.messages).collect() })
    }

    /// Names the option in each message.
    pub fn with_option(mut self, option: &str) -> Self {
        self.messages.iter_mut().for_each(|message| *message = format!("{option}: {message}"));
        self
    }

    /// Adds to the messages where the options were set that they name in quotes: one that is not set belongs into the file of settings, where
    /// one is named.
    pub fn placed(mut self, origins: &Origins, file: Option<&Path>) -> Self {
        self.messages.iter_mut().for_each(|message| *message = origins.place(message, file));
        self
    }

    /// Adds to the messages where the options that they name were set.
    pub fn explained(mut self, origins: &Origins) -> Self {
        self.messages.iter_mut().for_each(|message| *message = origins.explain(message));
        self
    }

    /// The messages, one line each.
    pub fn messages(self) -> Vec<String> {
        self.messages
    }

    /// Returns all messages in one line.
    pub fn line(&self) -> String {
        self.messages.join("; ")
    }

    /// Writes the messages to standard error, with where the option was set that a message names. Returns the exit code.
    pub fn report(&self, origins: &Origins) -> ExitCode {
        self.messages.iter().for_each(|message| say_error(&origins.explain(message)));
        ExitCode::from(self.code)
    }
}

/// A thread that the machine does not start.
pub fn no_thread(error: std::io::Error) -> Failure {
    Failure::fault(format!("cannot start a thread: {error}"))
}

impl From<port::SourceError> for Failure {
    fn from(error: port::SourceError) -> Self {
        Self { code: code_of(&error), messages: vec![wording::describe_source_error(&error)] }
    }
}

/// The exit code of a source's error.
pub fn code_of(error: &port::SourceError) -> u8 {
    match error {
        port::SourceError::Open(_) | port::SourceError::Refused(..) => USAGE,
        port::SourceError::Fault(_) => FAULT,
        port::SourceError::Damaged(_) => EARLY,
    }
}

/// Writes a line to standard error. Its reader may be gone.
pub fn say(line: &str) {
    console::say("edison", line);
}

/// Writes to standard error what ended or spoilt the run.
pub fn say_error(line: &str) {
    say(&format!("error: {line}"));
}

/// Prints an answer to standard output. A reader that has seen enough (`| head`) is no fault.
pub fn print(text: &str) -> Result<ExitCode, Failure> {
    console::print(text).map_err(|error| Failure::fault(format!("standard output: {error}")))?;
    Ok(ExitCode::SUCCESS)
}
