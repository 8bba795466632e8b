//! The answers to a task of questions: they are read from the store, within the limits of the task.

use arena::Limits;
use history::levels::OpenStore;
use history::{AnswerSetting, Period, Question, QuestionError, ScanSummary};
use model::{Answer, Span};
use notation::{grouped, scaled, time_text};
use protocol::{HistoryAnswer, HistoryLimits, HistoryQuestion, HistoryTask};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Instant;
use task::query::Over;
use task::rows::PlanContext;

/// Questions take at most this part of the probe's memory (one in `MOST_OF_ALL`), and of its free memory (one in `MOST_OF_FREE`). The
/// rest is for measuring.
const MOST_OF_ALL: usize = 4;
const MOST_OF_FREE: usize = 2;
/// The least memory with which questions are answered, bytes.
const LEAST_MEMORY: usize = 256 << 10;

/// A task that waits, or is being answered.
#[derive(Debug)]
pub struct HistoryJob {
    /// The questions.
    pub task: HistoryTask,
    /// True if the answer is no longer needed.
    pub is_over: Arc<AtomicBool>,
    /// The time up to which the task may be answered; `None` for ever.
    pub until: Option<Instant>,
}

impl HistoryJob {
    fn is_late(&self) -> bool {
        self.until.is_some_and(|until| Instant::now() >= until)
    }
}

/// The reader that answers from a store: the folder of the store, and the node whose rows it reads.
#[derive(Debug)]
pub struct StoreReading {
    folder: PathBuf,
    node: String,
    /// The account of the probe's memory.
    limits: Limits,
    setting: AnswerSetting,
}

/// The answers that were given so far.
#[derive(Default)]
struct CollectedAnswers {
    answers: Vec<Answer>,
    bytes: u64,
    /// True if the answer is larger than allowed; nothing of it is kept.
    is_too_large: bool,
}

impl StoreReading {
    /// Reads this folder. `site`: the node, and the account of its memory.
    pub fn new(folder: PathBuf, site: &PlanContext) -> Self {
        let limits = site.limits.clone();
        let setting = AnswerSetting { limits: limits.clone(), seed: site.seed, geo: site.geo.clone() };
        Self { folder, node: site.node.clone(), limits, setting }
    }

    /// Returns the answer to a task; `None` if it is no longer needed. If reading fails for any reason, the answer says so.
    pub fn answer(&self, job: &HistoryJob) -> Option<HistoryAnswer> {
        whatever_happens(&job.task, || self.read_answer(job))
    }

    fn read_answer(&self, job: &HistoryJob) -> Option<HistoryAnswer> {
        let task = &job.task;
        if job.is_over.load(Relaxed) {
            return None;
        }
        if job.is_late() {
            return Some(task.no_answer("too_late: the questions before it took all of its time"));
        }
        let asked = usize::try_from(task.limits.memory_bytes).unwrap_or(usize::MAX);
        let all = self.limits.bytes_allowed();
        let free = all.saturating_sub(self.limits.bytes_used()) / MOST_OF_FREE;
        let most = asked.min(all / MOST_OF_ALL).min(free);
        // Dropping the lease returns the memory when the answer is complete.
        let Some(_lease) = self.limits.lease(most).filter(|_| free >= LEAST_MEMORY) else {
            return Some(task.no_answer(
                "no_memory: measuring takes all memory of this probe: give it more with --memory",
            ));
        };
        let setting = AnswerSetting { limits: Limits::new(most, usize::MAX), ..self.setting.clone() };
        let mut given = CollectedAnswers::default();
        let outcomes = self.read(job, &setting, &mut given);
        if job.is_over.load(Relaxed) {
            return None;
        }
        if given.is_too_large {
            let most = scaled(task.limits.answer_bytes as f64, "B");
            return Some(task.no_answer(format!(
                "too_large: the answer has more than {most}: ask for fewer groups, windows or a shorter time"
            )));
        }
        let missing = match outcomes {
            Err(reason) => return Some(task.no_answer(reason)),
            Ok(outcomes) => lacking(task, &outcomes),
        };
        Some(HistoryAnswer { epoch: task.epoch, id: task.id, answers: given.answers, missing })
    }

    fn read(
        &self,
        job: &HistoryJob,
        setting: &AnswerSetting,
        given: &mut CollectedAnswers,
    ) -> Result<Vec<ScanSummary>, String> {
        let mut stored =
            OpenStore::open_node(&self.folder, &self.node).map_err(|line| format!("fault: {line}"))?;
        if !stored.shelf().nodes().contains(self.node.as_str()) {
            // The node has measured nothing yet.
            return Err(format!("no_rows: the store has nothing of {} yet", self.node));
        }
        self.check_lengths(&job.task, &stored)?;
        let questions = job.task.questions.iter().map(|asked| self.question(asked)).collect();
        let most = job.task.limits.answer_bytes;
        let too_large = std::cell::Cell::new(false);
        let mut give = |answer: Answer| {
            let CollectedAnswers { answers, bytes, is_too_large } = &mut *given;
            *bytes = bytes.saturating_add(HistoryLimits::size_of(&answer));
            if *bytes > most {
                *is_too_large = true;
                *answers = Vec::new();
                too_large.set(true);
            } else {
                answers.push(answer);
            }
        };
        let mut continues = |_| !job.is_over.load(Relaxed) && !job.is_late() && !too_large.get();
        let outcomes = stored.answer(questions, setting, &mut continues, &mut give);
        outcomes.map_err(|refused| match refused {
            QuestionError::Queries(named) => {
                let lines = named.iter().map(|(query, reason)| format!("{query}: {reason}"));
                format!("refused: {}", lines.collect::<Vec<_>>().join("; "))
            }
            QuestionError::Files(lines) => format!("refused: {}", lines.join("; ")),
            QuestionError::Store(line) => format!("fault: {line}"),
        })
    }

    /// Refuses windows whose length is not a multiple of the length of the store's windows.
    fn check_lengths(&self, task: &HistoryTask, stored: &OpenStore) -> Result<(), String> {
        let lengths = stored.shelf().windows_ns();
        for HistoryQuestion { query, .. } in &task.questions {
            let every_ns = match query.over {
                Over::Windows { every_ns, .. } => every_ns,
                Over::Run => continue,
                Over::Window => return Err(format!("refused: {}: it is of single windows", query.name)),
            };
            if let Some(own) = lengths.iter().find(|own| **own != 0 && !every_ns.is_multiple_of(**own)) {
                let [every, own] = [every_ns, *own].map(time_text);
                return Err(format!(
                    "refused: {}: its windows of {every} are no multiple of those of the store, which are {own} long",
                    query.name
                ));
            }
        }
        Ok(())
    }

    fn question(&self, asked: &HistoryQuestion) -> Question {
        let node = self.node.clone();
        Question {
            query: asked.query.clone(),
            period: asked.period.map(|Span { start_ns, end_ns }| Period { from_ns: start_ns, to_ns: end_ns }),
            // The store may have nodes that other runs measured.
            runs_on: Rc::new(move |of| of == Some(node.as_str())),
        }
    }
}

/// Returns the reason why answers are incomplete, if there is one. Answers do not have it themselves: windows that were not read have none.
fn lacking(task: &HistoryTask, outcomes: &[ScanSummary]) -> Option<String> {
    let is_stopped = outcomes.iter().any(|outcome| outcome.stopped);
    let seconds = task.limits.time_ms.div_ceil(1_000);
    let late = is_stopped.then(|| {
        let rows = outcomes.iter().map(|outcome| outcome.rows).fold(0, u64::saturating_add);
        format!("too_late: {} rows were read in the {seconds} s that it had", grouped(rows))
    });
    let errors: Vec<String> =
        outcomes.iter().flat_map(|outcome| &outcome.errors).map(ToString::to_string).collect();
    let passed_over = outcomes.iter().flat_map(|outcome| outcome.passed_over.iter().cloned());
    let mut lines: Vec<String> = errors.into_iter().chain(passed_over).collect();
    lines.sort();
    lines.dedup();
    let damaged = (!lines.is_empty()).then(|| format!("damaged: {}", lines.join("; ")));
    match (late, damaged) {
        (Some(late), Some(damaged)) => Some(format!("{late}; {damaged}")),
        (late, damaged) => late.or(damaged),
    }
}

/// Returns an answer even if computing it panics, so that the thread continues with the next questions.
fn whatever_happens(
    task: &HistoryTask,
    answer: impl FnOnce() -> Option<HistoryAnswer>,
) -> Option<HistoryAnswer> {
    // Incomplete state is dropped with the closure.
    catch_unwind(AssertUnwindSafe(answer)).unwrap_or_else(|_| {
        Some(task.no_answer("fault: reading the store failed: this is an error in Edison"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use protocol::HistoryLimits;

    #[test]
    fn a_question_that_cannot_be_answered_is_refused() {
        let task = HistoryTask {
            epoch: 1,
            id: 2,
            questions: Vec::new(),
            limits: HistoryLimits { memory_bytes: 1, time_ms: 1, answer_bytes: 1 },
        };
        let answer = whatever_happens(&task, || panic!("a test")).expect("an answer");
        assert_eq!((answer.epoch, answer.id), (1, 2));
        assert!(answer.missing.is_some_and(|reason| reason.starts_with("fault: ")));
        assert!(whatever_happens(&task, || None).is_none());
    }
}
