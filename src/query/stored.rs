//! Answers from a store: each question from the coarsest level that is exact for it.

use super::Command;
use super::facts::Facts;
use super::printer::Printer;
use crate::exit::{Failure, say};
use history::levels::{Reading, Shelf};
use history::{FlowFiles, Outcome, Question, Refused};
use report::{Answer, Span};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use store::{Catalog, Level};

/// How often the manifest is asked again when files that it named are gone: each time others have taken their place.
const MOST_TRIES: u32 = 20;

/// A store that is open.
pub(super) struct Stored {
    folder: PathBuf,
    catalog: Catalog,
    shelf: Shelf,
    /// How often the manifest was asked again.
    tries: u32,
    /// Files that were named as damaged.
    damaged: BTreeSet<PathBuf>,
}

impl Stored {
    pub(super) fn open(folder: &Path) -> Result<Self, Failure> {
        let catalog = Catalog::open(folder).map_err(Failure::usage)?;
        let shelf = Shelf::of(&catalog).map_err(Failure::usage)?;
        Ok(Self { folder: folder.to_owned(), catalog, shelf, tries: 0, damaged: BTreeSet::new() })
    }

    pub(super) fn facts(&self) -> Facts {
        let folder = self.folder.display().to_string();
        Facts {
            key: self.shelf.key(),
            window_ns: self.shelf.windows_ns().last().copied(),
            statistics: Vec::new(),
            rows: Some(self.shelf.rows()),
            // The files tell, once they are open.
            tracks_loss: true,
            has_records: false,
            lengths: self.shelf.windows_ns().into_iter().map(|length| (folder.clone(), length)).collect(),
        }
    }

    /// Answers questions. Those that read the same files are answered together.
    pub(super) fn answer(
        &mut self,
        command: &Command<'_>,
        questions: Vec<Question>,
        printer: &Printer,
        give: &mut dyn FnMut(Answer),
    ) -> Result<Vec<Outcome>, Failure> {
        let mut outcomes = Vec::new();
        let mut waiting = vec![(Level::Hour, questions)];
        while let Some((coarsest, questions)) = waiting.pop() {
            let mut groups: Vec<(Reading, Vec<Question>)> = Vec::new();
            for question in questions {
                let reading = self.shelf.choose(&question, coarsest, &command.setting);
                match groups.iter_mut().find(|(known, _)| *known == reading) {
                    Some((_, together)) => together.push(question),
                    None => groups.push((reading, vec![question])),
                }
            }
            // The last is taken first.
            let mut later = Vec::new();
            let span = self.shelf.span();
            for (reading, questions) in groups {
                let Some(mut files) = self.open_files(&reading, span)? else {
                    // Other files have taken their place.
                    later.push((coarsest, questions));
                    continue;
                };
                if let Some(finer) = self.instead(&reading, &files, &questions, command) {
                    later.push((finer, questions));
                    continue;
                }
                let mut describe = |mut answer: Answer| {
                    reading.describe(&mut answer);
                    give(answer);
                };
                match command.try_read(&mut files, &questions, printer, &mut describe) {
                    Ok(outcome) => outcomes.push(outcome),
                    // Rollups whose files have less than the rows: those that they answer stay.
                    Err(refused) if reading.coarsest() > Level::Rows => {
                        let is_refused = |question: &Question| match &refused {
                            Refused::Queries(named) => {
                                named.iter().any(|(name, _)| *name == question.query.name)
                            }
                            Refused::Files(_) => true,
                        };
                        let (refused, others): (Vec<_>, Vec<_>) = questions.into_iter().partition(is_refused);
                        let (refused, others) =
                            if refused.is_empty() { (others, refused) } else { (refused, others) };
                        later.push((finer(reading.coarsest()), refused));
                        later.push((coarsest, others));
                    }
                    Err(refused) => return Err(Command::refused(refused)),
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

    /// The level to read where rollups of a reading are damaged: a finer one, if that has all of the questions' time. The damaged files are named.
    fn instead(
        &mut self,
        reading: &Reading,
        files: &FlowFiles,
        questions: &[Question],
        command: &Command<'_>,
    ) -> Option<Level> {
        let damaged =
            files.errors().iter().filter_map(|error| Some((reading.level_of(error.path())?, error)));
        let damaged: Vec<_> = damaged.filter(|(level, _)| *level > Level::Rows).collect();
        let level = finer(damaged.iter().map(|(level, _)| *level).max()?);
        let lacks_time = |question| self.shelf.choose(question, level, &command.setting).lacks_time();
        if questions.iter().any(lacks_time) {
            return None;
        }
        for (_, error) in damaged {
            if self.damaged.insert(error.path().to_owned()) {
                say(&format!("{error}; a finer level is read in its place"));
            }
        }
        Some(level)
    }

    /// Opens files; `None` if some are gone, and the manifest names others now.
    fn open_files(&mut self, reading: &Reading, span: Option<Span>) -> Result<Option<FlowFiles>, Failure> {
        let files = FlowFiles::open_stored(reading.files(), span, reading.nodes().to_vec())
            .map_err(Failure::usage)?;
        let gone = files.errors().iter().map(|error| error.path()).find(|path| !path.exists());
        let Some(gone) = gone.map(Path::to_owned) else { return Ok(Some(files)) };
        self.tries += 1;
        self.shelf = Shelf::of(&self.catalog).map_err(Failure::fault)?;
        let is_replaced = !self.shelf.has(&gone) && self.tries <= MOST_TRIES;
        Ok((!is_replaced).then_some(files))
    }
}

/// The next level that is finer.
fn finer(level: Level) -> Level {
    match level {
        Level::Hour => Level::Minute,
        _ => Level::Rows,
    }
}
