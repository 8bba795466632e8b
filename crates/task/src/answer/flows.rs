//! Heavy flows, and keys with many peers.

use super::{AnswerInput, QualifiedRows, SelectedFlows, estimated, largest_first, ranked};
use crate::ranking::Ranking;
use crate::spec::Limit;
use crate::state::{FamilyState, FlowCounter, StateKind};
use crate::task_answer::EstimatedFlow;
use flow::Estimate;
use packet::{FlowKey, Key, KeySpec};
use sketch::{ByteKey, ExactCounts, Frequency, HeavyKeys};
use std::convert::Infallible;

/// Returns both families' flows with `threshold` or more; those of each that are not among its `most` largest may
/// only be counted.
pub(super) fn find_in_both(
    asked: &AnswerInput<'_>,
    level: usize,
    threshold: u64,
    most: usize,
) -> SelectedFlows {
    let (state, key) = (&asked.states[level], asked.task.levels[level].key);
    let is_any = asked.task.spec.limit == Limit::Any;
    let mut found = find_in_part(&state.v4, &key, (threshold, is_any), most);
    if let Some(v6) = &state.v6 {
        let v6 = find_in_part(v6, &key, (threshold, is_any), most);
        found.flows.extend(v6.flows);
        found.more += v6.more;
        found.is_cut_short |= v6.is_cut_short;
    }
    found
}

fn find_in_part<K: ByteKey>(
    part: &FamilyState<K>,
    key: &KeySpec,
    (threshold, is_any): (u64, bool),
    most: usize,
) -> SelectedFlows {
    if part.total == 0 {
        return SelectedFlows::default();
    }
    let found = match &part.of {
        StateKind::Counted(counted) => match &**counted {
            FlowCounter::Exact(table) => return largest(table, key, threshold, most),
            counted if is_any && most > 0 && counted.is_searched() => {
                let search = |threshold: f64| {
                    let found = counted.heavy_hitters(threshold.ceil() as u64);
                    Ok::<_, Infallible>((found.keys, found.is_cut_short))
                };
                let Ok((keys, is_cut_short)) =
                    largest_first((part.total as f64, threshold as f64), most, search);
                HeavyKeys { keys, is_cut_short }
            }
            counted => counted.heavy_hitters(threshold),
        },
        StateKind::Contacts(contacts) => contacts.spreaders(threshold),
        StateKind::Values(_) | StateKind::Products(_) | StateKind::Shared(_) => {
            HeavyKeys::new(Vec::new(), false)
        }
    };
    let is_cut_short = found.is_cut_short;
    SelectedFlows { flows: estimated(found, key).collect(), more: 0, is_cut_short }
}

/// Returns no more flows of an exact table than an answer has rows, as the table may keep millions of flows.
fn largest<K: Key>(table: &ExactCounts<K>, spec: &KeySpec, threshold: u64, most: usize) -> SelectedFlows {
    let (mut ranking, mut all) = (Ranking::new(most), 0);
    for (key, sum) in table.iter().filter(|(_, sum)| *sum >= threshold) {
        all += 1;
        if ranking.wants(sum) {
            ranking.offer(sum, key.flow_key(spec), *key);
        }
    }
    let flows: Vec<(FlowKey, Estimate)> = ranking.take(|flow, key: K| (flow, table.estimate(&key)));
    SelectedFlows { more: all - flows.len(), flows, is_cut_short: table.not_kept() > 0 }
}

pub(super) fn heavy_hitters(asked: &AnswerInput<'_>) -> QualifiedRows {
    let threshold = asked.threshold(asked.state().total());
    find_largest(asked, asked.figure(), threshold)
}

pub(super) fn super_spreaders(asked: &AnswerInput<'_>) -> QualifiedRows {
    find_largest(asked, super::CONTACTS, asked.threshold(asked.state().total()))
}

fn find_largest(asked: &AnswerInput<'_>, figure: &'static str, threshold: u64) -> QualifiedRows {
    let most = asked.task.spec.top;
    let SelectedFlows { flows, more, is_cut_short } = find_in_both(asked, 0, threshold, most);
    let row = |(key, estimate)| EstimatedFlow { key, prefix: None, estimate, own: None };
    let rows = flows.into_iter().map(row).collect();
    ranked(asked, figure, (rows, more), is_cut_short, |least| find_in_both(asked, 0, least, 0).is_cut_short)
}

#[cfg(test)]
mod tests {
    use super::*;
    use packet::{KeyV4, Seed};
    use sketch::{ExactConfig, HeavyHitters, Summary, Update, UpdateBurst};

    #[test]
    fn the_largest_are_those_of_a_full_sort() {
        let (seed, spec) = (Seed::new(3), KeySpec::FIVE_TUPLE);
        let mut table = ExactCounts::new(&ExactConfig::new(1_000, seed)).expect("memory");
        for flow in 0..1_000_u32 {
            // Many of the same weight, whose keys have another order in the table's words than in reports.
            let [a, b, c, d] = flow.wrapping_mul(0x9e37_79b9).to_be_bytes();
            let key = KeyV4::new([a, b, 0, 0, c, d, 0, 1], [a, 1, d, 2], 6);
            table.update_burst(&[Update {
                key,
                hash: key.hash(&seed),
                weight: u64::from(flow * 7 % 13) + 1,
            }]);
        }
        for (threshold, most) in [(1, 1), (1, 10), (1, 999), (1, 5_000), (7, 100), (13, 3), (99, 10), (1, 0)]
        {
            let mut all: Vec<_> = estimated(table.heavy_hitters(threshold), &spec).collect();
            all.sort_by(|(key, a), (other, b)| b.value.total_cmp(&a.value).then_with(|| key.cmp(other)));
            let found = largest(&table, &spec, threshold, most);
            let kept = most.min(all.len());
            assert_eq!(
                (&found.flows[..], found.more),
                (&all[..kept], all.len() - kept),
                "{threshold} {most}"
            );
        }
    }
}
