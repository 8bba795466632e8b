//! Questions about what the stores of probes remember.

use model::{Answer, Span};
use serde::{Deserialize, Serialize};
use std::io::{self, Write};
use task::query::Query;

/// Questions to a probe's store. The probe answers each task once, as long as lists have it, and leaves one that they have no more.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HistoryTask {
    /// The time at which the controller that asks started, nanoseconds since the epoch.
    pub epoch: u64,
    /// The task's number; no other one of this epoch has it.
    pub id: u64,
    /// The questions, whose queries have different names.
    pub questions: Vec<HistoryQuestion>,
    /// The limits of what the probe may use for all of them together.
    pub limits: HistoryLimits,
}

/// A question to a store.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HistoryQuestion {
    /// The query: over all rows, or windows of its own.
    pub query: Query,
    /// The time that it reads; `None` for all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub period: Option<Span>,
}

/// The limits of what a probe may use to answer. It may have less.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HistoryLimits {
    /// Memory of groups and merged rows, bytes.
    pub memory_bytes: u64,
    /// The time from the list that brings the task to its answer, milliseconds.
    pub time_ms: u64,
    /// The size of all answers together as JSON, bytes.
    pub answer_bytes: u64,
}

/// The answer of a store.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HistoryAnswer {
    /// The epoch of the task.
    pub epoch: u64,
    /// The task's number.
    pub id: u64,
    /// The answers: those that the questions have over the store alone.
    pub answers: Vec<Answer>,
    /// The reason why answers are missing or incomplete, if any are: a name, and what there is to say: `no_store`, `refused: …`, `too_large: …`,
    /// `too_late: …`, `fault: …`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing: Option<String>,
}

impl HistoryTask {
    /// The answer that there is none, for this reason.
    pub fn no_answer(&self, reason: impl Into<String>) -> HistoryAnswer {
        HistoryAnswer { epoch: self.epoch, id: self.id, answers: Vec::new(), missing: Some(reason.into()) }
    }
}

impl HistoryLimits {
    /// The size of an answer, of which [`HistoryLimits::answer_bytes`] is the most of all together. One that cannot be written has no end.
    pub fn size_of(answer: &Answer) -> u64 {
        let mut counted = CountingWriter(0);
        serde_json::to_writer(&mut counted, answer).map_or(u64::MAX, |()| counted.0)
    }
}

/// Counts what is written.
struct CountingWriter(u64);

impl Write for CountingWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{Column, ColumnKind, Value};

    #[test]
    fn the_size_of_an_answer_is_that_of_its_json() {
        let column = Column::new("n", ColumnKind::Unsigned, "packets");
        let answer = Answer::new("q", None, vec![column], vec![vec![Value::Unsigned(7)]; 3]);
        let text = serde_json::to_string(&answer).expect("JSON");
        assert_eq!(HistoryLimits::size_of(&answer), text.len() as u64);
        // A row without its value.
        let wrong = Answer { rows: vec![Vec::new()], ..answer };
        assert_eq!(HistoryLimits::size_of(&wrong), u64::MAX);
    }
}
