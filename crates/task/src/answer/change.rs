//! Flows whose traffic changed: against the last window, or against the forecast of a moving average over
//! several (Krishnamurthy, Sen, Zhang, Chen, IMC 2003).

use super::{AnswerInput, Rows, estimated, ranked};
use crate::spec::Against;
use crate::state::{Counted, Part, State, StateKind};
use crate::task_answer::{EstimatedFlow, TaskRows};
use flow::Estimate;
use packet::{FlowKey, Key, KeySpec};
use std::collections::BTreeMap;
use summary::sketch::{
    ExactCounts, FlowSample, Frequency, HeavyKeys, Merge, MvSketch, Policy, Signed, SignedCell, Summary,
    Tracked, Unmergeable,
};

pub(super) fn rows(asked: &AnswerInput<'_>) -> Rows {
    let spec = &asked.task.spec;
    let past = &asked.past.windows;
    let needed = spec.windows_back();
    let empty =
        TaskRows::Flows { key: asked.task.key, figure: "change", is_hierarchy: false, flows: Vec::new() };
    if past.len() < needed {
        let how = match spec.against {
            Against::Last => "no window came before this one".to_owned(),
            Against::Average(windows) => format!("{} of {windows} windows came before this one", past.len()),
        };
        return (empty, format!("nothing to compare with: {how}"));
    }
    let before: Vec<&State> = past.iter().map(|states| &states[0]).collect();
    let state = asked.state();
    let mean = before.iter().map(|state| state.total() as f64).sum::<f64>() / needed as f64;
    let threshold = asked.threshold(state.total().max(mean as u64));
    let key = &asked.task.key;
    let v4: Vec<&Part<_>> = before.iter().map(|state| &state.v4).collect();
    let changes = |threshold| -> Result<Changes, Unmergeable> {
        let (mut flows, mut is_cut_short) = of_part(&state.v4, &v4, threshold, key)?;
        if let Some(v6) = &state.v6 {
            let before: Vec<&Part<_>> = before.iter().filter_map(|state| state.v6.as_ref()).collect();
            let (more, more_cut) = of_part(v6, &before, threshold, key)?;
            flows.extend(more);
            is_cut_short |= more_cut;
        }
        Ok((flows, is_cut_short))
    };
    let (flows, is_cut_short) = match changes(threshold) {
        Ok(changes) => changes,
        Err(error) => return (empty, format!("incomplete: {error}")),
    };
    let row = |(key, estimate)| EstimatedFlow { key, prefix: None, estimate, own: None };
    let rows = flows.into_iter().map(row).collect();
    ranked(asked, "change", (rows, 0), is_cut_short, |least| changes(least).is_ok_and(|(_, is_cut)| is_cut))
}

type Changes = (Vec<(FlowKey, Estimate)>, bool);

/// The flows whose weight differs by `threshold` or more from the mean of earlier windows.
fn of_part<K: Key>(
    now: &Part<K>,
    before: &[&Part<K>],
    threshold: u64,
    spec: &KeySpec,
) -> Result<Changes, Unmergeable> {
    let StateKind::Counted(now) = &now.of else { return Ok((Vec::new(), false)) };
    let now: &Counted<K> = now;
    let before = before.iter().filter_map(|part| match &part.of {
        StateKind::Counted(counted) => Some(&**counted),
        _ => None,
    });
    let before: Vec<&Counted<K>> = before.collect();
    macro_rules! of_kind {
        ($kind:ident) => {
            before.iter().filter_map(|part| match part {
                Counted::$kind(structure) => Some(structure),
                _ => None,
            })
        };
    }
    let found = match now {
        Counted::Exact(now) => {
            let before: Vec<_> = of_kind!(Exact).collect();
            let flows = differences(ExactCounts::iter, now, &before, threshold);
            let not_kept = now.not_kept() > 0 || before.iter().any(|table| table.not_kept() > 0);
            exact(flows, not_kept)
        }
        Counted::FlowSample(now) => {
            let before: Vec<_> = of_kind!(FlowSample).collect();
            let flows = differences(FlowSample::iter, now, &before, threshold);
            let not_kept = now.not_kept() > 0 || before.iter().any(|sample| sample.not_kept() > 0);
            // Of the flows that were not drawn nothing is known; those that were are exact.
            let found = exact(flows, not_kept);
            HeavyKeys { is_cut_short: not_kept || now.configuration().one_in > 1, ..found }
        }
        Counted::KAry(now) => linear(now, of_kind!(KAry), before.len(), threshold)?,
        Counted::KAryBytes(now) => linear(now, of_kind!(KAryBytes), before.len(), threshold)?,
        Counted::MvSketch(now) => match of_kind!(MvSketch).next() {
            Some(before) => signed(now.heavy_changes(before, threshold)?, now, before),
            None => HeavyKeys::new(Vec::new(), true),
        },
        _ => HeavyKeys::new(Vec::new(), true),
    };
    let is_cut_short = found.is_cut_short;
    Ok((estimated(found, spec).collect(), is_cut_short))
}

/// Differences to the mean, of flows whose weights are known.
fn differences<'a, T, K: Key, I: Iterator<Item = (&'a K, u64)>>(
    flows_of: impl Fn(&'a T) -> I,
    now: &'a T,
    before: &[&'a T],
    threshold: u64,
) -> Vec<(K, f64)> {
    let mut changes: BTreeMap<K, f64> = BTreeMap::new();
    for (key, weight) in flows_of(now) {
        *changes.entry(*key).or_default() += weight as f64;
    }
    for earlier in before {
        for (key, weight) in flows_of(earlier) {
            *changes.entry(*key).or_default() -= weight as f64 / before.len() as f64;
        }
    }
    changes.into_iter().filter(|(_, change)| change.abs() >= threshold as f64).collect()
}

/// A flow that found no room is missing here.
fn exact<K: Key>(flows: Vec<(K, f64)>, not_kept: bool) -> HeavyKeys<K> {
    let estimate = |change: f64| if not_kept { Estimate::unbounded(change) } else { Estimate::exact(change) };
    HeavyKeys::new(flows.into_iter().map(|(key, change)| (key, estimate(change))).collect(), not_kept)
}

/// Of linear sketches: `windows` times this window minus all those before it, divided by their number, so
/// that counters stay whole.
fn linear<'a, K: Key, P: Policy + Signed + summary::sketch::Linear + 'a>(
    now: &Tracked<K, P>,
    before: impl Iterator<Item = &'a Tracked<K, P>>,
    windows: usize,
    threshold: u64,
) -> Result<HeavyKeys<K>, Unmergeable>
where
    P::Cell: SignedCell,
    Tracked<K, P>: Clone,
{
    let mut many = now.clone();
    for _ in 1..windows {
        many.merge(now)?;
    }
    let mut sum: Option<Tracked<K, P>> = None;
    for earlier in before {
        match &mut sum {
            Some(sum) => sum.merge(earlier)?,
            none => *none = Some(earlier.clone()),
        }
    }
    let Some(sum) = sum else { return Ok(HeavyKeys::new(Vec::new(), true)) };
    let windows = windows as f64;
    let mut found = many.changes_since(&sum, (threshold as f64 * windows) as u64)?;
    for (_, change) in &mut found.keys {
        change.value /= windows;
        if let Some(bounds) = &mut change.bounds {
            bounds.lower /= windows;
            bounds.upper /= windows;
        }
    }
    Ok(found)
}

/// An MV-Sketch bounds the change without its sign: with the sign, the bounds follow from those of both
/// windows.
fn signed<K: Key>(found: HeavyKeys<K>, now: &MvSketch<K>, before: &MvSketch<K>) -> HeavyKeys<K> {
    let turned = |(key, _): (K, Estimate)| {
        let bounds = now.estimate(&key).bounds.zip(before.estimate(&key).bounds);
        let Some((now, before)) = bounds else { return (key, Estimate::unbounded(0.0)) };
        let (lower, upper) = (now.lower - before.upper, now.upper - before.lower);
        let value = if lower.abs() > upper.abs() { lower } else { upper };
        (key, Estimate::bounded(value, lower, upper, 1.0))
    };
    HeavyKeys::new(found.keys.into_iter().map(turned).collect(), found.is_cut_short)
}
