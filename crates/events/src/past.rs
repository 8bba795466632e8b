//! Answers of queries in earlier windows, as far as others read them.

mod cell;
mod keys;
mod saved;
mod track;

pub use saved::{PastPart, SavedWindows};

use crate::derived::Derivation;
use crate::graph::Graph;
use crate::key::EventKey;
use crate::known::DerivedValue;
use crate::rows::ConditionGroups;
use crate::seen::{Find, ObservedWindow, QueryWindow};
use model::Span;
use std::collections::BTreeMap;
use track::{PastWindow, Track};

/// The time for which windows are kept beyond those that the last one reads, nanoseconds: a window that comes late reads those before it.
const LATE_NS: u64 = 600_000_000_000;

/// A value of an earlier window, as far as it is known.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum EarlierValue {
    /// The value.
    Known(DerivedValue),
    /// The value is not known: there was no answer, it was incomplete, or it is from before the time that is kept.
    Unknown,
    /// The value was not kept, as there was no room for it.
    NotKept,
}

/// The answers of earlier windows, within a bound of memory.
#[derive(Clone, Debug)]
pub struct AnswerHistory {
    /// The windows that are kept, by query and node.
    tracks: BTreeMap<(usize, usize), Track>,
    most_bytes: u64,
    not_kept: u64,
}

impl AnswerHistory {
    /// Creates an empty past of the queries whose earlier windows these derivations (by query) read.
    pub fn new(graph: &Graph, derivations: &[Option<Derivation>]) -> Self {
        let mut past = Self { tracks: BTreeMap::new(), most_bytes: graph.settings.past_bytes, not_kept: 0 };
        for (query, derivation) in derivations.iter().enumerate() {
            let Some(derivation) = derivation else { continue };
            let of = &graph.queries[query];
            for reads in derivation.reads() {
                // The window itself is read as an answer.
                if reads.first_ns == 0 && reads.number <= 1 {
                    continue;
                }
                let source = &derivation.sources[reads.source];
                // One more window tells which groups have just left those that are read.
                let horizon_ns = reads.first_ns.saturating_add(reads.number.saturating_mul(of.every_ns));
                for node in &of.nodes {
                    let node = source.on(*node);
                    let track = past.tracks.entry((source.query, node));
                    let track = track.or_insert_with(|| Track::new(of.every_ns));
                    track.keep(reads.column, horizon_ns, &graph.queries[source.query]);
                }
            }
        }
        past
    }

    /// Returns true if any answers are kept.
    pub fn is_kept(&self) -> bool {
        !self.tracks.is_empty()
    }

    /// Takes what is known of the windows that end then, also where they are older than others. Windows between the last one and these
    /// were as the last one.
    pub fn record<'a>(&mut self, graph: &Graph, end_ns: u64, find: &Find<'a>) {
        let mut used = self.bytes();
        for ((number, node), track) in &mut self.tracks {
            let query = &graph.queries[*number];
            if !query.ends_at(end_ns) {
                continue;
            }
            let window = Span { start_ns: end_ns.saturating_sub(query.over_ns), end_ns };
            let before = track.bytes();
            let room = self.most_bytes.saturating_sub(used.saturating_sub(before));
            let record = match find(QueryWindow { query: *number, node: *node, instance: &[], window }) {
                ObservedWindow::Missing => PastWindow::Unknown,
                ObservedWindow::Empty => PastWindow::Empty,
                ObservedWindow::Answer(answer) => match ConditionGroups::from_answer(query, answer) {
                    Some(rows) if rows.is_whole() && !rows.is_uncovered(&graph.settings) => {
                        PastWindow::Rows(rows)
                    }
                    _ => PastWindow::Unknown,
                },
            };
            self.not_kept += u64::from(!track.record(end_ns, record, room));
            used = used.saturating_sub(before).saturating_add(track.bytes());
        }
    }

    /// Returns the time at which another window like the last ones changes what is read of them, if it does.
    pub fn next_change(&self, now_ns: u64) -> Option<u64> {
        self.tracks.values().filter_map(|track| track.next_change(now_ns)).min()
    }

    /// The memory that it takes, an estimate.
    pub fn bytes(&self) -> u64 {
        self.tracks.values().map(Track::bytes).sum()
    }

    /// Answers that found no room.
    pub fn not_kept(&self) -> u64 {
        self.not_kept
    }

    /// The number of a key in what a query answered on a node; `None` if no window has it.
    pub(crate) fn key_number(&self, place: (usize, usize), key: &EventKey) -> Option<u32> {
        self.tracks.get(&place)?.key_number(key)
    }

    /// A value of the window that ended then, of the key of this number.
    pub(crate) fn value(
        &self,
        place: (usize, usize),
        end_ns: u64,
        key: Option<u32>,
        column: usize,
    ) -> EarlierValue {
        self.tracks.get(&place).map_or(EarlierValue::Unknown, |track| track.value(end_ns, key, column))
    }

    /// The keys of the windows that ended within a time, both its ends included; each of a window.
    pub(crate) fn keys(
        &self,
        place: (usize, usize),
        ends: std::ops::RangeInclusive<u64>,
    ) -> impl Iterator<Item = &EventKey> {
        self.tracks.get(&place).into_iter().flat_map(move |track| track.keys_within(ends.clone()))
    }
}
