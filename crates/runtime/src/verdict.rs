//! The end of a run: the exit code, and a line for each reason.

use crate::exit::{self, EARLY, FAULT, USAGE};
use crate::wording;
use engine::{Outputs, RunOutcome};

/// The way in which the sources ended.
#[derive(Clone, Debug, Default)]
pub(crate) struct ExitStatus {
    pub(crate) code: u8,
    pub(crate) lines: Vec<String>,
}

impl ExitStatus {
    /// Returns how the sources ended. Whoever ends captures before their end leaves a part of them out.
    pub(crate) fn from_outcome(outcome: &RunOutcome<Outputs>, are_captures: bool) -> Self {
        let mut code = outcome.errors.iter().map(exit::code_of).max().unwrap_or(0);
        let mut lines: Vec<String> = outcome.errors.iter().map(wording::describe_source_error).collect();
        // A port that has vanished has vanished for all its queues.
        lines.dedup();
        if !outcome.faults.is_empty() {
            code = FAULT;
            lines.extend(outcome.faults.iter().cloned());
        }
        if outcome.errors.iter().any(|error| exit::code_of(error) == FAULT) {
            code = FAULT;
        }
        if outcome.stopped && are_captures {
            code = code.max(EARLY);
            lines.push("stopped before the end of the capture".to_owned());
        }
        let packets = &outcome.ended.packets;
        if packets.received != packets.measured + packets.not_measured.total() {
            code = FAULT;
            lines
                .push("the frames received are not all accounted for: this is an error in Edison".to_owned());
        }
        Self { code, lines }
    }

    /// Adds what outputs lost, a line each.
    pub(crate) fn lose(&mut self, lost: Vec<String>) {
        if !lost.is_empty() {
            self.code = self.code.max(EARLY);
            self.lines.extend(lost);
        }
    }

    /// Adds the verdict of another node.
    pub(crate) fn add(&mut self, node: &str, other: &Self) {
        // A fault is worse than an early end, and that than nothing.
        let worst = |code: u8| [0, EARLY, USAGE, FAULT].iter().position(|known| *known == code);
        if worst(other.code) > worst(self.code) {
            self.code = other.code;
        }
        self.lines.extend(other.lines.iter().map(|line| format!("{node}: {line}")));
    }
}
