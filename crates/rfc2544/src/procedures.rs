//! The four tests, each at one frame size: RFC 2544, sections 26.1 to 26.4.

use crate::report::{BackToBack, BurstSearch, FrameLoss, Latency, LossStep, Throughput, mean, summary_of};
use crate::search::{FigureLimit, LoadSearch, search};
use crate::settings::TestSettings;
use crate::trial::{TrialEnd, TrialOutcome, TrialPlan};

/// A way to perform a trial.
pub(crate) type Perform<'a> = &'a mut dyn FnMut(&TrialPlan) -> Result<TrialOutcome, TrialEnd>;
/// The figure of a test until it ended, and the reason if it ended early.
type Found<Figure> = (Figure, Result<(), TrialEnd>);

/// Searches for the throughput: the greatest rate at which no more is lost than is tolerated.
pub(crate) fn throughput(perform: Perform, settings: &TestSettings, size: u32) -> Found<Throughput> {
    let load = settings.load(size);
    let mut found = LoadSearch::new(load.most(), settings.step(load.most()));
    let (trials, end) = search(
        &mut found,
        settings.tolerance_ppm,
        |trial| trial.offered_rate,
        |rate| perform(&TrialPlan::lasting(size, rate, settings.trial_ns, false)),
    );
    let rate = found.figure();
    let figure = Throughput {
        frames_per_second: rate,
        bits_per_second: load.bits_per_second(rate),
        share: rate as f64 / load.most().max(1) as f64,
        limit: found.limit(),
        trials,
    };
    (figure, end)
}

/// Measures the latency at a rate: of one frame in the middle of each trial, as the RFC does, and of all frames.
pub(crate) fn latency(perform: Perform, settings: &TestSettings, size: u32, rate: u64) -> Found<Latency> {
    let plan = TrialPlan::lasting(size, rate, settings.latency_trial_ns, true);
    let mut trials = Vec::new();
    let mut end = Ok(());
    while (trials.len() as u64) < u64::from(settings.latency_repeats) && end.is_ok() {
        match perform(&plan) {
            Ok(trial) => trials.push(trial),
            Err(early) => end = Err(early),
        }
    }
    let delays = || trials.iter().filter_map(|trial| trial.delay.as_ref());
    let tagged: Vec<u64> = delays().filter_map(|delay| delay.tagged_ns).collect();
    let figure = Latency {
        rate,
        tagged: summary_of(&tagged),
        missing: trials.len() as u64 - tagged.len() as u64,
        least_ns: delays().map(|delay| delay.min_ns).min(),
        greatest_ns: delays().map(|delay| delay.max_ns).max(),
        trials,
    };
    (figure, end)
}

/// Measures the frame loss rate from the maximum downwards until two rates in a row are without loss.
pub(crate) fn frame_loss(perform: Perform, settings: &TestSettings, size: u32) -> Found<FrameLoss> {
    let load = settings.load(size);
    let mut figure = FrameLoss { steps: Vec::new(), is_complete: false };
    let mut without_loss = 0;
    let mut share_ppm = 1_000_000;
    while share_ppm > 0 && without_loss < 2 {
        let plan = TrialPlan::lasting(size, load.share(share_ppm), settings.trial_ns, false);
        let trial = match perform(&plan) {
            Ok(trial) => trial,
            Err(end) => return (figure, Err(end)),
        };
        without_loss = if trial.lost == 0 && trial.sent > 0 { without_loss + 1 } else { 0 };
        let of_sent = |frames: u64| (trial.sent > 0).then(|| frames as f64 / trial.sent as f64);
        figure.steps.push(LossStep {
            share: f64::from(share_ppm) / 1_000_000.0,
            loss: of_sent(trial.lost),
            loss_of_device: of_sent(trial.lost_by_device()),
            trial,
        });
        share_ppm = share_ppm.saturating_sub(settings.loss_step_ppm.max(1));
    }
    figure.is_complete = true;
    (figure, Ok(()))
}

/// Searches several times for the longest burst, with the least gap between frames, of which no more is lost than is tolerated.
pub(crate) fn back_to_back(perform: Perform, settings: &TestSettings, size: u32) -> Found<BackToBack> {
    let rate = settings.load(size).most();
    let longest = settings.longest_burst(size);
    let mut bursts = Vec::new();
    let mut end = Ok(());
    for _ in 0..settings.burst_repeats {
        let mut found = LoadSearch::new(longest, settings.step(longest));
        let (trials, ended) = search(
            &mut found,
            settings.tolerance_ppm,
            |trial| trial.sent,
            |frames| perform(&TrialPlan { frame_size: size, rate, frames, tagged: false }),
        );
        if ended.is_err() && trials.is_empty() {
            end = ended;
            break;
        }
        bursts.push(BurstSearch { frames: found.figure(), limit: found.limit(), trials });
        if ended.is_err() {
            end = ended;
            break;
        }
    }
    // A search that was broken off has no figure.
    let frames: Vec<u64> =
        bursts.iter().filter(|burst| burst.limit != FigureLimit::Ended).map(|burst| burst.frames).collect();
    let trials = || bursts.iter().flat_map(|burst| &burst.trials);
    let figure = BackToBack {
        frames: summary_of(&frames),
        longest_tried: longest,
        offered_rate: mean(trials().map(|trial| trial.offered_rate)),
        bursts,
    };
    (figure, end)
}
