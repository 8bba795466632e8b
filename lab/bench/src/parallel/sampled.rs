//! The knowledge of flows that a sample of the packets gives, against the truth.

use flow::Sampled;
use serde_json::{Value, json};

/// The share of all packets with which a flow is a heavy hitter (Alipourfard et al. 2015, section 3.1).
const HEAVY: f64 = 0.002;

/// The accuracy of the estimates of a sample.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Accuracy {
    /// Flows whose packets lie within their bounds, as a share of all flows, sampled or not.
    within: f64,
    /// Heavy hitters among the flows that are estimated to be.
    precision: f64,
    /// Heavy hitters that are estimated to be.
    recall: f64,
    /// Heavy hitters among the flows of which even the lower bound is one.
    certain_precision: f64,
    /// Heavy hitters of which the upper bound is one.
    possible_recall: f64,
    heavy: usize,
}

impl Accuracy {
    /// A flow for each pair of its packets and of those that were sampled.
    pub(super) fn from_sampled(sampled: &Sampled, flows: impl Iterator<Item = (u64, u64)> + Clone) -> Self {
        let least = HEAVY * flows.clone().map(|(all, _)| all as f64).sum::<f64>();
        let (mut count, mut within) = (0_usize, 0_usize);
        let [mut heavy, mut taken, mut both, mut certain, mut certain_heavy, mut possible_heavy] =
            [0_usize; 6];
        for (all, seen) in flows {
            let estimate = sampled.packets(seen as f64);
            let Some(bounds) = estimate.bounds else { continue };
            let is_heavy = all as f64 >= least;
            count += 1;
            within += usize::from(bounds.contain(all as f64));
            heavy += usize::from(is_heavy);
            taken += usize::from(estimate.value >= least);
            both += usize::from(is_heavy && estimate.value >= least);
            certain += usize::from(bounds.lower >= least);
            certain_heavy += usize::from(is_heavy && bounds.lower >= least);
            possible_heavy += usize::from(is_heavy && bounds.upper >= least);
        }
        let share = |part: usize, whole: usize| if whole == 0 { 1.0 } else { part as f64 / whole as f64 };
        Self {
            within: share(within, count),
            precision: share(both, taken),
            recall: share(both, heavy),
            certain_precision: share(certain_heavy, certain),
            possible_recall: share(possible_heavy, heavy),
            heavy,
        }
    }

    /// The truth is within the bounds as often as they promise.
    pub(super) fn is_as_promised(&self) -> bool {
        const PROMISED: f64 = 0.95;
        [self.within, self.certain_precision, self.possible_recall].iter().all(|share| *share >= PROMISED)
    }

    /// Returns the accuracy as members of a line.
    pub(super) fn members(&self) -> Vec<(&'static str, Value)> {
        let share = |share: f64| json!(crate::line::to_digits(share, 4));
        vec![
            ("within_bounds", share(self.within)),
            ("heavy_hitters", json!(self.heavy)),
            ("precision", share(self.precision)),
            ("recall", share(self.recall)),
            ("precision_by_lower_bound", share(self.certain_precision)),
            ("recall_by_upper_bound", share(self.possible_recall)),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flow::Share;

    #[test]
    fn a_sample_of_all_is_the_truth_and_a_wrong_one_is_not() {
        let flows = [(100_u64, 100_u64), (1, 1), (100_000, 100_000)];
        let all = Sampled::new(Share::ALL, 100_101, 0, 64);
        let accuracy = Accuracy::from_sampled(&all, flows.into_iter());
        assert!(accuracy.is_as_promised() && accuracy.precision == 1.0 && accuracy.heavy == 1);
        let wrong = Accuracy::from_sampled(&all, flows.into_iter().map(|(all, seen)| (all, seen / 2)));
        assert!(!wrong.is_as_promised());
    }
}
