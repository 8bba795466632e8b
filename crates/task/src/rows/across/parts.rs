//! Parts of a query that each node computes, so that its answers can be merged.

use crate::plan_context::PlanContext;
use crate::query::{
    Aggregate, Expression, GroupField, Grouping, MOST_GROUPS, Operator, Order, OutputColumn, Query,
};
use crate::rows::group_value::GroupValue;
use crate::rows::grouping::own_name;
use crate::rows::plan::{ItemValue, OrderBy, QueryPlan};
use crate::rows::program::{RowProgram, Type};
use crate::rows::scalar::Scalar;

/// The columns of the nodes' answers, and what is made of them.
#[derive(Clone, Debug)]
pub(super) struct MergePlan {
    /// The query that nodes compute: first the fields that are grouped by, then the parts.
    pub(super) query: Query,
    /// The number of fields that are grouped by.
    pub(super) keys: usize,
    /// The rule by which each part is merged.
    pub(super) rules: Vec<MergeRule>,
    /// The parts that each aggregate of the plan is made of.
    pub(super) sources: Vec<PartSource>,
    /// The part by which nodes order their groups, the largest first.
    pub(super) ranked: Option<usize>,
    /// The fields that are grouped by, in the order in which groups of equal rank are sorted by them.
    pub(super) sorted: Vec<usize>,
}

/// The rule by which a part of several nodes is merged.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum MergeRule {
    /// A count or a sum. Contains that of no rows, and whether it may be negative.
    Total(Scalar, bool),
    /// A least value.
    Least,
    /// A greatest value.
    Greatest,
}

impl MergeRule {
    /// Returns the rule for totals of values of this type.
    pub(crate) fn total(of: Type) -> Self {
        match of {
            Type::Float => Self::Total(Scalar::Float(0.0), true),
            Type::Signed => Self::Total(Scalar::Integer(0), true),
            _ => Self::Total(Scalar::Integer(0), false),
        }
    }
}

/// The parts of an aggregate that nodes compute, and the function that computes its value from them.
pub(crate) struct NodeParts {
    pub(crate) parts: Vec<(Aggregate, MergeRule)>,
    pub(crate) value: fn(&[Scalar]) -> Scalar,
}

impl NodeParts {
    /// Returns a single part, which is the aggregate.
    pub(crate) fn one(part: Aggregate, rule: MergeRule) -> Self {
        let value = |parts: &[Scalar]| parts.first().copied().unwrap_or(Scalar::Null);
        Self { parts: vec![(part, rule)], value }
    }

    /// Returns the part that is the number of values that are not null.
    pub(crate) fn number_of(value: &Expression) -> (Aggregate, MergeRule) {
        let with = |left: Expression, operator, right: Expression| {
            Expression::Arithmetic(left.into(), operator, right.into())
        };
        let zero = with(value.clone(), Operator::Subtract, value.clone());
        let one = with(zero, Operator::Add, Expression::Integer(1));
        (Aggregate::Sum(one.into()), MergeRule::Total(Scalar::Integer(0), false))
    }
}

/// The parts from which the value of an aggregate is computed.
#[derive(Clone, Debug)]
pub(super) struct PartSource {
    /// The numbers of its parts.
    pub(super) parts: Vec<usize>,
    /// The function that computes the value of the aggregate from its parts.
    pub(super) value: fn(&[Scalar]) -> Scalar,
}

impl PartSource {
    /// Returns the number of the part that it is, if it is one.
    pub(super) fn part(&self) -> Option<usize> {
        if let [part] = self.parts[..] { Some(part) } else { None }
    }
}

impl MergePlan {
    /// The parts of a query that is planned. What is needed of rows becomes part of the program.
    ///
    /// # Errors
    /// Returns what cannot be merged.
    pub(super) fn new(
        plan: &QueryPlan,
        site: &PlanContext,
        program: &mut RowProgram,
    ) -> Result<Self, Vec<String>> {
        let query = &plan.query;
        let mut refused = Vec::new();
        if query.group == Grouping::Flows {
            refused.push("flows are those of each node; group by fields".to_owned());
        }
        let is_of_node = |field: &GroupField| own_name(&field.field) == "node_id";
        if plan.fields.iter().any(is_of_node)
            || plan.items.iter().any(|item| matches!(item.value, ItemValue::Node))
        {
            refused.push("node_id is that of one node".to_owned());
        }
        let mut parts = Self {
            query: part_query(query),
            keys: plan.fields.len(),
            rules: Vec::new(),
            sources: Vec::new(),
            ranked: None,
            sorted: sorted(&plan.fields),
        };
        let mut sources = vec![None; plan.aggregates.len()];
        for aggregate in query.aggregates() {
            let alone = Query {
                columns: vec![OutputColumn::new("part", Expression::Aggregate(aggregate.clone()))],
                ..part_query(query)
            };
            let known = QueryPlan::new(&alone, site, program).ok().and_then(|alone| {
                let kind = &alone.aggregates.first()?.kind;
                plan.aggregates.iter().position(|own| own.kind == *kind)
            });
            let source = known
                .and_then(|number| parts.source(aggregate, plan.aggregates[number].kind.state().values()));
            match (known, source) {
                (Some(number), Some(source)) => sources[number] = Some(source),
                _ => refused.push(format!(
                    "{} of all nodes does not follow from that of each",
                    aggregate.meaning().text()
                )),
            }
        }
        if !refused.is_empty() {
            return Err(refused);
        }
        parts.sources = sources.into_iter().flatten().collect();
        parts.ranked = parts.ranked(plan);
        if let Some(ranked) = parts.ranked {
            let by = parts.query.columns[parts.keys + ranked].value.clone();
            parts.query.order = vec![Order::largest(by)];
        }
        Ok(parts)
    }

    /// The parts that an aggregate is made of; `None` if there are none. `values`: the type of the values that its state is of.
    fn source(&mut self, aggregate: &Aggregate, values: Type) -> Option<PartSource> {
        let NodeParts { parts, value } = aggregate.planning().parts(values)?;
        let parts = parts.into_iter().map(|(part, rule)| self.keep(part, rule)).collect();
        Some(PartSource { parts, value })
    }

    /// The number of a part, which is computed once.
    fn keep(&mut self, aggregate: Aggregate, rule: MergeRule) -> usize {
        let value = Expression::Aggregate(aggregate);
        let known = self.query.columns[self.keys..].iter().position(|item| item.value == value);
        known.unwrap_or_else(|| {
            self.query.columns.push(OutputColumn::new(format!("part{}", self.rules.len()), value));
            self.rules.push(rule);
            self.rules.len() - 1
        })
    }

    /// The part that tells which groups a node should have if it does not have all: what the query is ordered by, else the first total.
    fn ranked(&self, plan: &QueryPlan) -> Option<usize> {
        let is_total = |part: &usize| matches!(self.rules[*part], MergeRule::Total(..));
        let first = plan.order.first().filter(|order| order.descending);
        let asked = first.and_then(|order| match &order.by {
            OrderBy::Number(GroupValue::Aggregate(number) | GroupValue::Rate(number)) => {
                self.sources[*number].parts.first().copied()
            }
            _ => None,
        });
        asked.filter(is_total).or_else(|| (0..self.rules.len()).find(is_total))
    }
}

/// The query with its groups, of which nothing is computed yet.
fn part_query(query: &Query) -> Query {
    let fields: &[GroupField] = match &query.group {
        Grouping::By(fields) => fields,
        Grouping::All | Grouping::Flows => &[],
    };
    let key = |(at, field): (usize, &GroupField)| {
        OutputColumn::new(format!("key{at}"), Expression::field(field.field.clone()))
    };
    Query {
        columns: fields.iter().enumerate().map(key).collect(),
        having: None,
        order: Vec::new(),
        limit: query.limit.filter(|limit| *limit > MOST_GROUPS),
        ..query.clone()
    }
}

/// The fields in the order of a flow key's bytes, then those that are not of it.
fn sorted(fields: &[GroupField]) -> Vec<usize> {
    let place = |at: &usize| match own_name(&fields[*at].field).as_str() {
        "src_addr" | "addr" | "conversation" => 0,
        "dst_addr" => 1,
        "src_port" | "port" => 2,
        "dst_port" => 3,
        "protocol" => 4,
        _ => 5,
    };
    let mut sorted: Vec<usize> = (0..fields.len()).collect();
    sorted.sort_by_key(place);
    sorted
}
