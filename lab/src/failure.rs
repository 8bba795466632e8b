//! Failures of a command: messages and an exit code.

use std::process::ExitCode;

/// The exit code of a study that ended early; what was measured is kept.
pub(crate) const EARLY: u8 = 3;
/// The exit code of a fault while running.
const FAULT: u8 = 1;
/// The exit code of wrong usage.
const USAGE: u8 = 2;

/// The reasons why the program does not do what it was asked for.
#[derive(Debug)]
pub(crate) struct LabFailure {
    code: u8,
    /// The messages, one line for each reason.
    messages: Vec<String>,
}

impl LabFailure {
    /// The request is impossible.
    pub(crate) fn usage(message: impl ToString) -> Self {
        Self { code: USAGE, messages: vec![message.to_string()] }
    }

    /// Something failed while running.
    pub(crate) fn fault(message: impl ToString) -> Self {
        Self::faults(vec![message.to_string()])
    }

    /// Several things failed while running.
    pub(crate) fn faults(messages: Vec<String>) -> Self {
        Self { code: FAULT, messages }
    }

    /// Writes the messages to standard error and returns the exit code.
    pub(crate) fn report(&self) -> ExitCode {
        self.messages.iter().for_each(|message| say(&format!("error: {message}")));
        ExitCode::from(self.code)
    }
}

/// Writes a line to standard error.
pub(crate) fn say(line: &str) {
    console::say("edison-lab", line);
}

/// Writes an answer to standard output.
pub(crate) fn print(text: &str) -> Result<ExitCode, LabFailure> {
    console::print(text).map_err(|error| LabFailure::fault(format!("standard output: {error}")))?;
    Ok(ExitCode::SUCCESS)
}
