//! Flows whose traffic changed: against the last window, or against the forecast of a moving average over
//! several (Krishnamurthy, Sen, Zhang, Chen, IMC 2003).

use super::{AnswerInput, QualifiedRows, estimated, flow_rows, largest_first, ranked};
use crate::Structure;
use crate::spec::{Against, Limit};
use crate::state::{FamilyState, FeedState, FlowCounter, StateKind};
use crate::task_answer::EstimatedFlow;
use flow::Estimate;
use packet::{FlowKey, Key, KeySpec};
use sketch::{
    ByteKey, Combination, ExactCounts, FlowSample, Frequency, HeavyKeys, Merge, MvSketch, Policy,
    ReversibleKeys, Signed, SignedCell, Summary, Tracked, Unmergeable,
};
use std::collections::BTreeMap;
use std::error::Error;

pub(super) fn rows(asked: &AnswerInput<'_>) -> QualifiedRows {
    let spec = &asked.task.spec;
    let past = &asked.past.windows;
    let needed = spec.windows_back();
    let empty = flow_rows(asked.task, "change", Vec::new(), 0);
    if past.len() < needed {
        let how = match spec.against {
            Against::Average(windows) => format!("{} of {windows} windows came before this one", past.len()),
            _ => "no window came before this one".to_owned(),
        };
        return (empty, format!("nothing to compare with: {how}"));
    }
    let before: Vec<&FeedState> = past.iter().map(|states| &states[0]).collect();
    let state = asked.state();
    // As many times as there are windows before it, so that a mean need not be divided, and whole numbers stay whole.
    let scale = needed as u64;
    let of_all = |now: u64, before: u64| now.saturating_mul(scale).max(before);
    let all_before = before.iter().map(|state| state.total()).fold(0, u64::saturating_add);
    let threshold = match spec.limit {
        Limit::SharePpm(_) => asked.threshold(of_all(state.total(), all_before)),
        Limit::Count(count) => count.saturating_mul(scale),
        Limit::Any => 1,
    };
    let key = &asked.task.key;
    let v4: Vec<&FamilyState<_>> = before.iter().map(|state| &state.v4).collect();
    let changes = |threshold: f64| -> Result<ChangedFlows, Box<dyn Error>> {
        let (mut flows, mut is_cut_short) = changes_of_part(&state.v4, &v4, threshold, key)?;
        if let Some(v6) = &state.v6 {
            let before: Vec<&FamilyState<_>> = before.iter().filter_map(|state| state.v6.as_ref()).collect();
            let (more, more_cut) = changes_of_part(v6, &before, threshold, key)?;
            flows.extend(more);
            is_cut_short |= more_cut;
        }
        Ok((flows, is_cut_short))
    };
    let most = of_all(state.total(), all_before);
    all_changes(asked, (most as f64, threshold as f64, scale as f64), changes)
}

/// The rows of the flows that changed. `changes` finds those that changed by a threshold or more, which is `scale` times that of the rows: by `least`, or, where the
/// largest are asked of a structure that is searched, as many as are needed, from `most` downwards.
pub(super) fn all_changes(
    asked: &AnswerInput<'_>,
    (most, least, scale): (f64, f64, f64),
    changes: impl Fn(f64) -> Result<ChangedFlows, Box<dyn Error>>,
) -> QualifiedRows {
    let is_searched = asked.task.maker.choice.structure == Structure::Reversible;
    let found = match asked.task.spec.limit {
        Limit::Any if is_searched => largest_first((most, least), asked.task.spec.top, &changes),
        _ => changes(least),
    };
    let (flows, is_cut_short) = match found {
        Ok(changes) => changes,
        Err(error) => {
            let empty = flow_rows(asked.task, "change", Vec::new(), 0);
            return (empty, format!("incomplete: {error}"));
        }
    };
    let row = |(key, estimate)| EstimatedFlow { key, prefix: None, estimate, own: None };
    let rows = flows.into_iter().map(row).collect();
    let is_cut_short_at = |least: u64| changes(least as f64 * scale).is_ok_and(|(_, is_cut)| is_cut);
    ranked(asked, "change", (rows, 0), is_cut_short, is_cut_short_at)
}

/// Changed flows, and whether there may be more.
pub(super) type ChangedFlows = (Vec<(FlowKey, Estimate)>, bool);

/// The flows whose weight differs from the mean of what was before by `threshold` or more, divided by the number of windows before.
fn changes_of_part<K: ByteKey>(
    now: &FamilyState<K>,
    before: &[&FamilyState<K>],
    threshold: f64,
    spec: &KeySpec,
) -> Result<ChangedFlows, Box<dyn Error>> {
    let StateKind::Counted(now) = &now.of else { return Ok((Vec::new(), false)) };
    let now: &FlowCounter<K> = now;
    let before = before.iter().filter_map(|part| match &part.of {
        StateKind::Counted(counted) => Some(&**counted),
        _ => None,
    });
    let before: Vec<&FlowCounter<K>> = before.collect();
    macro_rules! of_kind {
        ($kind:ident) => {
            before.iter().filter_map(|part| match part {
                FlowCounter::$kind(structure) => Some(structure),
                _ => None,
            })
        };
    }
    let least = threshold.ceil().max(1.0) as u64;
    let found = match now {
        FlowCounter::Exact(now) => {
            let before: Vec<_> = of_kind!(Exact).collect();
            let flows = differences(ExactCounts::iter, now, &before, least);
            let not_kept = now.not_kept() > 0 || before.iter().any(|table| table.not_kept() > 0);
            exact(flows, not_kept)
        }
        FlowCounter::FlowSample(now) => {
            let before: Vec<_> = of_kind!(FlowSample).collect();
            let flows = differences(FlowSample::iter, now, &before, least);
            let not_kept = now.not_kept() > 0 || before.iter().any(|sample| sample.not_kept() > 0);
            // Of the flows that were not drawn nothing is known; those that were are exact.
            let found = exact(flows, not_kept);
            HeavyKeys { is_cut_short: not_kept || now.configuration().one_in > 1, ..found }
        }
        FlowCounter::KAry(now) => linear(now, of_kind!(KAry), before.len(), least)?,
        FlowCounter::KAryBytes(now) => linear(now, of_kind!(KAryBytes), before.len(), least)?,
        FlowCounter::Turnstile(now) => linear(now, of_kind!(Turnstile), before.len(), least)?,
        FlowCounter::TurnstileBytes(now) => linear(now, of_kind!(TurnstileBytes), before.len(), least)?,
        FlowCounter::Reversible(now) => {
            reversible(now, of_kind!(Reversible).map(|sketch| &**sketch), before.len(), threshold)?
        }
        FlowCounter::MvSketch(now) => match of_kind!(MvSketch).next() {
            Some(before) => signed(now.heavy_changes(before, least)?, now, before),
            None => HeavyKeys::new(Vec::new(), true),
        },
        _ => HeavyKeys::new(Vec::new(), true),
    };
    let is_cut_short = found.is_cut_short;
    Ok((estimated(found, spec).collect(), is_cut_short))
}

/// Differences to the mean, of flows whose weights are known. They are compared and ranked before they are divided.
fn differences<'a, T, K: Key, I: Iterator<Item = (&'a K, u64)>>(
    flows_of: impl Fn(&'a T) -> I,
    now: &'a T,
    before: &[&'a T],
    threshold: u64,
) -> Vec<(K, f64)> {
    let windows = before.len() as i128;
    let mut changes: BTreeMap<K, i128> = BTreeMap::new();
    for (key, weight) in flows_of(now) {
        *changes.entry(*key).or_default() += i128::from(weight) * windows;
    }
    for earlier in before {
        for (key, weight) in flows_of(earlier) {
            *changes.entry(*key).or_default() -= i128::from(weight);
        }
    }
    let is_large = |(_, change): &(K, i128)| change.unsigned_abs() >= threshold.into();
    changes.into_iter().filter(is_large).map(|(key, change)| (key, change as f64 / windows as f64)).collect()
}

/// A flow that found no room is missing here.
fn exact<K: Key>(flows: Vec<(K, f64)>, not_kept: bool) -> HeavyKeys<K> {
    let estimate = |change: f64| if not_kept { Estimate::unbounded(change) } else { Estimate::exact(change) };
    HeavyKeys::new(flows.into_iter().map(|(key, change)| (key, estimate(change))).collect(), not_kept)
}

/// Returns the changes of linear sketches: `windows` times this window minus all those before it, divided by their number, so
/// that counters stay whole.
fn linear<'a, K: Key, P: Policy + Signed + sketch::Linear + 'a>(
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
    let mut found = many.changes_since(&sum, threshold)?;
    divide(&mut found, windows as f64);
    Ok(found)
}

/// Returns the changes that the differences of counters tell: `windows` times this window minus all those before it, divided by their number.
fn reversible<'a, K: ByteKey + 'a>(
    now: &ReversibleKeys<K>,
    before: impl Iterator<Item = &'a ReversibleKeys<K>>,
    windows: usize,
    threshold: f64,
) -> Result<HeavyKeys<K>, Box<dyn Error>> {
    let mut change = Combination::zero(now.configuration())?;
    change.add(windows as f64, now.sketch())?;
    for earlier in before {
        change.add(-1.0, earlier.sketch())?;
    }
    let mut found = now.heavy_changes(&change, threshold)?;
    divide(&mut found, windows as f64);
    Ok(found)
}

/// Divides the estimates of changes.
fn divide<K>(found: &mut HeavyKeys<K>, windows: f64) {
    for (_, change) in &mut found.keys {
        change.value /= windows;
        if let Some(bounds) = &mut change.bounds {
            bounds.lower /= windows;
            bounds.upper /= windows;
        }
    }
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
