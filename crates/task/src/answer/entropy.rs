//! The evenness of traffic over flows: the entropy of the flow of a packet (of a byte) drawn at random, in
//! bits.

use super::{AnswerInput, OK, QualifiedRows};
use crate::state::{FamilyState, FlowCounter, StateKind};
use crate::task_answer::TaskRows;
use flow::{Bounds, Estimate};
use sketch::{ByteKey, SizeDistribution};

pub(super) fn rows(asked: &AnswerInput<'_>) -> QualifiedRows {
    let state = asked.state();
    let mut parts = vec![(state.v4.total as f64, estimate_part(&state.v4))];
    if let Some(v6) = &state.v6 {
        parts.push((v6.total as f64, estimate_part(v6)));
    }
    parts.retain(|(total, _)| *total > 0.0);
    let not_kept = not_kept(&state.v4) + state.v6.as_ref().map_or(0, not_kept);
    let status = match not_kept {
        0 => OK.to_owned(),
        weight => format!(
            "incomplete: {weight} of the weight is of flows for which there was no room; give it more memory"
        ),
    };
    let is_whole = status == OK;
    let bits = together(&parts).map(|bits| match is_whole {
        true => bits,
        false => Estimate::unbounded(bits.value),
    });
    (TaskRows::Entropy(bits), status)
}

/// Returns the weight of the flows for which an exact table had no room.
fn not_kept<K: ByteKey>(part: &FamilyState<K>) -> u64 {
    match &part.of {
        StateKind::Counted(counted) => match &**counted {
            FlowCounter::Exact(table) => table.not_kept(),
            _ => 0,
        },
        _ => 0,
    }
}

fn estimate_part<K: ByteKey>(part: &FamilyState<K>) -> Option<Estimate> {
    let StateKind::Counted(counted) = &part.of else { return None };
    match &**counted {
        // By the sizes in their order: that of the table depends on the seed, and with it the last digits of a sum over it.
        FlowCounter::Exact(table) => SizeDistribution::from_sizes(table.iter().map(|(_, weight)| weight))
            .entropy()
            .map(Estimate::exact),
        FlowCounter::SizeArray(array) => array.distribution().entropy().map(Estimate::unbounded),
        FlowCounter::StreamSample(sample) => sample.entropy(),
        _ => None,
    }
}

/// Combines disjoint sets of flows, each with its total: the entropy over the sets, and that within each.
fn together(parts: &[(f64, Option<Estimate>)]) -> Option<Estimate> {
    let total: f64 = parts.iter().map(|(total, _)| total).sum();
    let mut sum = Estimate::exact(0.0);
    for (part, bits) in parts {
        let (share, bits) = (part / total, (*bits)?);
        let of_set = -share * share.log2();
        let bounds = sum.bounds.zip(bits.bounds).map(|(sum, bits)| Bounds {
            lower: sum.lower + share * bits.lower + of_set,
            upper: sum.upper + share * bits.upper + of_set,
            confidence: (sum.confidence + bits.confidence - 1.0).max(0.0),
        });
        sum = Estimate { value: sum.value + share * bits.value + of_set, bounds };
    }
    (!parts.is_empty()).then_some(sum)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in super::super) fn entropy_of(counts: &[f64]) -> f64 {
        let total: f64 = counts.iter().sum();
        -counts.iter().map(|count| count / total * (count / total).log2()).sum::<f64>()
    }

    #[test]
    fn sets_of_flows_together_are_all_flows() {
        let (first, second) = ([5.0, 1.0, 1.0], [100.0, 50.0]);
        let part = |counts: &[f64]| (counts.iter().sum(), Some(Estimate::exact(entropy_of(counts))));
        let both = together(&[part(&first), part(&second)]).expect("flows");
        let truth = entropy_of(&[5.0, 1.0, 1.0, 100.0, 50.0]);
        assert!((both.value - truth).abs() < 1e-12, "{both:?} {truth}");
        assert_eq!(together(&[]), None);
    }
}
