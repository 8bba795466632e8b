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
use sketch::{ByteKey, SketchError, Unmergeable};
use std::collections::BTreeMap;
use std::error::Error;

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

    /// The shares of the level and of the trend that are left in the level, and in the trend, after this many windows without packets.
    fn left_by_nothing(self, mut windows: u64) -> Shares {
        let (alpha, beta) = (self.alpha, self.beta.unwrap_or(0.0));
        let product = |a: Shares, b: Shares| {
            [0_usize, 1]
                .map(|row| [0_usize, 1].map(|column| a[row][0] * b[0][column] + a[row][1] * b[1][column]))
        };
        // With F = L + T: L' = (1 - α) F, and T' = T + β (L' - F) = T - α β F.
        let mut power = [[1.0 - alpha, 1.0 - alpha], [-alpha * beta, 1.0 - alpha * beta]];
        let mut left = [[1.0, 0.0], [0.0, 1.0]];
        while windows > 0 {
            if windows % 2 == 1 {
                left = product(left, power);
            }
            power = product(power, power);
            windows /= 2;
        }
        left
    }
}

/// The shares of a level and of a trend in a new level, and those in a new trend.
type Shares = [[f64; 2]; 2];

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

    /// Observes this many windows without packets at once, which leave these shares of the level and of the trend. Those that are needed for a
    /// forecast have been observed.
    fn observe_nothing(&mut self, windows: u64, left: Shares) -> Result<(), Unmergeable> {
        self.windows += windows;
        match &mut self.trend {
            Some(trend) => mix(&mut self.level, trend, left),
            None => {
                self.level.scale(left[0][0]);
                Ok(())
            }
        }
    }
}

/// Makes a level and a trend the sums of these shares of both, in their own memory.
fn mix<K: ByteKey>(level: &mut Series<K>, trend: &mut Series<K>, shares: Shares) -> Result<(), Unmergeable> {
    let [[a, b], [c, d]] = shares;
    if b.abs().max(c.abs()) > a.abs().max(d.abs()) {
        std::mem::swap(level, trend);
        return mix(level, trend, [[b, a], [d, c]]);
    }
    // The one whose share is the largest comes first, as the other one's shares are divided by it.
    if a == 0.0 && d == 0.0 {
        level.scale(0.0);
        trend.scale(0.0);
    } else if a.abs() >= d.abs() {
        level.scale(a);
        level.add(b, trend)?;
        trend.scale(d - b * c / a);
        trend.add(c / a, level)?;
    } else {
        trend.scale(d);
        trend.add(c, level)?;
        level.scale(a - b * c / d);
        level.add(b / d, trend)?;
    }
    // Flows of which next to nothing is left are dropped.
    level.scale(1.0);
    trend.scale(1.0);
    Ok(())
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

    /// Observes windows without packets, which leave these shares.
    fn observe_nothing(&mut self, [of_level, of_trend]: Shares) {
        let left = |[level, trend]: [f64; 2]| level * self.level + trend * self.trend;
        *self = Self { level: left(of_level), trend: left(of_trend) };
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

    /// Returns the states of a window that is reported, and drops those of windows before it, which are never reported later. Windows without
    /// states had no packets.
    pub(crate) fn take(&mut self, window: WindowId) -> Option<Vec<FeedState>> {
        self.waiting = self.waiting.split_off(&window);
        self.waiting.remove(&window)
    }

    /// Observes the windows before this one that were never reported, as they had no packets.
    pub(crate) fn skip_to(&mut self, window: WindowId) -> Result<(), Box<dyn Error>> {
        let skipped = self.last.map_or(0, |last| window.windows_between(last));
        self.last = Some(window);
        self.observe_nothing(skipped)
    }

    /// Observes this many windows without packets. Before the first one with packets there is nothing to forecast.
    pub(crate) fn observe_nothing(&mut self, windows: u64) -> Result<(), Box<dyn Error>> {
        if self.windows == 0 {
            return Ok(());
        }
        let mut more = windows;
        while more > 0 && self.windows < self.needed() {
            more -= 1;
            self.windows += 1;
            self.total.observe(self.smoothing, self.windows, 0.0);
            self.v4.as_mut().map_or(Ok(()), |v4| v4.observe(None))?;
            self.v6.as_mut().map_or(Ok(()), |v6| v6.observe(None))?;
        }
        if more > 0 {
            let left = self.smoothing.left_by_nothing(more);
            self.windows += more;
            self.total.observe_nothing(left);
            self.v4.as_mut().map_or(Ok(()), |v4| v4.observe_nothing(more, left))?;
            self.v6.as_mut().map_or(Ok(()), |v6| v6.observe_nothing(more, left))?;
        }
        Ok(())
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
