//! Flows whose traffic differs from a forecast by exponential smoothing.

use super::change::{ChangedFlows, all_changes};
use super::{AnswerInput, QualifiedRows, estimated, flow_rows};
use crate::forecast::{FamilyForecast, FlowNumbers, ListedArray, Series, TaskForecast};
use crate::spec::{Limit, WHOLE_PPM};
use crate::state::{FamilyState, FlowCounter, StateKind};
use flow::Estimate;
use packet::KeySpec;
use sketch::{ByteKey, Combination, FlowSample, HeavyKeys, Linear, ReversibleKeys, Summary, Tracked};
use std::collections::{BTreeMap, HashMap};
use std::error::Error;

pub(super) fn rows(asked: &AnswerInput<'_>, forecast: &TaskForecast) -> QualifiedRows {
    if forecast.windows < forecast.needed() {
        let empty = flow_rows(asked.task, "change", Vec::new(), 0);
        let how = format!("{} of {} windows came before this one", forecast.windows, forecast.needed());
        return (empty, format!("nothing to compare with: {how}"));
    }
    let state = asked.state();
    let total = forecast.total().max(state.total() as f64);
    let threshold = match asked.task.spec.limit {
        Limit::SharePpm(ppm) => f64::from(ppm) / WHOLE_PPM * total,
        Limit::Count(count) => count as f64,
        Limit::Any => 1.0,
    };
    let key = &asked.task.key;
    let changes = |threshold: f64| -> Result<ChangedFlows, Box<dyn Error>> {
        let (mut flows, mut is_cut_short) = of_part(&state.v4, forecast.v4.as_ref(), threshold, key)?;
        if let Some(v6) = &state.v6 {
            let (more, more_cut) = of_part(v6, forecast.v6.as_ref(), threshold, key)?;
            flows.extend(more);
            is_cut_short |= more_cut;
        }
        Ok((flows, is_cut_short))
    };
    all_changes(asked, (total, threshold.max(f64::MIN_POSITIVE), 1.0), changes)
}

/// The flows whose weight differs from the forecast by `threshold` or more.
fn of_part<K: ByteKey>(
    now: &FamilyState<K>,
    forecast: Option<&FamilyForecast<K>>,
    threshold: f64,
    spec: &KeySpec,
) -> Result<ChangedFlows, Box<dyn Error>> {
    let StateKind::Counted(now) = &now.of else { return Ok((Vec::new(), false)) };
    let Some(FamilyForecast { level, trend, .. }) = forecast else { return Ok((Vec::new(), true)) };
    macro_rules! array {
        ($kind:ident, $now:ident, $level:ident) => {{
            let trend = match trend {
                Some(Series::$kind(trend)) => Some(trend),
                _ => None,
            };
            of_arrays($now, $level, trend, threshold)?
        }};
    }
    let found = match (&**now, level) {
        (FlowCounter::Exact(now), Series::Table(level)) => {
            of_tables((now.iter(), now.is_short()), level, trend.as_ref(), threshold)
        }
        (FlowCounter::FlowSample(now), Series::Table(level)) => {
            let found =
                of_tables((FlowSample::iter(now), now.not_kept() > 0), level, trend.as_ref(), threshold);
            // Of the flows that were not drawn nothing is known; those that were are exact.
            HeavyKeys { is_cut_short: found.is_cut_short || now.configuration().one_in > 1, ..found }
        }
        (FlowCounter::KAry(now), Series::KAry(level)) => array!(KAry, now, level),
        (FlowCounter::KAryBytes(now), Series::KAryBytes(level)) => array!(KAryBytes, now, level),
        (FlowCounter::Turnstile(now), Series::Turnstile(level)) => array!(Turnstile, now, level),
        (FlowCounter::TurnstileBytes(now), Series::TurnstileBytes(level)) => {
            array!(TurnstileBytes, now, level)
        }
        (FlowCounter::Reversible(now), Series::Reversible(level)) => {
            of_reversible(now, level, trend.as_ref(), threshold)?
        }
        _ => HeavyKeys::new(Vec::new(), true),
    };
    let is_cut_short = found.is_cut_short;
    Ok((estimated(found, spec).collect(), is_cut_short))
}

/// Differences of flows whose weights are known.
fn of_tables<'a, K: ByteKey>(
    (now, is_short): (impl Iterator<Item = (&'a K, u64)>, bool),
    level: &FlowNumbers<K>,
    trend: Option<&Series<K>>,
    threshold: f64,
) -> HeavyKeys<K> {
    let trend = match trend {
        Some(Series::Table(trend)) => Some(trend),
        _ => None,
    };
    let mut changes: BTreeMap<K, f64> = now.map(|(key, weight)| (*key, weight as f64)).collect();
    for series in [Some(level), trend].into_iter().flatten() {
        series.keys().for_each(|key| *changes.entry(*key).or_default() -= series.get(key));
    }
    let is_short = is_short || level.is_short() || trend.is_some_and(FlowNumbers::is_short);
    changes.retain(|_, change| change.abs() >= threshold);
    let estimate = |change| if is_short { Estimate::unbounded(change) } else { Estimate::exact(change) };
    HeavyKeys::new(changes.into_iter().map(|(key, change)| (key, estimate(change))).collect(), is_short)
}

/// Differences of counter arrays, of the flows that either side lists.
fn of_arrays<K: ByteKey, P: Linear>(
    now: &Tracked<K, P>,
    level: &ListedArray<K, P>,
    trend: Option<&ListedArray<K, P>>,
    threshold: f64,
) -> Result<HeavyKeys<K>, Box<dyn Error>> {
    let mut change = Combination::zero(now.configuration().array())?;
    let mut lacking = now.most_lacking() as f64;
    let mut flows: HashMap<u64, K> = now.candidates().map(|(key, hash)| (hash, key)).collect();
    for series in [Some(level), trend].into_iter().flatten() {
        change.add_combination(-1.0, &series.counters)?;
        lacking += series.lacking;
        flows.extend(series.flows().map(|(key, hash)| (hash, key)));
    }
    change.add(1.0, now.array())?;
    let mut changed = change.estimates_of_listed(flows.into_iter().map(|(hash, key)| (key, hash)));
    changed.retain(|(_, estimate)| estimate.value.abs() >= threshold);
    Ok(HeavyKeys::new(changed, lacking > 0.0 && lacking >= threshold))
}

fn of_reversible<K: ByteKey>(
    now: &ReversibleKeys<K>,
    level: &Combination<sketch::ReversibleSketch>,
    trend: Option<&Series<K>>,
    threshold: f64,
) -> Result<HeavyKeys<K>, Box<dyn Error>> {
    let mut change = Combination::zero(now.configuration())?;
    change.add_combination(-1.0, level)?;
    if let Some(Series::Reversible(trend)) = trend {
        change.add_combination(-1.0, trend)?;
    }
    change.add(1.0, now.sketch())?;
    Ok(now.heavy_changes(&change, threshold)?)
}
