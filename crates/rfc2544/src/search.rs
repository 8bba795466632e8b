//! The binary search for the greatest load that passes.

use crate::trial::{TrialOutcome, Verdict};
use serde::Serialize;

/// The reason why a figure is not greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum FigureLimit {
    /// The device lost frames at the next greater load that was tried.
    Device,
    /// The tester's ports could not offer a greater load, or may have lost the frames themselves: the device may be able to do more.
    Tester,
    /// The greatest load that there is passed: the link, or the longest burst.
    Maximum,
    /// The run ended before the search did.
    Ended,
}

/// A search among whole numbers: frames per second, or frames of a burst.
#[derive(Clone, Debug)]
pub struct LoadSearch {
    most: u64,
    step: u64,
    /// The greatest load that passed, 0 before one did.
    passed: u64,
    /// The greatest load that was offered in a trial that passed: up to a hundredth less where the load counts as reached.
    figure: u64,
    /// The least load that did not pass, and why.
    failed: Option<(u64, FigureLimit)>,
    /// The greatest load that was offered where a greater one was to be.
    offered: Option<u64>,
}

impl LoadSearch {
    /// A search for the greatest load from 1 to `most` that passes. It ends where a load that passes and one that does not are no more
    /// than `step` apart, at least 1.
    pub fn new(most: u64, step: u64) -> Self {
        Self { most, step: step.max(1), passed: 0, figure: 0, failed: None, offered: None }
    }

    /// Returns the load to try next, `None` at the end: the greatest at first, then the middle between one that passed and one that did
    /// not. Loads far beyond what was ever offered are left out.
    pub fn next(&self) -> Option<u64> {
        let Some((failed, _)) = self.failed else {
            return (self.passed < self.most).then_some(self.most);
        };
        if failed.saturating_sub(self.passed) <= self.step {
            return None;
        }
        let middle = self.passed + (failed - self.passed) / 2;
        let within_reach = self.offered.map_or(u64::MAX, |offered| offered.saturating_add(offered / 4));
        Some(middle.min(within_reach).max(self.passed + 1))
    }

    /// Takes note of a trial. `tried` is the load that was to be offered, `offered` the one that was.
    pub fn learn(&mut self, tried: u64, offered: u64, is_reached: bool, verdict: Verdict) {
        let was_offered = offered.min(tried);
        let offered = if is_reached { tried } else { was_offered };
        match verdict {
            Verdict::Passed => {
                self.figure = self.figure.max(was_offered);
                self.passed = self.passed.max(offered);
                if !is_reached {
                    self.fail(tried, FigureLimit::Tester);
                }
            }
            // It was lost at the load that was offered, unless that passed before.
            Verdict::Lost if offered > self.passed => self.fail(offered, FigureLimit::Device),
            Verdict::Lost => self.fail(tried, FigureLimit::Device),
            Verdict::Undecided => self.fail(tried, FigureLimit::Tester),
        }
        if !is_reached {
            self.offered = Some(self.offered.map_or(offered, |before| before.max(offered)));
        }
    }

    fn fail(&mut self, load: u64, limit: FigureLimit) {
        if self.failed.is_none_or(|(failed, _)| load <= failed) {
            self.failed = Some((load, limit));
        }
    }

    /// Returns the greatest load that was offered in a trial that passed; 0 if none did.
    pub fn figure(&self) -> u64 {
        self.figure
    }

    /// Returns what kept the device from a greater load.
    pub fn limit(&self) -> FigureLimit {
        match self.failed {
            _ if self.next().is_some() => FigureLimit::Ended,
            Some((_, limit)) => limit,
            None => FigureLimit::Maximum,
        }
    }

    /// Returns the number of trials that a search takes at the most where each load is reached.
    pub fn most_trials(most: u64, step: u64) -> u32 {
        1 + (most / step.max(1)).max(1).ilog2() + 1
    }
}

/// Searches with trials. `try_load` offers a load; `offered` tells of a trial which load was offered.
pub(crate) fn search<End>(
    search: &mut LoadSearch,
    tolerance_ppm: u32,
    offered: impl Fn(&TrialOutcome) -> u64,
    mut try_load: impl FnMut(u64) -> Result<TrialOutcome, End>,
) -> (Vec<TrialOutcome>, Result<(), End>) {
    let mut trials = Vec::new();
    while let Some(load) = search.next() {
        match try_load(load) {
            Ok(trial) => {
                search.learn(load, offered(&trial), trial.rate_reached, trial.verdict(tolerance_ppm));
                trials.push(trial);
            }
            Err(end) => return (trials, Err(end)),
        }
    }
    (trials, Ok(()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Searches a device that passes loads up to `limit`, with a sender that offers up to `reach`.
    fn found(most: u64, step: u64, limit: u64, reach: u64) -> (u64, FigureLimit, u32) {
        let (mut search, mut trials) = (LoadSearch::new(most, step), 0);
        while let Some(load) = search.next() {
            assert!((1..=most).contains(&load), "{load}");
            let offered = load.min(reach);
            let verdict = if offered <= limit { Verdict::Passed } else { Verdict::Lost };
            search.learn(load, offered, offered == load, verdict);
            trials += 1;
            assert!(trials < 200);
        }
        (search.figure(), search.limit(), trials)
    }

    #[test]
    fn the_exact_limit_of_each_device_is_found() {
        for most in [1, 2, 3, 10, 100] {
            for limit in 0..=most + 1 {
                let (passed, why, trials) = found(most, 1, limit, u64::MAX);
                assert_eq!(passed, limit.min(most));
                assert_eq!(why, if limit >= most { FigureLimit::Maximum } else { FigureLimit::Device });
                assert!(trials <= LoadSearch::most_trials(most, 1), "{trials} of {most}");
            }
        }
        let mut random = testbed::Random::new(3);
        for _ in 0..testbed::cases(500) {
            let most = 1 + random.below(1 << 40);
            let (limit, step) = (random.below(most), 1 + random.below(1 + most / 10));
            let (passed, why, trials) = found(most, step, limit, u64::MAX);
            assert!(passed <= limit && limit - passed < step, "{passed} of {limit} by {step}");
            assert_eq!(why, FigureLimit::Device);
            assert!(trials <= LoadSearch::most_trials(most, step), "{trials} of {most} by {step}");
        }
    }

    #[test]
    fn what_the_sender_cannot_offer_is_not_the_devices_limit() {
        let mut random = testbed::Random::new(4);
        for _ in 0..testbed::cases(500) {
            let most = 1 + random.below(1 << 30);
            let (reach, limit) = (1 + random.below(most), random.below(most + 1));
            let (passed, why, _) = found(most, 1, limit, reach);
            assert_eq!(passed, limit.min(reach));
            let expected = match (limit >= most, reach >= most, limit >= reach) {
                (true, true, _) => FigureLimit::Maximum,
                (_, _, true) => FigureLimit::Tester,
                _ => FigureLimit::Device,
            };
            assert_eq!(why, expected, "limit {limit}, reach {reach} of {most}");
        }
        // A sender that reaches a thousandth of the link does not take as many trials as the link would.
        let (passed, _, trials) = found(14_880_952, 14_880, 1 << 40, 500_000);
        assert_eq!(passed, 500_000);
        assert!(trials <= 6, "{trials}");
    }

    #[test]
    fn a_loss_that_may_be_the_ports_leaves_it_open() {
        let mut search = LoadSearch::new(100, 1);
        while let Some(load) = search.next() {
            search.learn(load, load, true, if load > 30 { Verdict::Undecided } else { Verdict::Passed });
        }
        assert_eq!((search.figure(), search.limit()), (30, FigureLimit::Tester));
    }

    #[test]
    fn a_search_ends_however_a_device_answers() {
        let mut random = testbed::Random::new(5);
        for _ in 0..testbed::cases(500) {
            let most = 1 + random.below(1000);
            let mut search = LoadSearch::new(most, 1);
            let mut trials = 0;
            while let Some(load) = search.next() {
                let verdict = [Verdict::Passed, Verdict::Lost, Verdict::Undecided][random.below(3) as usize];
                let is_reached = random.once_in(2);
                search.learn(load, random.below(load + 1), is_reached, verdict);
                trials += 1;
                assert!(trials <= 3000, "{search:?}");
            }
            assert!(search.figure() <= most);
        }
    }

    #[test]
    fn a_search_that_was_broken_off_says_so() {
        let mut search = LoadSearch::new(100, 1);
        search.learn(100, 100, true, Verdict::Lost);
        search.learn(50, 50, true, Verdict::Passed);
        assert_eq!((search.figure(), search.limit()), (50, FigureLimit::Ended));
    }
}
