//! The result of one window, and the number of windows.

use crate::{Answer, AnswerStatus, Counters, Integer, Nullable, PacketCounts, Span};
use serde::{Deserialize, Serialize};
use std::net::IpAddr;

/// The result of one window, or of a run of empty windows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Window {
    /// The number of the window in this run, from 0 on.
    #[serde(with = "Integer")]
    pub index: u64,
    /// The time of the window; in a run of empty windows, the time of all of them.
    #[serde(rename = "window")]
    pub span: Span,
    /// The completeness of the window: whether it was observed from its start to its end, and everything was counted.
    pub status: AnswerStatus,
    /// The observed part of a window that was observed only in part.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub watched: Option<Span>,
    /// The number of windows in a run of empty windows.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "Nullable::<Integer>")]
    pub empty: Option<u64>,
    /// The counts of the frames of the window.
    pub packets: PacketCounts,
    /// The frames that the source lost in the window; `None` if the source cannot count its loss.
    pub loss: Option<Counters>,
    /// The number of packets in the record `other`.
    #[serde(with = "Integer")]
    pub table_full: u64,
    /// The answers of the window.
    pub answers: Vec<Answer>,
    /// The answers of windows of other lengths that ended with this window or before it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub longer: Vec<Answer>,
}

impl Window {
    /// Returns the answer of this query.
    pub fn answer(&self, query: &str) -> Option<&Answer> {
        self.answers.iter().find(|answer| answer.query == query)
    }

    /// Replaces addresses in all answers.
    pub fn map_addresses(&mut self, f: &mut dyn FnMut(IpAddr) -> IpAddr) {
        self.answers.iter_mut().chain(&mut self.longer).for_each(|answer| answer.map_addresses(f));
    }
}

/// The reason why a window was closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WindowEnd {
    /// The time of the window, or its number of packets, was over.
    Full,
    /// Time advanced past at least one whole window.
    Jump,
    /// The run ended in the window.
    RunEnd,
}

/// The numbers of windows, by how they ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WindowCounts {
    /// The number of all windows.
    #[serde(with = "Integer")]
    pub count: u64,
    /// The number of windows that ended by their time or their number of packets.
    #[serde(with = "Integer")]
    pub full: u64,
    /// The number of windows that were closed by a jump in time.
    #[serde(with = "Integer")]
    pub jump: u64,
    /// The number of windows that were closed by the end of the run.
    #[serde(with = "Integer")]
    pub run_end: u64,
    /// The number of windows that were not shown, because their reader was too slow.
    #[serde(with = "Integer")]
    pub unreported: u64,
}

impl WindowCounts {
    /// Adds the numbers of another node.
    pub(crate) fn add_all(&mut self, more: &Self) {
        self.count += more.count;
        self.full += more.full;
        self.jump += more.jump;
        self.run_end += more.run_end;
        self.unreported += more.unreported;
    }

    /// Counts one more window.
    pub fn add(&mut self, ended_by: WindowEnd) {
        self.count += 1;
        *match ended_by {
            WindowEnd::Full => &mut self.full,
            WindowEnd::Jump => &mut self.jump,
            WindowEnd::RunEnd => &mut self.run_end,
        } += 1;
    }
}
