//! Columns, conditions and orders of groups.

use super::super::program::NetworkMask;
use super::super::scalar::Scalar;
use super::{
    GroupCondition, GroupValue, ItemValue, KEY_MEMBERS, NameTable, OrderBy, PlanBuilder, PlannedItem,
    PlannedOrder, Refusal, Type, own_name,
};
use crate::ChangingFields;
use crate::query::{
    Aggregate, Comparison, Condition, Expression, GroupField, Grouping, Operator, OutputColumn, Query,
};
use crate::rows::aggregates::LeastValue;
use flow::{Aggregation, DERIVED, DerivedField, Field, Statistic};
use model::{Column, ColumnKind};
use packet::KeySpec;

/// A value of groups, and what is known of it.
struct TypedGroupValue {
    value: GroupValue,
    kind: ColumnKind,
    unit: &'static str,
}

impl PlanBuilder<'_> {
    /// A column of the answer.
    pub(super) fn item(&mut self, item: &OutputColumn) -> Result<PlannedItem, Refusal> {
        let column = |kind, unit| Column::new(item.name.clone(), kind, unit);
        let known = match &item.value {
            Expression::Field(field) => Field::named(field),
            _ => None,
        };
        if let Expression::Aggregate(list) = &item.value
            && let Some((most, of, _)) = list.meaning().heaviest()
        {
            let aggregate = self.aggregate(list)?;
            let (kind, unit) = self.column_kind(list, aggregate);
            let value = ItemValue::Top { aggregate, most, of: of.clone() };
            return Ok(PlannedItem { column: column(kind, unit), value });
        }
        match &item.value {
            Expression::Field(field) if own_name(field) == "node_id" => {
                Ok(PlannedItem { column: column(ColumnKind::Text, ""), value: ItemValue::Node })
            }
            Expression::Field(field)
                if own_name(field) == "conversation" && *self.grouping == Grouping::Flows =>
            {
                KEY_MEMBERS.iter().try_for_each(|member| self.site.needs(member))?;
                Ok(PlannedItem { column: column(ColumnKind::Text, ""), value: ItemValue::Conversation })
            }
            Expression::Field(field) if self.member(field).is_some() => {
                let number = self.member(field).unwrap_or_default();
                let of = column_of(&self.fields[number], &self.site.key);
                Ok(PlannedItem {
                    column: Column { name: item.name.clone(), ..of },
                    value: ItemValue::Member(number),
                })
            }
            Expression::Field(field)
                if matches!(known.map(|known| known.value), Some(flow::FieldAccessor::Mac(_))) =>
            {
                let value = self.own(field)?.value;
                Ok(PlannedItem { column: column(ColumnKind::Text, ""), value: ItemValue::Mac(value) })
            }
            other => {
                let TypedGroupValue { value, kind, unit } = self.value(other)?;
                let names = self.names(&value);
                Ok(match names {
                    Some(names) => PlannedItem {
                        column: column(ColumnKind::Text, ""),
                        value: ItemValue::Name(value, names),
                    },
                    None => PlannedItem { column: column(kind, unit), value: ItemValue::Number(value) },
                })
            }
        }
    }

    /// The names whose numbers a value is.
    fn names(&self, value: &GroupValue) -> Option<NameTable> {
        let GroupValue::Aggregate(number) = value else { return None };
        self.aggregates[*number].kind.state().names()
    }

    /// The number of a grouped field.
    fn member(&self, field: &str) -> Option<usize> {
        let name = own_name(field);
        self.fields.iter().position(|known| own_name(&known.field) == name)
    }

    /// A field of the group's only row: the least of its values.
    fn own(&mut self, field: &str) -> Result<TypedGroupValue, Refusal> {
        if *self.grouping != Grouping::Flows {
            return Err(Refusal::NotGrouped { field: field.to_owned() });
        }
        let node = self.program.field(field, self.site)?;
        let of = self.program.type_of(node);
        let (kind, unit) = match (Field::named(field), DerivedField::named(field)) {
            (Some(field), _) => (kind_of_field(field), field.unit),
            _ if of == Type::Float => (ColumnKind::Float, unit_of(field)),
            _ => (ColumnKind::Unsigned, unit_of(field)),
        };
        let unit = if kind == ColumnKind::Time { "" } else { unit };
        let pass = self.site.pass_of(ChangingFields::NONE);
        let number = self.keep(LeastValue { node, of }.into(), pass);
        Ok(TypedGroupValue { value: GroupValue::Aggregate(number), kind, unit })
    }

    fn value(&mut self, expression: &Expression) -> Result<TypedGroupValue, Refusal> {
        let typed = self.typed(expression)?;
        // The unit of rates is not that of their parts.
        let known = DERIVED
            .iter()
            .find(|field| Expression::from_group_field(field.name).as_ref() == Some(expression));
        Ok(TypedGroupValue { unit: known.map_or(typed.unit, |field| field.unit), ..typed })
    }

    fn typed(&mut self, expression: &Expression) -> Result<TypedGroupValue, Refusal> {
        Ok(match expression {
            Expression::Integer(number) => TypedGroupValue {
                value: GroupValue::Constant(Scalar::Integer((*number).into())),
                kind: ColumnKind::Signed,
                unit: "",
            },
            Expression::Float(number) => TypedGroupValue {
                value: GroupValue::Constant(Scalar::float(*number)),
                kind: ColumnKind::Float,
                unit: "",
            },
            Expression::Text(text) => {
                return Err(Refusal::Misplaced { what: format!("the text '{text}'") });
            }
            Expression::Field(field) => match self.member(field) {
                Some(number) => {
                    let column = column_of(&self.fields[number], &self.site.key);
                    match column.kind {
                        ColumnKind::Unsigned | ColumnKind::Time => TypedGroupValue {
                            value: GroupValue::Member(number),
                            kind: column.kind,
                            unit: Field::named(field).map_or("", |field| field.unit),
                        },
                        _ => return Err(Refusal::WrongType { field: field.clone() }),
                    }
                }
                None => self.own(field)?,
            },
            Expression::Arithmetic(left, operator, right) => {
                let (left, right) = (self.value(left)?, self.value(right)?);
                let is_float =
                    *operator == Operator::Divide || [left.kind, right.kind].contains(&ColumnKind::Float);
                let unit = match operator {
                    Operator::Add | Operator::Subtract if left.unit == right.unit => left.unit,
                    Operator::Multiply | Operator::Divide if right.unit.is_empty() => left.unit,
                    Operator::Multiply if left.unit.is_empty() => right.unit,
                    _ => "",
                };
                TypedGroupValue {
                    value: GroupValue::Arithmetic(Box::new(left.value), *operator, Box::new(right.value)),
                    kind: if is_float { ColumnKind::Float } else { ColumnKind::Signed },
                    unit,
                }
            }
            Expression::Aggregate(list) if list.meaning().heaviest().is_some() => {
                return Err(Refusal::Misplaced {
                    what: "top(…), which is a column of its own,".to_owned()
                });
            }
            Expression::Aggregate(aggregate) => {
                let number = self.aggregate(aggregate)?;
                let (kind, unit) = self.column_kind(aggregate, number);
                let value = aggregate.planning().value(number);
                TypedGroupValue { value, kind, unit }
            }
        })
    }

    /// Returns the kind and the unit of an aggregate's column.
    fn column_kind(&self, aggregate: &Aggregate, number: usize) -> (ColumnKind, &'static str) {
        aggregate.planning().column(self.aggregates[number].kind.state().values())
    }

    /// A condition on groups.
    pub(super) fn condition(&mut self, condition: &Condition) -> Result<GroupCondition, Refusal> {
        let mut all = |parts: &[Condition]| -> Result<Vec<_>, Refusal> {
            parts.iter().map(|part| self.condition(part)).collect()
        };
        Ok(match condition {
            Condition::And(parts) => GroupCondition::And(all(parts)?),
            Condition::Or(parts) => GroupCondition::Or(all(parts)?),
            Condition::Not(part) => GroupCondition::Not(Box::new(self.condition(part)?)),
            Condition::Compare(Expression::Field(field), comparison, Expression::Text(text)) => {
                let is_text = GroupCondition::IsText(self.grouped(field)?, vec![text.clone()]);
                match comparison {
                    Comparison::Equal => is_text,
                    Comparison::NotEqual => GroupCondition::Not(Box::new(is_text)),
                    _ => return Err(Refusal::WrongType { field: field.clone() }),
                }
            }
            Condition::Compare(left, comparison, right) => {
                GroupCondition::Compare(self.value(left)?.value, *comparison, self.value(right)?.value)
            }
            Condition::In(Expression::Field(field), list)
                if list.iter().any(|value| matches!(value, Expression::Text(_))) =>
            {
                let texts = list.iter().filter_map(|value| match value {
                    Expression::Text(text) => Some(text.clone()),
                    _ => None,
                });
                GroupCondition::IsText(self.grouped(field)?, texts.collect())
            }
            Condition::In(value, list) => {
                let value = self.value(value)?.value;
                let equal = |of: &Expression| {
                    let of = self.value(of)?.value;
                    Ok(GroupCondition::Compare(value.clone(), Comparison::Equal, of))
                };
                GroupCondition::Or(list.iter().map(equal).collect::<Result<_, Refusal>>()?)
            }
            Condition::InPrefixes(field, prefixes) => {
                let networks = prefixes.iter().copied().map(NetworkMask::new).collect();
                GroupCondition::InNetworks(self.grouped(field)?, networks)
            }
            Condition::IsNull(Expression::Field(field)) if self.member(field).is_some() => {
                GroupCondition::IsMemberNull(self.grouped(field)?)
            }
            Condition::IsNull(value) => GroupCondition::IsNull(self.value(value)?.value),
            Condition::Like(field, _) => return Err(Refusal::WrongType { field: field.clone() }),
        })
    }

    fn grouped(&self, field: &str) -> Result<usize, Refusal> {
        self.member(field).ok_or_else(|| Refusal::NotGrouped { field: field.to_owned() })
    }

    /// Plans the values by which groups are ordered.
    pub(super) fn orders(&mut self, query: &Query) -> Result<Vec<PlannedOrder>, Refusal> {
        if query.order.is_empty() {
            let first = query.columns.iter().find(|item| self.is_largest_first(&item.value));
            let value = first.map(|item| self.value(&item.value)).transpose()?;
            return Ok(value
                .into_iter()
                .map(|typed| PlannedOrder { by: OrderBy::Number(typed.value), descending: true })
                .collect());
        }
        let mut orders = Vec::new();
        for order in &query.order {
            if let Expression::Field(field) = &order.by
                && let Some(number) = self.member(field)
            {
                orders.push(PlannedOrder { by: OrderBy::Member(number), descending: order.descending });
                continue;
            }
            let is_conversation =
                matches!(&order.by, Expression::Field(field) if own_name(field) == "conversation");
            let by = if is_conversation && *self.grouping == Grouping::Flows {
                KEY_MEMBERS.iter().try_for_each(|member| self.site.needs(member))?;
                OrderBy::Conversation
            } else {
                let value = self.value(&order.by)?.value;
                match self.names(&value) {
                    Some(names) => OrderBy::Name(value, names),
                    None => OrderBy::Number(value),
                }
            };
            orders.push(PlannedOrder { by, descending: order.descending });
        }
        Ok(orders)
    }

    /// Returns true if the largest of a column's values are the first where no order is requested: of aggregates, and of flows' counters.
    fn is_largest_first(&self, value: &Expression) -> bool {
        match value {
            Expression::Aggregate(aggregate) => aggregate.meaning().heaviest().is_none(),
            Expression::Arithmetic(left, _, right) => {
                self.is_largest_first(left) || self.is_largest_first(right)
            }
            Expression::Field(field) if *self.grouping == Grouping::Flows => {
                Field::named(field).is_some_and(|field| field.aggregation == Aggregation::Sum)
            }
            _ => false,
        }
    }
}

/// The unit of a field, of a derived one, or of a statistic of packets; empty where there is none.
fn unit_of(field: &str) -> &'static str {
    let known = Field::named(field).map(|field| field.unit);
    let derived = || DerivedField::named(field).map(|field| field.unit);
    let statistic = || field.parse().ok().map(|statistic: Statistic| statistic.metric.unit());
    known.or_else(derived).or_else(statistic).unwrap_or_default()
}

fn kind_of_field(field: &Field) -> ColumnKind {
    Column::from_field(field).kind
}

/// Returns the unit of a value of rows.
pub(crate) fn unit_of_value(of: &Expression) -> &'static str {
    if let Expression::Field(field) = of { unit_of(field) } else { "" }
}

/// Returns the kind of a column of values of this type.
pub(crate) fn kind_of_values(of: Type) -> ColumnKind {
    match of {
        Type::Signed => ColumnKind::Signed,
        Type::Float => ColumnKind::Float,
        _ => ColumnKind::Unsigned,
    }
}

/// Returns the kind and the unit of a column that has one of these values of rows, which are of this type.
pub(crate) fn kind_of_picked(of: &Expression, values: Type) -> (ColumnKind, &'static str) {
    let known = if let Expression::Field(field) = of { Field::named(field) } else { None };
    match known.map(|field| field.value) {
        Some(flow::FieldAccessor::Time(_)) => (ColumnKind::Time, ""),
        _ => (kind_of_values(values), unit_of_value(of)),
    }
}

/// The column of a grouped field.
fn column_of(field: &GroupField, key: &KeySpec) -> Column {
    let name = own_name(&field.field);
    let known = match name.as_str() {
        "addr" => "src_addr",
        "port" => "src_port",
        other => other,
    };
    let Some(of) = Field::named(known) else {
        let number = DerivedField::named(known).filter(|derived| derived.type_name != "text");
        return match number {
            Some(derived) => Column::new(name, ColumnKind::Unsigned, derived.unit),
            None => Column::new(name, ColumnKind::Text, ""),
        };
    };
    let mut column = Column::from_field(of);
    if column.kind == ColumnKind::Address && prefix_lengths(field, known, key).is_some() {
        column.kind = ColumnKind::Prefix;
    }
    column
}

/// The lengths that a grouped address is cut to, by the query or by the run's keys; `None` for whole ones.
pub(crate) fn prefix_lengths(field: &GroupField, member: &str, key: &KeySpec) -> Option<[u8; 2]> {
    let of_key = key.prefix_lengths(member)?;
    let lengths = field.prefix.map_or(of_key, |[v4, v6]| [v4.min(of_key[0]), v6.min(of_key[1])]);
    (lengths != [32, 128]).then_some(lengths)
}
