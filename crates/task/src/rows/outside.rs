//! Packets that are in no row, and what they leave open of an answer.

use super::aggregates::PlannedAggregate;
use super::group_value::Group;
use super::group_view::{GroupContext, GroupView};
use super::overflow::{GroupBounds, Overflow};
use super::owners::ALL;
use super::plan::{ItemValue, QueryPlan};
use super::scalar::Scalar;
use super::state::Kinds;
use flow::{Sampled, Untold};
use model::{Answer, Class, Value};

/// The sums of packets that are in no row, because their flows had no place in the table, or their records do not tell their keys.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unplaced {
    /// Packets.
    pub packets: u64,
    /// Layer-3 bytes.
    pub bytes: u64,
    /// Bytes of the frames on the wire; [`flow::NULL`] where some record of them does not tell them.
    pub wire_bytes: u64,
    /// The packets of records that do not tell a field of their key. The others had no place in the table.
    pub keyless: u64,
}

impl Unplaced {
    /// Adds others.
    pub fn add(&mut self, more: &Self) {
        self.packets = self.packets.saturating_add(more.packets);
        self.bytes = self.bytes.saturating_add(more.bytes);
        // The greatest number, which is null, stays.
        self.wire_bytes = self.wire_bytes.saturating_add(more.wire_bytes);
        self.keyless = self.keyless.saturating_add(more.keyless);
    }

    /// Says in an answer that they are in none of its groups.
    pub(crate) fn mark_in(&self, answer: &mut Answer) {
        let without_place = self.packets.saturating_sub(self.keyless);
        let had = ["had no place in the table: it is", "had no place in the table: they are"];
        let told = [
            "is of a record that does not tell a field of its key: it is",
            "are of records that do not tell a field of their key: they are",
        ];
        for (packets, why) in [(without_place, had), (self.keyless, told)] {
            if packets != 0 {
                answer.mark_partial(&format!("{} in no group", notation::counted_as(packets, "packet", why)));
            }
        }
    }
}

/// The packets that are in no row, what is known of their groups, and what the other packets did not tell.
#[derive(Clone, Copy, Debug)]
pub struct Outside<'a> {
    /// The sums of these packets.
    pub totals: &'a Unplaced,
    /// The counts that workers have of their groups; `None` where they have none.
    pub overflow: Option<&'a Overflow>,
    /// The sampling of the packets; `None` if all were taken.
    pub sampled: Option<Sampled>,
    /// Numbers of packets and records that did not tell a value, which is 0 in rows.
    pub untold: Untold,
}

impl<'a> From<&'a Unplaced> for Outside<'a> {
    fn from(totals: &'a Unplaced) -> Self {
        Self { totals, overflow: None, sampled: None, untold: Untold::default() }
    }
}

impl QueryPlan {
    /// True if packets without a place tell all that a column's values depend on.
    fn is_bounded(&self, item: &ItemValue) -> bool {
        match item {
            ItemValue::Member(_) | ItemValue::Node | ItemValue::Conversation => true,
            ItemValue::Number(value) => value.is_bounded(&self.spilled),
            ItemValue::Mac(_) | ItemValue::Name(..) | ItemValue::Top { .. } => false,
        }
    }
}

/// Says how sure an answer is to which packets without a place belong. `is_listed`: groups that only these tell of are in it.
pub(crate) fn bounded(answer: &mut Answer, bounds: &GroupBounds, plan: &QueryPlan, is_listed: bool) {
    if bounds.are_nothing() {
        return;
    }
    if !bounds.others.is_nothing() || !is_listed {
        answer.rest.open();
    }
    let figures = || answer.rows.iter().flatten().chain(answer.rest.totals.iter().map(|(_, value)| value));
    let is_estimate = |value: &Value| matches!(value, Value::Estimate { .. });
    let is_unbounded = |value: &Value| match value {
        Value::Estimate { lower, upper, .. } => !lower.is_finite() || !upper.is_finite(),
        _ => false,
    };
    let (has_estimates, has_unbounded) = (figures().any(is_estimate), figures().any(is_unbounded));
    let is_told = plan.items.iter().all(|item| plan.is_bounded(&item.value));
    let undecided = bounds.undecided();
    if undecided != 0 {
        answer.mark_partial(&format!(
            "of {} no place in the table it is not known whether the filter lets {} through",
            notation::counted_as(undecided, "packet", ["that had"; 2]),
            if undecided == 1 { "its flow" } else { "their flows" }
        ));
    } else if has_unbounded || !is_told {
        answer.mark_partial("packets that had no place in the table do not tell all of its values");
    }
    if !is_listed {
        let packets = bounds.packets();
        let had = [
            "had no place in the table: a flow of which only it tells is",
            "had no place in the table: flows of which only they tell are",
        ];
        answer.mark_partial(&format!("{} not in it", notation::counted_as(packets, "packet", had)));
    }
    if has_estimates {
        answer.class = Class::Sketch;
        answer.bounds = "certain".to_owned();
    }
}

/// Groups of which it is not known whether they pass; all of which nothing else is known count as one.
pub(crate) fn open_groups(groups: &Kinds, setting: GroupContext<'_>) -> u64 {
    let Some(having) = setting.plan.having.as_ref().filter(|_| setting.bounds.is_some() || setting.is_open)
    else {
        return 0;
    };
    let mut open = 0;
    let mut look = |number: u64, words: &[u64], state: &[u64]| {
        open += u64::from(having.holds(&GroupView { setting, number, words, state }).is_none());
    };
    match groups {
        Kinds::All(state) => look(ALL, &[], state),
        Kinds::Parts(groups) => groups.each(look),
        Kinds::Rows(_) | Kinds::Ranked(_) => {}
    }
    let may_pass = setting.bounds.is_some_and(|bounds| {
        !bounds.others.is_nothing() && having.holds(&UnknownGroup { setting, bounds }) != Some(false)
    });
    open + u64::from(may_pass)
}

/// A group without rows that no summary tells of.
struct UnknownGroup<'a> {
    setting: GroupContext<'a>,
    bounds: &'a GroupBounds,
}

impl Group for UnknownGroup<'_> {
    fn aggregate(&self, number: usize) -> Scalar {
        let plan = self.setting.plan;
        let PlannedAggregate { kind, at, .. } = &plan.aggregates[number];
        self.bounds.widen(plan.spilled[number], kind.value(&plan.initial[*at..]), &self.bounds.others)
    }

    fn quantile(&self, _: usize, _: f64) -> Scalar {
        Scalar::Unknown
    }

    fn member(&self, _: usize) -> Option<Value> {
        None
    }

    fn seconds(&self) -> Option<f64> {
        self.setting.seconds
    }
}
