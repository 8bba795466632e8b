//! Merges the workers' counts of a window, and answers it.

use crate::answering::Answering;
use crate::by_packets::SplitWindow;
use crate::generation::Generation;
use crate::reported::{ReportedFacts, ReportedWindows};
use crate::task_answer::TaskAnswer;
use crate::task_memory::TaskMemory;
use crate::tasks::{TaskStates, Tasks};
use crate::watermark::Watermarks;
use crate::worker_id::WorkerId;
use flow::{Untold, WindowId};
use std::collections::{BTreeMap, VecDeque};

/// A window of which parts are missing.
#[derive(Debug)]
struct PartialWindow {
    /// The worker that owns the memory.
    owner: WorkerId,
    states: Box<TaskStates>,
}

/// Empty states, and the worker that they belong to.
pub type EmptiedStates = (WorkerId, Box<TaskStates>);

/// Takes parts of windows, in each worker's order, and answers a window as soon as all workers are past it:
/// no worker waits for a report to get memory back.
#[derive(Debug)]
pub struct TaskRunner {
    /// The sets of tasks, by the first window that each answers, in order.
    sets: VecDeque<Answering>,
    workers: Watermarks,
    pending: BTreeMap<WindowId, PartialWindow>,
    /// Answers that wait for their reports.
    answered: BTreeMap<WindowId, Vec<TaskAnswer>>,
    /// Rows for queries by packets that wait for their reports.
    split: BTreeMap<WindowId, SplitWindow>,
    reported: ReportedWindows,
    /// The reason why answers are not whole, if they are not.
    fault: Option<String>,
}

impl TaskRunner {
    /// Creates a desk that has counted nothing yet. `tasks` answer all windows until others are installed.
    pub fn new(tasks: Tasks, workers: usize) -> Self {
        Self {
            sets: VecDeque::from([Answering::new(WindowId::default(), tasks, TaskMemory::default())]),
            workers: Watermarks::new(workers),
            pending: BTreeMap::new(),
            answered: BTreeMap::new(),
            split: BTreeMap::new(),
            reported: ReportedWindows::default(),
            fault: None,
        }
    }

    /// Installs `tasks` that answer from this window on, which is later than all that were reported. They start afresh, but for lasting ones:
    /// changes of others are measured against windows of the same set. `memory` is that of their states, and is
    /// released with the set.
    pub fn install(&mut self, first: WindowId, tasks: Tasks, memory: TaskMemory) {
        let set = Answering::new(first, tasks, memory).after(self.sets.back());
        self.sets.push_back(set);
    }

    /// True if this set still answers windows.
    pub fn answers_by(&self, generation: Generation) -> bool {
        self.sets.iter().any(|set| set.tasks.generation == generation)
    }

    /// The number of the set that answers this window.
    fn set(&self, window: WindowId) -> usize {
        self.sets.partition_point(|set| set.first <= window).saturating_sub(1)
    }

    /// Takes what `worker` counted in the window of this number. Returns memory that is free again. Parts of a
    /// failed worker are ignored: its windows may be answered already.
    pub fn part(
        &mut self,
        worker: WorkerId,
        window: WindowId,
        mut states: Box<TaskStates>,
    ) -> Vec<EmptiedStates> {
        if self.workers[worker.index()].has_ended() {
            states.reset();
            return vec![(worker, states)];
        }
        self.workers[worker.index()].complete(window);
        let mut emptied = Vec::new();
        match self.pending.get_mut(&window) {
            None => {
                self.pending.insert(window, PartialWindow { owner: worker, states });
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

    /// Notes that this worker reports nothing more of the windows before this one. Returns memory that is free again.
    pub fn advance_worker(&mut self, worker: WorkerId, window: WindowId) -> Vec<EmptiedStates> {
        self.workers[worker.index()].enter(window);
        let mut emptied = Vec::new();
        self.answer(&mut emptied);
        emptied
    }

    /// Notes that this worker reports nothing more. Returns memory that is free again.
    pub fn end_worker(&mut self, worker: WorkerId) -> Vec<EmptiedStates> {
        self.workers[worker.index()].end();
        let mut emptied = Vec::new();
        self.answer(&mut emptied);
        emptied
    }

    /// Notes that this worker has failed, with what it had counted since its last window. Returns memory that is free again.
    pub fn fail_worker(&mut self, worker: WorkerId) -> Vec<EmptiedStates> {
        if self.workers[worker.index()].fail() {
            self.fault = Some("a worker failed: what it counted from then on is missing".to_owned());
        }
        self.end_worker(worker)
    }

    /// The answers of a window, given the report of it: the packets lost during the window, `None` where a
    /// source cannot know, and whether it was watched as a whole. Windows come in order.
    pub fn report(&mut self, window: WindowId, reported: impl Into<ReportedFacts>) -> Vec<TaskAnswer> {
        // Windows that a failed receiver had not counted are in no report.
        self.answered = self.answered.split_off(&window);
        let answered = self.answered.remove(&window);
        self.forget_sets_before(window);
        let at = self.set(window);
        let set = &self.sets[at];
        let reported = reported.into();
        let of_nothing = || set.answer_nothing(self.fault.as_deref(), &reported.untold).unwrap_or_default();
        let mut answers = answered.unwrap_or_else(of_nothing);
        self.reported.finish(set, window, (reported, self.fault.is_some()), &mut answers);
        answers
    }

    /// The rows by packets of a window that is reported next; `None` where its set needs none.
    pub fn split(&mut self, window: WindowId) -> Option<SplitWindow> {
        self.split = self.split.split_off(&window);
        let rows = self.split.remove(&window);
        let set = &self.sets[self.set(window)];
        // What has not been answered was counted by a worker that has failed.
        let is_pending = self.pending.contains_key(&window);
        let fault =
            self.fault.clone().or_else(|| is_pending.then(|| "workers have not reported it".to_owned()));
        set.tasks.split.as_ref().map(|_| rows.unwrap_or_else(|| SplitWindow::empty(fault)))
    }

    /// Windows are reported in order: sets that answer only earlier ones are dropped, with their memory.
    fn forget_sets_before(&mut self, window: WindowId) {
        let open = self.pending.first_key_value().map_or(window, |(&open, _)| open.min(window));
        let first = self.set(open);
        self.sets.drain(..first);
        // Nothing of those before is there.
        self.sets.iter_mut().take(1).for_each(|set| set.memory.leave_others());
    }

    /// Answers all windows that all workers have completed, oldest first.
    fn answer(&mut self, emptied: &mut Vec<EmptiedStates>) {
        while let Some((&window, _)) = self.pending.first_key_value()
            && self.workers.are_past(window)
        {
            let Some((_, PartialWindow { owner, mut states })) = self.pending.pop_first() else { break };
            let set = self.set(window);
            let settled = states.settle();
            if let Err(error) = &settled {
                self.fault = Some(error.to_string());
            }
            let answers = match settled {
                Ok(()) => self.sets[set].answer(window, &mut states, &mut self.fault),
                Err(_) => {
                    let untold = Untold::default();
                    self.sets[set].answer_nothing(self.fault.as_deref(), &untold).unwrap_or_default()
                }
            };
            self.answered.insert(window, answers);
            if let Some(split) = &self.sets[set].tasks.split {
                self.split.insert(window, split.window(&states.split, self.fault.clone()));
            }
            states.reset();
            emptied.push((owner, states));
        }
    }
}
