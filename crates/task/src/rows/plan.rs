//! The plan of a query: the operations on each row and on each group.

mod group;
mod merging;

pub(crate) use group::{kind_of_picked, kind_of_values, prefix_lengths, unit_of_value};
pub(crate) use merging::{has_rule, is_total, reads_only_keys};

use super::aggregates::{Kind, PlannedAggregate};
use super::group_value::{GroupCondition, GroupValue};
use super::grouping::{PlannedGrouping, are_whole_key, key_part, own_name, parts};
use super::overflow::{SpilledValue, SummaryPlan};
use super::program::KEY_MEMBERS;
use super::program::{NameTable, NodeId, ProgramNode, RowProgram, Type};
use super::values::ValueOf;
use crate::ChangingFields;
use crate::packet_needs::{read_by, refuse_weighing, rewrite_for_whole_flows};
use crate::pins::pins_of;
use crate::plan_context::PlanContext;
use crate::query::{Aggregate, Condition, Expression, GroupField, Grouping, MOST_GROUPS, Query};
use crate::row_refusal::Refusal;
use flow::{Field, RowValue};
use model::{Class, Column};
use packet::{KeySpec, KeyV4, KeyV6};
use std::collections::BTreeSet;

/// A query prepared for the rows of a site.
#[derive(Clone, Debug)]
pub(crate) struct QueryPlan {
    pub(crate) query: Query,
    /// The fields of the rows' keys.
    pub(crate) key: KeySpec,
    /// The observation point's name.
    pub(crate) node: String,
    pub(crate) filter: Option<NodeId>,
    /// The value of [`PlanContext::is_filtered`].
    pub(crate) is_filtered: bool,
    /// The value of [`PlanContext::changing`].
    pub(crate) changing: ChangingFields,
    pub(crate) grouping: PlannedGrouping,
    /// The fields of a group's key.
    pub(crate) fields: Vec<GroupField>,
    /// The aggregates that groups keep, each once.
    pub(crate) aggregates: Vec<PlannedAggregate>,
    /// The state that a group begins with: the words of all aggregates.
    pub(crate) initial: Vec<u64>,
    pub(crate) items: Vec<PlannedItem>,
    pub(crate) having: Option<GroupCondition>,
    pub(crate) order: Vec<PlannedOrder>,
    pub(crate) limit: usize,
    /// The types of values that are part of a group's key.
    pub(crate) extra_types: Vec<Type>,
    /// Sets of values, each with or without weights.
    pub(crate) sets: Vec<bool>,
    /// Lists of values.
    pub(crate) lists: usize,
    /// Rows of one key must be merged before they are read: the answer depends on which packets are in one row.
    pub(crate) merges: bool,
    /// Parts of the filter that rows must pass before they are merged too.
    pub(crate) key_filters: Vec<NodeId>,
    /// The way in which packets without a place are summarised; `None` if they do not tell the query's groups.
    pub(crate) summary: Option<SummaryPlan>,
    /// The way in which these packets change each aggregate.
    pub(crate) spilled: Vec<SpilledValue>,
    /// The class of the answers: which of the packets they are of.
    pub(crate) class: Class,
}

/// The value by which groups are ordered, and the direction.
#[derive(Clone, Debug)]
pub(crate) struct PlannedOrder {
    pub(crate) by: OrderBy,
    pub(crate) descending: bool,
}

/// The value of a group that its place depends on.
#[derive(Clone, Debug)]
pub(crate) enum OrderBy {
    Number(GroupValue),
    /// A grouped field, by its number.
    Member(usize),
    /// A value that has names, by these, as they are shown.
    Name(GroupValue, NameTable),
    /// The flow that the group is, without its direction.
    Conversation,
}

impl OrderBy {
    /// True if it depends on how long the window was watched.
    pub(crate) fn is_rate(&self) -> bool {
        matches!(self, Self::Number(value) if value.has_rate())
    }
}

/// A column of the answer.
#[derive(Clone, Debug)]
pub(crate) struct PlannedItem {
    pub(crate) column: Column,
    pub(crate) value: ItemValue,
}

/// The source of the value of a column.
#[derive(Clone, Debug)]
pub(crate) enum ItemValue {
    /// A grouped field, by its number.
    Member(usize),
    /// The observation point.
    Node,
    /// The flow's key without its direction.
    Conversation,
    /// A number, of the column's kind.
    Number(GroupValue),
    /// A number that is a MAC address.
    Mac(GroupValue),
    /// A number that is a name's.
    Name(GroupValue, NameTable),
    /// The heaviest values of an aggregate: the aggregate's number, how many, and the field that they are of.
    Top { aggregate: usize, most: usize, of: GroupField },
}

/// A plan that is being made.
pub(crate) struct PlanBuilder<'a> {
    site: &'a PlanContext,
    program: &'a mut RowProgram,
    grouping: &'a Grouping,
    fields: Vec<GroupField>,
    aggregates: Vec<PlannedAggregate>,
    words: usize,
    sets: Vec<PlannedSet>,
    /// The values of each list.
    lists: Vec<NodeId>,
}

/// Values that are told apart.
#[derive(PartialEq)]
struct PlannedSet {
    of: ValueOf,
    /// The weight of a value: a node, or `Some(None)` for the number of its rows; `None` where values are counted.
    weight: Option<Option<NodeId>>,
}

/// Refuses a query that reads what is tracked of pinned flows alone, and pins none.
fn refuse_unpinned(query: &Query, site: &PlanContext, field: String) -> Option<Refusal> {
    if query.filter.as_ref().and_then(pins_of).is_some() {
        return None;
    }
    Some(match site.tracks_pinned_losses(query) {
        true => Refusal::NeedsPins { field },
        false => Refusal::NeedsPinsOfPackets { field },
    })
}

/// Refuses a query without columns, and columns of the same name.
fn refuse_columns(query: &Query) -> impl Iterator<Item = Refusal> {
    let mut names = BTreeSet::new();
    let twice = query.columns.iter().find(|item| !names.insert(&item.name));
    let twice = twice.map(|item| Refusal::SameName { name: item.name.clone() });
    query.columns.is_empty().then_some(Refusal::NoItems).into_iter().chain(twice)
}

/// Returns the fields by which a query groups: of one with a row for each flow those of the flow key.
fn grouped_fields(query: &Query, site: &PlanContext) -> Vec<GroupField> {
    match &query.group {
        Grouping::All => Vec::new(),
        Grouping::Flows => site.key.columns().map(GroupField::from_field).collect(),
        Grouping::By(fields) => fields.clone(),
    }
}

/// Returns the types of the values that are part of a group's key.
fn extra_types(grouping: &PlannedGrouping, program: &RowProgram) -> Vec<Type> {
    match grouping {
        PlannedGrouping::Parts(parts) => parts.extras.iter().map(|node| program.type_of(*node)).collect(),
        _ => Vec::new(),
    }
}

impl QueryPlan {
    /// Prepares a query. What it computes of rows becomes part of the program.
    ///
    /// # Errors
    /// Returns all that is wrong with the query.
    pub(crate) fn new(
        as_asked: &Query,
        site: &PlanContext,
        program: &mut RowProgram,
    ) -> Result<Self, Vec<Refusal>> {
        let query = &rewrite_for_whole_flows(as_asked, site)?;
        let mut refusals = Vec::new();
        let fields = grouped_fields(query, site);
        let mut planner = PlanBuilder {
            site,
            program,
            grouping: &query.group,
            fields,
            aggregates: Vec::new(),
            words: 0,
            sets: Vec::new(),
            lists: Vec::new(),
        };
        let filter = query
            .filter
            .as_ref()
            .and_then(|filter| planner.row_condition(filter).map_err(|refusal| refusals.push(refusal)).ok());
        let tracked = site.tracked_flow_field(query);
        refusals.extend(tracked.clone().and_then(|field| refuse_unpinned(query, site, field)));
        let items: Vec<_> = query
            .columns
            .iter()
            .filter_map(|item| planner.item(item).map_err(|refusal| refusals.push(refusal)).ok())
            .collect();
        let having = query
            .having
            .as_ref()
            .and_then(|having| planner.condition(having).map_err(|refusal| refusals.push(refusal)).ok());
        let order = planner.orders(query).map_err(|refusal| refusals.push(refusal)).unwrap_or_default();
        let is_by_rate = order.iter().any(|order: &PlannedOrder| order.by.is_rate());
        let grouping = planner.planned_grouping(having.is_some() || is_by_rate);
        let grouping = grouping.map_err(|refusal| refusals.push(refusal)).unwrap_or(PlannedGrouping::All);
        refusals.extend(refuse_columns(query));
        let extra_types = extra_types(&grouping, planner.program);
        let summary = SummaryPlan::new(filter, &grouping, planner.program, &site.key);
        let spilled = planner.aggregates.iter().map(|aggregate| planner.spilled(aggregate)).collect();
        let PlanBuilder { fields, aggregates, sets, lists, program, .. } = planner;
        if refusals.is_empty() {
            // By the names that were asked for: what whole flows have is not by packets.
            let weighed = as_asked.aggregates().into_iter().map(|aggregate| refuse_weighing(aggregate, site));
            refusals.extend(weighed.filter_map(Result::err));
        }
        if !refusals.is_empty() {
            refusals.dedup();
            return Err(refusals);
        }
        let merges = merging::is_needed(filter, &grouping, &aggregates, program);
        let key_filters = merging::key_filters(filter, program);
        let initial =
            aggregates.iter().flat_map(|aggregate| aggregate.kind.state().initial()).copied().collect();
        Ok(Self {
            query: as_asked.clone(),
            key: site.key,
            node: site.node.clone(),
            filter,
            is_filtered: site.is_filtered,
            changing: site.changing,
            grouping,
            fields,
            aggregates,
            initial,
            items,
            having,
            order,
            limit: query.limit.unwrap_or(MOST_GROUPS),
            extra_types,
            sets: sets.iter().map(|set| set.weight.is_some()).collect(),
            lists: lists.len(),
            merges,
            key_filters,
            summary,
            spilled,
            class: if tracked.is_some() { Class::Zoom } else { Class::Row },
        })
    }

    /// Adds a state to another. What values are counted of is left to their sets, except for what is uncertain.
    pub(crate) fn merge_states(&self, state: &mut [u64], other: &[u64]) {
        for PlannedAggregate { kind, at, .. } in &self.aggregates {
            kind.merge(&mut state[*at..], &other[*at..]);
        }
    }

    /// Words of a group's key that are of the flow key.
    pub(crate) fn key_words(&self, is_v6: bool) -> usize {
        match &self.grouping {
            PlannedGrouping::Parts(parts) if !parts.spec().has_addresses() => KeyV4::WORDS_OF_KEY,
            _ if is_v6 => KeyV6::WORDS_OF_KEY,
            _ => KeyV4::WORDS_OF_KEY,
        }
    }

    /// The column of rows whose total an aggregate is.
    pub(crate) fn total_of(&self, aggregate: usize, program: &RowProgram) -> Option<RowValue> {
        self.aggregates[aggregate].kind.state().total_of(program)
    }
}

/// The words of keys, by a name that does not clash with the key's own.
trait WordsOfKey {
    const WORDS_OF_KEY: usize;
}

impl<K: packet::MaskedKey> WordsOfKey for K {
    const WORDS_OF_KEY: usize = K::WORDS;
}

impl PlanBuilder<'_> {
    /// Plans the grouping. `needs_window`: which groups are first is known at the end of the window alone.
    fn planned_grouping(&mut self, needs_window: bool) -> Result<PlannedGrouping, Refusal> {
        let is_flat = |aggregate: &PlannedAggregate| aggregate.kind.state().is_flat();
        Ok(match self.grouping {
            Grouping::All => PlannedGrouping::All,
            _ if !needs_window
                && self.site.changing.is_empty()
                && self.aggregates.iter().all(is_flat)
                && are_whole_key(&self.fields, self.site) =>
            {
                PlannedGrouping::Rows
            }
            _ => PlannedGrouping::Parts(parts(&self.fields, self.site, self.program)?),
        })
    }

    /// Returns the way in which packets without a place change an aggregate.
    fn spilled(&self, aggregate: &PlannedAggregate) -> SpilledValue {
        aggregate.kind.state().spilled(self.program, *self.grouping == Grouping::Flows)
    }

    /// The number of an aggregate, which is kept once.
    fn keep(&mut self, kind: Kind, pass: usize) -> usize {
        let known = self.aggregates.iter().position(|known| known.kind == kind);
        known.unwrap_or_else(|| {
            let at = self.words;
            self.words += kind.state().initial().len();
            self.aggregates.push(PlannedAggregate { kind, at, pass });
            self.aggregates.len() - 1
        })
    }

    /// The number of an aggregate.
    fn aggregate(&mut self, aggregate: &Aggregate) -> Result<usize, Refusal> {
        let kind = aggregate.planning().plan(self)?;
        Ok(self.keep(kind, self.site.pass_of(read_by(aggregate, self.site))))
    }

    /// Returns the node of a number.
    pub(crate) fn number(&mut self, of: &Expression) -> Result<NodeId, Refusal> {
        self.program.number(of, self.site)
    }

    /// Returns the node of a condition on rows.
    pub(crate) fn row_condition(&mut self, of: &Condition) -> Result<NodeId, Refusal> {
        self.program.condition(of, self.site)
    }

    /// Returns the type of a node's values.
    pub(crate) fn type_of(&self, node: NodeId) -> Type {
        self.program.type_of(node)
    }

    /// Returns whether a node's values are computed of a column of rows.
    pub(crate) fn reads(&self, node: NodeId, column: RowValue) -> bool {
        self.program.reads(node, column)
    }

    /// Returns the node of a column of rows.
    pub(crate) fn column(&mut self, column: RowValue) -> NodeId {
        self.program.column(column)
    }

    /// Refuses a field of the table that the site does not have.
    pub(crate) fn needs_column(&self, field: &str) -> Result<(), Refusal> {
        self.site.column(field).map(|_| ())
    }

    /// Returns the number of the list of these values, which is kept once.
    pub(crate) fn list(&mut self, node: NodeId) -> usize {
        let known = self.lists.iter().position(|known| *known == node);
        known.unwrap_or_else(|| {
            self.lists.push(node);
            self.lists.len() - 1
        })
    }

    /// Returns the number of the set of these values, which is kept once. `weight`: as [`PlannedSet::weight`].
    pub(crate) fn set(&mut self, of: ValueOf, weight: Option<Option<NodeId>>) -> usize {
        let set = PlannedSet { of, weight };
        let known = self.sets.iter().position(|known| *known == set);
        known.unwrap_or_else(|| {
            self.sets.push(set);
            self.sets.len() - 1
        })
    }

    /// A number whose values add up.
    pub(crate) fn summed(&mut self, of: &Expression) -> Result<NodeId, Refusal> {
        let node = self.program.number(of, self.site)?;
        let Expression::Field(name) = of else { return Ok(node) };
        match Field::named(name).map(|field| field.value) {
            Some(flow::FieldAccessor::Time(_) | flow::FieldAccessor::Mac(_)) => {
                Err(Refusal::WrongType { field: name.clone() })
            }
            _ => Ok(node),
        }
    }

    /// A number that has an order: times too.
    pub(crate) fn compared(&mut self, of: &Expression) -> Result<NodeId, Refusal> {
        match of {
            Expression::Field(name)
                if Field::named(name)
                    .is_some_and(|field| matches!(field.value, flow::FieldAccessor::Mac(_))) =>
            {
                Err(Refusal::WrongType { field: name.clone() })
            }
            _ => self.program.number(of, self.site),
        }
    }

    /// A field whose values are told apart.
    pub(crate) fn counted(&mut self, of: &GroupField) -> Result<ValueOf, Refusal> {
        let name = own_name(&of.field);
        if KEY_MEMBERS.contains(&name.as_str()) {
            return key_part(of, &name, self.site).map(ValueOf::Key);
        }
        if name == "conversation" && of.prefix.is_none() {
            KEY_MEMBERS.iter().try_for_each(|member| self.site.needs(member))?;
            return Ok(ValueOf::Conversation);
        }
        let node = self.program.field(&of.field, self.site)?;
        match (self.program.type_of(node), of.prefix) {
            (Type::Unsigned | Type::Name(_), None) => Ok(ValueOf::Node(node)),
            _ => Err(Refusal::WrongType { field: of.field.clone() }),
        }
    }
}

/// Returns how packets that are in no row change a total of these values.
pub(crate) fn spilled_column(node: NodeId, program: &RowProgram) -> SpilledValue {
    match program.node(node) {
        ProgramNode::Column(RowValue::Packets) => SpilledValue::Weight(0),
        ProgramNode::Column(RowValue::Bytes) => SpilledValue::Weight(1),
        ProgramNode::Column(RowValue::WireBytes) => SpilledValue::Weight(2),
        _ => SpilledValue::Unknown,
    }
}
