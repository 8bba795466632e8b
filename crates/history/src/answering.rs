//! Reads rows once for all questions.

mod caveats;
mod group;
mod lacks;
mod needs;
mod part;
mod wire_bytes;
mod work;

use crate::file_times::FileTimes;
use crate::files::FlowFiles;
use crate::question::{AnswerSetting, Period, Question, QuestionError};
use crate::shares::refuse_mixed;
use crate::whole::{Cut, windows_at};
use caveats::Caveats;
use model::{Answer, Span};
pub(crate) use needs::lacking_columns;
use part::{PartPosition, ReadExtent};
use record::read::{Contents, ReadError, ReadProjection};
use std::collections::BTreeSet;
use task::Generation;
use task::query::Query;
use task::rows::RowQueries;
use work::AnsweringState;

/// The progress of reading.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ScanProgress {
    /// The number of rows that were read.
    pub rows: u64,
    /// Bytes of the files' parts that were read or need not be.
    pub done_bytes: u64,
    /// Bytes of all parts.
    pub total_bytes: u64,
}

/// The result of reading.
#[derive(Clone, Debug, Default)]
pub struct ScanSummary {
    /// The number of rows that were read. Rows of two directions count twice.
    pub rows: u64,
    /// Rows that are of no flow: of the record `other`, or without an address.
    pub without_key: u64,
    /// Parts that need not be read: no row of theirs is asked for.
    pub skipped_parts: u64,
    /// The nodes of the rows.
    pub nodes: BTreeSet<String>,
    /// Queries that run on none of them.
    pub without_node: Vec<String>,
    /// Files that are damaged, or could not be opened: the first error of each.
    pub errors: Vec<ReadError>,
    /// The remarks on what files have that could not be read, though they are whole: a line each.
    pub passed_over: Vec<String>,
    /// True if reading was stopped before the end.
    pub stopped: bool,
    /// The time from the first packet to the last of what was read.
    pub span: Option<Span>,
}

impl FlowFiles {
    /// Answers questions. Answers go to `give` when they are complete: windows by time where files tell the times of their parts.
    /// `progress` is called again and again, and ends reading by returning false.
    ///
    /// # Errors
    /// Returns the queries that the rows cannot answer, or the files that lack columns which they read. Nothing was read then.
    pub fn answer(
        &mut self,
        questions: &[Question],
        setting: &AnswerSetting,
        progress: &mut dyn FnMut(ScanProgress) -> bool,
        give: &mut dyn FnMut(Answer),
    ) -> Result<ScanSummary, QuestionError> {
        let lacking = self.nodes_without_wire_bytes();
        let told = self.without_wire_bytes(questions, &lacking, setting);
        let (mut questions, unknown): (Vec<Question>, Vec<_>) = told.into_iter().unzip();
        let common_key = self.describe_key_differences();
        let of_flows = match &common_key {
            Some(_) => self.questions_of_flows(&questions, setting),
            None => BTreeSet::new(),
        };
        let cuts: Vec<Option<Cut>> = questions.iter_mut().map(|question| self.cut(question)).collect();
        // Of a store its manifest tells it.
        let times = match self.covers {
            Some(_) => FileTimes::default(),
            None => FileTimes::from_files(self.contents(), &self.missing, &questions),
        };
        // Rows that a measurement wrote tell all of their keys.
        let may_be_open = self.contents().any(|(_, contents)| contents.windows.is_none());
        let groups = self.groups(&questions, may_be_open);
        refuse_mixed(self.contents().map(|(_, contents)| contents).zip(&self.clips), &questions)?;
        let site = self.site(setting);
        let known = self.spans();
        let wanted = self.wanted(&groups, &site, &lacking, may_be_open, known.is_none())?;
        let mut work = AnsweringState::new(self, groups, site, known, &wanted);
        let (questions, lacking) = (&questions, &lacking);
        let caveats = Caveats { questions, unknown, cuts, lacking, common_key, of_flows, times };
        let mut give = |mut answer: Answer| {
            caveats.describe(&mut answer);
            give(answer);
        };
        self.read_parts(&mut work, &wanted, progress, &mut give);
        Ok(work.finish(&mut give))
    }

    /// Reads the parts that are asked for, by their first times, and gives answers that no later part has rows of.
    fn read_parts(
        &mut self,
        work: &mut AnsweringState<'_>,
        wanted: &ReadProjection,
        progress: &mut dyn FnMut(ScanProgress) -> bool,
        give: &mut dyn FnMut(Answer),
    ) {
        let places = self.places();
        let mut progressed = ScanProgress {
            total_bytes: places.iter().map(|place| place.bytes).sum(),
            ..ScanProgress::default()
        };
        for place in places {
            let before = progressed;
            progressed.done_bytes += place.bytes;
            let contents = self.files[place.file].contents();
            let (part, node) = (&contents.parts[place.part], contents.node.as_deref());
            if !work.asks_for(part, self.clips[place.file], node) {
                work.outcome.skipped_parts += 1;
                work.pass_over(part, node);
                continue;
            }
            // Parts are in the order of their first times.
            place.first.iter().for_each(|first| work.answer_until(*first, give));
            self.read_part(&place, before, work, wanted, progress);
            if work.outcome.stopped {
                break;
            }
        }
    }

    /// Reads the rows of a part. `before`: the progress without it.
    fn read_part(
        &mut self,
        place: &PartPosition,
        before: ScanProgress,
        work: &mut AnsweringState<'_>,
        wanted: &ReadProjection,
        progress: &mut dyn FnMut(ScanProgress) -> bool,
    ) {
        let file = &mut self.files[place.file];
        let part = &file.contents().parts[place.part];
        let (bounds, rows_of_part) =
            (ReadExtent { clip: self.clips[place.file], times: part.times }, part.rows);
        let is_measured = file.contents().is_measured;
        let mut read = 0;
        let mut refused = None;
        let result = file.read_part(place.part, wanted, &mut |block| {
            read += (block.v4.len() + block.v6.len()) as u64;
            if let Err(reason) = work.take(block, bounds, wanted, is_measured) {
                refused = Some(reason);
                return false;
            }
            let share = rows_of_part.map_or(0.0, |rows| (read as f64 / rows.max(1) as f64).min(1.0));
            work.outcome.stopped = !progress(ScanProgress {
                rows: work.outcome.rows,
                done_bytes: before.done_bytes + (place.bytes as f64 * share) as u64,
                ..before
            });
            !work.outcome.stopped
        });
        let passed_over = file.passed_over().map(|what| format!("{}: {what}", file.path().display()));
        work.outcome.passed_over.extend(passed_over);
        let refused = refused.map(|reason| ReadError::damaged(file.path(), reason));
        let error = result.err().or(refused);
        // One line for each file; its other parts are read.
        let is_known =
            |error: &ReadError| work.outcome.errors.iter().any(|known| known.path() == error.path());
        let error = error.filter(|error| !is_known(error));
        self.errors.extend(error.clone());
        work.outcome.errors.extend(error);
    }

    /// Returns which windows the period of a question cuts, which is the one that is told then. Of a store its manifest tells it.
    fn cut(&self, question: &mut Question) -> Option<Cut> {
        if !self.nodes.is_empty() {
            return None;
        }
        let cut = Cut::from_period(question.period?, &|time_ns| {
            let runs_on = |contents: &Contents| (question.runs_on)(contents.node.as_deref());
            let files = self.contents().map(|(_, contents)| contents).filter(|contents| runs_on(contents));
            files.flat_map(|contents| windows_at(time_ns, contents)).collect()
        })?;
        question.period = Some(cut.told);
        Some(cut)
    }

    /// The names of questions whose answers depend on which packets are one flow.
    fn questions_of_flows(&self, questions: &[Question], setting: &AnswerSetting) -> BTreeSet<String> {
        let site = self.site(setting);
        let counts_flows = |query: &Query| {
            let plan = RowQueries::plan(Generation::default(), std::slice::from_ref(query), &site);
            plan.is_ok_and(|plan| plan.count_flows())
        };
        let of_flows = questions.iter().map(|question| &question.query).filter(|query| counts_flows(query));
        of_flows.map(|query| query.name.clone()).collect()
    }
}

/// The part of the time that rows cover which a period has.
pub(crate) fn watched(span: Span, period: Option<Period>) -> Span {
    match period {
        None => span,
        Some(Period { from_ns, to_ns }) => {
            let start_ns = span.start_ns.clamp(from_ns, to_ns);
            Span { start_ns, end_ns: span.end_ns.clamp(start_ns, to_ns) }
        }
    }
}
