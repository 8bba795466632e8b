//! What was read, what was wrong with it, and how the program ends.

use crate::exit::{EARLY, FAULT, say, say_error};
use history::replay::{Replayed, Surveyed};
use notation::grouped;
use std::process::ExitCode;

/// What was read, and what was wrong with it.
#[derive(Default)]
pub(super) struct Outcome {
    /// A line for each file.
    errors: Vec<String>,
    is_stopped: bool,
    rows: u64,
    windows: u64,
    without_place: u64,
}

impl Outcome {
    /// What is known before rows are replayed.
    pub(super) fn of(surveyed: &Surveyed) -> Self {
        Self { errors: surveyed.errors.iter().map(ToString::to_string).collect(), ..Self::default() }
    }

    /// The user ended it before any row was replayed.
    pub(super) fn stopped() -> Self {
        Self { is_stopped: true, ..Self::default() }
    }

    /// Adds what a node gave.
    pub(super) fn add(&mut self, node: &Replayed) {
        let errors = node.errors.iter().map(ToString::to_string);
        self.errors.extend(errors);
        self.is_stopped |= node.is_stopped;
        self.rows += node.rows;
        self.windows += node.windows;
        self.without_place = self.without_place.saturating_add(node.without_place);
    }

    /// What was read, on a terminal.
    pub(super) fn summary(&self, fired: u64, stories_dropped: u64) -> String {
        let mut text = match fired {
            0 => "nothing would have fired".to_owned(),
            1 => "1 firing".to_owned(),
            fired => format!("{} firings", grouped(fired)),
        };
        text += &format!(" in {} windows with {} rows\n", grouped(self.windows), grouped(self.rows));
        if stories_dropped != 0 {
            text += &format!("{} earlier stories are not shown\n", grouped(stories_dropped));
        }
        text
    }

    /// Says what was wrong; returns the exit code.
    pub(super) fn verdict(mut self, fault: Option<String>, has_reader_left: bool) -> ExitCode {
        self.errors.sort();
        self.errors.dedup();
        self.errors.iter().for_each(|line| say_error(line));
        if self.without_place != 0 {
            say(&format!(
                "{} packets are in no row, as they found no place in the table: the windows that have them are partial",
                grouped(self.without_place)
            ));
        }
        let is_stopped = self.is_stopped && !has_reader_left;
        if is_stopped {
            say_error("stopped before the end");
        }
        match fault {
            Some(fault) => {
                say_error(&fault);
                ExitCode::from(FAULT)
            }
            None if is_stopped || !self.errors.is_empty() => ExitCode::from(EARLY),
            None => ExitCode::SUCCESS,
        }
    }
}
