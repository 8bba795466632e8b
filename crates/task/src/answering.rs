//! The tasks of one set, window by window: answers, and what they are measured against.

use crate::answer::{self, AnswerInput};
use crate::past::BaselineWindows;
use crate::task_answer::TaskAnswer;
use crate::tasks::{PlannedTask, TaskStates, Tasks};
use arena::Lease;
use flow::{Untold, WindowId};
use model::{Answer, Class};
use sketch::SketchError;

/// The answers of windows without a packet, of the tasks that answer queries.
pub(crate) fn empty_answers(tasks: &Tasks) -> impl Iterator<Item = Answer> + '_ {
    let of_query = |task: &PlannedTask| {
        let shape = task.spec.shape.as_ref()?;
        let columns = answer::no_rows(task).columns();
        let answer = Answer { class: Class::Sketch, ..Answer::new("", None, columns, Vec::new()) };
        Some(Answer { rows: Vec::new(), ..shape.shaped(answer, 0) })
    };
    tasks.tasks.iter().filter_map(of_query)
}

/// The tasks that answer from some window on.
#[derive(Debug)]
pub(crate) struct Answering {
    pub(crate) first: WindowId,
    pub(crate) tasks: Tasks,
    /// The past of each task.
    past: Vec<BaselineWindows>,
    /// The last window that was answered.
    last: Option<WindowId>,
    /// The memory of the tasks' states on all cores.
    _memory: Option<Lease>,
}

impl Answering {
    pub(crate) fn new(first: WindowId, tasks: Tasks, memory: Option<Lease>) -> Self {
        let past = tasks.tasks.iter().map(|_| BaselineWindows::default()).collect();
        Self { first, tasks, past, last: None, _memory: memory }
    }

    /// The answers of a window that no worker counted in: none, unless a fault or cut frames are to be reported, or a query to be answered.
    pub(crate) fn answer_nothing(
        &self,
        fault: Option<&str>,
        untold: &Untold,
    ) -> Result<Vec<TaskAnswer>, SketchError> {
        if fault.is_none() && untold.is_none() && !self.tasks.tasks.iter().any(|task| task.spec.is_of_query())
        {
            return Ok(Vec::new());
        }
        let answer = |(at, task)| {
            let (states, past) = (self.tasks.states_of(at)?, BaselineWindows::default());
            let answer = answer::answer_task(&AnswerInput { task, states: &states, past: &past });
            Ok(match fault {
                Some(fault) => TaskAnswer { status: format!("incomplete: {fault}"), ..answer },
                None => answer,
            })
        };
        (0..).zip(&self.tasks.tasks).map(answer).collect()
    }

    /// Answers a window. `fault` is what keeps the answers from being whole.
    pub(crate) fn answer(
        &mut self,
        window: WindowId,
        states: &mut TaskStates,
        fault: &mut Option<String>,
    ) -> Vec<TaskAnswer> {
        let skipped = self.last.map_or(0, |last| window.windows_between(last));
        self.last = Some(window);
        let mut answers = Vec::new();
        for (at, task) in self.tasks.tasks.iter().enumerate() {
            let past = &mut self.past[at];
            if let Err(error) = past.skip(skipped, &self.tasks, at) {
                *fault = Some(error.to_string());
            }
            let mut answer = answer::answer_task(&AnswerInput { task, states: &states.states[at], past });
            if let Err(error) = past.keep(&mut states.states[at], &self.tasks, at) {
                *fault = Some(error.to_string());
            }
            if let Some(fault) = fault {
                answer.status = format!("incomplete: {fault}");
            }
            answers.push(answer);
        }
        answers
    }
}
