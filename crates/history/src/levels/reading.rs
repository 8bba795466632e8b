//! The files that a question is answered from.

use super::times::NodeTimes;
use crate::node_spans::NodeSpans;
use crate::question::Period;
use model::{Answer, Span};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use store::{Level, StoredFile};

/// The part of a period that one level covers, for one node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LevelPeriod {
    pub(super) node: String,
    pub(super) level: Level,
    pub(super) period: Period,
    pub(super) files: Vec<PathBuf>,
    /// The time of which the level has nothing any more, though a coarser one has.
    pub(super) lost: Option<Period>,
}

/// The files that a question is answered from, and which of their rows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScanPlan {
    pub(super) pieces: Vec<LevelPeriod>,
    /// The nodes of the store.
    pub(super) nodes: Vec<String>,
    /// The known times of the nodes.
    pub(super) times: BTreeMap<String, NodeTimes>,
    /// The time at which the levels that are read have begun, nanoseconds since the epoch, where the question does not say when it begins.
    pub(super) begins_ns: Option<u64>,
}

impl ScanPlan {
    /// The files, and the time of each whose rows are read. A file of which several times are read is there for each.
    pub fn files(&self) -> impl Iterator<Item = (PathBuf, Period)> {
        self.pieces.iter().flat_map(|piece| piece.files.iter().map(|path| (path.clone(), piece.period)))
    }

    /// The parts of the times that all rows cover which its levels have kept, where the question does not say when it begins.
    pub fn kept_of(&self, spans: NodeSpans) -> NodeSpans {
        let begins_ns = self.begins_ns.unwrap_or(0);
        spans.map(|Span { start_ns, end_ns }| Span { start_ns: start_ns.max(begins_ns.min(end_ns)), end_ns })
    }

    /// The times in which its nodes did not watch, in order.
    pub(super) fn unwatched(&self) -> BTreeMap<String, Vec<Span>> {
        self.times.iter().map(|(node, times)| (node.clone(), times.unwatched_in(times.asked()))).collect()
    }

    /// The nodes of the store.
    pub fn nodes(&self) -> &[String] {
        &self.nodes
    }

    /// The coarsest level that it reads.
    pub fn coarsest(&self) -> Level {
        let read = self.pieces.iter().filter(|piece| !piece.files.is_empty());
        read.map(|piece| piece.level).max().unwrap_or(Level::Rows)
    }

    /// The level of a file that it reads.
    pub fn level_of(&self, path: &Path) -> Option<Level> {
        self.pieces.iter().find(|piece| piece.files.iter().any(|file| file == path)).map(|piece| piece.level)
    }

    /// The end of the time of which a level that it reads has lost something of a node, if it has.
    pub(super) fn lost_until(&self, node: &str) -> Option<u64> {
        let of_node = self.pieces.iter().filter(|piece| piece.node == node);
        of_node.filter_map(|piece| Some(piece.lost?.to_ns)).max()
    }

    /// Returns the length of the times of which levels that are read have lost something, nanoseconds.
    pub(super) fn lost_ns(&self) -> u128 {
        let lost = self.pieces.iter().filter_map(|piece| piece.lost);
        lost.map(|lost| u128::from(lost.to_ns.saturating_sub(lost.from_ns))).sum()
    }

    /// Returns true if a level that is read has lost a part of its time.
    pub fn lacks_time(&self) -> bool {
        self.pieces.iter().any(|piece| piece.lost.is_some())
    }

    /// Says in an answer which levels it was read from, and what these do not have any more.
    pub fn describe(&self, answer: &mut Answer) {
        let is_of = |period: Period| answer.window.is_none_or(|window| overlaps(window, period));
        let is_of_node = |piece: &&LevelPeriod| answer.node.as_ref().is_none_or(|node| *node == piece.node);
        let mut levels: Vec<Level> = self
            .pieces
            .iter()
            .filter(is_of_node)
            .filter(|piece| !piece.files.is_empty() && is_of(piece.period))
            .map(|piece| piece.level)
            .collect();
        levels.sort_unstable();
        levels.dedup();
        answer.levels = levels.into_iter().rev().map(|level| level.name().to_owned()).collect();
        // What is known of times tells it.
        let is_told =
            |piece: &&LevelPeriod| self.times.get(&piece.node).is_some_and(|times| !times.is_unknown());
        let untold = self.pieces.iter().filter(|piece| !is_told(piece));
        lost_lines(untold, answer).iter().for_each(|reason| answer.mark_partial(reason));
    }

    /// Returns what the levels do not have any more of the time of an answer, a line each.
    pub(super) fn lost_of(&self, answer: &Answer) -> Vec<String> {
        lost_lines(self.pieces.iter(), answer)
    }
}

/// Returns what the levels of these pieces do not have any more of the time of an answer, a line each.
fn lost_lines<'a>(pieces: impl Iterator<Item = &'a LevelPeriod>, answer: &Answer) -> Vec<String> {
    let of_node = pieces.filter(|piece| answer.node.as_ref().is_none_or(|node| *node == piece.node));
    of_node
        .filter_map(|piece| {
            let Period { from_ns, to_ns } = piece.lost.filter(|lost| is_lost(*lost, answer.window))?;
            let what = match piece.level {
                Level::Rows => "rows".to_owned(),
                level => format!("the rollup of {}", level.name()),
            };
            let [from, to] = [from_ns, to_ns].map(model::format_time);
            Some(format!("{what} of {} from {from} to {to} are kept no more", piece.node))
        })
        .collect()
}

fn overlaps(window: Span, period: Period) -> bool {
    window.start_ns < period.to_ns && period.from_ns < window.end_ns
}

/// An answer over all rows does not begin before the first of them: what is lost may be before it.
fn is_lost(lost: Period, window: Option<Span>) -> bool {
    window.is_none_or(|window| lost.from_ns < window.end_ns && window.start_ns < lost.to_ns)
}

/// The time of which a level has no file of a node any more, though rollups of it have.
pub(super) fn lost(level: Level, period: Period, of_node: &[&StoredFile]) -> Option<Period> {
    let kept = of_node.iter().filter(|file| file.level == level).map(|file| file.first_ns);
    let kept_from = kept.min().unwrap_or(u64::MAX);
    let witnessed = of_node.iter().filter(|file| file.level > level).filter_map(|file| {
        let length = file.level.window_ns()?;
        // Of a window that has begun before, the rows may have begun later.
        let is_older = file.first_ns.saturating_add(length) <= kept_from;
        let end_ns = file.last_ns.saturating_add(length).min(kept_from);
        let both = period.both(Period { from_ns: file.first_ns, to_ns: end_ns });
        (is_older && !both.is_empty()).then_some(both)
    });
    witnessed.reduce(|one, other| Period {
        from_ns: one.from_ns.min(other.from_ns),
        to_ns: one.to_ns.max(other.to_ns),
    })
}
