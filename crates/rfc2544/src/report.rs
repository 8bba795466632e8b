//! The report of a run, as data.

use crate::search::FigureLimit;
use crate::settings::TestSettings;
use crate::trial::TrialOutcome;
use model::Integer;
use serde::Serialize;

/// The version of the report's form.
pub const SCHEMA: u32 = 1;

/// The report of a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Rfc2544Report {
    /// The version of this form.
    #[cfg_attr(feature = "schema", schemars(extend("const" = SCHEMA)))]
    pub schema: u32,
    /// The port by which test frames left.
    pub tx: String,
    /// The port by which test frames came back.
    pub rx: String,
    /// The settings of the run.
    pub settings: TestSettings,
    /// The figures of each frame size.
    pub sizes: Vec<SizeFigures>,
    /// True if the run ended before its last trial. The figures that it has are those of whole trials.
    pub ended_early: bool,
    /// The fault that ended the run; null if there was none.
    pub fault: Option<String>,
}

/// The figures of one frame size. A test that was not performed, or not begun, is null.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SizeFigures {
    /// Bytes of a frame, with check sequence.
    pub frame_size: u32,
    /// The theoretical maximum on the link, frames per second.
    #[serde(with = "Integer")]
    #[cfg_attr(feature = "schema", schemars(with = "Integer"))]
    pub maximum: u64,
    /// The throughput (section 26.1).
    pub throughput: Option<Throughput>,
    /// The latency at the throughput (section 26.2); null too where no rate passed.
    pub latency: Option<Latency>,
    /// The frame loss rate (section 26.3).
    pub frame_loss: Option<FrameLoss>,
    /// Back-to-back frames (section 26.4).
    pub back_to_back: Option<BackToBack>,
}

/// The greatest rate at which the device loses no more than is tolerated.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Throughput {
    /// The greatest rate that passed, frames per second; 0 if none of those that were tried did.
    #[serde(with = "Integer")]
    #[cfg_attr(feature = "schema", schemars(with = "Integer"))]
    pub frames_per_second: u64,
    /// The throughput in bits per second on the link, with preamble, check sequence and gap.
    #[serde(with = "Integer")]
    #[cfg_attr(feature = "schema", schemars(with = "Integer"))]
    pub bits_per_second: u64,
    /// The throughput as a share of the theoretical maximum.
    pub share: f64,
    /// The reason why the throughput is not greater.
    pub limit: FigureLimit,
    /// The trials, in their order.
    pub trials: Vec<TrialOutcome>,
}

/// The delay of frames at the throughput.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Latency {
    /// The rate that was to be offered, frames per second.
    #[serde(with = "Integer")]
    #[cfg_attr(feature = "schema", schemars(with = "Integer"))]
    pub rate: u64,
    /// The delay of the frame in the middle of each trial, nanoseconds, over the trials: the RFC's figure is the mean. Null if none
    /// arrived.
    pub tagged: Option<FigureSummary>,
    /// Trials whose frame in the middle did not arrive.
    pub missing: u64,
    /// The least delay of all frames, nanoseconds.
    pub least_ns: Option<u64>,
    /// The greatest delay of all frames, nanoseconds.
    pub greatest_ns: Option<u64>,
    /// The trials, in their order.
    pub trials: Vec<TrialOutcome>,
}

/// The share of frames that is lost at each rate.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FrameLoss {
    /// The rates, from the greatest downwards.
    pub steps: Vec<LossStep>,
    /// True if two rates in a row were without loss, or there was no smaller one.
    pub is_complete: bool,
}

/// The frame loss at one rate.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LossStep {
    /// The rate as a share of the theoretical maximum. What was offered stands in the trial.
    pub share: f64,
    /// Lost frames as a share of those sent: the most that the device can have lost. Null if none was sent.
    pub loss: Option<f64>,
    /// The share that the device lost at the least: without the frames that the tester's ports may have lost.
    pub loss_of_device: Option<f64>,
    /// The trial.
    pub trial: TrialOutcome,
}

/// The longest burst without loss.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BackToBack {
    /// Frames of the longest burst that passed, over the searches: the RFC's figure is the mean. Null if no search ended.
    pub frames: Option<FigureSummary>,
    /// Frames of the longest burst that was to be sent.
    #[serde(with = "Integer")]
    #[cfg_attr(feature = "schema", schemars(with = "Integer"))]
    pub longest_tried: u64,
    /// The rate at which bursts were offered, frames per second, on average; the theoretical maximum is what it was to be.
    pub offered_rate: Option<f64>,
    /// The searches, in their order.
    pub bursts: Vec<BurstSearch>,
}

/// One search for the longest burst.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BurstSearch {
    /// Frames of the longest burst that passed; 0 if none did.
    #[serde(with = "Integer")]
    #[cfg_attr(feature = "schema", schemars(with = "Integer"))]
    pub frames: u64,
    /// The reason why the burst is not longer.
    pub limit: FigureLimit,
    /// The trials, in their order.
    pub trials: Vec<TrialOutcome>,
}

/// A figure over repetitions.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FigureSummary {
    /// Repetitions that have a figure.
    pub repetitions: u64,
    /// The mean.
    pub mean: f64,
    /// The least.
    #[serde(with = "Integer")]
    #[cfg_attr(feature = "schema", schemars(with = "Integer"))]
    pub min: u64,
    /// The greatest.
    #[serde(with = "Integer")]
    #[cfg_attr(feature = "schema", schemars(with = "Integer"))]
    pub max: u64,
}

impl SizeFigures {
    /// Returns all trials of the size.
    pub fn trials(&self) -> impl Iterator<Item = &TrialOutcome> {
        let throughput = self.throughput.iter().flat_map(|figure| &figure.trials);
        let latency = self.latency.iter().flat_map(|figure| &figure.trials);
        let steps = self.frame_loss.iter().flat_map(|figure| &figure.steps).map(|step| &step.trial);
        let bursts = self.back_to_back.iter().flat_map(|figure| &figure.bursts);
        throughput.chain(latency).chain(steps).chain(bursts.flat_map(|burst| &burst.trials))
    }
}

/// Returns the summary of figures, `None` without any.
pub(crate) fn summary_of(figures: &[u64]) -> Option<FigureSummary> {
    let (min, max) = (*figures.iter().min()?, *figures.iter().max()?);
    Some(FigureSummary { repetitions: figures.len() as u64, mean: mean(figures.iter().copied())?, min, max })
}

/// Returns the mean, `None` without figures.
pub(crate) fn mean(figures: impl Iterator<Item = u64>) -> Option<f64> {
    let (sum, count) =
        figures.fold((0_u128, 0_u64), |(sum, count), figure| (sum + u128::from(figure), count + 1));
    (count > 0).then(|| sum as f64 / count as f64)
}
