//! The counters of workers for the tasks of one set, and the place where they are merged.

use crate::ids::WindowId;
use sketch::SketchError;
use std::fmt;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use task::{Generation, SharedCounting, TaskCounter, TaskMemory, TaskStates, Tasks};

/// Tasks that are counted from some window on, ready for all threads of a run.
#[derive(Debug)]
pub(crate) struct TaskSetCounters {
    pub(crate) first: WindowId,
    /// The half of each worker, until the worker takes it; empty if nothing is counted.
    pub(crate) workers: Vec<Option<WorkerHalf>>,
    /// The half of the hub, until the hub takes it.
    pub(crate) hub: Option<HubHalf>,
    /// The tasks that are counted. Counting goes on in the next set that has the same lasting tasks.
    pub(crate) tasks: Tasks,
    /// The structures in which all workers count, if there are any.
    pub(crate) shared: Option<Arc<SharedCounting>>,
}

/// Changes of windows stop waiting for answers of what is no longer counted.
impl Drop for TaskSetCounters {
    fn drop(&mut self) {
        self.shared.iter().for_each(|shared| shared.give_up());
    }
}

/// The part of a counting that one worker counts in.
pub(crate) struct WorkerHalf {
    pub(crate) counter: TaskCounter,
    /// The channel of emptied states.
    pub(crate) spare: Receiver<Box<TaskStates>>,
}

impl fmt::Debug for WorkerHalf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WorkerHalf")
    }
}

/// The hub's part of answering.
#[derive(Debug)]
pub(crate) struct HubHalf {
    pub(crate) tasks: Tasks,
    /// Channels that return emptied states, by worker.
    pub(crate) spares: Vec<Sender<Box<TaskStates>>>,
    /// The memory of all states.
    pub(crate) memory: TaskMemory,
}

impl TaskSetCounters {
    /// Two states for each worker, so that none waits for an answer.
    pub(crate) fn new(tasks: &Tasks, workers: usize, memory: TaskMemory) -> Result<Self, SketchError> {
        let (mut halves, mut spares) = (Vec::new(), Vec::new());
        let shared = SharedCounting::new(tasks)?;
        for _ in 0..workers {
            let (back, spare) = channel();
            let _ = back.send(Box::new(tasks.states_of_worker(workers)?));
            let counter = TaskCounter::new(tasks, Box::new(tasks.states_of_worker(workers)?));
            let counter = counter.with_shared(shared.clone());
            halves.push(Some(WorkerHalf { counter, spare }));
            spares.push(back);
        }
        let hub = HubHalf { tasks: tasks.clone(), spares, memory };
        Ok(Self { first: WindowId::default(), workers: halves, hub: Some(hub), tasks: tasks.clone(), shared })
    }

    /// Returns a counting by which nothing is counted from this window on.
    pub(crate) fn disabled_from(first: WindowId, generation: Generation) -> Self {
        let tasks = Tasks::none(generation);
        let hub = HubHalf { tasks: tasks.clone(), spares: Vec::new(), memory: TaskMemory::default() };
        Self { first, workers: Vec::new(), hub: Some(hub), tasks, shared: None }
    }

    /// Returns whether these tasks are counted by it.
    pub(crate) fn has(&self, tasks: &Tasks) -> bool {
        tasks.continues(&self.tasks)
    }

    /// True if anything is counted.
    pub(crate) fn counts(&self) -> bool {
        !self.workers.is_empty()
    }
}
