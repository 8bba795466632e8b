//! The tasks of one set, window by window: answers, and what they are measured against.

use crate::answer::{self, AnswerInput};
use crate::forecast::TaskForecast;
use crate::past::BaselineWindows;
use crate::task_answer::TaskAnswer;
use crate::task_memory::TaskMemory;
use crate::tasks::{PlannedTask, TaskStates, Tasks};
use flow::{Untold, WindowId};
use model::{Answer, Class};
use sketch::SketchError;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

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

/// The windows that a task has answered, as far as later ones are compared with them.
#[derive(Debug)]
struct TaskHistory {
    past: BaselineWindows,
    /// The forecast of a task that compares with one.
    forecast: Option<TaskForecast>,
    /// The last window that was answered.
    last: Option<WindowId>,
}

/// The tasks that answer from some window on.
#[derive(Debug)]
pub(crate) struct Answering {
    pub(crate) first: WindowId,
    /// The first window with which later ones are compared.
    pub(crate) since: WindowId,
    pub(crate) tasks: Tasks,
    /// The history of each task; that of a lasting one is shared by the sets of its run.
    histories: Vec<Arc<Mutex<TaskHistory>>>,
    /// The memory of the tasks' states on all cores.
    pub(crate) memory: TaskMemory,
}

impl Answering {
    pub(crate) fn new(first: WindowId, tasks: Tasks, memory: TaskMemory) -> Self {
        let history = |task| TaskHistory {
            past: BaselineWindows::default(),
            forecast: TaskForecast::of_task(task),
            last: None,
        };
        let histories = tasks.tasks.iter().map(|task| Arc::new(Mutex::new(history(task)))).collect();
        Self { first, since: first, tasks, histories, memory }
    }

    /// Lets the lasting tasks go on where those of the set before are the same.
    pub(crate) fn after(mut self, before: Option<&Self>) -> Self {
        let Some(before) = before else { return self };
        let lasting = self.tasks.lasting_tasks().min(before.tasks.lasting_tasks());
        if lasting != 0 {
            self.since = before.since;
            self.histories[..lasting].clone_from_slice(&before.histories[..lasting]);
        }
        self
    }

    /// The history of a task.
    fn history(&self, task: usize) -> MutexGuard<'_, TaskHistory> {
        self.histories[task].lock().unwrap_or_else(PoisonError::into_inner)
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
            let answer =
                answer::answer_task(&AnswerInput { task, states: &states, past: &past, forecast: None });
            Ok(match fault {
                Some(fault) => TaskAnswer { status: format!("incomplete: {fault}"), ..answer },
                None => answer,
            })
        };
        (0..).zip(&self.tasks.tasks).map(answer).collect()
    }

    /// Answers a window. `fault` is what keeps the answers from being whole.
    pub(crate) fn answer(
        &self,
        window: WindowId,
        states: &mut TaskStates,
        fault: &mut Option<String>,
    ) -> Vec<TaskAnswer> {
        let mut answers = Vec::new();
        for (at, task) in self.tasks.tasks.iter().enumerate() {
            let mut history = self.history(at);
            let TaskHistory { past, forecast, last } = &mut *history;
            let skipped = last.replace(window).map_or(0, |last| window.windows_between(last));
            if let Some(forecast) = forecast {
                // It is answered once the window is reported: whether it was watched as a whole is known then.
                let states = &mut states.states[at];
                let input = AnswerInput { task, states, past, forecast: None };
                let mut answer = answer::without_rows(&input);
                if let Err(error) = forecast.keep(window, states, &self.tasks, at) {
                    *fault = Some(error.to_string());
                }
                if let Some(fault) = fault {
                    answer.status = format!("incomplete: {fault}");
                }
                answers.push(answer);
                continue;
            }
            if let Err(error) = past.skip(skipped, &self.tasks, at) {
                *fault = Some(error.to_string());
            }
            let mut answer =
                answer::answer_task(&AnswerInput { task, states: &states.states[at], past, forecast: None });
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

    /// Answers the tasks that compare with a forecast, in a window that is reported now, and has their forecasts observe it. A window that was not watched or
    /// counted as a whole (`is_whole`) is not observed: the forecast of the next one is that of this one.
    pub(crate) fn forecast(&self, window: WindowId, is_whole: bool, answers: &mut [TaskAnswer]) {
        for (at, task) in self.tasks.tasks.iter().enumerate() {
            let mut history = self.history(at);
            let TaskHistory { past, forecast: Some(forecast), .. } = &mut *history else { continue };
            let states = forecast.take(window);
            let mut observed = forecast.skip_to(window);
            if let (Some(states), Some(answer)) = (&states, answers.get_mut(at)) {
                let input = AnswerInput { task, states, past, forecast: Some(&*forecast) };
                let answered = answer::answer_task(&input);
                let fault = std::mem::take(&mut answer.status);
                *answer = answered;
                if fault.starts_with("incomplete") {
                    answer.status = fault;
                }
            }
            observed = observed.and_then(|()| match &states {
                _ if !is_whole => Ok(()),
                Some(states) => forecast.observe(states, &task.maker),
                None => forecast.observe_nothing(1),
            });
            if let (Err(error), Some(answer)) = (observed, answers.get_mut(at)) {
                answer.status = format!("incomplete: {error}");
            }
            if let Some(states) = states {
                forecast.recycle(states);
            }
        }
    }
}
