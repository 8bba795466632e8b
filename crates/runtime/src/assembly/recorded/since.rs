//! The part of a period that is shown: what ends up to its begin is replayed for its values alone.

use super::tally::RecordedTally;
use controller::ControllerOutput;
use model::{EventKind, Story};
use std::collections::HashSet;
use std::sync::Arc;

/// Selects what is shown, and counts what fired.
pub(in crate::assembly) struct Since {
    /// The time up to which what ends is not shown.
    from_ns: Option<u64>,
    /// The events that are shown, where not all are.
    events: HashSet<String>,
    tally: Arc<RecordedTally>,
}

impl Since {
    pub(super) fn new(from_ns: Option<u64>, tally: Arc<RecordedTally>) -> Self {
        Self { from_ns, events: HashSet::new(), tally }
    }

    /// Returns whether an output is shown, and counts it.
    pub(in crate::assembly) fn takes(&mut self, output: &ControllerOutput) -> bool {
        if self.from_ns.is_some_and(|from_ns| is_up_to(output, from_ns)) {
            return false;
        }
        if let ControllerOutput::Event(event) = output {
            if event.kind == EventKind::Fired {
                self.tally.fired();
            }
            if self.from_ns.is_some() {
                self.events.insert(event.event.clone());
            }
        }
        true
    }

    /// Returns whether a story is shown: one of its events is.
    pub(in crate::assembly) fn shows(&self, story: &Story) -> bool {
        self.from_ns.is_none() || story.events.iter().any(|event| self.events.contains(event))
    }
}

fn is_up_to(output: &ControllerOutput, from_ns: u64) -> bool {
    match output {
        ControllerOutput::Event(event) => event.at_ns <= from_ns,
        ControllerOutput::Answer(answer) => answer.window.is_some_and(|window| window.end_ns <= from_ns),
        _ => false,
    }
}
