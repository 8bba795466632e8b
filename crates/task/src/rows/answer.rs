//! The answer made of a query's state for a window: order, limit, and the exact rest.

use super::aggregates::{Collected, PlannedAggregate, total};
use super::group_value::{Group, GroupValue};
use super::group_view::{GroupContext, GroupView};
use super::keyed::{Groups, OF_V6};
use super::member::mac;
use super::order::{Keyed, Ranked};
use super::outside::{Outside, bounded, open_groups};
use super::overflow::{Amounts, GroupBounds, OverflowPlan, unbounded};
use super::owners::ALL;
use super::plan::{ItemValue, PlannedItem, QueryPlan};
use super::program::RowProgram;
use super::sampled::explain;
use super::scalar::Scalar;
use super::state::{Kinds, QueryWindowState};
use super::top_rows::TopRow;
use super::update::Collections;
use super::weights::{Entropies, TopColumn};
use crate::query::Operator;
use flow::{NULL, RowValue};
use model::{Answer, ColumnKind, Rest, Span, Value};
use std::collections::{HashMap, HashSet};

/// The time and the traffic that an answer covers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Covered<'a> {
    /// The window; `None` for the run.
    pub(crate) window: Option<Span>,
    /// The time watched; `None` if it is not known.
    pub(crate) watched: Option<Span>,
    /// The packets that are in no row, and the values that the other packets did not tell.
    pub(crate) outside: Outside<'a>,
    /// The plan by which the groups of these packets are counted; `None` where they are not.
    pub(crate) plan: Option<&'a OverflowPlan>,
}

impl Covered<'_> {
    /// Returns the bounds of what packets that are in no row add to the groups of a query.
    fn bounds(&self, plan: &QueryPlan) -> Option<GroupBounds> {
        self.outside.overflow?.bounds(self.plan?, plan.summary.as_ref()?, self.outside.totals.packets)
    }
}

/// A group of the answer.
struct AnswerGroup {
    number: u64,
    words: Vec<u64>,
    state: Vec<u64>,
}

/// The groups of the answer in its order, how many others there are, and what these are together.
struct Selected {
    first: Vec<AnswerGroup>,
    others: u64,
    rest: RestState,
    /// The amounts that packets without a place add to the others.
    spilled: Amounts,
}

/// The state of the groups that are not in the answer.
enum RestState {
    Own(Vec<u64>),
    /// The state of all groups, from which those of the answer are still to be subtracted.
    OfAll(Vec<u64>),
}

impl RestState {
    /// The value of an aggregate that is a total.
    fn value(&self, aggregate: &PlannedAggregate, first: &[AnswerGroup]) -> Scalar {
        let of = |state: &[u64]| aggregate.kind.value(&state[aggregate.at..]);
        match self {
            Self::Own(state) => of(state),
            Self::OfAll(state) => first
                .iter()
                .fold(of(state), |rest, group| rest.calculate(Operator::Subtract, of(&group.state))),
        }
    }
}

impl QueryWindowState {
    /// The answer.
    pub(crate) fn answer(&mut self, plan: &QueryPlan, program: &RowProgram, covered: Covered<'_>) -> Answer {
        self.collections.lists.iter_mut().for_each(super::samples::SampleList::sort);
        let bounds = covered.bounds(plan);
        if let (Some(bounds), Kinds::Parts(groups)) = (&bounds, &mut self.groups) {
            bounds.candidates().for_each(|(is_v6, words)| groups.place(*is_v6, words));
        }
        let entropies = plan.has_entropy().then(|| Entropies::new(plan, &self.collections));
        let seconds = covered.watched.map(|span| span.seconds()).filter(|seconds| *seconds > 0.0);
        let outside = |aggregate: usize| match plan.total_of(aggregate, program) {
            // Bounds contain them, or whether a filter would let them through is not known.
            _ if bounds.is_some() || plan.filter.is_some() || plan.is_filtered => None,
            Some(RowValue::Packets) => Some(covered.outside.totals.packets),
            Some(RowValue::Bytes) => Some(covered.outside.totals.bytes),
            Some(RowValue::WireBytes) => Some(covered.outside.totals.wire_bytes),
            _ => None,
        };
        if let Kinds::All(state) = &mut self.groups {
            for (number, aggregate) in plan.aggregates.iter().enumerate() {
                if let Some(outside) = outside(number) {
                    state[aggregate.at] = total(state[aggregate.at], outside);
                }
            }
        }
        let setting = GroupContext {
            plan,
            collections: Some(&self.collections),
            entropies: entropies.as_ref(),
            seconds,
            bounds: bounds.as_ref(),
            sampled: covered.outside.sampled.filter(|sampled| !sampled.is_whole()),
            is_open: self.unplaced_rows != 0 || bounds.is_none() && covered.outside.totals.packets != 0,
        };
        let selected = selected(&mut self.groups, setting);
        let open = open_groups(&self.groups, setting);
        let rows = rows(plan, program, setting, &selected.first);
        let columns = plan.items.iter().map(|item| item.column.clone()).collect();
        let mut answer = Answer::new(plan.query.name.clone(), covered.window, columns, rows);
        answer.bound.clone_from(&plan.query.bound);
        answer.class = plan.class;
        let is_one = matches!(self.groups, Kinds::All(_));
        if !is_one {
            answer.rest = rest(&selected, &self.unplaced, setting, open, &outside);
        }
        let counts_outside = |item: &PlannedItem| match &item.value {
            ItemValue::Number(value) => value.is_of(&|aggregate| outside(aggregate).is_some()),
            _ => false,
        };
        let is_counted = bounds.is_some() || is_one && plan.items.iter().all(counts_outside);
        if covered.outside.totals.packets != 0 && !is_counted {
            covered.outside.totals.mark_in(&mut answer);
        }
        if let Some(bounds) = &bounds {
            let is_listed = matches!(self.groups, Kinds::All(_) | Kinds::Parts(_));
            bounded(&mut answer, bounds, plan, is_listed);
        }
        if open != 0 {
            answer.mark_partial(&undecided(open));
        }
        if self.unplaced_rows != 0 {
            answer.mark_partial(&format!(
                "memory ran out: {} rows, or groups of another core's rows, are in no group",
                self.unplaced_rows
            ));
        } else if self.is_unsure(plan) {
            answer.bounds = "certain".to_owned();
        }
        if let Some(sampled) = &setting.sampled {
            explain(&mut answer, sampled, &self.groups, setting);
        }
        plan.tell_untold(&covered.outside.untold, &mut answer);
        answer
    }

    /// True if of some value no more than bounds are known.
    fn is_unsure(&self, plan: &QueryPlan) -> bool {
        let doubtful: Vec<usize> = plan
            .aggregates
            .iter()
            .filter_map(|PlannedAggregate { kind, at, .. }| Some(at + kind.state().doubtful()?))
            .collect();
        let is_doubtful = |state: &[u64]| doubtful.iter().any(|at| state[*at] != 0);
        match &self.groups {
            Kinds::All(state) => is_doubtful(state),
            Kinds::Rows(_) => false,
            Kinds::Ranked(top) => top.is_unsure,
            Kinds::Parts(groups) => {
                let mut is_unsure = false;
                groups.each(|_, _, state| is_unsure |= is_doubtful(state));
                is_unsure
            }
        }
    }
}

/// Returns the sentence on groups of which it is not known whether they are in the answer.
pub(super) fn undecided(groups: u64) -> String {
    let or_more = ["or more it is not known whether it passes", "or more it is not known whether they pass"];
    format!("of {} `having`", notation::counted_as(groups, "group", or_more))
}

impl QueryPlan {
    /// Returns true if a value is computed of weights.
    fn has_entropy(&self) -> bool {
        let has_weights = |aggregate: &PlannedAggregate| {
            matches!(aggregate.kind.state().collected(), Collected::Weights(..))
        };
        self.aggregates.iter().any(has_weights)
    }

    /// The aggregate that a column is, if those of several groups add up.
    pub(super) fn total_item(&self, item: &PlannedItem) -> Option<usize> {
        match item.value {
            ItemValue::Number(GroupValue::Aggregate(number)) => {
                self.aggregates[number].kind.state().is_total().then_some(number)
            }
            _ => None,
        }
    }

    fn passes(&self, group: &GroupView<'_>) -> bool {
        self.having.as_ref().is_none_or(|having| having.holds(group) == Some(true))
    }
}

impl Selected {
    /// The total of an aggregate over the groups that are not in the answer, of which rows tell this.
    fn spilled_rest(&self, number: usize, rows: Scalar, setting: GroupContext<'_>, open: u64) -> Scalar {
        match setting.bounds {
            None => rows,
            // Which of them pass is not known.
            Some(_) if open != 0 => unbounded(rows),
            Some(bounds) => bounds.total(setting.plan.spilled[number], rows, &self.spilled),
        }
    }
}

impl GroupContext<'_> {
    /// Returns the amounts that packets without a place add to all groups but these.
    fn without(&self, shown: &[AnswerGroup]) -> Amounts {
        let of = |bounds: &GroupBounds| {
            bounds.without(shown.iter().map(|shown| bounds.get(shown.number & OF_V6 != 0, &shown.words)))
        };
        self.bounds.map_or(Amounts::default(), of)
    }
}

/// Returns what the groups have that are not in the answer. `unplaced`: the state of rows that found no group. `open`: groups of which it is
/// not known whether they pass. `outside`: what an aggregate has of packets that are in no row.
fn rest(
    selected: &Selected,
    unplaced: &[u64],
    setting: GroupContext<'_>,
    open: u64,
    outside: &dyn Fn(usize) -> Option<u64>,
) -> Rest {
    let plan = setting.plan;
    let totals = plan.items.iter().filter_map(|item| {
        let number = plan.total_item(item)?;
        let aggregate = &plan.aggregates[number];
        // Whether what found no group would pass is not known.
        let unplaced = match plan.having {
            None => aggregate.kind.value(&unplaced[aggregate.at..]),
            Some(_) => Scalar::Integer(0),
        };
        let outside = match outside(number) {
            Some(NULL) => Scalar::Null,
            outside => Scalar::Integer(outside.unwrap_or(0).into()),
        };
        let rest = selected.rest.value(aggregate, &selected.first);
        let rest = rest.calculate(Operator::Add, unplaced).calculate(Operator::Add, outside);
        let rest = selected.spilled_rest(number, rest, setting, open);
        let rest = setting.sampled.map_or(rest, |sampled| plan.scale_to_all(&sampled, number, rest));
        Some((item.column.name.clone(), convert_to_kind(rest, item.column.kind)))
    });
    let mut rest = Rest { groups: selected.others, is_open: false, totals: totals.collect() };
    // Of what is in no group it is not known which groups it has, and of some groups whether they pass.
    if setting.is_open || open != 0 {
        rest.open();
    }
    rest
}

fn selected(groups: &mut Kinds, setting: GroupContext<'_>) -> Selected {
    let plan = setting.plan;
    match groups {
        Kinds::All(state) => {
            let group = GroupView { setting, number: ALL, words: &[], state };
            let is_shown = plan.passes(&group) && plan.limit != 0;
            let first =
                is_shown.then(|| AnswerGroup { number: ALL, words: Vec::new(), state: state.clone() });
            let rest = RestState::Own(plan.initial.clone());
            Selected { first: first.into_iter().collect(), others: 0, rest, spilled: Amounts::default() }
        }
        Kinds::Rows(top) | Kinds::Ranked(top) => {
            let (all, totals) = (top.rows, top.totals.clone());
            let shown = |row: &TopRow| AnswerGroup {
                number: row.number(),
                words: row.key.to_vec(),
                state: row.state.clone(),
            };
            let first: Vec<_> = top.first(plan).iter().map(shown).collect();
            let spilled = setting.without(&first);
            Selected { others: all - first.len() as u64, first, rest: RestState::OfAll(totals), spilled }
        }
        Kinds::Parts(groups) => {
            let (numbers, passing) = first(groups, setting);
            let mut rest = plan.initial.clone();
            let mut passed = Amounts::default();
            let is_shown: HashSet<u64> = numbers.iter().copied().collect();
            groups.each(|number, words, state| {
                let group = GroupView { setting, number, words, state };
                let passes = || plan.having.is_none() || plan.passes(&group);
                if !is_shown.contains(&number) && passes() {
                    plan.merge_states(&mut rest, state);
                    if plan.having.is_some() {
                        passed = passed.plus(&group.spilled());
                    }
                }
            });
            let shown = |number: &u64| {
                let (words, state) = groups.get(*number);
                AnswerGroup { number: *number, words: words.to_vec(), state: state.to_vec() }
            };
            let first: Vec<_> = numbers.iter().map(shown).collect();
            let spilled = if plan.having.is_some() { passed } else { setting.without(&first) };
            Selected { others: passing - first.len() as u64, first, rest: RestState::Own(rest), spilled }
        }
    }
}

/// The numbers of the groups in the answer, in its order, and how many groups pass.
fn first(groups: &Groups, setting: GroupContext<'_>) -> (Vec<u64>, u64) {
    let plan = setting.plan;
    let view = |number: u64| {
        let (words, state) = groups.get(number);
        GroupView { setting, number, words, state }
    };
    // Where values are uncertain, the words of states do not tell the order.
    let counter = plan.counter_order().filter(|_| {
        setting.bounds.is_none()
            && setting.collections.is_none_or(|collections| !collections.sets.iter().any(|set| set.is_full()))
    });
    // By the order's first value alone: few groups are compared further.
    let mut numbers = match counter {
        Some(counter) => {
            let mut ranks = Vec::with_capacity(groups.len());
            groups.each(|number, words, state| {
                if plan.having.is_none() || plan.passes(&GroupView { setting, number, words, state }) {
                    ranks.push((counter.rank(state), number));
                }
            });
            let passing = ranks.len() as u64;
            let numbers = within(ranks, plan.limit, |one, other| one.cmp(other));
            (numbers, passing)
        }
        None => {
            let mut ranks: Vec<(Option<Ranked>, u64)> = Vec::with_capacity(groups.len());
            groups.each(|number, words, state| {
                let group = GroupView { setting, number, words, state };
                if plan.passes(&group) {
                    ranks.push((plan.first_ranked(&group), number));
                }
            });
            let passing = ranks.len() as u64;
            let order = |one: &Option<Ranked>, other: &Option<Ranked>| {
                plan.compare_first(one.as_ref(), other.as_ref())
            };
            (within(ranks, plan.limit, order), passing)
        }
    };
    let ranks: HashMap<u64, Vec<Ranked>> =
        numbers.0.iter().map(|number| (*number, plan.ranked(&view(*number)))).collect();
    let by_rank = |one: &u64, other: &u64| {
        let [one, other] = [one, other].map(|number| {
            let keyed = Keyed { is_v6: number & OF_V6 != 0, words: groups.get(*number).0 };
            (ranks[number].as_slice(), keyed)
        });
        plan.compare(one, other)
    };
    if plan.limit < numbers.0.len() {
        if plan.limit > 0 {
            numbers.0.select_nth_unstable_by(plan.limit, by_rank);
        }
        numbers.0.truncate(plan.limit);
    }
    numbers.0.sort_by(by_rank);
    numbers
}

/// The groups of which by their ranks alone it is possible that they are among the first `limit`.
fn within<R>(
    mut ranks: Vec<(R, u64)>,
    limit: usize,
    order: impl Fn(&R, &R) -> std::cmp::Ordering,
) -> Vec<u64> {
    if limit == 0 {
        return Vec::new();
    }
    if limit < ranks.len() {
        let (_, last, after) = ranks.select_nth_unstable_by(limit - 1, |one, other| order(&one.0, &other.0));
        let equal = after.iter().filter(|(rank, _)| order(rank, &last.0).is_eq());
        let equal: Vec<u64> = equal.map(|(_, number)| *number).collect();
        let first = ranks[..limit].iter().map(|(_, number)| *number);
        return first.chain(equal).collect();
    }
    ranks.into_iter().map(|(_, number)| number).collect()
}

/// The values of the columns of each group.
fn rows(
    plan: &QueryPlan,
    program: &RowProgram,
    setting: GroupContext<'_>,
    groups: &[AnswerGroup],
) -> Vec<Vec<Value>> {
    let heaviest: Vec<HashMap<u64, Value>> = plan
        .items
        .iter()
        .map(|item| match (&item.value, setting.collections) {
            (ItemValue::Top { aggregate, most, of }, Some(collections)) => heaviest(
                plan,
                program,
                collections,
                groups,
                TopColumn { aggregate: *aggregate, most: *most, of },
            ),
            _ => HashMap::new(),
        })
        .collect();
    let row = |shown: &AnswerGroup| {
        let group = GroupView { setting, number: shown.number, words: &shown.words, state: &shown.state };
        let values = plan.items.iter().zip(&heaviest);
        values.map(|(item, heaviest)| value(item, &group, heaviest)).collect()
    };
    groups.iter().map(row).collect()
}

fn heaviest(
    plan: &QueryPlan,
    program: &RowProgram,
    collections: &Collections,
    groups: &[AnswerGroup],
    column: TopColumn<'_>,
) -> HashMap<u64, Value> {
    let at = plan.aggregates[column.aggregate].at;
    let groups: Vec<_> = groups.iter().map(|group| (group.number, group.state[at])).collect();
    column.heaviest(plan, program, collections, &groups)
}

fn value(item: &PlannedItem, group: &GroupView<'_>, heaviest: &HashMap<u64, Value>) -> Value {
    match &item.value {
        ItemValue::Member(number) => group.key_value(*number),
        ItemValue::Node => Value::Text(group.setting.plan.node.clone()),
        ItemValue::Conversation => group.conversation(),
        ItemValue::Mac(value) => value.evaluate(group).natural().map_or(Value::Null, mac),
        ItemValue::Name(value, names) => {
            value.evaluate(group).natural().map_or(Value::Null, |number| Value::Text(names.name(number)))
        }
        ItemValue::Top { .. } => heaviest.get(&group.number).cloned().unwrap_or_default(),
        ItemValue::Number(value) => convert_to_kind(value.evaluate(group), item.column.kind),
    }
}

/// A number as a column of this kind holds it.
pub(super) fn convert_to_kind(number: Scalar, kind: ColumnKind) -> Value {
    match (kind, number) {
        (ColumnKind::Time, Scalar::Integer(ns)) => u64::try_from(ns).map_or(Value::Null, Value::Time),
        (ColumnKind::Signed, number) => number.signed(),
        (ColumnKind::Float, number) => number.floating(),
        (_, number) => number.unsigned(),
    }
}
