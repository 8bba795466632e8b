//! A group of a query's state, as its answer sees it.

use super::aggregates::{BesideState, KeptState, PlannedAggregate};
use super::group_value::Group;
use super::grouping::{PlannedGrouping, own_name};
use super::keyed::{OF_V6, flow_key, lesser};
use super::member::{column_value, conversation, key_value};
use super::overflow::{Amounts, GroupBounds, unbounded};
use super::plan::QueryPlan;
use super::program::Type;
use super::scalar::Scalar;
use super::update::Collections;
use super::weights::Entropies;
use flow::{NULL, Sampled};
use model::Value;
use packet::{Key, KeySpec, KeyV4, KeyV6, MaskedKey};

/// The setting that all groups of a query's state have in common.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GroupContext<'a> {
    pub(crate) plan: &'a QueryPlan,
    /// The values that are kept of groups outside their states; `None` where these tell all.
    pub(crate) collections: Option<&'a Collections>,
    pub(crate) entropies: Option<&'a Entropies>,
    /// The time watched.
    pub(crate) seconds: Option<f64>,
    /// The bounds of what packets without a place add; `None` where there are none, or nothing is known of them.
    pub(crate) bounds: Option<&'a GroupBounds>,
    /// The sampling of the packets; `None` if all were taken.
    pub(crate) sampled: Option<Sampled>,
    /// True if a group may have rows or packets that are in none, of which no bounds are known.
    pub(crate) is_open: bool,
}

impl<'a> GroupContext<'a> {
    /// Creates the setting for the order of groups that is not by a rate.
    pub(crate) fn for_order(plan: &'a QueryPlan) -> Self {
        Self {
            plan,
            collections: None,
            entropies: None,
            seconds: None,
            bounds: None,
            sampled: None,
            is_open: false,
        }
    }
}

/// A group.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GroupView<'a> {
    pub(crate) setting: GroupContext<'a>,
    pub(crate) number: u64,
    /// The words of its key.
    pub(crate) words: &'a [u64],
    pub(crate) state: &'a [u64],
}

impl GroupView<'_> {
    /// Returns the amounts that packets without a place add to the group.
    pub(crate) fn spilled(&self) -> Amounts {
        let bounds = self.setting.bounds;
        bounds.map_or(Amounts::default(), |bounds| bounds.get(self.number & OF_V6 != 0, self.words))
    }

    /// Returns an aggregate's state, its meaning, and what is kept beside it.
    fn state_of(&self, number: usize) -> (&dyn KeptState, &[u64], BesideState<'_>) {
        let GroupContext { plan, collections, entropies, .. } = self.setting;
        let PlannedAggregate { kind, at, .. } = &plan.aggregates[number];
        let beside = BesideState { collections, entropies, aggregate: number, group: self.number };
        (kind.state(), &self.state[*at..], beside)
    }
}

impl Group for GroupView<'_> {
    fn aggregate(&self, number: usize) -> Scalar {
        let (kept, state, beside) = self.state_of(number);
        let rows = kept.value_of_group(state, &beside);
        let spilled = self.setting.plan.spilled[number];
        let seen = self.setting.bounds.map_or(rows, |bounds| bounds.widen(spilled, rows, &self.spilled()));
        match self.scale_to_all(number, seen) {
            Scalar::Null if self.setting.is_open => Scalar::Unknown,
            value => value,
        }
    }

    fn quantile(&self, number: usize, share: f64) -> Scalar {
        let (kept, state, beside) = self.state_of(number);
        let Some(rows) = kept.quantile(state, share, &beside) else { return Scalar::Null };
        let is_all = !self.setting.is_open || rows != Scalar::Null;
        match is_all && self.spilled().is_nothing() && self.setting.sampled.is_none() {
            true => rows,
            false => unbounded(rows),
        }
    }

    fn member(&self, number: usize) -> Option<Value> {
        Some(self.key_value(number))
    }

    fn conversation(&self) -> Value {
        let key = match self.number & OF_V6 == 0 {
            true => lesser(KeyV4::from_words(self.words)).flow_key(&KeySpec::FIVE_TUPLE),
            false => lesser(KeyV6::from_words(self.words)).flow_key(&KeySpec::FIVE_TUPLE),
        };
        conversation(&key).map_or(Value::Null, Value::Conversation)
    }

    fn seconds(&self) -> Option<f64> {
        self.setting.seconds
    }
}

impl GroupView<'_> {
    /// The value of a grouped field.
    pub(super) fn key_value(&self, number: usize) -> Value {
        let plan = self.setting.plan;
        let field = &plan.fields[number];
        let PlannedGrouping::Parts(parts) = &plan.grouping else {
            // A row is a group: its key is the flow's.
            let key = flow_key(self.number, self.words, &plan.key);
            return key_value(&key, &own_name(&field.field), field, &plan.key);
        };
        let spec = parts.spec();
        let key = || flow_key(self.number, self.words, &spec);
        match own_name(&field.field).as_str() {
            "addr" => key_value(&key(), "src_addr", field, &plan.key),
            "port" => key_value(&key(), "src_port", field, &plan.key),
            "conversation" => conversation(&key()).map_or(Value::Null, Value::Conversation),
            "node_id" => Value::Text(plan.node.clone()),
            name if super::program::KEY_MEMBERS.contains(&name) => key_value(&key(), name, field, &plan.key),
            name => {
                let is_extra = |field: &&crate::query::GroupField| super::grouping::is_extra(field);
                let before = plan.fields[..number].iter().filter(is_extra).count();
                let is_v6 = self.number & OF_V6 != 0 && spec.has_addresses();
                let words = if is_v6 { KeyV6::WORDS } else { KeyV4::WORDS };
                let names = match plan.extra_types.get(before) {
                    Some(Type::Name(names)) => Some(*names),
                    _ => None,
                };
                column_value(name, names, self.words.get(words + before).copied().unwrap_or(NULL))
            }
        }
    }
}
