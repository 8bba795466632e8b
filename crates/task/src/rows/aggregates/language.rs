//! The functions of Equery that aggregate rows: how they are written.

use crate::query::{Aggregate, Condition, Expression, GroupField, ValueWeight};

/// A function of Equery that aggregates rows.
#[derive(Clone, Copy, Debug)]
pub struct AggregateFunction {
    /// The name of the function.
    pub name: &'static str,
    /// The name with what belongs to it, as it is written.
    pub usage: &'static str,
    /// The effect of the function, in one line.
    pub meaning: &'static str,
    /// The ways to call it.
    pub forms: &'static [(Signature, ResultKind)],
    /// True if the value may be null.
    pub is_nullable: bool,
}

/// The arguments of a call, and the aggregate that it is.
#[derive(Clone, Copy, Debug)]
pub enum Signature {
    /// `f()` or `f(*)`.
    Rows(fn() -> Aggregate),
    /// `f(FIELD)`: values of the field are told apart.
    Field(fn(GroupField) -> Aggregate),
    /// `f(FIELD, COUNTER)`: each value has a weight.
    FieldAndWeight(fn(GroupField, ValueWeight) -> Aggregate),
    /// `f(NUMBER, FIELD)`.
    NumberAndField(fn(usize, GroupField) -> Aggregate),
    /// `f(NUMBER, FIELD, COUNTER)`.
    NumberFieldAndWeight(fn(usize, GroupField, ValueWeight) -> Aggregate),
    /// `f(VALUE)`.
    Value(ValueUse, fn(Box<Expression>) -> Aggregate),
    /// `f(CONDITION)`: the condition on rows, as in `where`.
    Condition(fn(Box<Condition>) -> Aggregate),
    /// `f(VALUE, SHARE)`.
    ValueAndShare(ValueUse, fn(Box<Expression>, f64) -> Aggregate),
}

/// The way in which an aggregate uses the values of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueUse {
    /// The aggregate compares values, which may be times or identifiers.
    Compared,
    /// The aggregate calculates with values.
    Computed,
    /// The aggregate adds values.
    Added,
    /// The aggregate adds values, which must be counters.
    Counted,
}

/// The type of an aggregate's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResultKind {
    /// A number with this unit of the field table.
    Number(&'static str),
    /// The type and unit of the values.
    OfValue,
    /// A number with the unit of the values, per second.
    PerSecond,
    /// A list of values.
    List,
}

/// The function of an aggregate, where Equery has one.
pub(crate) trait InLanguage {
    const FUNCTION: Option<AggregateFunction> = None;
}
