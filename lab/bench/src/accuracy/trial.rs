//! A trial of a structure on a window: counted as a run's workers do, merged, and answered.

use super::window::BurstWindow;
use crate::compare::thread_time;
use engine::Split;
use packet::{KeySpec, Seed};
use task::TaskAnswer;
use task::{RunProperties, Structure, TaskCounter, TaskRunner, TaskSpec, Tasks, WindowId, WorkerId};

/// The way in which packets are shared out to workers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TrialDesign {
    pub(super) name: &'static str,
    pub(super) workers: usize,
    pub(super) split: Split,
}

impl TrialDesign {
    /// The design of one core.
    pub(super) const ONE: Self = Self { name: "one worker", workers: 1, split: Split::Hash };
    /// The designs that are compared with the one of one core.
    pub(super) const SEVERAL: [Self; 3] = [
        Self { name: "2 workers by hash", workers: 2, split: Split::Hash },
        Self { name: "4 workers by hash", workers: 4, split: Split::Hash },
        Self { name: "2 workers by position", workers: 2, split: Split::Position },
    ];

    /// Returns the share of a window that each worker gets.
    pub(super) fn share(self, window: BurstWindow, seed: &Seed) -> Vec<BurstWindow> {
        if self.workers == 1 { vec![window] } else { window.split(self.split, self.workers, seed) }
    }

    /// Tasks of a run like this, whose windows have this many packets.
    pub(super) fn plan(self, specs: &[TaskSpec], packets: u64, seed: Seed) -> Result<Tasks, String> {
        let setting = RunProperties {
            key: KeySpec::FIVE_TUPLE,
            is_paired: false,
            packets: Some(packets),
            workers: self.workers,
            scatters: self.split == Split::Position,
            shares: false,
            seed,
        };
        Tasks::plan(specs, &setting)
    }
}

/// Windows as workers get them.
pub(super) struct WorkerWindows {
    pub(super) seed: Seed,
    pub(super) before: Option<Vec<BurstWindow>>,
    pub(super) now: Vec<BurstWindow>,
    pub(super) packets: u64,
}

/// The result.
pub(super) struct TrialResult {
    pub(super) answer: TaskAnswer,
    /// The structure that counted, if a task's did.
    pub(super) structure: Option<Structure>,
    /// Processor time of counting the window, all workers' together, nanoseconds.
    pub(super) ns: f64,
}

/// Counts a window, and the previous one if required, and answers.
///
/// # Errors
/// One line: why the structure cannot do this.
pub(super) fn run(
    spec: &TaskSpec,
    design: TrialDesign,
    windows: &WorkerWindows,
    with_before: bool,
) -> Result<TrialResult, String> {
    let tasks = design.plan(std::slice::from_ref(spec), windows.packets, windows.seed)?;
    let structure =
        tasks.choices().map(|(_, choice)| choice.structure).next().ok_or("nothing was planned")?;
    let states = || {
        let mut states = tasks.states().map_err(|error| error.to_string())?;
        // Its pages are there before anything is timed.
        states.reset();
        Ok::<_, String>(Box::new(states))
    };
    let counters = (0..design.workers).map(|_| Ok(TaskCounter::new(&tasks, states()?)));
    let mut counters = counters.collect::<Result<Vec<_>, String>>()?;
    let mut desk = TaskRunner::new(tasks.clone(), design.workers);
    let before_now = WindowId::default();
    if let Some(before) = windows.before.as_ref().filter(|_| with_before) {
        for (worker, (counter, window)) in counters.iter_mut().zip(before).enumerate() {
            count(counter, window);
            desk.part(WorkerId::new(worker), before_now, counter.turn(states()?));
        }
        desk.report(before_now, Some(0));
    }
    let mut ns = 0.0;
    for (worker, (mut counter, window)) in counters.into_iter().zip(&windows.now).enumerate() {
        let began = thread_time();
        count(&mut counter, window);
        ns += thread_time() - began;
        desk.part(WorkerId::new(worker), before_now.next(), counter.into_states());
    }
    let answer = desk.report(before_now.next(), Some(0)).pop().ok_or("the window was not answered")?;
    Ok(TrialResult { answer, structure: Some(structure), ns })
}

/// Counts all packets of a window.
pub(super) fn count(counter: &mut TaskCounter, window: &BurstWindow) {
    window.bursts.iter().for_each(|bursts| counter.count(bursts));
}
