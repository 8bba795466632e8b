//! Where what workers counted of a window comes together and is answered.

use crate::answer::{self, Asked};
use crate::past::Past;
use crate::task_answer::TaskAnswer;
use crate::tasks::{TaskStates, Tasks};
use crate::watermark::Watermarks;
use crate::worker_id::WorkerId;
use flow::WindowId;
use std::collections::BTreeMap;
use summary::sketch::SketchError;

/// Windows whose loss is remembered: as many as a change can be measured against, and more.
const REMEMBERED: usize = 64;

/// A window of which parts are missing.
#[derive(Debug)]
struct Pending {
    /// Whose memory it is.
    owner: WorkerId,
    states: Box<TaskStates>,
}

/// Empty states, and the worker that they belong to.
pub type Emptied = (WorkerId, Box<TaskStates>);

/// Takes parts of windows, in each worker's order, and answers a window as soon as everybody is past it: nobody has to wait
/// for a report to get memory back.
#[derive(Debug)]
pub struct Desk {
    tasks: Tasks,
    workers: Watermarks,
    pending: BTreeMap<WindowId, Pending>,
    /// By task.
    past: Vec<Past>,
    /// The last window that was answered.
    last: Option<WindowId>,
    /// Answers that wait for their reports.
    answered: BTreeMap<WindowId, Vec<TaskAnswer>>,
    /// Packets lost, by window.
    losses: BTreeMap<WindowId, Option<u64>>,
    /// What keeps answers from being whole.
    fault: Option<String>,
}

impl Desk {
    /// Nothing counted yet.
    pub fn new(tasks: Tasks, workers: usize) -> Self {
        let past = tasks.tasks.iter().map(|_| Past::default()).collect();
        Self {
            tasks,
            workers: Watermarks::new(workers),
            pending: BTreeMap::new(),
            past,
            last: None,
            answered: BTreeMap::new(),
            losses: BTreeMap::new(),
            fault: None,
        }
    }

    /// What `worker` counted in the window of this number. Memory that is free again comes back. Of a worker that was given up
    /// nothing is heard any more: its windows may be answered already.
    pub fn part(&mut self, worker: WorkerId, window: WindowId, mut states: Box<TaskStates>) -> Vec<Emptied> {
        if self.workers[worker.index()].has_ended() {
            states.reset();
            return vec![(worker, states)];
        }
        self.workers[worker.index()].complete(window);
        let mut emptied = Vec::new();
        match self.pending.get_mut(&window) {
            None => {
                self.pending.insert(window, Pending { owner: worker, states });
            }
            Some(pending) => {
                if let Err(error) = pending.states.merge(&states) {
                    self.fault = Some(error.to_string());
                }
                states.reset();
                emptied.push((worker, states));
            }
        }
        self.answer(&mut emptied);
        emptied
    }

    /// Nothing comes from this worker any more of the windows before this one.
    pub fn comes(&mut self, worker: WorkerId, window: WindowId) -> Vec<Emptied> {
        self.workers[worker.index()].enter(window);
        let mut emptied = Vec::new();
        self.answer(&mut emptied);
        emptied
    }

    /// Nothing comes from this worker any more.
    pub fn gone(&mut self, worker: WorkerId) -> Vec<Emptied> {
        self.workers[worker.index()].end();
        let mut emptied = Vec::new();
        self.answer(&mut emptied);
        emptied
    }

    /// This worker has failed, with what it had counted since its last window.
    pub fn failed(&mut self, worker: WorkerId) -> Vec<Emptied> {
        if self.workers[worker.index()].fail() {
            self.fault = Some("a worker failed: what it counted from then on is missing".to_owned());
        }
        self.gone(worker)
    }

    /// The answers of a window that is reported, in whose time so many packets were lost; `None` where a source cannot know.
    /// Windows come in order.
    pub fn report(&mut self, window: WindowId, lost: Option<u64>) -> Vec<TaskAnswer> {
        // Windows that a failed receiver had not counted are in no report.
        self.answered = self.answered.split_off(&window);
        let answered = self.answered.remove(&window);
        let mut answers = answered.unwrap_or_else(|| self.of_nothing().unwrap_or_default());
        for (answer, task) in answers.iter_mut().zip(&self.tasks.tasks) {
            let before = window.back(task.spec.windows_back() as u64)..window;
            let earlier = self.losses.range(before).map(|(_, lost)| *lost);
            let earlier = earlier.reduce(|sum, lost| Some(sum?.saturating_add(lost?))).unwrap_or(Some(0));
            answer::widen(answer, &task.spec, lost, earlier);
        }
        self.losses.insert(window, lost);
        while self.losses.len() > REMEMBERED {
            self.losses.pop_first();
        }
        answers
    }

    /// The answers of a window in which nobody counted: none, unless something failed, which is to be said.
    fn of_nothing(&self) -> Result<Vec<TaskAnswer>, SketchError> {
        let Some(fault) = &self.fault else { return Ok(Vec::new()) };
        let answer = |(at, task)| {
            let (states, past) = (self.tasks.states_of(at)?, Past::default());
            let answer = answer::of(&Asked { task, states: &states, past: &past });
            Ok(TaskAnswer { status: format!("incomplete: {fault}"), ..answer })
        };
        (0..).zip(&self.tasks.tasks).map(answer).collect()
    }

    /// Answers all windows that everybody is past, oldest first.
    fn answer(&mut self, emptied: &mut Vec<Emptied>) {
        while let Some((&window, _)) = self.pending.first_key_value()
            && self.workers.are_past(window)
        {
            let Some((_, Pending { owner, mut states })) = self.pending.pop_first() else { break };
            let skipped = self.last.map_or(0, |last| window.windows_between(last));
            self.last = Some(window);
            let mut answers = Vec::new();
            for (at, task) in self.tasks.tasks.iter().enumerate() {
                let past = &mut self.past[at];
                if let Err(error) = past.skip(skipped, &self.tasks, at) {
                    self.fault = Some(error.to_string());
                }
                let mut answer = answer::of(&Asked { task, states: &states.states[at], past });
                if let Err(error) = past.keep(&mut states.states[at], &self.tasks, at) {
                    self.fault = Some(error.to_string());
                }
                if let Some(fault) = &self.fault {
                    answer.status = format!("incomplete: {fault}");
                }
                answers.push(answer);
            }
            self.answered.insert(window, answers);
            states.reset();
            emptied.push((owner, states));
        }
    }
}
