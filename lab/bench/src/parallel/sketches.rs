//! The three sketches of Wu et al. (2016) instead of flow tables, one for each worker or one for all: the Y
//! and Z of the designs that they call X-Y-Z.

use engine::{StatePlacement, Tally};
use packet::{Bursts, KeyBurst, KeyV4, Seed};
use sketch::{
    ArrayConfig, CountMin, Frequency, GridConfig, Merge, ReversibleSets, SharedArray, SharedHashTable,
    SharedReversibleSets, SimpleHashTable, Tracked, TrackedConfig, Update, UpdateBurst,
};
use std::fmt::{Debug, Display};
use std::sync::{Arc, Mutex, PoisonError};

/// Rows of Count-Min and of the Reversible sketch; not stated in the paper.
const ROWS: usize = 4;

/// A sketch of Wu et al. (2016, section 2.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SketchKind {
    /// Count-Min with the heaviest flow (CMS).
    CountMin,
    /// The Reversible sketch with sets (RS).
    Reversible,
    /// The Simple Hash Table (SHT).
    SimpleHashTable,
}

impl SketchKind {
    /// Entries of a row. Of the Simple Hash Table the second of the paper's three sizes (section 4.4.2); the others are
    /// not stated in the paper, and a counter of the Reversible sketch takes half a kilobyte with its sets.
    pub const fn default_width(self) -> usize {
        match self {
            Self::CountMin => 64 << 10,
            Self::Reversible => 16 << 10,
            Self::SimpleHashTable => 256 << 10,
        }
    }
}

/// A sketch and the entries of a row.
pub(super) type SketchSize = (SketchKind, usize);

/// The sketches that a run's workers count in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct WorkerSketches {
    pub(super) size: SketchSize,
    pub(super) state: StatePlacement,
}

/// Packets of a flow, as a sketch estimates them.
pub(super) type Estimator = Box<dyn Fn(&KeyV4) -> u64>;

/// The tallies of a run, and what to query when it is over.
pub(super) struct SketchRun {
    pub(super) tallies: Vec<Box<dyn Tally>>,
    /// Merges what they counted.
    pub(super) ask: Box<dyn FnOnce() -> Result<Estimator, String>>,
}

impl WorkerSketches {
    /// Empty ones for this many workers and bursts of up to `burst` packets. Traffic is IPv4.
    pub(super) fn run(self, workers: usize, burst: usize, seed: Seed) -> Result<SketchRun, String> {
        let (sketch, width) = self.size;
        let tracked = |seed| TrackedConfig::new(ArrayConfig::new(ROWS, width, seed)?, 1);
        match sketch {
            SketchKind::CountMin => {
                run::<Tracked<KeyV4, CountMin>>(&tracked(seed).map_err(text)?, self.state, workers, burst)
            }
            SketchKind::Reversible => {
                let config = GridConfig::new(ROWS, width, seed);
                run::<ReversibleSets<KeyV4>>(&config, self.state, workers, burst)
            }
            SketchKind::SimpleHashTable => {
                let config = GridConfig::with_width(width, seed);
                run::<SimpleHashTable<KeyV4>>(&config, self.state, workers, burst)
            }
        }
    }
}

fn text(error: impl Display) -> String {
    error.to_string()
}

/// A sketch of one core, and its counterpart for all of them.
trait Shareable: Debug + Frequency<KeyV4> + Merge + Send + UpdateBurst<KeyV4> + 'static {
    type Shared: Debug + Send + Sync + 'static;
    fn shared(config: &Self::Configuration) -> Result<Self::Shared, String>;
    fn update(shared: &Self::Shared, burst: &[Update<KeyV4>]);
    fn ask(shared: &Self::Shared) -> Result<Estimator, String>;
}

impl Shareable for Tracked<KeyV4, CountMin> {
    type Shared = SharedArray<KeyV4, CountMin>;
    fn shared(config: &TrackedConfig<KeyV4, CountMin>) -> Result<Self::Shared, String> {
        SharedArray::new(config.array()).map_err(text)
    }
    fn update(shared: &Self::Shared, burst: &[Update<KeyV4>]) {
        shared.update_burst(burst);
    }
    fn ask(shared: &Self::Shared) -> Result<Estimator, String> {
        shared.snapshot().map(asked).map_err(text)
    }
}

impl Shareable for ReversibleSets<KeyV4> {
    type Shared = SharedReversibleSets<KeyV4>;
    fn shared(config: &GridConfig<Self>) -> Result<Self::Shared, String> {
        SharedReversibleSets::new(config).map_err(text)
    }
    fn update(shared: &Self::Shared, burst: &[Update<KeyV4>]) {
        shared.update_burst(burst);
    }
    fn ask(shared: &Self::Shared) -> Result<Estimator, String> {
        shared.snapshot().map(asked).map_err(text)
    }
}

impl Shareable for SimpleHashTable<KeyV4> {
    type Shared = SharedHashTable<KeyV4>;
    fn shared(config: &GridConfig<Self>) -> Result<Self::Shared, String> {
        SharedHashTable::new(config).map_err(text)
    }
    fn update(shared: &Self::Shared, burst: &[Update<KeyV4>]) {
        shared.update_burst(burst);
    }
    fn ask(shared: &Self::Shared) -> Result<Estimator, String> {
        shared.snapshot().map(asked).map_err(text)
    }
}

fn asked<S: Frequency<KeyV4> + 'static>(sketch: S) -> Estimator {
    Box::new(move |key| sketch.estimate(key).value as u64)
}

fn run<S: Shareable>(
    config: &S::Configuration,
    state: StatePlacement,
    workers: usize,
    burst: usize,
) -> Result<SketchRun, String> {
    let updates = || Vec::with_capacity(burst);
    match state {
        StatePlacement::Separate => {
            let ended = Arc::new(Mutex::new(Vec::new()));
            let tally = |_| {
                let sketch = S::new(config).map_err(text)?;
                let own = WorkerSketch { sketch, updates: updates(), ended: Arc::clone(&ended) };
                Ok(Box::new(own) as Box<dyn Tally>)
            };
            let tallies = (0..workers).map(tally).collect::<Result<_, String>>()?;
            let ask = move || {
                let mut sketches = std::mem::take(&mut *ended.lock().unwrap_or_else(PoisonError::into_inner));
                let mut sum: S = sketches.pop().ok_or("no worker came to its end")?;
                sketches.iter().try_for_each(|sketch| sum.merge(sketch)).map_err(text)?;
                Ok(asked(sum))
            };
            Ok(SketchRun { tallies, ask: Box::new(ask) })
        }
        StatePlacement::Shared => {
            let shared = Arc::new(S::shared(config)?);
            let tally = |_| {
                let shared = Arc::clone(&shared);
                Box::new(SharedTally::<S> { shared, updates: updates() }) as Box<dyn Tally>
            };
            let tallies = (0..workers).map(tally).collect();
            Ok(SketchRun { tallies, ask: Box::new(move || S::ask(&shared)) })
        }
    }
}

/// A worker's own sketch, which goes to `ended` in the end.
#[derive(Debug)]
struct WorkerSketch<S> {
    sketch: S,
    updates: Vec<Update<KeyV4>>,
    ended: Arc<Mutex<Vec<S>>>,
}

/// The sketch of all workers.
#[derive(Debug)]
struct SharedTally<S: Shareable> {
    shared: Arc<S::Shared>,
    updates: Vec<Update<KeyV4>>,
}

/// A burst in the form for sketches: each packet has weight 1.
fn fill(updates: &mut Vec<Update<KeyV4>>, burst: &KeyBurst<KeyV4>) {
    updates.clear();
    let packets = burst.packets().iter();
    updates.extend(packets.map(|packet| Update { key: packet.key, hash: packet.hash, weight: 1 }));
}

impl<S: Shareable> Tally for WorkerSketch<S> {
    fn count(&mut self, bursts: &Bursts) {
        fill(&mut self.updates, &bursts.v4);
        self.sketch.update_burst(&self.updates);
    }

    fn end(self: Box<Self>) {
        self.ended.lock().unwrap_or_else(PoisonError::into_inner).push(self.sketch);
    }
}

impl<S: Shareable> Tally for SharedTally<S> {
    fn count(&mut self, bursts: &Bursts) {
        fill(&mut self.updates, &bursts.v4);
        S::update(&self.shared, &self.updates);
    }

    fn end(self: Box<Self>) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parallel::ONE_WINDOW;
    use crate::parallel::rig::{CountingStructure, RigSetting, RigTraffic, measure};
    use engine::{ResolvedDesign, Split};
    use port::wire::WireSpec;

    /// Where nothing is lost, every design gives the answers of a sketch of one core, however packets are
    /// split.
    #[test]
    fn every_design_and_state_answers_the_same() {
        let mut traffic = RigTraffic::new(20_000, 3_000, 1.0, 64).expect("traffic");
        for (design, queues) in
            [("rss", 1), ("rss", 3), ("sync", 1), ("async", 1), ("cooperative", 1), ("1x3", 1), ("2x2", 2)]
        {
            let design_value = Some(design.parse().expect("a design"));
            let plan = ResolvedDesign::new(design_value, None, queues, &[0, 1]).expect("a plan");
            for split in [Split::Hash, Split::Position] {
                for sketch in [SketchKind::CountMin, SketchKind::Reversible, SketchKind::SimpleHashTable] {
                    for state in [StatePlacement::Separate, StatePlacement::Shared] {
                        let setting = RigSetting {
                            wire: WireSpec { queues, ..WireSpec::default() },
                            plan: ResolvedDesign { split, ..plan.clone() },
                            kept: CountingStructure::Sketches(WorkerSketches {
                                size: (sketch, sketch.default_width()),
                                state,
                            }),
                            sampling: None,
                            every: ONE_WINDOW,
                            between_cores: engine::HAND_OVER_PACKETS,
                            burst: 64,
                            warm_up: 0,
                            timed: true,
                        };
                        let what = format!("{design}, {queues} queues, {split}, {sketch:?}, {state:?}");
                        assert!(measure(&mut traffic, &setting).expect(&what).is_right, "{what}");
                    }
                }
            }
        }
    }
}
