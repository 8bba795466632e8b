//! The number of flows of each size.

use super::{AnswerInput, OK, QualifiedRows};
use crate::state::{FamilyState, FeedState, FlowCounter, StateKind};
use crate::task_answer::TaskRows;
use sketch::{ByteKey, SizeDistribution, Summary};

pub(super) fn rows(asked: &AnswerInput<'_>) -> QualifiedRows {
    let (distribution, status) = distribution(asked.state());
    let bins = asked.task.spec.bins;
    (TaskRows::Sizes { bins, sizes: distribution.iter().collect() }, status)
}

/// The distribution of both families together, whose flows are distinct.
fn distribution(state: &FeedState) -> (SizeDistribution, String) {
    let (mut all, mut not_kept) = sizes_of_part(&state.v4);
    if let Some(v6) = &state.v6 {
        let (more, more_not_kept) = sizes_of_part(v6);
        all.merge(&more);
        not_kept += more_not_kept;
    }
    let status = match not_kept {
        0 => OK.to_owned(),
        packets => {
            format!("incomplete: {packets} packets of flows for which there was no room; give it more memory")
        }
    };
    (all, status)
}

fn sizes_of_part<K: ByteKey>(part: &FamilyState<K>) -> (SizeDistribution, u64) {
    match &part.of {
        StateKind::Counted(counted) if part.total > 0 => match &**counted {
            FlowCounter::Exact(table) => {
                (SizeDistribution::from_sizes(table.iter().map(|(_, packets)| packets)), table.not_kept())
            }
            FlowCounter::SizeArray(array) => (array.distribution(), 0),
            FlowCounter::PacketSample(sample) => {
                let one_in = sample.configuration().one_in;
                let sizes = sample.iter().map(|(_, packets)| packets);
                (SizeDistribution::from_sample(sizes, one_in, part.total as f64), sample.not_kept())
            }
            _ => (SizeDistribution::default(), part.total),
        },
        _ => (SizeDistribution::default(), 0),
    }
}
