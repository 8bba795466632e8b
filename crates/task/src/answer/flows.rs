//! Flows with much, and keys with many others.

use super::{Asked, Rows, estimated, ranked};
use crate::state::{Kept, Part};
use packet::{FlowKey, Key, KeySpec};
use record::Estimate;
use record::report::EstimatedFlow;
use summary::sketch::HeavyKeys;

/// Both families' flows with `threshold` or more, and whether there may be others.
pub(super) fn of_both(asked: &Asked<'_>, level: usize, threshold: u64) -> (Vec<(FlowKey, Estimate)>, bool) {
    let (state, key) = (&asked.states[level], asked.task.levels[level].key);
    let (mut flows, mut is_cut_short) = of_part(&state.v4, &key, threshold);
    if let Some(v6) = &state.v6 {
        let (more, cut) = of_part(v6, &key, threshold);
        flows.extend(more);
        is_cut_short |= cut;
    }
    (flows, is_cut_short)
}

fn of_part<K: Key>(part: &Part<K>, key: &KeySpec, threshold: u64) -> (Vec<(FlowKey, Estimate)>, bool) {
    if part.total == 0 {
        return (Vec::new(), false);
    }
    let found = match &part.of {
        Kept::Counted(counted) => counted.heavy_hitters(threshold),
        Kept::Contacts(contacts) => contacts.spreaders(threshold),
        Kept::Values(_) => HeavyKeys::new(Vec::new(), false),
    };
    let is_cut_short = found.is_cut_short;
    (estimated(found, key).collect(), is_cut_short)
}

pub(super) fn heavy_hitters(asked: &Asked<'_>) -> Rows {
    let threshold = asked.threshold(asked.state().total());
    let (flows, is_cut_short) = of_both(asked, 0, threshold);
    ranked(asked, asked.figure(), rows(flows), is_cut_short, |least| of_both(asked, 0, least).1)
}

pub(super) fn super_spreaders(asked: &Asked<'_>) -> Rows {
    let (flows, is_cut_short) = of_both(asked, 0, asked.threshold(asked.state().total()));
    ranked(asked, "contacts", rows(flows), is_cut_short, |least| of_both(asked, 0, least).1)
}

fn rows(flows: Vec<(FlowKey, Estimate)>) -> Vec<EstimatedFlow> {
    flows
        .into_iter()
        .map(|(key, estimate)| EstimatedFlow { key, prefix: None, estimate, own: None })
        .collect()
}
