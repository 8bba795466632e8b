//! Answers about all packets from rows of sampled packets.
//!
//! A group that the key decides has a fixed set of packets, of which each was sampled with the same probability: its packets and bytes have
//! bounds ([`Sampled`]). Of what counts flows or values, the sample holds no more than there are. Of everything else rows tell what was
//! seen, without bounds.

use super::group_view::{GroupContext, GroupView};
use super::overflow::{SpilledValue, unbounded};
use super::owners::ALL;
use super::plan::{ItemValue, PlannedItem, QueryPlan};
use super::scalar::Scalar;
use super::state::Kinds;
use flow::{Estimate, Sampled};
use model::{Answer, Class, Value};

impl QueryPlan {
    /// True if the flow key decides of which group a packet is, and whether it is of any.
    fn is_by_key(&self) -> bool {
        self.summary.as_ref().is_some_and(super::overflow::SummaryPlan::is_decided)
    }

    /// The names of columns that tell of the sampled packets alone: what all packets would give does not follow from them.
    fn unscaled(&self) -> impl Iterator<Item = &str> {
        let is_alone = |item: &&PlannedItem| match &item.value {
            ItemValue::Number(value) | ItemValue::Mac(value) | ItemValue::Name(value, _) => {
                !value.is_bounded(&self.spilled)
            }
            ItemValue::Top { .. } => true,
            ItemValue::Member(_) | ItemValue::Node | ItemValue::Conversation => false,
        };
        self.items.iter().filter(is_alone).map(|item| item.column.name.as_str())
    }

    /// The value of an aggregate of all packets, of which rows tell `seen`.
    pub(crate) fn scale_to_all(&self, sampled: &Sampled, number: usize, seen: Scalar) -> Scalar {
        // What was not sampled may have a value.
        let Some([value, lower, upper]) = seen.interval() else { return unbounded(seen) };
        let estimate = match self.spilled[number] {
            SpilledValue::Weight(0) => sampled.packets_between(value, lower, upper),
            SpilledValue::Weight(1) => sampled.bytes_between(value, lower, upper),
            SpilledValue::Weight(_) => sampled.wire_bytes_between(value, lower, upper),
            SpilledValue::Different if self.is_by_key() => {
                return Scalar::Between { value, lower, upper: f64::INFINITY };
            }
            SpilledValue::Different | SpilledValue::Unknown => return unbounded(seen),
        };
        match estimate {
            Estimate { value, bounds: Some(bounds) }
                if self.is_by_key() && lower.is_finite() && upper.is_finite() =>
            {
                Scalar::Between { value, lower: bounds.lower, upper: bounds.upper }
            }
            Estimate { value, .. } => Scalar::unbounded(value),
        }
    }
}

/// Says of which sample an answer is, how sure it is, and what it does not tell.
pub(crate) fn explain(answer: &mut Answer, sampled: &Sampled, groups: &Kinds, setting: GroupContext<'_>) {
    let figures = || answer.rows.iter().flatten().chain(answer.rest.totals.iter().map(|(_, value)| value));
    let is_bounded = |value: &Value| matches!(value, Value::Estimate { lower, upper, .. } if lower.is_finite() || upper.is_finite());
    let is_open = |value: &Value| matches!(value, Value::Estimate { lower, upper, .. } if !lower.is_finite() || !upper.is_finite());
    let (has_bounds, has_open) = (figures().any(is_bounded), figures().any(is_open));
    let mut remark = sampled.to_string();
    if !matches!(groups, Kinds::All(_)) {
        remark.push_str(": groups of which no packet was sampled are not in it");
    }
    if has_open {
        remark.push_str("; a sample leaves bounds of some values open");
    }
    let alone: Vec<_> = setting.plan.unscaled().collect();
    if !alone.is_empty() {
        remark.push_str(&format!("; of the sampled packets alone, not scaled: {}", alone.join(", ")));
    }
    let undecided = undecided(groups, setting);
    if undecided != 0 {
        remark.push_str(&format!("; of {undecided} groups it is not known whether they pass `having`"));
    }
    answer.remark(&remark);
    answer.class = Class::Sample;
    answer.sampling = Some(sampled.into());
    // What is missing for other reasons may be of any group.
    if answer.status != model::AnswerStatus::Partial {
        answer.bounds = if has_bounds { Sampled::confidence_text() } else { "none".to_owned() };
    }
}

/// Groups of which the bounds do not tell whether they pass.
fn undecided(groups: &Kinds, setting: GroupContext<'_>) -> u64 {
    let Some(having) = &setting.plan.having else { return 0 };
    let is_open = |number: u64, words: &[u64], state: &[u64]| {
        u64::from(having.holds(&GroupView { setting, number, words, state }).is_none())
    };
    match groups {
        Kinds::All(state) => is_open(ALL, &[], state),
        Kinds::Parts(groups) => {
            let mut open = 0;
            groups.each(|number, words, state| open += is_open(number, words, state));
            open
        }
        // With a condition, groups are kept in a table.
        Kinds::Rows(_) | Kinds::Ranked(_) => 0,
    }
}

impl GroupView<'_> {
    /// A value that rows tell, as an estimate where their packets were sampled.
    pub(super) fn scale_to_all(&self, number: usize, seen: Scalar) -> Scalar {
        self.setting.sampled.map_or(seen, |sampled| self.setting.plan.scale_to_all(&sampled, number, seen))
    }
}
