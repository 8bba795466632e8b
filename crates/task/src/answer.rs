//! Answers: from the states of a window to rows with their bounds, including loss.

mod change;
mod distinct;
mod entropy;
mod flows;
mod forecasts;
mod hierarchy;
mod inner;
mod quantiles;
mod sampled;
mod sizes;
mod untold;
mod wire;

pub(crate) use sampled::scale_to_all;
pub(crate) use untold::limit_to_task as untold_of;
pub(crate) use wire::widen;

use crate::forecast::TaskForecast;
use crate::past::BaselineWindows;
use crate::spec::{Limit, TaskKind, WHOLE_PPM, Weight};
use crate::state::{FeedState, StateKind};
use crate::task_answer::{EstimatedFlow, TaskAnswer, TaskRows};
use crate::tasks::PlannedTask;
use flow::{Bounds, Estimate, Untold};
use model::TaskNote;
use packet::{FlowKey, Key, KeySpec};
use sketch::HeavyKeys;

/// The longest packet by an IP header without a jumbo payload: the most that a lost packet may have had.
const LONGEST_PACKET: u64 = 65_575;

/// The input of an answer.
#[derive(Debug)]
pub(crate) struct AnswerInput<'a> {
    pub(crate) task: &'a PlannedTask,
    /// The states of the task by level; without a hierarchy there is only the first one.
    pub(crate) states: &'a [FeedState],
    pub(crate) past: &'a BaselineWindows,
    /// The forecast that a change is measured against, if it is by smoothing.
    pub(crate) forecast: Option<&'a TaskForecast>,
}

/// Rows, and what keeps them from being complete: `ok` if nothing does.
type QualifiedRows = (TaskRows, String);

const OK: &str = "ok";

impl AnswerInput<'_> {
    fn state(&self) -> &FeedState {
        &self.states[0]
    }

    /// The weight that a flow must have to be in the answer, of a window with this much.
    fn threshold(&self, total: u64) -> u64 {
        match self.task.spec.limit {
            Limit::SharePpm(ppm) => {
                let least = (u128::from(ppm) * u128::from(total)).div_ceil(WHOLE_PPM as u128);
                u64::try_from(least).unwrap_or(u64::MAX).max(1)
            }
            Limit::Count(count) => count,
            Limit::Any => 1,
        }
    }

    fn figure(&self) -> &'static str {
        name_of(self.task.spec.weight)
    }
}

/// The figure of super-spreaders.
const CONTACTS: &str = "contacts";

/// The figure of what is weighed.
fn name_of(weight: Weight) -> &'static str {
    match weight {
        Weight::Packets => "total_count",
        Weight::Bytes => "total_byte",
    }
}

/// Returns the weight of this many packets, at most, in the unit of the weights.
fn weight_of(packets: u64, weight: Weight) -> u64 {
    packets.saturating_mul(if weight == Weight::Bytes { LONGEST_PACKET } else { 1 })
}

/// The answer of a task, about what was seen; [`widen`] makes it one about the wire.
pub(crate) fn answer_task(asked: &AnswerInput<'_>) -> TaskAnswer {
    let task = asked.task;
    let (rows, status) = match task.spec.kind {
        TaskKind::HeavyHitters if task.levels[0].prefix.is_some() => hierarchy::rows(asked),
        TaskKind::HeavyHitters => flows::heavy_hitters(asked),
        TaskKind::SuperSpreaders => flows::super_spreaders(asked),
        TaskKind::FlowSizes => sizes::rows(asked),
        TaskKind::Change => match asked.forecast {
            Some(forecast) => forecasts::rows(asked, forecast),
            None => change::rows(asked),
        },
        TaskKind::Entropy => entropy::rows(asked),
        TaskKind::Quantiles => quantiles::rows(asked),
        TaskKind::Distinct => distinct::rows(asked),
        TaskKind::Inner => inner::rows(asked),
    };
    with_rows(asked, (rows, status))
}

/// The answer that has these rows.
fn with_rows(asked: &AnswerInput<'_>, (rows, status): QualifiedRows) -> TaskAnswer {
    let task = asked.task;
    TaskAnswer {
        name: task.spec.kind.query(),
        note: TaskNote {
            text: task.spec.to_string(),
            structure: text(asked.state()),
            why: task.maker.choice.why.clone(),
            memory_bytes: asked.states.iter().map(|state| state.bytes() as u64).sum(),
            total: asked.state().total(),
            lost: None,
            most_unlisted: None,
        },
        status,
        is_exact: asked.states.iter().all(FeedState::is_exact),
        rows,
        untold: Untold::default(),
        shape: task.spec.shape.clone(),
    }
}

/// The answer of a task before it is known what it is compared with.
pub(crate) fn without_rows(asked: &AnswerInput<'_>) -> TaskAnswer {
    let rows = flow_rows(asked.task, "change", Vec::new(), 0);
    with_rows(asked, (rows, OK.to_owned()))
}

/// Rows about nothing, of a task that answers a query.
pub(crate) fn no_rows(task: &PlannedTask) -> TaskRows {
    let figure = match (task.spec.kind, task.spec.weight) {
        (TaskKind::Entropy, _) => return TaskRows::Entropy(None),
        (TaskKind::Inner, weight) => {
            let (product, totals) = (Estimate::exact(0.0), [0; 2]);
            return TaskRows::Inner { product, totals, figure: name_of(weight) };
        }
        (TaskKind::Distinct, _) => return TaskRows::Distinct(Estimate::exact(0.0)),
        (TaskKind::SuperSpreaders, _) => CONTACTS,
        (_, weight) => name_of(weight),
    };
    flow_rows(task, figure, Vec::new(), 0)
}

/// The structure, with its sizes for IPv4.
fn text(state: &FeedState) -> String {
    match &state.v4.of {
        StateKind::Counted(counted) => counted.text(),
        StateKind::Contacts(contacts) => contacts.text(),
        StateKind::Values(values) => values.text(),
        StateKind::Products(products) => products.text(),
        // It is settled before it is answered.
        StateKind::Shared(_) => String::new(),
    }
}

/// Adds the figures of two families, which have nothing in common.
fn sum(a: Estimate, b: Estimate) -> Estimate {
    let bounds = a.bounds.zip(b.bounds).map(|(a, b)| Bounds {
        lower: a.lower + b.lower,
        upper: a.upper + b.upper,
        // Those of one family or those of the other may fail.
        confidence: (a.confidence + b.confidence - 1.0).max(0.0),
    });
    Estimate { value: a.value + b.value, bounds }
}

/// Flows in the form of rows.
fn estimated<K: Key>(keys: HeavyKeys<K>, spec: &KeySpec) -> impl Iterator<Item = (FlowKey, Estimate)> {
    let spec = *spec;
    keys.keys.into_iter().map(move |(key, estimate)| (key.flow_key(&spec), estimate))
}

/// Flows that were found.
#[derive(Debug, Default)]
struct SelectedFlows {
    flows: Vec<(FlowKey, Estimate)>,
    /// The number of further ones that belong here, each smaller than these.
    more: usize,
    /// True if there may be other flows.
    is_cut_short: bool,
}

/// The largest flows of a structure that is searched by a threshold: by lower and lower ones from `most` to `least`, until there are as many as are
/// asked, or the search is cut short.
fn largest_first<T, E>(
    (most, least): (f64, f64),
    asked: usize,
    search: impl Fn(f64) -> Result<(Vec<T>, bool), E>,
) -> Result<(Vec<T>, bool), E> {
    let (mut threshold, mut largest) = (most.max(least), Vec::new());
    loop {
        let (found, is_cut_short) = search(threshold)?;
        if is_cut_short {
            // Those of the last threshold are all that there are.
            return Ok((if largest.is_empty() { found } else { largest }, true));
        }
        largest = found;
        if threshold <= least || largest.len() >= asked {
            return Ok((largest, threshold > least));
        }
        threshold = (threshold / 2.0).max(least);
    }
}

/// The largest of them either way, no more than requested; the status states what is missing. `more`: how
/// many smaller ones belong here in addition.
fn ranked(
    asked: &AnswerInput<'_>,
    figure: &'static str,
    (mut flows, more): (Vec<EstimatedFlow>, usize),
    is_cut_short: bool,
    is_cut_short_at: impl Fn(u64) -> bool,
) -> QualifiedRows {
    let order = |flow: &EstimatedFlow| flow.estimate.value.abs();
    flows.sort_by(|a, b| order(b).total_cmp(&order(a)).then_with(|| a.key.cmp(&b.key)));
    let (spec, most) = (&asked.task.spec, asked.task.spec.top);
    let more = more + flows.len().saturating_sub(most);
    flows.truncate(most);
    // For the largest, it only matters whether others may be as large as the last one.
    let is_cut_short = match (spec.limit, flows.last()) {
        (Limit::Any, Some(last)) if is_cut_short && flows.len() == most => {
            is_cut_short_at((last.estimate.value.abs() as u64).max(1))
        }
        _ => is_cut_short,
    };
    let status = if is_cut_short {
        "incomplete: more flows may belong here than the structure can keep; give it more memory".to_owned()
    } else if more > 0 && spec.limit != Limit::Any && !spec.is_of_query() {
        // Those of a query are in its rest.
        format!("the first {most}: {more} more belong here; raise share, count or top")
    } else {
        OK.to_owned()
    };
    (flow_rows(asked.task, figure, flows, more as u64), status)
}

/// The rows of a task about flows.
fn flow_rows(task: &PlannedTask, figure: &'static str, flows: Vec<EstimatedFlow>, more: u64) -> TaskRows {
    let is_hierarchy = task.levels[0].prefix.is_some();
    let keys_are_certain = task.maker.choice.structure.checks_keys();
    TaskRows::Flows {
        key: task.key,
        figure,
        is_hierarchy,
        keys_are_certain,
        flows,
        more,
        most_unlisted: None,
    }
}
