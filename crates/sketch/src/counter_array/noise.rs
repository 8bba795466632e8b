//! The bounds of a list of flows: the largest error of the estimates of all flows.

use super::CounterArray;
use super::bounds::median_confidence;
use super::policy::Policy;
use crate::CounterCell;
use crate::deviations::{RowDeviations, least_not_reached, most_flows_by_empty};

impl<P: Policy> CounterArray<P> {
    /// Returns the bound that no flow's estimate is off by, with a probability of at least `confidence` for all flows together.
    pub(super) fn noise_of_all(&self, confidence: f64) -> f64 {
        let (depth, width) = (self.configuration.depth, self.configuration.width);
        let mean = P::expected_of(self.total(), width as f64);
        let deviations = |row| RowDeviations::new(self.row(row).map(|cell| (cell.to_f64() - mean).abs()));
        let rows: Vec<_> = (0..depth).map(deviations).collect();
        let failing = |shares: &[f64]| {
            if P::TAKES_LEAST {
                shares.iter().product::<f64>()
            } else {
                1.0 - median_confidence(depth, shares.iter().copied().fold(0.0, f64::max).min(1.0))
            }
        };
        let least = least_not_reached(&rows, (width, P::HIDDEN), (self.most_flows(), confidence), failing);
        // Less than that; the least row is off by a whole number.
        if P::TAKES_LEAST { least.ceil() - 1.0 } else { least }
    }

    /// Returns a number that is not less than that of the flows: their weights are 1 at least. Counters that only grow leave some empty, which tells more.
    fn most_flows(&self) -> f64 {
        let all = self.added.saturating_add(self.removed) as f64;
        if !P::TAKES_LEAST {
            return all;
        }
        let empty = self.row(0).filter(|cell| *cell == P::Cell::default()).count();
        most_flows_by_empty(empty, self.configuration.width).map_or(all, |most| all.min(most))
    }
}
