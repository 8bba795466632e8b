//! Answers about the packets on the wire: packets that were lost widen the bounds.

use super::{OK, weight_of};
use crate::TaskKind;
use crate::spec::TaskSpec;
use crate::task_answer::{TaskAnswer, TaskRows};
use flow::{Bounds, Estimate};

/// Widens the bounds of an answer by packets that were lost. `lost`: packets lost in the window, and, of a change, those lost in the windows
/// that it is measured against. `None`, if a source cannot know, leaves the bounds unchanged: they hold for what was seen.
pub(crate) fn widen(answer: &mut TaskAnswer, spec: &TaskSpec, lost: Option<u64>, earlier: Option<u64>) {
    let (Some(lost), Some(earlier)) = (lost, earlier) else { return };
    answer.note.lost = Some(lost);
    if (lost, earlier) == (0, 0) {
        return;
    }
    answer.is_exact = false;
    let total = answer.note.total as f64;
    let weight = weight_of(lost, spec.weight);
    match &mut answer.rows {
        TaskRows::Flows { flows, most_unlisted, .. } => {
            *most_unlisted = most_unlisted.map(|most| most.saturating_add(weight));
            // Of an average, each window's loss is a part of the mean.
            let windows = spec.windows_back().max(1) as u64;
            let earlier = weight_of(earlier, spec.weight).div_ceil(windows);
            for flow in flows {
                flow.estimate = match spec.kind {
                    TaskKind::Change => flow.estimate.widened_by_losses(Some(earlier), Some(weight)),
                    // Each packet that was lost may also have been the only one to its peer.
                    _ => flow.estimate.widened_by_loss(Some(weight)),
                };
                flow.own = flow.own.map(|own| own.widened_by_loss(Some(weight)));
            }
        }
        TaskRows::Entropy(bits) => *bits = bits.map(|bits| entropy(bits, weight, total)),
        TaskRows::Inner { product, totals, .. } => *product = inner(*product, *totals, weight),
        // Each packet that was lost may have been the only one with its value.
        TaskRows::Distinct(values) => *values = values.widened_by_loss(Some(lost)),
        // A lost packet may lie anywhere: it moves all ranks.
        TaskRows::Quantiles { quantiles, .. } => quantiles.iter_mut().for_each(|row| row.bounds = None),
        TaskRows::Sizes { .. } => {}
    }
    let is_unbounded = matches!(answer.rows, TaskRows::Sizes { .. } | TaskRows::Quantiles { .. });
    if is_unbounded && answer.status == OK {
        answer.status = format!("of what was seen: {lost} packets were lost");
    }
}

/// Widens the bounds of an inner product: what was lost may have been of both streams, and of the key that has all of the other one.
fn inner(product: Estimate, totals: [u64; 2], lost: u64) -> Estimate {
    let [a, b, lost] = [totals[0], totals[1], lost].map(|total| total as f64);
    let bounds =
        product.bounds.map(|bounds| Bounds { upper: bounds.upper + lost * (a + b + lost), ..bounds });
    Estimate { bounds, ..product }
}

/// Widens the bounds of an entropy: lost packets are a further set, of one flow or each of a different one, of flows that
/// were seen or not. Mixing adds at most the entropy of which set a packet is of.
fn entropy(bits: Estimate, lost: u64, total: f64) -> Estimate {
    let bounds = bits.bounds.map(|bounds| {
        if lost == 0 {
            return bounds;
        }
        let lost = lost as f64;
        let share = lost / (total + lost);
        let of_set = -share * share.log2() - (1.0 - share) * (1.0 - share).log2();
        Bounds {
            lower: (1.0 - share) * bounds.lower,
            upper: (1.0 - share) * bounds.upper + share * lost.log2() + of_set,
            ..bounds
        }
    });
    Estimate { bounds, ..bits }
}

#[cfg(test)]
mod tests {
    use super::super::entropy::tests::entropy_of;
    use super::*;

    #[test]
    fn losses_widen_the_bounds_so_that_any_lost_packets_are_within() {
        let seen = [40.0, 30.0, 20.0, 10.0];
        let bounds = entropy(Estimate::exact(entropy_of(&seen)), 25, 100.0).bounds.expect("bounds");
        let mut each_its_own = seen.to_vec();
        each_its_own.extend([1.0; 25]);
        let mut spread = seen.map(|count| count + 6.0).to_vec();
        spread.push(1.0);
        for wire in [vec![65.0, 30.0, 20.0, 10.0], each_its_own, spread, vec![40.0, 30.0, 20.0, 10.0, 25.0]] {
            // The second is at the bound itself, except for rounding.
            let off = (entropy_of(&wire) - bounds.upper).max(bounds.lower - entropy_of(&wire));
            assert!(off < 1e-12, "{bounds:?} {}", entropy_of(&wire));
        }
        assert_eq!(entropy(Estimate::exact(1.0), 0, 10.0), Estimate::exact(1.0));
    }
}
