//! What a store has, and which of it answers a question.

use super::cover::{Complete, cover};
use super::exact::{fits, keeps};
use super::kept::KeptFile;
use super::level::Level;
use super::reading::{Piece, Reading, lost};
use crate::files::{common_keys, span_of_file, union};
use crate::question::{Period, Question, Setting};
use packet::KeySpec;
use report::Span;
use std::collections::{BTreeMap, BTreeSet};

/// What a store had when its manifest was read.
#[derive(Clone, Debug, Default)]
pub struct Shelf {
    files: Vec<KeptFile>,
    /// Up to when rollups are complete.
    complete: BTreeMap<(Level, String), u64>,
}

impl Shelf {
    /// A store with these files. `complete_until`: windows of a level and node that begin before are all in its files.
    pub fn new(files: Vec<KeptFile>, complete_until: &dyn Fn(Level, &str) -> Option<u64>) -> Self {
        let mut complete = BTreeMap::new();
        for file in files.iter().filter(|file| file.level != Level::Rows) {
            let until = complete_until(file.level, &file.node);
            complete.extend(until.map(|until| ((file.level, file.node.clone()), until)));
        }
        Self { files, complete }
    }

    /// Its files.
    pub fn files(&self) -> &[KeptFile] {
        &self.files
    }

    /// What all keys of its rows have; of its rollups where it has no rows. The 5-tuple where it has nothing.
    pub fn key(&self) -> KeySpec {
        let of = |is_wanted: fn(&KeptFile) -> bool| {
            let keys = self.files.iter().filter(|file| is_wanted(file)).map(|file| (file.key, file.path.as_path()));
            common_keys(keys).ok().flatten()
        };
        of(|file| file.level == Level::Rows).or_else(|| of(|_| true)).unwrap_or(KeySpec::FIVE_TUPLE)
    }

    /// The longest windows of its rows, nanoseconds, if it has any.
    pub fn window_ns(&self) -> Option<u64> {
        self.files.iter().filter(|file| file.level == Level::Rows).map(|file| file.window_ns).max()
    }

    /// The time from the first packet to the last, whatever level has it: rollups keep both times. As far as files do not tell it, the time of their
    /// windows.
    pub fn span(&self) -> Option<Span> {
        let first = self.files.iter().map(|file| file.first_ns).min()?;
        let end = |file: &KeptFile| file.last_ns.saturating_add(file.window_ns);
        // A rollup's first window begins before the rows' that it has: these are not later than its end.
        let [starts, ends]: [fn(&KeptFile, u64) -> bool; 2] = [
            |file, first| file.first_ns <= first,
            |file, last| file.last_ns.saturating_add(file.window_ns) >= last,
        ];
        let first_of_all = Level::ALL.iter().filter_map(|level| {
            let of_level = self.files.iter().filter(|file| file.level == *level);
            let least = of_level.clone().map(|file| file.first_ns).min()?;
            Some(of_level.filter(move |file| starts(file, least)))
        });
        let last_rows = self.files.iter().filter(|file| file.level == Level::Rows).map(end).max();
        let last = last_rows.or_else(|| self.files.iter().map(end).max())?;
        let last_files = self
            .files
            .iter()
            .filter(|file| ends(file, last) && (last_rows.is_none() || file.level == Level::Rows));
        let edges: BTreeSet<_> = first_of_all.flatten().chain(last_files).map(|file| &file.path).collect();
        let told = edges.into_iter().filter_map(|path| span_of_file(path)).reduce(union);
        told.or(Some(Span { start_ns: first, end_ns: last }))
    }

    /// The nodes of its files.
    pub fn nodes(&self) -> BTreeSet<&str> {
        self.files.iter().map(|file| file.node.as_str()).collect()
    }

    /// Which files answer a question from the coarsest level that is exact for it, and no coarser one than `coarsest`.
    pub fn choose(&self, question: &Question, coarsest: Level, setting: &Setting) -> Reading {
        for level in Level::ALL.into_iter().filter(|level| *level <= coarsest && *level != Level::Rows) {
            if !fits(&question.query, level) {
                continue;
            }
            let reading = self.reading(question, level);
            let rollups = self.files.iter().filter(|file| file.level != Level::Rows && reading.reads(&file.path));
            let keys = common_keys(rollups.map(|file| (file.key, file.path.as_path())));
            if let Ok(Some(key)) = keys
                && keeps(&question.query, key, setting)
            {
                return reading;
            }
        }
        self.reading(question, Level::Rows)
    }

    /// Which files cover a question's time, if levels up to `coarsest` are exact for it.
    fn reading(&self, question: &Question, coarsest: Level) -> Reading {
        let period = question.period.unwrap_or(Period::ALL);
        let mut reading = Reading::default();
        for node in self.nodes().into_iter().filter(|node| (question.runs_on)(Some(node))) {
            let of_node: Vec<&KeptFile> = self.files.iter().filter(|file| file.node == node).collect();
            let rollups: Vec<Complete> = Level::ALL
                .into_iter()
                .filter(|level| *level <= coarsest && *level != Level::Rows)
                .filter_map(|level| self.complete(level, node, &of_node))
                .collect();
            for (level, period) in cover(period, &rollups) {
                let files = of_node.iter().filter(|file| file.level == level && file.may_have(period));
                reading.pieces.push(Piece {
                    node: node.to_owned(),
                    level,
                    period,
                    files: files.map(|file| file.path.clone()).collect(),
                    lost: lost(level, period, &of_node),
                });
            }
            reading.nodes.push(node.to_owned());
        }
        reading
    }

    /// The time of which a rollup has all rows of a node.
    fn complete(&self, level: Level, node: &str, of_node: &[&KeptFile]) -> Option<Complete> {
        let until_ns = *self.complete.get(&(level, node.to_owned()))?;
        let from_ns = of_node.iter().filter(|file| file.level == level).map(|file| file.first_ns).min()?;
        Some(Complete { level, from_ns, until_ns })
    }
}
