//! The largest error of the estimates of all flows, by what the counters hold: the bounds of a list, which names the flows with the largest
//! estimates, among which those are frequent that share their counters.
//!
//! The places of a flow are drawn independently of what the other flows have added. In a row it is therefore off by more than B
//! with a probability of no more than the share of counters that are off by more than B, and what that makes of all rows,
//! times the number of flows, bounds the probability that any flow is.

use super::CounterArray;
use super::bounds::median_confidence;
use super::policy::Policy;
use crate::CounterCell;

/// Classes of a number, eight in a power of two, so that one pass over the counters is enough: integers below 16 each have their own.
const CLASSES: usize = 64 * 8 + 2;
/// Bits of a `f64` below those that tell its class.
const SHIFT: u32 = f64::MANTISSA_DIGITS - 1 - 3;
/// The class of 1; all below are 0.
const ONE: u64 = 1_f64.to_bits() >> SHIFT;
/// A row of fewer empty counters than one in this many does not tell how many flows it has.
const LEAST_EMPTY: usize = 50;

fn class_of(deviation: f64) -> usize {
    if deviation < 1.0 {
        0
    } else {
        ((deviation.to_bits() >> SHIFT) - ONE + 1).min(CLASSES as u64 - 1) as usize
    }
}

/// The least number of a class.
fn least_of(class: usize) -> f64 {
    if class == 0 { 0.0 } else { f64::from_bits((ONE + class as u64 - 1) << SHIFT) }
}

impl<P: Policy> CounterArray<P> {
    /// Returns the bound that no flow's estimate is off by, with a probability of at least `confidence` for all flows together.
    pub(super) fn noise_of_all(&self, confidence: f64) -> f64 {
        let (depth, width) = (self.configuration.depth, self.configuration.width);
        let mean = P::expected(self);
        // By row and class: how many counters.
        let mut classes = vec![[0_usize; CLASSES]; depth];
        for (row, classes) in classes.iter_mut().enumerate() {
            self.row(row).for_each(|cell| classes[class_of((cell.to_f64() - mean).abs())] += 1);
        }
        let flows = self.most_flows();
        let mut beyond = vec![0_usize; depth];
        // From the farthest inwards: all from `class` on are rare enough.
        let mut class = CLASSES;
        while class > 1 {
            beyond.iter_mut().zip(&classes).for_each(|(sum, row)| *sum += row[class - 1]);
            // A flow's own weight may hide what others have at its place.
            let shares = beyond.iter().map(|sum| (*sum as f64 + P::HIDDEN) / width as f64);
            let failing = if P::TAKES_LEAST {
                shares.product::<f64>()
            } else {
                1.0 - median_confidence(depth, shares.fold(0.0, f64::max).min(1.0))
            };
            if flows * failing > 1.0 - confidence {
                break;
            }
            class -= 1;
        }
        // Less than that; the least row is off by a whole number.
        if P::TAKES_LEAST { least_of(class).ceil() - 1.0 } else { least_of(class) }
    }

    /// No fewer than there are flows: their weights are 1 at least. Twice the estimate by linear counting (Whang et al. 1990),
    /// where counters that only grow leave some empty.
    fn most_flows(&self) -> f64 {
        let all = self.added.saturating_add(self.removed) as f64;
        let width = self.configuration.width;
        let empty = self.row(0).filter(|cell| *cell == P::Cell::default()).count();
        let tells = P::TAKES_LEAST && empty * LEAST_EMPTY >= width && empty >= LEAST_EMPTY;
        if tells { all.min(1.0 + 2.0 * width as f64 * (width as f64 / empty as f64).ln()) } else { all }
    }
}
