//! Forecasts of windows by exponential smoothing: EWMA, and Holt-Winters without seasons (Krishnamurthy, Sen, Zhang, Chen, IMC 2003, section
//! 3.2). Both are linear in what was observed, so that counters are forecast as flows are.

mod series;
mod table;

pub(crate) use series::{ListedArray, Series};
pub(crate) use table::{FlowNumbers, TableRoom};

use crate::spec::{Against, TaskKind, TaskSpec, WHOLE_PPM};
use crate::state::{FamilyState, FeedState, FlowCounter, Maker, StateKind};
use crate::tasks::{PlannedTask, Tasks};
use flow::WindowId;
use packet::{KeyV4, KeyV6};
use sketch::{ByteKey, SketchError};
use std::collections::BTreeMap;
use std::error::Error;

/// Windows without packets that are observed one by one; of a longer pause nothing is left in any forecast.
const MOST_SKIPPED: u64 = 10_000;

/// The way in which windows are forecast.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Smoothing {
    /// The weight of the last window in the level.
    alpha: f64,
    /// The weight of the last step in the trend; `None` without a trend.
    beta: Option<f64>,
}

impl Smoothing {
    /// The smoothing of a task; `None` for one that compares with no forecast by smoothing.
    pub(crate) fn of_task(spec: &TaskSpec) -> Option<Self> {
        let alpha = f64::from(spec.alpha_ppm) / WHOLE_PPM;
        match (spec.kind, spec.against) {
            (TaskKind::Change, Against::Ewma) => Some(Self { alpha, beta: None }),
            (TaskKind::Change, Against::HoltWinters) => {
                Some(Self { alpha, beta: Some(f64::from(spec.beta_ppm) / WHOLE_PPM) })
            }
            _ => None,
        }
    }

    /// True of a forecast with a trend.
    pub(crate) fn has_trend(self) -> bool {
        self.beta.is_some()
    }

    /// Windows that must have been observed before one is forecast.
    pub(crate) fn needed(self) -> u64 {
        if self.beta.is_some() { 2 } else { 1 }
    }
}

/// The forecast of one address family.
#[derive(Debug)]
pub(crate) struct FamilyForecast<K: ByteKey> {
    smoothing: Smoothing,
    pub(crate) level: Series<K>,
    /// The change from one window to the next; `None` without a trend.
    pub(crate) trend: Option<Series<K>>,
    /// The windows that were observed.
    windows: u64,
}

impl<K: ByteKey> FamilyForecast<K> {
    /// The forecast of nothing, for structures like this one. `None` for one that cannot be forecast.
    fn new(
        smoothing: Smoothing,
        like: &FlowCounter<K>,
        maker: &Maker,
        bytes: usize,
    ) -> Result<Option<Self>, SketchError> {
        let series = |bytes| Series::zero(like, TableRoom::new(maker.grows.as_ref(), bytes));
        let Some(level) = series(2 * bytes)? else { return Ok(None) };
        let trend = if smoothing.beta.is_some() { series(2 * bytes)? } else { None };
        Ok(Some(Self { smoothing, level, trend, windows: 0 }))
    }

    /// Observes a window; `None`: one without packets.
    fn observe(&mut self, window: Option<&FlowCounter<K>>) -> Result<(), Box<dyn Error>> {
        let (Smoothing { alpha, .. }, level) = (self.smoothing, &mut self.level);
        self.windows += 1;
        match (&mut self.trend, self.smoothing.beta, self.windows) {
            (_, _, 1) => level.add_window(1.0, window)?,
            (Some(trend), Some(_), 2) => {
                // The level becomes the window, and the trend what it has more than the one before.
                trend.add(-1.0, level)?;
                trend.add_window(1.0, window)?;
                level.scale(0.0);
                level.add_window(1.0, window)?;
            }
            (Some(trend), Some(beta), _) => {
                level.add(1.0, trend)?;
                // With F = L + T: L' = (1 - α) F + α o, and T' = (1 - β) T + β (L' - L) = T + β (L' - F).
                trend.add(-beta, level)?;
                level.scale(1.0 - alpha);
                level.add_window(alpha, window)?;
                trend.add(beta, level)?;
                trend.scale(1.0);
            }
            _ => {
                level.scale(1.0 - alpha);
                level.add_window(alpha, window)?;
            }
        }
        Ok(())
    }
}

/// A total, smoothed as the flows are.
#[derive(Clone, Copy, Debug, Default)]
struct SmoothedTotal {
    level: f64,
    trend: f64,
}

impl SmoothedTotal {
    fn observe(&mut self, Smoothing { alpha, beta }: Smoothing, windows: u64, total: f64) {
        let forecast = self.level + self.trend;
        match (beta, windows) {
            (_, 1) => self.level = total,
            (Some(_), 2) => *self = Self { level: total, trend: total - self.level },
            _ => {
                let level = (1.0 - alpha) * forecast + alpha * total;
                self.trend += beta.unwrap_or(0.0) * (level - forecast);
                self.level = level;
            }
        }
    }
}

/// The forecast of a task's next window.
#[derive(Debug)]
pub(crate) struct TaskForecast {
    smoothing: Smoothing,
    pub(crate) v4: Option<FamilyForecast<KeyV4>>,
    pub(crate) v6: Option<FamilyForecast<KeyV6>>,
    total: SmoothedTotal,
    /// The windows that were observed.
    pub(crate) windows: u64,
    /// Windows that are counted and not yet reported.
    waiting: BTreeMap<WindowId, Vec<FeedState>>,
    /// States whose window is over.
    spare: Option<Vec<FeedState>>,
    /// The last window that was observed, or passed over.
    last: Option<WindowId>,
}

impl TaskForecast {
    /// The forecast that a task needs; `None` for one that needs none.
    pub(crate) fn of_task(task: &PlannedTask) -> Option<Self> {
        Smoothing::of_task(&task.spec).map(|smoothing| Self {
            smoothing,
            v4: None,
            v6: None,
            total: SmoothedTotal::default(),
            windows: 0,
            waiting: BTreeMap::new(),
            spare: None,
            last: None,
        })
    }

    /// Windows that must have been observed before one is forecast.
    pub(crate) fn needed(&self) -> u64 {
        self.smoothing.needed()
    }

    /// The total that the next window is expected to have.
    pub(crate) fn total(&self) -> f64 {
        self.total.level + self.total.trend
    }

    /// Keeps what was counted until the window is reported, and leaves other states in its place, which are to be emptied.
    pub(crate) fn keep(
        &mut self,
        window: WindowId,
        states: &mut Vec<FeedState>,
        tasks: &Tasks,
        task: usize,
    ) -> Result<(), SketchError> {
        let other = match self.spare.take() {
            Some(spare) => spare,
            None => tasks.states_of(task)?,
        };
        self.waiting.insert(window, std::mem::replace(states, other));
        Ok(())
    }

    /// What was counted in a window that is reported; windows before it are never reported any more. Those without a report had no packets.
    pub(crate) fn take(&mut self, window: WindowId) -> Option<Vec<FeedState>> {
        self.waiting = self.waiting.split_off(&window);
        self.waiting.remove(&window)
    }

    /// Observes the windows before this one that were never reported, as they had no packets.
    pub(crate) fn skip_to(&mut self, window: WindowId) -> Result<(), Box<dyn Error>> {
        let skipped = self.last.map_or(0, |last| window.windows_between(last));
        self.last = Some(window);
        (0..skipped.min(MOST_SKIPPED)).try_for_each(|_| self.observe_nothing())
    }

    /// Observes a window without packets. Before the first one with packets there is nothing to forecast.
    pub(crate) fn observe_nothing(&mut self) -> Result<(), Box<dyn Error>> {
        if self.windows == 0 {
            return Ok(());
        }
        self.windows += 1;
        self.total.observe(self.smoothing, self.windows, 0.0);
        self.v4.as_mut().map_or(Ok(()), |v4| v4.observe(None))?;
        self.v6.as_mut().map_or(Ok(()), |v6| v6.observe(None))
    }

    /// Observes a window.
    pub(crate) fn observe(&mut self, states: &[FeedState], maker: &Maker) -> Result<(), Box<dyn Error>> {
        let Some(state) = states.first() else { return Ok(()) };
        self.windows += 1;
        self.total.observe(self.smoothing, self.windows, state.total() as f64);
        let (smoothing, choice) = (self.smoothing, &maker.choice);
        observe_part(&mut self.v4, smoothing, &state.v4, (maker, choice.bytes))?;
        match &state.v6 {
            Some(v6) => observe_part(&mut self.v6, smoothing, v6, (maker, choice.bytes_v6)),
            None => Ok(()),
        }
    }

    /// Takes states back that are no longer needed.
    pub(crate) fn recycle(&mut self, mut states: Vec<FeedState>) {
        states.iter_mut().for_each(FeedState::reset);
        self.spare = Some(states);
    }
}

fn observe_part<K: ByteKey>(
    forecast: &mut Option<FamilyForecast<K>>,
    smoothing: Smoothing,
    part: &FamilyState<K>,
    (maker, bytes): (&Maker, usize),
) -> Result<(), Box<dyn Error>> {
    let StateKind::Counted(counted) = &part.of else { return Ok(()) };
    if forecast.is_none() {
        *forecast = FamilyForecast::new(smoothing, counted, maker, bytes)?;
    }
    forecast.as_mut().map_or(Ok(()), |forecast| forecast.observe(Some(counted)))
}
