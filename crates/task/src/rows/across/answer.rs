//! The answer of merged groups: `having`, order, limit and rest.

use super::Merging;
use super::groups::{MergedGroup, MergedGroups};
use super::parts::MergeRule;
use crate::rows::answer::{convert_to_kind, undecided};
use crate::rows::group_value::Group;
use crate::rows::order::Ranked;
use crate::rows::plan::{ItemValue, PlannedItem};
use crate::rows::scalar::Scalar;
use model::{Answer, AnswerStatus, Class, Rest, Span, Value};
use std::cmp::Ordering;

impl Merging {
    /// The answer of these groups.
    pub(super) fn answer(&self, window: Span, groups: &MergedGroups<'_>) -> Answer {
        let plan = &self.plan;
        let mut open = 0_u64;
        let mut passing: Vec<(Vec<Ranked>, MergedGroup<'_>)> = groups
            .iter()
            .filter(|group| {
                let passes = plan.having.as_ref().map_or(Some(true), |having| having.holds(group));
                open += u64::from(passes.is_none() && groups.is_unsure);
                passes == Some(true)
            })
            .map(|group| (plan.ranked(&group), group))
            .collect();
        let by_rank = |one: &[Ranked], other: &[Ranked]| {
            let ranks = plan.order.iter().zip(one.iter().zip(other));
            ranks.fold(Ordering::Equal, |order, (by, (one, other))| {
                order.then_with(|| one.order(other, by.descending))
            })
        };
        // Equal ones are in the order of their keys.
        let by_rank_and_key = |one: &(Vec<Ranked>, MergedGroup<'_>),
                               other: &(Vec<Ranked>, MergedGroup<'_>)| {
            by_rank(&one.0, &other.0).then_with(|| one.1.by_key(&other.1))
        };
        // The order of those that are in no row does not matter.
        let limit = plan.limit.min(passing.len());
        if limit < passing.len() {
            passing.select_nth_unstable_by(limit, by_rank_and_key);
        }
        let (first, others) = passing.split_at_mut(limit);
        first.sort_unstable_by(by_rank_and_key);
        let row = |group: &MergedGroup<'_>| plan.items.iter().map(|item| value(item, group)).collect();
        let rows: Vec<Vec<Value>> = first.iter().map(|(_, group)| row(group)).collect();
        let columns = plan.items.iter().map(|item| item.column.clone()).collect();
        let mut answer = Answer::new(plan.query.name.clone(), Some(window), columns, rows);
        answer.bound.clone_from(&plan.query.bound);
        if !plan.fields.is_empty() {
            let mut known = others.len() as u64;
            if groups.is_open {
                // There may be one more, at the least.
                let unlisted = groups.largest.saturating_sub(groups.len() as u64);
                known = known.saturating_add(unlisted.max(1));
            }
            let others: Vec<MergedGroup<'_>> = others.iter().map(|(_, group)| *group).collect();
            let totals = plan.items.iter().filter_map(|item| {
                let total = self.rest(plan.total_item(item)?, groups, &others, open != 0);
                Some((item.column.name.clone(), convert_to_kind(total, item.column.kind)))
            });
            answer.rest = Rest { groups: known, is_open: false, totals: totals.collect() };
            if open != 0 || groups.is_uncounted {
                answer.rest.open();
            }
        }
        if open != 0 {
            answer.mark_partial(&undecided(open));
        }
        answer
    }

    /// The total of an aggregate over groups that are in no row: these, and those that nodes left out.
    fn rest(
        &self,
        aggregate: usize,
        groups: &MergedGroups<'_>,
        others: &[MergedGroup<'_>],
        is_open: bool,
    ) -> Scalar {
        let Some(part) = self.parts.sources[aggregate].part() else { return Scalar::Null };
        let MergeRule::Total(none, is_signed) = self.parts.rules[part] else { return Scalar::Null };
        let known = others.iter().fold(none, |sum, group| sum.plus(group.aggregate(aggregate)));
        match known.interval() {
            Some([value, ..]) if is_open || is_signed && groups.is_open => Scalar::unbounded(value),
            Some([value, lower, upper]) if groups.left_out[part] != 0.0 => {
                // What was left out may belong to the groups above.
                Scalar::Between { value, lower, upper: upper + groups.left_out[part] }
            }
            _ => known,
        }
    }
}

fn value(item: &PlannedItem, group: &MergedGroup<'_>) -> Value {
    match &item.value {
        ItemValue::Member(number) => group.member(*number).unwrap_or_default(),
        ItemValue::Number(value) => convert_to_kind(value.evaluate(group), item.column.kind),
        _ => Value::Null,
    }
}

/// Says what the answers of the nodes say of themselves.
pub(super) fn add_account(merged: &mut Answer, answers: &[&Answer], groups: &MergedGroups<'_>) {
    let is = |status: AnswerStatus| answers.iter().any(|answer| answer.status == status);
    if is(AnswerStatus::Cut) && merged.status == AnswerStatus::Complete {
        merged.status = AnswerStatus::Cut;
    }
    for answer in answers.iter().filter(|answer| answer.status == AnswerStatus::Partial) {
        let node = answer.node.as_deref().unwrap_or("a node");
        let reason = answer.reason.as_deref().unwrap_or("its answer is incomplete");
        merged.mark_partial(&format!("{node}: {reason}"));
    }
    if is(AnswerStatus::Partial) {
        merged.status = AnswerStatus::Partial;
    }
    // What all nodes watched.
    let watched = answers.iter().filter_map(|answer| answer.watched);
    merged.watched = watched.reduce(|one, other| {
        let start_ns = one.start_ns.max(other.start_ns);
        Span { start_ns, end_ns: one.end_ns.min(other.end_ns).max(start_ns) }
    });
    let is_of = |class| answers.iter().any(|answer| answer.class == class);
    if let Some(class) = [Class::Sketch, Class::Zoom].into_iter().find(|class| is_of(*class)) {
        merged.class = class;
    }
    if answers.iter().any(|answer| answer.bounds == "none") {
        merged.bounds = "none".to_owned();
    } else if groups.is_unsure && merged.bounds == "exact" {
        merged.bounds = "certain".to_owned();
    }
    merged.late = answers.iter().any(|answer| answer.late);
}
