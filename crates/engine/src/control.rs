//! The control of which task set answers which window: sets are installed and removed between windows while packets flow.
//!
//! The set of a window is a function of the window's number, so that receivers, workers and the merger of
//! their windows agree on it, however far they are apart. A receiver takes the lock once per window, a worker
//! once per set; counting a packet never does. What workers count in is allocated by the thread that installs
//! a set and freed by the run's hub. Measuring threads do neither.
//!
//! A replay has no clock: how many windows it is ahead of what is answered differs from run to run. A paced
//! control makes receivers wait, before they enter the window after the next one, until a window is answered.
//! A set that is installed in answer to a window then answers from the next window but one at the latest, in
//! every run. Where several runs wait for one another, a [`Gate`] decides when a receiver may enter a window.

use crate::captures::FlowCaptures;
use crate::counting::{HubHalf, TaskSetCounters, WorkerHalf};
use crate::ids::{WindowId, WorkerId};
use crate::recent_windows::{NoRoom, RecentWindows};
use arena::Limits;
use sketch::SketchError;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use task::{Generation, TaskMemory, TaskSet, Tasks};

/// The interval at which a receiver that waits for answers checks whether the user has ended the run.
const STOP_LOOK: Duration = Duration::from_millis(50);

/// Decides when receivers of a replay enter windows.
pub trait Gate: fmt::Debug + Send + Sync {
    /// A receiver is about to enter this window; what it turned away from is sealed, and is answered without its help. The call
    /// returns when it may enter.
    fn enter(&self, window: WindowId);
}

/// Installs task sets in a run. Cloning gives another handle to the same run. Several runs in sequence may
/// use it: each begins with the set that was installed last.
#[derive(Clone, Debug)]
pub struct Control {
    schedule: Arc<(Mutex<TaskSetSchedule>, Condvar)>,
    is_paced: bool,
    gate: Option<Arc<dyn Gate>>,
    recent_windows: RecentWindows,
    captures: FlowCaptures,
}

#[derive(Debug)]
struct TaskSetSchedule {
    /// The latest window that a receiver has entered.
    entered: Option<WindowId>,
    /// Sets by the first window that each answers, in order. The first one answers all windows before the second.
    sets: Vec<(WindowId, Arc<TaskSet>)>,
    /// The last window that was answered.
    answered: Option<WindowId>,
    /// The run that it controls.
    run: Option<Attached>,
}

/// A run.
#[derive(Debug)]
struct Attached {
    workers: usize,
    limits: Limits,
    /// The structures in which workers count: by first window, in order.
    countings: Vec<TaskSetCounters>,
    /// The structures in which workers counted before, to be freed.
    retired: Vec<WorkerHalf>,
}

/// The reason why a set is not installed. Nothing has changed then.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TaskInstallError {
    /// Sets have growing generations, so that their counts are distinguished.
    OldGeneration {
        /// The generation of the set.
        given: Generation,
        /// The generation of the set that was installed last.
        last: Generation,
    },
    /// The tasks of the set take more memory than is left.
    TasksTooLarge {
        /// The memory that the tasks take, bytes.
        bytes: usize,
        /// The number of workers, each of which counts the tasks.
        workers: usize,
    },
    /// The memory cannot be allocated.
    OutOfMemory(SketchError),
}

impl fmt::Display for TaskInstallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OldGeneration { given, last } => {
                write!(f, "task set {given} cannot follow task set {last}; give it a later generation")
            }
            Self::TasksTooLarge { bytes, workers } => write!(
                f,
                "the tasks take {bytes} bytes on {workers} workers, which is more memory than is left; remove others first, or \
                 make them smaller"
            ),
            Self::OutOfMemory(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for TaskInstallError {}

impl TaskInstallError {
    /// Returns true if a set with fewer or smaller tasks may be installed.
    pub fn lacks_memory(&self) -> bool {
        matches!(self, Self::TasksTooLarge { .. } | Self::OutOfMemory(_))
    }
}

impl TaskSetSchedule {
    /// The first window that no receiver has entered.
    fn next(&self) -> WindowId {
        self.entered.map_or(WindowId::default(), WindowId::next)
    }

    /// The set that answers this window.
    fn set(&self, window: WindowId) -> &Arc<TaskSet> {
        let after = self.sets.partition_point(|(first, _)| *first <= window);
        &self.sets[after.saturating_sub(1)].1
    }

    /// Refuses sets that are not later ones, each than the one before.
    fn check(&self, sets: &[(WindowId, Arc<TaskSet>)]) -> Result<(), TaskInstallError> {
        let mut last = self.last().generation();
        for (_, set) in sets {
            let given = set.generation();
            if given <= last {
                return Err(TaskInstallError::OldGeneration { given, last });
            }
            last = given;
        }
        Ok(())
    }

    /// Returns which of these sets, which are to be installed in this order, need new counters: not those whose tasks the counters of the set
    /// before count already.
    fn needs(&self, sets: &[(WindowId, Arc<TaskSet>)]) -> Vec<bool> {
        let Some(run) = &self.run else { return vec![false; sets.len()] };
        let first = sets.first().map_or(WindowId::default(), |(window, _)| self.next().max(*window));
        let mut before =
            PrecedingSet::Counting(run.countings.iter().rfind(|counting| counting.first < first));
        let from = |at: usize| sets.get(at).map(|(window, _)| self.next().max(*window));
        let needs = sets.iter().enumerate().map(|(at, (_, set))| {
            // The one after it takes its place before it answers any window.
            if from(at) == from(at + 1) {
                return false;
            }
            let Some(tasks) = set.packets() else {
                before = PrecedingSet::Counting(None);
                return false;
            };
            let goes_on = match before {
                PrecedingSet::Counting(counting) => counting.is_some_and(|counting| counting.has(tasks)),
                PrecedingSet::Set(other) => tasks.continues(other),
            };
            before = PrecedingSet::Set(tasks);
            !goes_on
        });
        needs.collect()
    }

    /// Installs a set that answers from this window on, which no receiver has entered.
    fn install(&mut self, first: WindowId, set: Arc<TaskSet>, counting: Option<TaskSetCounters>) {
        if let Some(run) = &mut self.run {
            run.countings.retain(|counting| counting.first < first);
            let last = run.countings.last();
            let counts = last.is_some_and(TaskSetCounters::counts);
            let goes_on = set.packets().is_some_and(|tasks| last.is_some_and(|last| last.has(tasks)));
            match counting {
                Some(mut counting) => {
                    counting.first = first;
                    run.countings.push(counting);
                }
                None if counts && !goes_on => {
                    run.countings.push(TaskSetCounters::disabled_from(first, set.generation()));
                }
                None => {}
            }
        }
        self.sets.retain(|(window, _)| *window < first);
        self.sets.push((first, set));
    }

    /// The set that was installed last.
    fn last(&self) -> &Arc<TaskSet> {
        &self.sets[self.sets.len() - 1].1
    }
}

impl Control {
    /// A run begins with this set.
    pub fn new(first: Arc<TaskSet>) -> Self {
        let sets = vec![(WindowId::default(), first)];
        let schedule = TaskSetSchedule { entered: None, sets, answered: None, run: None };
        let schedule = Arc::new((Mutex::new(schedule), Condvar::new()));
        Self {
            schedule,
            is_paced: false,
            gate: None,
            recent_windows: RecentWindows::default(),
            captures: FlowCaptures::default(),
        }
    }

    /// Returns a control as [`Control::new`] does, by which a replay waits for answers, which [`crate::Outputs`] must give: no receiver
    /// enters the second window after one that is not answered.
    pub fn paced(first: Arc<TaskSet>) -> Self {
        Self { is_paced: true, ..Self::new(first) }
    }

    /// Returns a control as [`Control::new`] does, by which a replay enters no window before the gate lets it. The run must have one receiver.
    pub fn gated(first: Arc<TaskSet>, gate: Arc<dyn Gate>) -> Self {
        Self { gate: Some(gate), ..Self::new(first) }
    }

    /// The recent windows whose rows are kept, for queries that come later.
    pub fn recent_windows(&self) -> &RecentWindows {
        &self.recent_windows
    }

    /// Packets that are written to files.
    pub fn captures(&self) -> &FlowCaptures {
        &self.captures
    }

    /// Keeps the rows of the last `windows` windows, in at most `bytes` of memory, from the first window on that no receiver has
    /// entered; windows that are kept already stay as far as they fit. No window: none is kept from then on.
    ///
    /// # Errors
    /// If the memory is not there; nothing has changed then.
    pub fn keep_windows(&self, windows: usize, bytes: usize, limits: &Limits) -> Result<(), NoRoom> {
        // Without the lock: receivers wait for it.
        self.recent_windows.keep(windows, bytes, limits)?;
        if windows != 0 && bytes != 0 {
            let schedule = self.schedule();
            self.recent_windows.start(schedule.next());
        }
        Ok(())
    }

    /// Returns true if a replay stops at the end of each window.
    pub(crate) fn stops(&self) -> bool {
        self.is_paced || self.gate.is_some()
    }

    pub(crate) fn is_gated(&self) -> bool {
        self.gate.is_some()
    }

    fn schedule(&self) -> MutexGuard<'_, TaskSetSchedule> {
        self.schedule.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes `set` answer from the returned window on, the first that no receiver has entered. Windows before
    /// it are answered by the sets that they began with. Its tasks must have been planned for this run
    /// ([`crate::admission::tasks`]).
    ///
    /// # Errors
    /// If the set is not a later one, or its memory cannot be allocated.
    pub fn install(&self, set: Arc<TaskSet>) -> Result<WindowId, TaskInstallError> {
        self.install_at(WindowId::default(), set)
    }

    /// Makes `set` answer from this window on, or from the first one that no receiver has entered, if that is later. Sets that were to
    /// answer from then on are dropped.
    ///
    /// # Errors
    /// Returns the errors of [`Control::install`].
    pub fn install_at(&self, window: WindowId, set: Arc<TaskSet>) -> Result<WindowId, TaskInstallError> {
        self.install_all(vec![(window, set)])
    }

    /// Makes several sets answer, each from its window on, in the order of their windows: no receiver enters a window in which one of them
    /// is installed and another one is not. Returns from when on the first one answers, unless another one replaces it.
    ///
    /// # Errors
    /// Returns the errors of [`Control::install`]; then none is installed.
    pub fn install_all(&self, sets: Vec<(WindowId, Arc<TaskSet>)>) -> Result<WindowId, TaskInstallError> {
        let (mut schedule, countings) = loop {
            let (attached, needs) = {
                let schedule = self.schedule();
                schedule.check(&sets)?;
                let attached = schedule.run.as_ref().map(|run| (run.workers, run.limits.clone()));
                (attached, schedule.needs(&sets))
            };
            // Without the lock: allocation may take long.
            let counting = |(set, needs): (&TaskSet, &bool)| match (&attached, set.packets()) {
                (Some((workers, limits)), Some(tasks)) if *needs => {
                    let (workers, bytes) = (*workers, tasks.bytes(*workers));
                    let lasting = tasks.lasting_bytes(workers);
                    let own = limits.lease(bytes - lasting);
                    // The run was admitted with the memory of its own tasks, which the counters before these have.
                    let beside = limits.lease(lasting);
                    let memory = own.zip(beside).map(|(own, beside)| TaskMemory::new(own).with(beside));
                    let memory = memory.ok_or(TaskInstallError::TasksTooLarge { bytes, workers })?;
                    TaskSetCounters::new(tasks, workers, memory)
                        .map(Some)
                        .map_err(TaskInstallError::OutOfMemory)
                }
                _ => Ok(None),
            };
            let each = sets.iter().map(|(_, set)| &**set).zip(&needs);
            let countings: Vec<_> = each.map(counting).collect::<Result<_, _>>()?;
            let schedule = self.schedule();
            schedule.check(&sets)?;
            // Receivers may have entered a window meanwhile in which another set counts.
            if schedule.needs(&sets) == needs {
                break (schedule, countings);
            }
        };
        let next = schedule.next();
        let first = sets.first().map_or(next, |(window, _)| next.max(*window));
        for ((window, set), counting) in sets.into_iter().zip(countings) {
            schedule.install(next.max(window), set, counting);
        }
        Ok(first)
    }

    /// A run begins with the set that was installed last. The memory of its tasks is leased by its admission, but for what the set's queries
    /// need.
    pub(crate) fn attach(&self, workers: usize, limits: &Limits) -> Result<(), SketchError> {
        let mut schedule = self.schedule();
        let set = Arc::clone(schedule.last());
        let counting = |tasks: &task::Tasks| {
            let bytes = tasks.added_bytes(workers);
            let lease = limits.lease(bytes).ok_or(SketchError::OutOfMemory { bytes })?;
            TaskSetCounters::new(tasks, workers, TaskMemory::new(lease))
        };
        let counting = set.packets().map(counting).transpose()?;
        let countings = counting.into_iter().collect();
        (schedule.entered, schedule.answered) = (None, None);
        self.recent_windows.restart();
        schedule.sets = vec![(WindowId::default(), set)];
        schedule.run = Some(Attached { workers, limits: limits.clone(), countings, retired: Vec::new() });
        Ok(())
    }

    /// The run is over.
    pub(crate) fn detach(&self) {
        self.schedule().run = None;
        self.schedule.1.notify_all();
    }

    /// Marks this window as one that is answered, or will not be. Ends waits for it and for earlier windows.
    pub(crate) fn mark_answered(&self, window: WindowId) {
        let mut schedule = self.schedule();
        schedule.answered = schedule.answered.max(Some(window));
        self.schedule.1.notify_all();
    }

    /// Waits until this window is answered, or the run ends.
    pub(crate) fn await_answers(&self, window: WindowId, stop: &AtomicBool) {
        let mut schedule = self.schedule();
        while schedule.run.is_some() && schedule.answered < Some(window) && !stop.load(Relaxed) {
            let waited = self.schedule.1.wait_timeout(schedule, STOP_LOOK);
            schedule = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// A receiver enters this window, or what replays recorded windows in its place. Returns the set by which workers count in it;
    /// `None` if no run is attached.
    pub fn enter(&self, window: WindowId) -> Option<Generation> {
        if let Some(gate) = &self.gate {
            let before = self.schedule().entered;
            before.iter().for_each(|before| self.recent_windows.reach(*before, window));
            gate.enter(window);
        }
        let mut schedule = self.schedule();
        schedule.entered = schedule.entered.max(Some(window));
        schedule.run.as_ref()?;
        Some(schedule.set(window).generation())
    }

    /// Exchanges what this worker counted in before for what it counts in from this window on.
    pub(crate) fn exchange(
        &self,
        worker: WorkerId,
        window: WindowId,
        before: Option<WorkerHalf>,
    ) -> Option<WorkerHalf> {
        let mut schedule = self.schedule();
        let run = schedule.run.as_mut()?;
        let counting = run.counting(window);
        match counting.and_then(|counting| counting.workers.get_mut(worker.index())).map(Option::take) {
            // It has been taken already: the set before this one has the same tasks.
            Some(None) => before,
            taken => {
                run.retired.extend(before);
                taken.flatten()
            }
        }
    }

    /// The parts by which the hub answers windows up to this one, with the first window of each, if not taken
    /// yet.
    pub(crate) fn take_hub_halves(&self, window: WindowId) -> Vec<(WindowId, HubHalf)> {
        let mut schedule = self.schedule();
        let countings = schedule.run.iter_mut().flat_map(|run| &mut run.countings);
        let begun = countings.filter(|counting| counting.first <= window);
        begun.filter_map(|counting| Some((counting.first, counting.hub.take()?))).collect()
    }

    /// All receivers and workers have completed this window: sets that counted only before it are dropped.
    pub(crate) fn retire_before(&self, window: WindowId) {
        let retired = {
            let mut schedule = self.schedule();
            let Some(run) = &mut schedule.run else { return };
            let after = run.countings.partition_point(|counting| counting.first <= window);
            let countings: Vec<_> = run.countings.drain(..after.saturating_sub(1)).collect();
            (countings, std::mem::take(&mut run.retired))
        };
        // Without the lock: freeing memory may take long.
        drop(retired);
    }

    /// A window is over, and no worker counts in it: what all workers count in from here on is that of the next one. Waits until the
    /// window before is answered.
    pub(crate) fn change_shared(&self) {
        let of_run =
            |run: &Attached| run.countings.iter().filter_map(|counting| counting.shared.clone()).collect();
        let shared: Vec<_> = self.schedule().run.as_ref().map(of_run).unwrap_or_default();
        // Without the lock, which answers need.
        shared.iter().for_each(|shared| shared.change());
    }

    /// The set that answers this window.
    pub fn set(&self, window: WindowId) -> Arc<TaskSet> {
        Arc::clone(self.schedule().set(window))
    }

    /// The first window, not before `since`, from which on all sets up to that of `window` fulfil a condition.
    pub(crate) fn first_since(
        &self,
        since: WindowId,
        window: WindowId,
        fulfils: impl Fn(&TaskSet) -> bool,
    ) -> Option<WindowId> {
        let schedule = self.schedule();
        let mut found = None;
        for (first, set) in schedule.sets.iter().rev().filter(|(first, _)| *first <= window) {
            if !fulfils(set) {
                break;
            }
            found = Some((*first).max(since));
            if *first <= since {
                break;
            }
        }
        found
    }

    /// Windows before this one are no longer queried.
    pub(crate) fn forget_before(&self, window: WindowId) {
        let mut schedule = self.schedule();
        let after = schedule.sets.partition_point(|(first, _)| *first <= window);
        schedule.sets.drain(..after.saturating_sub(1));
    }
}

/// The counters or the tasks of the windows before a set.
enum PrecedingSet<'a> {
    /// The counters of the windows that have been entered, and of those of sets that stay.
    Counting(Option<&'a TaskSetCounters>),
    /// The tasks of the windows of the set that is installed before it.
    Set(&'a Tasks),
}

impl Attached {
    /// Returns the counting of this window.
    fn counting(&mut self, window: WindowId) -> Option<&mut TaskSetCounters> {
        let after = self.countings.partition_point(|counting| counting.first <= window);
        self.countings.get_mut(after.checked_sub(1)?)
    }
}

#[cfg(test)]
mod tests;
