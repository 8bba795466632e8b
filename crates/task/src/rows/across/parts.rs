//! Parts of a query that each node computes, so that its answers can be merged.

use crate::query::{Aggregate, Expression, GroupField, Grouping, Item, MOST_GROUPS, Operator, Order, Query};
use crate::rows::aggregates::Kind;
use crate::rows::group_value::GroupValue;
use crate::rows::grouping::own_name;
use crate::rows::plan::{ItemValue, OrderBy, Plan};
use crate::rows::program::{Program, Type};
use crate::rows::scalar::Scalar;

/// The columns of the nodes' answers, and what is made of them.
#[derive(Clone, Debug)]
pub(super) struct Parts {
    /// The query that nodes compute: first the fields that are grouped by, then the parts.
    pub(super) query: Query,
    /// The number of fields that are grouped by.
    pub(super) keys: usize,
    /// The rule by which each part is merged.
    pub(super) rules: Vec<Rule>,
    /// The parts that each aggregate of the plan is made of.
    pub(super) sources: Vec<Source>,
    /// The part by which nodes order their groups, the largest first.
    pub(super) ranked: Option<usize>,
    /// The fields that are grouped by, in the order in which groups of equal rank are sorted by them.
    pub(super) sorted: Vec<usize>,
}

/// The rule by which a part of several nodes is merged.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Rule {
    /// A count or a sum. Contains that of no rows, and whether it may be negative.
    Total(Scalar, bool),
    /// A least value.
    Least,
    /// A greatest value.
    Greatest,
}

/// The parts that an aggregate is made of, by their numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    /// A single part.
    Part(usize),
    /// A mean: the total, and the number of values.
    Mean(usize, usize),
}

impl Parts {
    /// The parts of a query that is planned. What is needed of rows becomes part of the program.
    ///
    /// # Errors
    /// Returns what cannot be merged.
    pub(super) fn new(plan: &Plan, site: &Site, program: &mut Program) -> Result<Self, Vec<String>> {
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
                columns: vec![Item::new("part", Expression::Aggregate(aggregate.clone()))],
                ..part_query(query)
            };
            let known = Plan::new(&alone, site, program).ok().and_then(|alone| {
                let kind = &alone.aggregates.first()?.kind;
                plan.aggregates.iter().position(|own| own.kind == *kind)
            });
            let source = known.and_then(|number| parts.source(aggregate, &plan.aggregates[number].kind));
            match (known, source) {
                (Some(number), Some(source)) => sources[number] = Some(source),
                _ => refused.push(format!(
                    "{} of all nodes does not follow from that of each",
                    aggregate_text(aggregate)
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

    /// The parts that an aggregate is made of; `None` if there are none.
    fn source(&mut self, aggregate: &Aggregate, kind: &Kind) -> Option<Source> {
        let total = |of: Type| match of {
            Type::Float => Rule::Total(Scalar::Float(0.0), true),
            Type::Signed => Rule::Total(Scalar::Integer(0), true),
            _ => Rule::Total(Scalar::Integer(0), false),
        };
        let values = kind.state().values();
        let is_named = matches!(values, Type::Name(_));
        Some(match aggregate {
            Aggregate::Count => Source::Part(self.keep(Aggregate::Count, total(Type::Unsigned))),
            Aggregate::Sum(of) | Aggregate::Rate(of) => {
                Source::Part(self.keep(Aggregate::Sum(of.clone()), total(values)))
            }
            Aggregate::Min(_) if !is_named => Source::Part(self.keep(aggregate.clone(), Rule::Least)),
            Aggregate::Max(_) if !is_named => Source::Part(self.keep(aggregate.clone(), Rule::Greatest)),
            Aggregate::Mean(of) => {
                // One for each value that is not null.
                let one = Expression::Arithmetic(
                    Expression::Arithmetic(of.clone(), Operator::Subtract, of.clone()).into(),
                    Operator::Add,
                    Expression::Integer(1).into(),
                );
                let total = self.keep(Aggregate::Sum(of.clone()), total(values));
                let number = Rule::Total(Scalar::Integer(0), false);
                Source::Mean(total, self.keep(Aggregate::Sum(one.into()), number))
            }
            _ => return None,
        })
    }

    /// The number of a part, which is computed once.
    fn keep(&mut self, aggregate: Aggregate, rule: Rule) -> usize {
        let value = Expression::Aggregate(aggregate);
        let known = self.query.columns[self.keys..].iter().position(|item| item.value == value);
        known.unwrap_or_else(|| {
            self.query.columns.push(Item::new(format!("part{}", self.rules.len()), value));
            self.rules.push(rule);
            self.rules.len() - 1
        })
    }

    /// The part that tells which groups a node should have if it does not have all: what the query is ordered by, else the first total.
    fn ranked(&self, plan: &Plan) -> Option<usize> {
        let is_total = |part: &usize| matches!(self.rules[*part], Rule::Total(..));
        let first = plan.order.first().filter(|order| order.descending);
        let asked = first.and_then(|order| match &order.by {
            OrderBy::Number(GroupValue::Aggregate(number) | GroupValue::Rate(number)) => {
                Some(self.sources[*number].total())
            }
            _ => None,
        });
        asked.filter(is_total).or_else(|| (0..self.rules.len()).find(is_total))
    }
}

impl Source {
    /// The part, or the total of a mean.
    fn total(self) -> usize {
        let (Self::Part(part) | Self::Mean(part, _)) = self;
        part
    }
}

/// The query with its groups, of which nothing is computed yet.
fn part_query(query: &Query) -> Query {
    let fields: &[GroupField] = match &query.group {
        Grouping::By(fields) => fields,
        Grouping::All | Grouping::Flows => &[],
    };
    let key = |(at, field): (usize, &GroupField)| {
        Item::new(format!("key{at}"), Expression::field(field.field.clone()))
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

/// An aggregate as a user knows it.
fn aggregate_text(aggregate: &Aggregate) -> String {
    let field = |of: &GroupField| of.field.clone();
    let value = |of: &Expression| match of {
        Expression::Field(name) => name.clone(),
        _ => "…".to_owned(),
    };
    match aggregate {
        Aggregate::Count => "count(*)".to_owned(),
        Aggregate::CountDistinct(of) => format!("count(distinct {})", field(of)),
        Aggregate::Sum(of) => format!("sum({})", value(of)),
        Aggregate::Min(of) => format!("min({})", value(of)),
        Aggregate::Max(of) => format!("max({})", value(of)),
        Aggregate::Mean(of) => format!("avg({})", value(of)),
        Aggregate::Deviation(of) => format!("stddev({})", value(of)),
        Aggregate::Rate(of) => format!("rate({})", value(of)),
        Aggregate::Quantile(of, share) => format!("quantile({}, {share})", value(of)),
        Aggregate::Entropy(of, _) => format!("entropy({})", field(of)),
        Aggregate::Top(most, of, _) => format!("top({most}, {})", field(of)),
        Aggregate::MeanRoundTrip => "avg(rtt_avg)".to_owned(),
    }
}
