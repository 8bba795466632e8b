//! The tests against simulated devices, whose limits are known.

use super::*;
use crate::arrivals::{ArrivalCounts, Delays};
use crate::search::FigureLimit;
use crate::trial::SentCounts;

/// A device that forwards up to `limit` frames per second and keeps up to `queue` frames in between, behind a sender that sends up to
/// `reach` frames per second.
struct Simulated {
    limit: u64,
    queue: u64,
    reach: u64,
    /// The number of the trial at which it ends.
    ends_at: u64,
    trials: u64,
    /// The time that all trials take, nanoseconds, without the waits.
    time_ns: u64,
}

const ENDLESS: u64 = u64::MAX;

impl Simulated {
    fn new(limit: u64, queue: u64, reach: u64) -> Self {
        Self { limit, queue, reach, ends_at: ENDLESS, trials: 0, time_ns: 0 }
    }
}

impl DeviceUnderTest for Simulated {
    fn trial(&mut self, plan: &TrialPlan) -> Result<TrialOutcome, TrialEnd> {
        if self.trials == self.ends_at {
            return Err(TrialEnd::Stopped);
        }
        self.trials += 1;
        let speed = plan.rate.min(self.reach);
        // One frame after the other, each 1/speed later, until all are sent or the time is over.
        let most = u128::from(speed) * u128::from(plan.deadline_ns()) / 1_000_000_000;
        let sent = plan.frames.min(most as u64);
        let elapsed_ns = (u128::from(sent) * 1_000_000_000 / u128::from(speed)) as u64;
        self.time_ns += elapsed_ns;
        let forwarded = u128::from(self.limit) * u128::from(elapsed_ns) / 1_000_000_000;
        let received = sent.min(forwarded as u64 + self.queue);
        let delays = Delays {
            frames: received,
            min_ns: 1000,
            max_ns: 3000,
            sum_ns: u128::from(received) * 2000,
            tagged_ns: plan.tagged.then_some(2000 + self.trials),
            ..Delays::default()
        };
        let arrived = ArrivalCounts { received, delays, ..ArrivalCounts::default() };
        let sent = SentCounts { frames: sent, elapsed_ns, ..SentCounts::default() };
        Ok(TrialOutcome::new(plan, &sent, &arrived, 0))
    }
}

/// A link of 100 Mbit/s: 148,809 of the smallest frames per second.
fn settings() -> TestSettings {
    TestSettings {
        sizes: vec![64, 1518],
        resolution_ppm: 1,
        latency_repeats: 3,
        burst_repeats: 2,
        ..TestSettings::of_rfc(100_000_000)
    }
}

fn figures(device: &mut Simulated, settings: &TestSettings) -> (Vec<SizeFigures>, Result<(), TrialEnd>) {
    run(device, settings, &mut |_| {})
}

#[test]
fn the_throughput_is_the_devices_limit() {
    for limit in [1, 5_000, 8_127, 8_128, 77_777, 148_808] {
        let mut device = Simulated::new(limit, 0, ENDLESS);
        let (sizes, end) =
            figures(&mut device, &TestSettings { tests: vec![Test::Throughput], ..settings() });
        assert_eq!(end, Ok(()));
        for (size, most) in sizes.iter().zip([148_809, 8_127]) {
            assert_eq!(size.maximum, most);
            let found = size.throughput.as_ref().unwrap();
            // Each load below the limit passes, and the resolution is one frame per second.
            assert_eq!(found.frames_per_second, limit.min(most), "{limit}");
            assert_eq!(found.limit, if limit < most { FigureLimit::Device } else { FigureLimit::Maximum });
            assert_eq!(
                found.bits_per_second,
                found.frames_per_second * (u64::from(size.frame_size) + 20) * 8
            );
            let passed = found.trials.iter().filter(|trial| trial.lost == 0).map(|trial| trial.rate).max();
            assert_eq!(passed.unwrap_or(0), found.frames_per_second);
        }
    }
}

#[test]
fn a_slow_sender_is_named() {
    let mut device = Simulated::new(ENDLESS >> 40, 0, 1000);
    let (sizes, _) = figures(&mut device, &TestSettings { tests: vec![Test::Throughput], ..settings() });
    let found = sizes[0].throughput.as_ref().unwrap();
    assert_eq!((found.frames_per_second, found.limit), (1000, FigureLimit::Tester));
    assert!(found.trials.iter().all(|trial| trial.lost == 0 && trial.rate_reached == (trial.rate <= 1010)));
}

#[test]
fn the_longest_burst_is_the_devices_queue() {
    let tests = TestSettings { tests: vec![Test::BackToBack], ..settings() };
    // It forwards half of what comes, so that a queue of 500 frames takes a burst of 1,000; of odd times it rounds down.
    let mut device = Simulated::new(74_405, 500, ENDLESS);
    let found = figures(&mut device, &tests).0.remove(0).back_to_back.unwrap();
    let frames = found.frames.unwrap();
    assert_eq!((frames.repetitions, frames.min, frames.max), (2, frames.max, frames.min));
    assert!((998..=1002).contains(&frames.max), "{}", frames.max);
    assert!(found.bursts.iter().all(|burst| burst.limit == FigureLimit::Device));
    assert_eq!(found.longest_tried, 297_618);
    // One that forwards nothing but what its queue has.
    let found = figures(&mut Simulated::new(0, 123, ENDLESS), &tests).0.remove(0).back_to_back.unwrap();
    assert_eq!((found.frames.unwrap().max, found.bursts.len()), (123, 2));
    // One that forwards all.
    let found = figures(&mut Simulated::new(148_809, 0, ENDLESS), &tests).0.remove(0).back_to_back.unwrap();
    assert_eq!((found.frames.unwrap().min, found.bursts[0].limit), (297_618, FigureLimit::Maximum));
}

#[test]
fn frame_loss_ends_with_two_rates_without_loss() {
    let tests = TestSettings { tests: vec![Test::FrameLoss], ..settings() };
    let found = figures(&mut Simulated::new(52_083, 0, ENDLESS), &tests).0.remove(0).frame_loss.unwrap();
    assert!(found.is_complete);
    let shares: Vec<f64> = found.steps.iter().map(|step| step.share).collect();
    assert_eq!(shares, [1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2]);
    let loss: Vec<i64> =
        found.steps.iter().map(|step| (step.loss.unwrap() * 1000.0).round() as i64).collect();
    // 1 - 35 % / rate.
    assert_eq!(loss, [650, 611, 563, 500, 417, 300, 125, 0, 0]);
    // One that loses at each rate has them all.
    let found = figures(&mut Simulated::new(1, 0, ENDLESS), &tests).0.remove(0).frame_loss.unwrap();
    assert_eq!((found.steps.len(), found.is_complete), (10, true));
}

#[test]
fn latency_is_measured_at_the_throughput() {
    let tests = TestSettings { tests: vec![Test::Latency], ..settings() };
    let mut device = Simulated::new(5000, 0, ENDLESS);
    let (sizes, _) = figures(&mut device, &tests);
    let (throughput, latency) = (sizes[0].throughput.as_ref().unwrap(), sizes[0].latency.as_ref().unwrap());
    assert_eq!((latency.rate, latency.trials.len()), (throughput.frames_per_second, 3));
    assert!(latency.trials.iter().all(|trial| trial.planned == 5000 * 120));
    let tagged = latency.tagged.unwrap();
    assert_eq!((tagged.repetitions, latency.missing), (3, 0));
    // The device delays the tagged frame by one more in each trial.
    assert_eq!((tagged.mean, tagged.max - tagged.min), ((tagged.min + 1) as f64, 2));
    assert_eq!((latency.least_ns, latency.greatest_ns), (Some(1000), Some(3000)));
    assert!(sizes[0].frame_loss.is_none() && sizes[0].back_to_back.is_none());
}

#[test]
fn a_device_that_forwards_nothing_is_found_at_once() {
    let mut device = Simulated::new(0, 0, ENDLESS);
    let (sizes, end) = figures(&mut device, &settings());
    assert_eq!(end, Err(TrialEnd::NothingArrived { sent: 100, foreign: 0 }));
    assert_eq!((device.trials, sizes[0].trials().count()), (1, 0));
}

#[test]
fn an_early_end_leaves_what_was_measured() {
    let whole = {
        let mut device = Simulated::new(5000, 50, ENDLESS);
        assert_eq!(figures(&mut device, &settings()).1, Ok(()));
        device.trials
    };
    for ends_at in 0..whole {
        let mut device = Simulated { ends_at, ..Simulated::new(5000, 50, ENDLESS) };
        let (sizes, end) = figures(&mut device, &settings());
        assert_eq!(end, Err(TrialEnd::Stopped));
        let trials: usize = sizes.iter().map(|size| size.trials().count()).sum();
        assert_eq!(trials as u64, ends_at.saturating_sub(1), "the first trial has no figure");
        let throughputs = sizes.iter().filter_map(|size| size.throughput.as_ref());
        assert!(throughputs.filter(|found| found.limit == FigureLimit::Ended).count() <= 1);
    }
}

#[test]
fn a_run_is_not_longer_than_was_said() {
    for (limit, queue) in [(1, 0), (5000, 50), (148_809, 0), (70_000, 1000)] {
        let tests = settings();
        let mut device = Simulated::new(limit, queue, ENDLESS);
        assert_eq!(figures(&mut device, &tests).1, Ok(()));
        let waits = device.trials * (2 * tests.settle_ns + tests.pause_ns);
        assert!(device.time_ns + waits <= tests.longest_run_ns(), "{limit}");
    }
}

#[test]
fn each_trial_is_told_of_before_it_begins() {
    let mut steps = Vec::new();
    let mut device = Simulated::new(5000, 0, ENDLESS);
    let (_, end) = run(&mut device, &settings(), &mut |step| steps.push(*step));
    assert_eq!(end, Ok(()));
    assert!(steps.iter().enumerate().all(|(at, step)| step.performed == at as u64));
    let mut tests: Vec<_> = steps.iter().map(|step| step.test).collect();
    tests.dedup();
    let all = Test::ALL.map(Some);
    assert_eq!((tests[0], &tests[1..]), (None, &all[..]));
}
