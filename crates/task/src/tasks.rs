//! Tasks of a run: planned once, and counted by each worker separately.

use crate::by_packets::{SplitPlan, SplitTable};
use crate::feed::{Feeder, InputKind};
use crate::generation::{Generation, OtherGeneration};
use crate::planner::{
    Choice, PlannerInput, RunProperties, choose, expected_packets, from_rows, is_from_rows,
};
use crate::selection::Selection;
use crate::shared::{LentStates, SharedCounting, SharedStates};
use crate::spec::{TaskKind, TaskSpec};
use crate::state::{FeedState, Maker, SharedFeed};
use arena::Limits;
use packet::{Bursts, KeySpec, Seed};
use sketch::{SketchError, Unmergeable};
use std::fmt;
use std::sync::Arc;

/// A task that is to be counted.
#[derive(Clone, Debug)]
pub(crate) struct PlannedTask {
    pub(crate) spec: TaskSpec,
    /// Keys of the flows in its answer; of a hierarchy the whole addresses.
    pub(crate) key: KeySpec,
    pub(crate) maker: Maker,
    /// The levels at which its states get their packets: one for each length of a hierarchy's prefixes, or for each of two streams, else
    /// one.
    pub(crate) levels: Vec<HierarchyLevel>,
}

/// A state of a task.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HierarchyLevel {
    /// Number of its feed.
    pub(crate) feed: usize,
    /// The prefix of a level of a hierarchy.
    pub(crate) prefix: Option<u8>,
    /// Keys of its flows.
    pub(crate) key: KeySpec,
    /// IPv6 has a separate part.
    has_v6: bool,
}

/// The tasks that a run counts in addition to its flow tables.
#[derive(Clone, Debug)]
pub struct Tasks {
    pub(crate) generation: Generation,
    pub(crate) tasks: Vec<PlannedTask>,
    feeds: Vec<InputKind>,
    seed: Seed,
    hashed: Option<KeySpec>,
    /// The number of each task among all that were asked.
    places: Vec<usize>,
    /// The tasks that rows of windows answer.
    by_rows: Option<Box<Tasks>>,
    /// The tables that are counted for queries that are answered by packets.
    pub(crate) split: Option<SplitPlan>,
    /// True if the tasks are the same in each set of a run, but for those that queries of the set need.
    is_lasting: bool,
    /// The number of tasks that count packets for queries of the set. They are the last ones.
    of_set: usize,
}

/// The counts of one worker in one window.
#[derive(Debug)]
pub struct TaskStates {
    generation: Generation,
    /// The states by task and level.
    pub(crate) states: Vec<Vec<FeedState>>,
    pub(crate) split: Vec<SplitTable>,
    /// The parts of a worker, by task, while what all workers counted is in their place, to be answered.
    parts: Vec<(usize, Vec<FeedState>)>,
    /// The structures of all workers in which the parts count. Behind these, which are to leave them first.
    lent: Option<Arc<LentStates>>,
}

/// The keys of prefixes of this length (IPv6: four times as long) of the address that `key` is.
fn prefix_key(key: &KeySpec, length: u8) -> Result<KeySpec, String> {
    let column = key.columns().next().unwrap_or_default();
    KeySpec::parse(&format!("{column}/{length}")).map_err(|error| error.to_string())
}

impl Tasks {
    /// Chooses a structure for each task, all of which count packets.
    ///
    /// # Errors
    /// Returns one line: what cannot be counted in this run, why, and what is possible.
    pub fn plan(specs: &[TaskSpec], setting: &RunProperties) -> Result<Self, String> {
        let mut all = Self::empty(setting);
        specs.iter().enumerate().try_for_each(|(place, spec)| all.add(place, spec, setting, false))?;
        Ok(all)
    }

    /// Chooses a structure for each task of a run whose windows give rows: what these tell, they answer, exactly, unless the task says how it
    /// is to be counted.
    ///
    /// # Errors
    /// The errors of [`Self::plan`].
    pub fn plan_with_rows(specs: &[TaskSpec], setting: &RunProperties) -> Result<Self, String> {
        let (mut all, mut by_rows) = (Self::empty(setting), Self::empty(setting));
        for (place, spec) in specs.iter().enumerate() {
            let is_from_rows = is_from_rows(spec);
            let tasks = if is_from_rows { &mut by_rows } else { &mut all };
            tasks.add(place, spec, setting, is_from_rows)?;
        }
        all.by_rows = (!by_rows.tasks.is_empty()).then(|| Box::new(by_rows));
        Ok(all)
    }

    fn empty(setting: &RunProperties) -> Self {
        let hashed = (!setting.is_paired).then_some(setting.key);
        Self { seed: setting.seed, hashed, ..Self::none(Generation::default()) }
    }

    fn add(
        &mut self,
        place: usize,
        spec: &TaskSpec,
        setting: &RunProperties,
        is_from_rows: bool,
    ) -> Result<(), String> {
        let task = self.task(spec, setting, is_from_rows)?;
        self.tasks.push(task);
        self.places.push(place);
        Ok(())
    }

    /// Takes apart the tasks that count packets and those that rows answer, where there are any, in the set of this generation. The latter take
    /// their memory from `limits`, as they need it.
    pub(crate) fn apart(mut self, generation: Generation, limits: &Limits) -> (Option<Self>, Option<Self>) {
        self.generation = generation;
        let by_rows = self.by_rows.take().map(|mut tasks| {
            tasks.generation = generation;
            tasks.tasks.iter_mut().for_each(|task| task.maker.grows = Some(limits.clone()));
            *tasks
        });
        ((!self.tasks.is_empty()).then_some(self), by_rows)
    }

    /// An empty set: nothing to count.
    pub fn none(generation: Generation) -> Self {
        let (seed, hashed) = (Seed::new(0), None);
        let (tasks, feeds, places) = (Vec::new(), Vec::new(), Vec::new());
        Self {
            generation,
            tasks,
            feeds,
            seed,
            hashed,
            places,
            by_rows: None,
            split: None,
            is_lasting: false,
            of_set: 0,
        }
    }

    /// Returns the tasks as those of every set of a run: their counts go on when another set takes the place of one, so that changes are measured across it.
    #[must_use]
    pub fn lasting(self) -> Self {
        Self { is_lasting: true, by_rows: self.by_rows.map(|tasks| Box::new(tasks.lasting())), ..self }
    }

    /// Returns true if all workers count in one structure of a task.
    pub(crate) fn share(&self) -> bool {
        self.tasks.iter().any(|task| task.maker.is_shared)
    }

    /// Creates the empty structures of one window in which all workers count.
    pub(crate) fn shared_states(&self) -> Result<SharedStates, SketchError> {
        let of_task = |PlannedTask { maker, levels, .. }: &PlannedTask| {
            let levels = levels.iter().filter(|_| maker.is_shared);
            levels.map(|level| SharedFeed::new(maker, (&level.key, level.has_v6), &self.seed)).collect()
        };
        self.tasks.iter().map(of_task).collect()
    }

    /// Returns whether what was counted for the other tasks goes on with these: both are the lasting ones of their run, and what is counted with
    /// them is the same.
    pub fn continues(&self, other: &Self) -> bool {
        let is_lasting = |tasks: &Self| tasks.is_lasting && tasks.split.is_none();
        let is_same = |(one, other): (&PlannedTask, &PlannedTask)| one.spec == other.spec;
        let (own, others) = (self.tasks_of_set(), other.tasks_of_set());
        let have_same = own.len() == others.len() && own.iter().zip(others).all(is_same);
        is_lasting(self) && is_lasting(other) && have_same
    }

    /// The tasks that queries of the set need.
    fn tasks_of_set(&self) -> &[PlannedTask] {
        &self.tasks[self.tasks.len() - self.of_set..]
    }

    /// The number of tasks that each set of the run has. They are the first ones.
    pub(crate) fn lasting_tasks(&self) -> usize {
        if self.is_lasting { self.tasks.len() - self.of_set } else { 0 }
    }

    /// Adds a task that counts packets for a query of the set, to those of the run if there are any.
    ///
    /// # Errors
    /// Returns one line: what cannot be counted in this run, why, and what is possible.
    pub(crate) fn with_query(
        tasks: Option<&Self>,
        spec: &TaskSpec,
        setting: &RunProperties,
    ) -> Result<Self, String> {
        let alone = || Self { is_lasting: true, ..Self::empty(setting) };
        let mut tasks = tasks.map_or_else(alone, Self::clone);
        let by_rows = tasks.by_rows.iter().flat_map(|by_rows| &by_rows.places);
        let place = tasks.places.iter().chain(by_rows).max().map_or(0, |last| last + 1);
        tasks.add(place, spec, setting, false)?;
        tasks.of_set += 1;
        Ok(tasks)
    }

    /// Joins these tasks and the tables that queries by packets need, in the set of this generation.
    pub(crate) fn with_split(
        tasks: Option<Self>,
        generation: Generation,
        split: Option<SplitPlan>,
    ) -> Option<Self> {
        match (tasks, split) {
            (tasks, None) => tasks,
            (tasks, split) => Some(Self { split, ..tasks.unwrap_or_else(|| Self::none(generation)) }),
        }
    }

    /// Bytes of what queries of the set need of all workers, in addition to the tasks that the run was admitted with.
    pub fn added_bytes(&self, workers: usize) -> usize {
        self.bytes_of(self.tasks_of_set(), workers)
    }

    /// Bytes of the tasks that each set of the run has, of all workers. The run was admitted with them.
    pub fn lasting_bytes(&self, workers: usize) -> usize {
        if self.is_lasting { self.bytes(workers) - self.added_bytes(workers) } else { 0 }
    }

    /// The number of each task among all that were asked.
    pub fn places(&self) -> &[usize] {
        &self.places
    }

    fn task(
        &mut self,
        spec: &TaskSpec,
        setting: &RunProperties,
        is_from_rows: bool,
    ) -> Result<PlannedTask, String> {
        let key = spec.key.unwrap_or(setting.key);
        let asked = match spec.kind {
            TaskKind::SuperSpreaders => key.with(&spec.of),
            TaskKind::Quantiles if spec.quantity == crate::Quantity::Size => setting.key,
            TaskKind::Quantiles => KeySpec::parse(spec.quantity.name()).map_err(|error| error.to_string())?,
            _ => spec.streams().flatten().fold(key, |key, only| key.with(&only.spec())),
        };
        if let Some(lacking) = setting.key.lacks(&asked) {
            return Err(format!(
                "{spec}: it needs {lacking}, which this run's flow keys do not have; give them more, or the task another key"
            ));
        }
        if spec.kind == TaskKind::SuperSpreaders
            && (key.lacks(&spec.of).is_none() || spec.of.lacks(&key).is_none())
        {
            return Err(format!(
                "{spec}: of= must say something that key= does not: who has to do with whom"
            ));
        }
        let counted = if spec.kind == TaskKind::Inner { key } else { asked };
        let question = PlannerInput {
            spec,
            key: counted,
            packets: expected_packets(spec, setting),
            workers: setting.workers,
        };
        let choice = if is_from_rows { from_rows() } else { choose(&question, setting)? };
        let level = |all: &mut Self, key: KeySpec, prefix, only: Option<Selection>| {
            let weight = spec.weight;
            let feed = match (spec.kind, only) {
                (TaskKind::SuperSpreaders, _) => InputKind::Contacts { key, pair: asked },
                (TaskKind::Quantiles, _) => InputKind::Values(spec.quantity),
                (_, Some(only)) => InputKind::Selected { key, weight, only },
                (_, None) => InputKind::Flows { key, weight },
            };
            let has_v6 = match feed {
                InputKind::Values(quantity) => quantity.is_address(),
                InputKind::Flows { key, .. } | InputKind::Selected { key, .. } => key.has_addresses(),
                InputKind::Contacts { key, .. } => key.has_addresses(),
            };
            HierarchyLevel { feed: all.feed(feed), prefix, key, has_v6 }
        };
        let levels = match &spec.prefixes[..] {
            [] => spec.streams().map(|only| level(self, key, None, only)).collect(),
            lengths => {
                let mut levels = Vec::new();
                for &length in lengths {
                    let key = prefix_key(&key, length)?;
                    if let Some(lacking) = setting.key.lacks(&key) {
                        return Err(format!("{spec}: this run's {lacking} has no prefixes of {length} bits"));
                    }
                    levels.push(level(self, key, Some(length), None));
                }
                levels
            }
        };
        let TaskSpec { kind, weight, quantity, rows, .. } = *spec;
        let mut maker =
            Maker { choice, kind, key: asked, weight, quantity, rows, grows: None, is_shared: false };
        if setting.shares && !is_from_rows && maker.can_be_shared() {
            maker.is_shared = true;
            maker.choice.why.push_str("; all workers count in one");
        }
        Ok(PlannedTask { spec: spec.clone(), key, maker, levels })
    }

    /// The number of this feed, which tasks share.
    fn feed(&mut self, feed: InputKind) -> usize {
        let known = self.feeds.iter().position(|known| *known == feed);
        known.unwrap_or_else(|| {
            self.feeds.push(feed);
            self.feeds.len() - 1
        })
    }

    /// The set that they belong to.
    pub fn generation(&self) -> Generation {
        self.generation
    }

    /// Returns the structure that was chosen for each task.
    pub fn choices(&self) -> impl Iterator<Item = (&TaskSpec, &Choice)> {
        let all = self.tasks.iter().chain(self.by_rows.iter().flat_map(|by_rows| &by_rows.tasks));
        all.map(|task| (&task.spec, &task.maker.choice))
    }

    /// Creates empty states for one worker and one window.
    ///
    /// # Errors
    /// If the memory cannot be allocated.
    pub fn states(&self) -> Result<TaskStates, SketchError> {
        let states = (0..self.tasks.len()).map(|task| self.states_of(task)).collect::<Result<_, _>>()?;
        Ok(TaskStates {
            generation: self.generation,
            states,
            split: Vec::new(),
            parts: Vec::new(),
            lent: None,
        })
    }

    /// Returns empty states for one worker and one window, with the tables of queries by packets. All `workers` workers share the memory of these.
    ///
    /// # Errors
    /// If the memory cannot be allocated.
    pub fn states_of_worker(&self, workers: usize) -> Result<TaskStates, SketchError> {
        let split = self.split.as_ref().map(|split| split.tables(workers)).unwrap_or_default();
        let of_task = |PlannedTask { maker, levels, .. }: &PlannedTask| {
            let of_level =
                |level: &HierarchyLevel| FeedState::of_worker(maker, (&level.key, level.has_v6), &self.seed);
            levels.iter().map(of_level).collect()
        };
        let states = self.tasks.iter().map(of_task).collect::<Result<_, _>>()?;
        Ok(TaskStates { generation: self.generation, states, split, parts: Vec::new(), lent: None })
    }

    /// Creates the empty states of one task, by level.
    pub(crate) fn states_of(&self, task: usize) -> Result<Vec<FeedState>, SketchError> {
        let PlannedTask { maker, levels, .. } = &self.tasks[task];
        levels.iter().map(|level| FeedState::new(maker, (&level.key, level.has_v6), &self.seed)).collect()
    }

    /// Creates the feeder that makes packets ready; each worker needs one.
    pub(crate) fn feeder(&self) -> Feeder {
        Feeder::new(self.seed, self.hashed, &self.feeds)
    }

    /// Bytes that the states of a run with this many workers may take: two for each of them, and the earlier
    /// windows that changes are measured against. Of a structure in which all workers count there are two, whose counters take twice the
    /// memory of those of one worker at the most, what is answered, and three lists of flows for each worker: those of two windows, and of one
    /// that is merged.
    pub fn bytes(&self, workers: usize) -> usize {
        self.bytes_of(&self.tasks, workers)
    }

    /// Bytes of some of the tasks, and of what queries by packets need.
    fn bytes_of(&self, tasks: &[PlannedTask], workers: usize) -> usize {
        let of_task = |task: &PlannedTask| {
            let Choice { bytes, bytes_v6, .. } = task.maker.choice;
            let of_level =
                |level: &HierarchyLevel| bytes.saturating_add(if level.has_v6 { bytes_v6 } else { 0 });
            let of_window = task.levels.iter().map(of_level).fold(0, usize::saturating_add);
            if task.maker.is_shared {
                let list =
                    |level: &HierarchyLevel| task.maker.list_bytes((&level.key, level.has_v6), &self.seed);
                let lists = task.levels.iter().map(list).fold(0, usize::saturating_add);
                let of_all = of_window.saturating_mul(5 + task.spec.windows_held());
                return of_all.saturating_add(lists.saturating_mul(3 * workers));
            }
            of_window.saturating_mul(2 * workers + task.spec.windows_held())
        };
        let split = self.split.as_ref().map_or(0, SplitPlan::bytes);
        tasks.iter().map(of_task).fold(split, usize::saturating_add)
    }

    /// The feed of each state, by task and level.
    fn feeds_of(&self) -> Vec<Vec<usize>> {
        self.tasks.iter().map(|task| task.levels.iter().map(|level| level.feed).collect()).collect()
    }
}

/// A worker's part: states, and their feeder.
#[derive(Debug)]
pub struct TaskCounter {
    states: Box<TaskStates>,
    feeder: Feeder,
    feeds: Vec<Vec<usize>>,
    /// The structures in which all workers count, if there are any.
    shared: Option<Arc<SharedCounting>>,
}

impl TaskCounter {
    /// Counts into `states`.
    pub fn new(tasks: &Tasks, states: Box<TaskStates>) -> Self {
        Self { states, feeder: tasks.feeder(), feeds: tasks.feeds_of(), shared: None }
    }

    /// Counts in these structures of all workers what is in any of them.
    #[must_use]
    pub fn with_shared(self, shared: Option<Arc<SharedCounting>>) -> Self {
        Self { shared, ..self }
    }

    /// Has the parts in structures of all workers count in those of the open window.
    fn bind(&mut self) {
        if let Some(shared) = &self.shared
            && self.states.lent.is_none()
        {
            self.states.bind(shared.open());
        }
    }

    /// Counts parsed packets, whose hashes use the run's seed. No allocation once buffers have the size of a
    /// burst, no lock, no clock.
    #[inline]
    pub fn count(&mut self, bursts: &Bursts) {
        // Between two windows workers get bursts without packets.
        if !bursts.is_empty() {
            self.bind();
        }
        let Self { states, feeder, feeds, .. } = self;
        feeder.feed(bursts);
        let TaskStates { states, split, .. } = &mut **states;
        for (states, feeds) in states.iter_mut().zip(feeds) {
            for (state, feed) in states.iter_mut().zip(feeds) {
                state.count(feeder.fed(*feed));
            }
        }
        for table in split {
            table.count(bursts);
        }
    }

    /// Returns the counts since the last call; counting continues in `empty`.
    pub fn turn(&mut self, empty: Box<TaskStates>) -> Box<TaskStates> {
        // Also where nothing was counted: the window's structures are known.
        self.bind();
        std::mem::replace(&mut self.states, empty)
    }

    /// Returns the counts.
    pub fn into_states(self) -> Box<TaskStates> {
        self.states
    }
}

impl TaskStates {
    /// The set of tasks that it counts.
    pub fn generation(&self) -> Generation {
        self.generation
    }

    fn bind(&mut self, lent: Arc<LentStates>) {
        for (states, shared) in self.states.iter_mut().zip(&lent.states) {
            states.iter_mut().zip(shared).for_each(|(state, shared)| state.bind(shared));
        }
        self.lent = Some(lent);
    }

    /// Puts what all workers counted in the place of the parts, to be answered, until it is [`Self::reset`].
    pub(crate) fn settle(&mut self) -> Result<(), SketchError> {
        for (at, states) in self.states.iter_mut().enumerate() {
            let settled: Vec<_> =
                states.iter().filter_map(|state| state.settled().transpose()).collect::<Result<_, _>>()?;
            if !settled.is_empty() {
                self.parts.push((at, std::mem::replace(states, settled)));
            }
        }
        Ok(())
    }

    /// Adds what another worker counted in the same window.
    ///
    /// # Errors
    /// If the other is of another set of tasks, even one of the same sizes; nothing is changed then.
    pub fn merge(&mut self, other: &Self) -> Result<(), CannotMerge> {
        self.generation.check_same(other.generation)?;
        self.split.iter_mut().zip(&other.split).for_each(|(ours, theirs)| ours.merge(theirs));
        let states = self.states.iter_mut().flatten().zip(other.states.iter().flatten());
        Ok(states.into_iter().try_for_each(|(ours, theirs)| ours.merge(theirs))?)
    }

    /// Counts rows of a window. `feeder` has them in the forms of these tasks.
    pub(crate) fn count_rows(&mut self, tasks: &Tasks, feeder: &Feeder) {
        for (states, task) in self.states.iter_mut().zip(&tasks.tasks) {
            for (state, level) in states.iter_mut().zip(&task.levels) {
                state.count_rows(feeder.fed(level.feed));
            }
        }
    }

    /// Forgets everything and keeps the memory.
    pub fn reset(&mut self) {
        for (at, parts) in self.parts.drain(..) {
            self.states[at] = parts;
        }
        self.states.iter_mut().flatten().for_each(FeedState::reset);
        self.split.iter_mut().for_each(SplitTable::reset);
        // Behind the parts, which have left them.
        self.lent = None;
    }
}

/// The reason why the counts of two workers are not merged.
#[derive(Debug)]
pub enum CannotMerge {
    /// The workers counted by different sets of tasks.
    Generation(OtherGeneration),
    /// The workers counted in different structures.
    Structure(Unmergeable),
}

impl fmt::Display for CannotMerge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Generation(error) => error.fmt(f),
            Self::Structure(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for CannotMerge {}

impl From<OtherGeneration> for CannotMerge {
    fn from(error: OtherGeneration) -> Self {
        Self::Generation(error)
    }
}

impl From<Unmergeable> for CannotMerge {
    fn from(error: Unmergeable) -> Self {
        Self::Structure(error)
    }
}
