//! Heavy flows, and keys with many peers.

use super::{AnswerInput, QualifiedRows, SelectedFlows, estimated, largest_first, ranked};
use crate::ranking::Ranking;
use crate::spec::Limit;
use crate::state::{FamilyState, FlowCounter, StateKind};
use crate::task_answer::{EstimatedFlow, TaskRows};
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
    let is_cut_short_at = |least| find_in_both(asked, 0, least, 0).is_cut_short;
    let (mut rows, status) = ranked(asked, figure, (rows, more), is_cut_short, is_cut_short_at);
    if let TaskRows::Flows { flows, more, most_unlisted, .. } = &mut rows {
        // Those below the threshold, and those beyond the last row.
        let last = flows.last().filter(|_| *more > 0).map_or(0.0, |last| most_of(&last.estimate));
        *most_unlisted = match asked.state().total() {
            // Nothing was counted, in whatever structure.
            0 => Some(0),
            _ => asked.state().most_unlisted(threshold.saturating_sub(1).max(last.ceil() as u64)),
        };
    }
    (rows, status)
}

/// The most that a flow has of this estimate.
fn most_of(estimate: &Estimate) -> f64 {
    estimate.bounds.map_or(f64::INFINITY, |bounds| bounds.upper)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tasks::Tasks;
    use crate::{RunProperties, TaskSpec};
    use packet::{KeyV4, Seed};
    use sketch::{ExactConfig, HeavyHitters, Summary, Update, UpdateBurst};
    use std::collections::BTreeMap;

    /// Whatever a structure has room for, no flow without a row has more than it says.
    #[test]
    fn what_is_not_listed_has_no_more_than_is_said() {
        let spec = KeySpec::FIVE_TUPLE;
        let mut state = 7_u64;
        let mut draw = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as u32
        };
        let packets: Vec<u32> = (0..20_000).map(|_| (draw() % 900).min(draw() % 900)).collect();
        let mut truth: BTreeMap<u32, u64> = BTreeMap::new();
        packets.iter().for_each(|flow| *truth.entry(*flow).or_default() += 1);
        let (mut tight, mut certain) = (0, 0);
        for structure in
            ["exact", "space-saving", "space-saving-heap", "count-min", "conservative-update", "count-sketch"]
        {
            for memory in ["4KiB", "32KiB", "512KiB"] {
                for limit in ["top=5", "top=500", "top=1000", "count=30,top=3", "count=30"] {
                    let text = format!("heavy-hitters:structure={structure},memory={memory},{limit}");
                    let task: TaskSpec = text.parse().expect("a task");
                    let run = RunProperties {
                        key: spec,
                        is_paired: false,
                        packets: None,
                        workers: 1,
                        scatters: false,
                        shares: false,
                        seed: Seed::new(3),
                    };
                    let tasks = Tasks::plan(&[task], &run).expect("it can be counted");
                    // Two workers, each with flows of its own where the structure merges no others.
                    let is_apart = structure == "conservative-update";
                    let worker =
                        |at: usize, flow: u32| if is_apart { flow.is_multiple_of(2) } else { at < 12_000 };
                    let mut workers = [true, false].map(|own| {
                        let mut states = tasks.states_of(0).expect("memory");
                        let all = packets.iter().enumerate();
                        for (_, flow) in all.filter(|(at, flow)| worker(*at, **flow) == own) {
                            let source = [10, 0, (flow >> 8) as u8, *flow as u8];
                            let key =
                                KeyV4::new([source, [1; 4]].concat().try_into().expect("8 bytes"), [0; 4], 6);
                            let StateKind::Counted(counted) = &mut states[0].v4.of else { panic!("flows") };
                            counted.update(&[Update { key, hash: key.hash(&Seed::new(3)), weight: 1 }]);
                            states[0].v4.total += 1;
                        }
                        states
                    });
                    let [states, others] = &mut workers;
                    states[0].merge(&others[0]).expect("equal configurations");
                    let past = crate::past::BaselineWindows::default();
                    let asked =
                        AnswerInput { task: &tasks.tasks[0], states: &*states, past: &past, forecast: None };
                    let (TaskRows::Flows { flows, most_unlisted, .. }, _) = heavy_hitters(&asked) else {
                        panic!("rows")
                    };
                    let Some(most) = most_unlisted else {
                        assert_eq!(structure, "count-sketch", "{text}");
                        continue;
                    };
                    let listed: Vec<u32> = flows
                        .iter()
                        .filter_map(|flow| match flow.key.src_addr {
                            Some(std::net::IpAddr::V4(address)) => Some(address.to_bits() & 0xffff),
                            _ => None,
                        })
                        .collect();
                    let of_others =
                        truth.iter().filter(|(flow, _)| !listed.contains(flow)).map(|(_, count)| *count);
                    let largest = of_others.max().unwrap_or(0);
                    assert!(largest <= most, "{text}: {largest} > {most}");
                    tight += usize::from(largest == most);
                    certain += usize::from(most == 0);
                }
            }
        }
        assert!(tight > 5 && certain > 2, "{tight} {certain}");
    }

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
