//! Answers from a store: each question from the coarsest level that is exact for it.

use super::reading::ScanPlan;
use super::share::QuestionShare;
use super::shelf::Shelf;
use super::telling::AnswerCompleter;
use crate::answering::{ScanProgress, ScanSummary};
use crate::files::FlowFiles;
use crate::node_spans::NodeSpans;
use crate::question::{AnswerSetting, Period, Question, QuestionError};
use model::Answer;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use store::{Catalog, Level};
use task::query::{Over, Query};

/// The most times that the manifest is asked again when files that it named are gone: each time others have taken their place.
const MOST_TRIES: u32 = 20;

/// A store that is open. Its writer may be active meanwhile.
#[derive(Debug)]
pub struct OpenStore {
    folder: PathBuf,
    catalog: Catalog,
    shelf: Shelf,
    /// The only node whose files are read, where it is one.
    node: Option<String>,
    /// The number of times that the manifest was asked again.
    tries: u32,
    /// Damaged rollups that finer files were read in place of, with what is wrong.
    replaced: BTreeMap<PathBuf, String>,
    /// Files whose checksums were right when all of them were read for another engine.
    pub(super) checked: BTreeSet<PathBuf>,
}

impl OpenStore {
    /// Opens the store in a folder.
    ///
    /// # Errors
    /// Returns one line if there is no store, or it cannot be read.
    pub fn open(folder: &Path) -> Result<Self, String> {
        Self::open_as(folder, None)
    }

    /// Opens the store in a folder for what one node measured: the others' files are as if they were not there, and the time is that of this
    /// node.
    ///
    /// # Errors
    /// Returns the errors of [`OpenStore::open`].
    pub fn open_node(folder: &Path, node: &str) -> Result<Self, String> {
        Self::open_as(folder, Some(node.to_owned()))
    }

    fn open_as(folder: &Path, node: Option<String>) -> Result<Self, String> {
        let catalog = Catalog::open(folder)?;
        let shelf = Shelf::open(&catalog)?.only(node.as_deref());
        let folder = folder.to_owned();
        let (replaced, checked) = Default::default();
        Ok(Self { folder, catalog, shelf, node, tries: 0, replaced, checked })
    }

    /// Returns the store's folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns what the store has.
    pub fn shelf(&self) -> &Shelf {
        &self.shelf
    }

    /// Damaged rollups that finer files were read in place of so far: a line each.
    pub fn replaced(&self) -> impl Iterator<Item = &str> {
        self.replaced.values().map(String::as_str)
    }

    /// The shares of a question, each of which is asked for itself ([`Shelf::shares`]).
    pub fn shares(&self, question: Question, setting: &AnswerSetting) -> Vec<QuestionShare> {
        self.shelf.shares(question, Level::Hour, setting)
    }

    /// Answers questions. Those that read the same files are answered together. `progress` is called again and again, and ends reading by
    /// returning false.
    ///
    /// # Errors
    /// Returns why nothing more is read: what was answered before was given.
    pub fn answer(
        &mut self,
        questions: Vec<Question>,
        setting: &AnswerSetting,
        progress: &mut dyn FnMut(ScanProgress) -> bool,
        give: &mut dyn FnMut(Answer),
    ) -> Result<Vec<ScanSummary>, QuestionError> {
        let mut outcomes = Vec::new();
        let shares = questions.into_iter().flat_map(|question| self.shares(question, setting));
        let mut waiting = vec![(Level::Hour, shares.collect::<Vec<_>>())];
        while let Some((coarsest, shares)) = waiting.pop() {
            // The last is taken first.
            let mut later = Vec::new();
            let readings = self.readings(shares, coarsest, setting);
            let spans = self.shelf.spans();
            for (reading, shares) in readings {
                let Some(mut files) = self.open_files(&reading, reading.kept_of(spans.clone()))? else {
                    // Other files have taken their place.
                    later.push((coarsest, shares));
                    continue;
                };
                let questions: Vec<Question> = shares.iter().map(|share| share.question.clone()).collect();
                if let Some(finer) = self.instead(&reading, &files, &questions, setting) {
                    later.push((finer, shares));
                    continue;
                }
                let mut restore = |mut answer: Answer| {
                    let share = QuestionShare::find(&shares, &answer);
                    if share.is_some_and(|share| !share.gives(&answer)) {
                        return;
                    }
                    share.into_iter().for_each(|share| share.restore(&mut answer));
                    give(answer);
                };
                let mut telling = AnswerCompleter::new(&reading, &shares, None, files.nodes_of_records());
                let answered = {
                    let mut take = |answer: Answer| telling.take(answer, &mut restore);
                    files.answer(&questions, setting, progress, &mut take)
                };
                match answered {
                    Ok(outcome) => {
                        if telling.has_window_queries() && !outcome.stopped {
                            for question in &questions {
                                let blanks = blanks(&mut files, question, setting)?;
                                telling.finish(&question.query.name, &blanks, &mut restore);
                            }
                        }
                        outcomes.push(outcome);
                    }
                    // Rollups whose files have less than the rows: those that they answer stay.
                    Err(refused) if reading.coarsest() > Level::Rows => {
                        let (refused, others) = parted(shares, &refused);
                        later.push((finer(reading.coarsest()), refused));
                        later.push((coarsest, others));
                    }
                    Err(refused) => return Err(refused),
                }
                if outcomes.last().is_some_and(|outcome| outcome.stopped) {
                    return Ok(outcomes);
                }
            }
            later.reverse();
            waiting.extend(later);
        }
        Ok(outcomes)
    }

    /// Groups shares by what is read for them.
    fn readings(
        &self,
        shares: Vec<QuestionShare>,
        coarsest: Level,
        setting: &AnswerSetting,
    ) -> Vec<(ScanPlan, Vec<QuestionShare>)> {
        let mut groups: Vec<(ScanPlan, Vec<QuestionShare>)> = Vec::new();
        for share in shares {
            let reading = self.shelf.choose(&share.question, coarsest, setting);
            match groups.iter_mut().find(|(known, others)| *known == reading && share.goes_with(others)) {
                Some((_, together)) => together.push(share),
                None => groups.push((reading, vec![share])),
            }
        }
        groups
    }

    /// The level to read where rollups of a reading are damaged: a finer one, if that has all of the questions' time. The damaged files are named.
    pub(super) fn instead(
        &mut self,
        reading: &ScanPlan,
        files: &FlowFiles,
        questions: &[Question],
        setting: &AnswerSetting,
    ) -> Option<Level> {
        let damaged =
            files.errors().iter().filter_map(|error| Some((reading.level_of(error.path())?, error)));
        let damaged: Vec<_> = damaged.filter(|(level, _)| *level > Level::Rows).collect();
        let level = finer(damaged.iter().map(|(level, _)| *level).max()?);
        let lacks_time = |question| {
            let finer = self.shelf.choose(question, level, setting);
            finer.lacks_time() || finer.begins_ns > reading.begins_ns
        };
        if questions.iter().any(lacks_time) {
            return None;
        }
        for (_, error) in damaged {
            let line = || format!("{error}; a finer level is read in its place");
            self.replaced.entry(error.path().to_owned()).or_insert_with(line);
        }
        Some(level)
    }

    /// Reads the manifest again.
    pub(super) fn renew(&mut self) -> Result<(), QuestionError> {
        self.shelf = Shelf::open(&self.catalog).map_err(QuestionError::Store)?.only(self.node.as_deref());
        Ok(())
    }

    /// Opens files; `None` if some are gone, and the manifest names others now.
    pub(super) fn open_files(
        &mut self,
        reading: &ScanPlan,
        spans: NodeSpans,
    ) -> Result<Option<FlowFiles>, QuestionError> {
        let files = FlowFiles::open_stored(reading.files(), spans, reading.nodes().to_vec());
        let mut files = files.map_err(|line| QuestionError::Files(vec![line]))?;
        let unwatched = reading.unwatched().into_iter();
        files.missing = Arc::new(unwatched.map(|(node, times)| (Some(Arc::from(node)), times)).collect());
        files.times = Arc::new(self.shelf.times_of(reading));
        files.errors.extend(self.shelf.damage().cloned());
        let gone = files.errors().iter().map(|error| error.path()).find(|path| !path.exists());
        let Some(gone) = gone.map(Path::to_owned) else { return Ok(Some(files)) };
        self.tries += 1;
        self.renew()?;
        let is_replaced = !self.shelf.has(&gone) && self.tries <= MOST_TRIES;
        Ok((!is_replaced).then_some(files))
    }
}

/// Parts the shares that were refused from the others; where none is named, all were.
fn parted(shares: Vec<QuestionShare>, refused: &QuestionError) -> (Vec<QuestionShare>, Vec<QuestionShare>) {
    let is_refused = |share: &QuestionShare| match refused {
        QuestionError::Queries(named) => named.iter().any(|(name, _)| *name == share.question.query.name),
        QuestionError::Files(_) | QuestionError::Store(_) => true,
    };
    let (refused, others): (Vec<_>, Vec<_>) = shares.into_iter().partition(is_refused);
    if refused.is_empty() { (others, refused) } else { (refused, others) }
}

/// The next level that is finer.
pub(super) fn finer(level: Level) -> Level {
    match level {
        Level::Hour => Level::Minute,
        _ => Level::Rows,
    }
}

/// Returns the answer over no rows for each node of a question: its columns, and what all answers of the node lack.
pub(super) fn blanks(
    files: &mut FlowFiles,
    question: &Question,
    setting: &AnswerSetting,
) -> Result<Vec<Answer>, QuestionError> {
    // No row counts in it: nothing but what is to be known of the files is read.
    let blank = Question {
        query: Query { over: Over::Run, ..question.query.clone() },
        period: Some(Period { from_ns: 0, to_ns: 0 }),
        runs_on: Rc::new(|_| true),
    };
    let mut blanks = Vec::new();
    files.answer(&[blank], setting, &mut |_| true, &mut |answer| blanks.push(answer))?;
    blanks.retain(|answer| (question.runs_on)(answer.node.as_deref()));
    Ok(blanks)
}
