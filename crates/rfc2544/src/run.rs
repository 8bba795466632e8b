//! A run: the tests one after the other, each at all frame sizes.

use crate::procedures::{back_to_back, frame_loss, latency, throughput};
use crate::report::SizeFigures;
use crate::settings::{Test, TestSettings};
use crate::trial::{DeviceUnderTest, TrialEnd, TrialOutcome, TrialPlan};

/// Frames of the first trial, which shows that the device forwards at all, and their rate.
const FIRST_FRAMES: u64 = 100;
const FIRST_RATE: u64 = 100;

/// The trial that a run is about to perform.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TrialStep {
    /// The test that it is of; `None` of the first trial, which shows that the device forwards at all.
    pub test: Option<Test>,
    /// The trial.
    pub plan: TrialPlan,
    /// Trials that were performed.
    pub performed: u64,
}

/// Performs the tests of the settings. `watch` is told of each trial before it begins. Returns the figures of all sizes, and why the run
/// ended early, if it did: the figures are then those of the trials until then.
pub fn run(
    device: &mut dyn DeviceUnderTest,
    settings: &TestSettings,
    watch: &mut dyn FnMut(&TrialStep),
) -> (Vec<SizeFigures>, Result<(), TrialEnd>) {
    let mut sizes: Vec<SizeFigures> = settings
        .sizes
        .iter()
        .map(|&frame_size| SizeFigures {
            frame_size,
            maximum: settings.load(frame_size).most(),
            throughput: None,
            latency: None,
            frame_loss: None,
            back_to_back: None,
        })
        .collect();
    let mut performed = 0;
    let mut perform = |test: Option<Test>, plan: &TrialPlan| {
        watch(&TrialStep { test, plan: *plan, performed });
        performed += 1;
        device.trial(plan)
    };
    let mut end = first_trial(&mut |plan| perform(None, plan), &settings.sizes);
    for test in Test::ALL.into_iter().filter(|&test| settings.has(test)) {
        for size in &mut sizes {
            if end.is_ok() {
                end = perform_test(test, &mut |plan| perform(Some(test), plan), settings, size);
            }
        }
    }
    (sizes, end)
}

/// Sends some frames of the smallest size slowly: of a device that forwards nothing there is nothing to measure.
fn first_trial(
    perform: &mut dyn FnMut(&TrialPlan) -> Result<TrialOutcome, TrialEnd>,
    sizes: &[u32],
) -> Result<(), TrialEnd> {
    let Some(&frame_size) = sizes.iter().min() else { return Ok(()) };
    let plan = TrialPlan { frame_size, rate: FIRST_RATE, frames: FIRST_FRAMES, tagged: false };
    let trial = perform(&plan)?;
    let arrived = trial.received + trial.duplicates + trial.wrong_length;
    if arrived == 0 {
        return Err(TrialEnd::NothingArrived { sent: trial.sent, foreign: trial.foreign });
    }
    Ok(())
}

fn perform_test(
    test: Test,
    perform: &mut dyn FnMut(&TrialPlan) -> Result<TrialOutcome, TrialEnd>,
    settings: &TestSettings,
    size: &mut SizeFigures,
) -> Result<(), TrialEnd> {
    let frame_size = size.frame_size;
    let end;
    match test {
        Test::Throughput => {
            let (figure, ended) = throughput(perform, settings, frame_size);
            end = ended;
            size.throughput = (!figure.trials.is_empty()).then_some(figure);
        }
        Test::Latency => {
            let rate = size.throughput.as_ref().map_or(0, |figure| figure.frames_per_second);
            if rate == 0 {
                return Ok(());
            }
            let (figure, ended) = latency(perform, settings, frame_size, rate);
            end = ended;
            size.latency = (!figure.trials.is_empty()).then_some(figure);
        }
        Test::FrameLoss => {
            let (figure, ended) = frame_loss(perform, settings, frame_size);
            end = ended;
            size.frame_loss = (!figure.steps.is_empty()).then_some(figure);
        }
        Test::BackToBack => {
            let (figure, ended) = back_to_back(perform, settings, frame_size);
            end = ended;
            size.back_to_back = (!figure.bursts.is_empty()).then_some(figure);
        }
    }
    end
}

#[cfg(test)]
mod tests;
