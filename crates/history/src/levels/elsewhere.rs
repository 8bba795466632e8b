//! Questions that another engine answers over a store's files: which it reads, and what an answer of its rows is like.

use super::exact::plan_run;
use super::reading::ScanPlan;
use super::share::QuestionShare;
use super::stored::{OpenStore, blanks};
use super::telling::AnswerCompleter;
use crate::answering::watched;
use crate::facts::{RefusedRows, part_of, untold_by_window, untold_of_records, without_place_by_window};
use crate::files::FlowFiles;
use crate::node_spans::NodeSpans;
use crate::question::{AnswerSetting, Period, Question, QuestionError};
use flow::Untold;
use model::{Answer, Span};
use packet::KeySpec;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use store::Level;
use task::query::Over;

/// The files that another engine reads for one question, and what is known of them.
#[derive(Debug)]
pub struct Elsewhere {
    reading: ScanPlan,
    /// Files that cannot be read.
    damaged: Vec<PathBuf>,
    /// The errors of the damaged files: the answers lack these.
    pub errors: Vec<String>,
    period: Option<Period>,
    over: Over,
    refused: RefusedRows,
    /// Packets of windows that are in no row: the node, the window's begin and its end, and how many.
    without_place: Vec<(Option<Arc<str>>, [u64; 2], u64)>,
    /// Numbers of packets and records that did not tell what matters to the question, likewise.
    untold: Vec<(Option<Arc<str>>, [u64; 2], Untold)>,
    /// The fields that the keys of all files have.
    pub key: KeySpec,
    /// The time that the rows of all nodes cover; `None` without any.
    pub watched: Option<Span>,
    /// The time that the rows of each node cover.
    spans: NodeSpans,
    /// The times in which nodes did not watch, in order.
    unwatched: BTreeMap<String, Vec<Span>>,
    /// The answer over no rows of each node: its columns, and what all answers of the node lack.
    pub blanks: Vec<Answer>,
}

impl Elsewhere {
    fn from_reading(
        reading: ScanPlan,
        files: &mut FlowFiles,
        question: &Question,
        setting: &AnswerSetting,
    ) -> Result<Self, QuestionError> {
        files.refuse_without_wire_bytes(question, setting)?;
        files.refuse_samples(question)?;
        let blanks = blanks(files, question, setting)?;
        let mut refused = RefusedRows::default();
        let (mut without_place, mut all_untold) = (Vec::new(), Vec::new());
        let key = *files.key();
        let queries = plan_run(&question.query, &key, setting);
        for ((_, contents), clip) in files.contents().zip(&files.clips) {
            let node: Option<Arc<str>> = contents.node.as_deref().map(Arc::from);
            refused.add(contents, *clip, &node);
            let is_read =
                |time: u64| [*clip, question.period].iter().flatten().all(|period| period.contains(time));
            let timed = without_place_by_window(contents).into_iter().flatten();
            let read = timed.filter(|(time, _)| is_read(*time));
            let length_ns = contents.windows.as_ref().map_or(0, |windows| windows.length_ns);
            let window = |begin_ns: u64| [begin_ns, begin_ns.saturating_add(length_ns)];
            without_place.extend(read.map(|(time, unplaced)| (node.clone(), window(time), unplaced.packets)));
            let of_windows = untold_by_window(contents).filter(|(time, _)| is_read(*time));
            let of_windows = of_windows.map(|(time, untold)| (window(time), untold));
            let of_any_time = untold_of_records(contents).map(|untold| ([0, u64::MAX], untold));
            let untold = of_windows.chain(of_any_time).map(|(time, untold)| {
                let untold = queries.as_ref().map_or(untold, |queries| queries.untold_of_run(&untold));
                (node.clone(), time, untold)
            });
            all_untold.extend(untold);
        }
        Ok(Self {
            damaged: files.errors().iter().map(|error| error.path().to_owned()).collect(),
            errors: files.errors().iter().map(ToString::to_string).collect(),
            period: question.period,
            over: question.query.over,
            refused,
            without_place,
            untold: all_untold,
            key,
            watched: files.span().map(|span| watched(span, question.period)),
            spans: files.spans().unwrap_or_default(),
            unwatched: reading.unwatched(),
            blanks,
            reading,
        })
    }

    /// The files, with the time of each whose rows are read: those of one time together.
    pub fn parts(&self) -> Vec<(Vec<PathBuf>, Period)> {
        let mut parts: Vec<(Vec<PathBuf>, Period)> = Vec::new();
        for (path, period) in self.reading.files().filter(|(path, _)| !self.damaged.contains(path)) {
            match parts.iter_mut().find(|(_, known)| *known == period) {
                Some((files, _)) => files.push(path),
                None => parts.push((vec![path], period)),
            }
        }
        parts
    }

    /// Returns true if files that the reading has are gone: others have taken their place, and what an engine read lacks rows.
    pub fn is_outdated(&self) -> bool {
        self.parts().iter().any(|(files, _)| files.iter().any(|path| !path.exists()))
    }

    /// The time that the rows of a node cover; `None` without any.
    pub fn watched_of(&self, node: Option<&str>) -> Option<Span> {
        self.spans.get(&node.map(Arc::from)).map(|span| watched(span, self.period))
    }

    /// The part of a window that the node watched; `None` if that is nothing.
    pub fn watched_in(&self, node: Option<&str>, window: Span) -> Option<Span> {
        let of_node = self.watched_of(node)?;
        let part = Span {
            start_ns: window.start_ns.max(of_node.start_ns),
            end_ns: window.end_ns.min(of_node.end_ns),
        };
        let unwatched = node.and_then(|node| self.unwatched.get(node)).map_or(&[][..], Vec::as_slice);
        // What is not watched between two parts is in it.
        let without = part.without(unwatched).unwrap_or(part);
        (without.start_ns < without.end_ns).then_some(without)
    }

    /// Says in an answer what the rows lack.
    pub fn describe(&self, answer: &mut Answer) {
        let node = answer.node.as_deref().map(Arc::from);
        self.refused.describe(answer, &node, self.period);
        let part = part_of(&self.over, self.period, self.spans.get(&node));
        self.refused.describe_ends(answer, &node, part);
        let window = answer.window.filter(|_| answer.node.is_some());
        // The first window may begin before what was watched of it.
        let is_of = |of: &Option<Arc<str>>, [begin_ns, end_ns]: &[u64; 2]| {
            *of == node && window.is_none_or(|window| *begin_ns < window.end_ns && window.start_ns < *end_ns)
        };
        let of_answer = self.without_place.iter().filter(|(node, time, _)| is_of(node, time));
        let packets = of_answer.fold(0_u64, |sum, (.., more)| sum.saturating_add(*more));
        if packets != 0 {
            let had = [
                "had no place in the table: no engine has it",
                "had no place in the table: no engine has them",
            ];
            answer.mark_partial(&notation::counted_as(packets, "packet", had));
        }
        let mut untold = Untold::default();
        self.untold
            .iter()
            .filter(|(node, time, _)| is_of(node, time))
            .for_each(|(.., more)| untold.add(more));
        answer.mark_untold(&untold);
    }

    /// Answers to a share's question with what they were read from and what is missing of their time, and what is missing between and behind them.
    pub fn told(&self, share: &QuestionShare, answers: Vec<Answer>) -> Vec<Answer> {
        let mut all = Vec::new();
        let mut telling = AnswerCompleter::new(
            &self.reading,
            std::slice::from_ref(share),
            self.watched,
            self.refused.record_nodes().clone(),
        );
        answers.into_iter().for_each(|answer| telling.take(answer, &mut |answer| all.push(answer)));
        telling.finish(&share.question.query.name, &self.blanks, &mut |answer| all.push(answer));
        all
    }
}

impl OpenStore {
    /// Returns what another engine reads to answer a question, as the manifest has it now.
    ///
    /// # Errors
    /// Returns why the question cannot be answered.
    pub fn elsewhere(
        &mut self,
        question: &Question,
        setting: &AnswerSetting,
    ) -> Result<Elsewhere, QuestionError> {
        self.renew()?;
        let mut coarsest = Level::Hour;
        loop {
            let reading = self.shelf().choose(question, coarsest, setting);
            let spans = self.shelf().spans();
            // Other files have taken their place.
            let Some(mut files) = self.open_files(&reading, reading.kept_of(spans))? else { continue };
            // Other engines check no checksums.
            files.leave_damaged(&mut self.checked);
            if let Some(finer) = self.instead(&reading, &files, std::slice::from_ref(question), setting) {
                coarsest = finer;
                continue;
            }
            let read = reading.coarsest();
            match Elsewhere::from_reading(reading, &mut files, question, setting) {
                // Rollups whose files have less than the rows.
                Err(_) if read > Level::Rows => coarsest = super::stored::finer(read),
                other => return other,
            }
        }
    }
}
