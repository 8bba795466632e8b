//! `sum(x)`: the total.

use super::meaning::value_text;
use super::words::{add_float, add_signed, put_signed, signed, total};
use super::{
    AddedRows, AggregateFunction, AggregateMeaning, AggregatePlanning, AggregateRole, AggregateSql,
    CounterWord, InLanguage, KeptState, Kind, ResultKind, Signature, UpdatedByRows, ValueUse,
};
use crate::query::{Aggregate, Expression};
use crate::row_refusal::Refusal;
use crate::rows::across::{MergeRule, NodeParts};
use crate::rows::input::AggregateInput;
use crate::rows::overflow::SpilledValue;
use crate::rows::owners::Owners;
use crate::rows::plan::{PlanBuilder, is_total, kind_of_values, spilled_column, unit_of_value};
use crate::rows::program::{NodeId, ProgramNode, RowProgram, Type};
use crate::rows::scalar::Scalar;
use arrow_array::Array;
use flow::{NULL, RowValue};
use model::ColumnKind;
use packet::MaskedKey;

/// `sum(x)`.
pub(crate) struct SumAggregate<'a> {
    pub(crate) of: &'a Expression,
}

impl InLanguage for SumAggregate<'_> {
    const FUNCTION: Option<AggregateFunction> = Some(AggregateFunction {
        name: "sum",
        usage: "sum(VALUE)",
        meaning: "the sum",
        forms: &[(Signature::Value(ValueUse::Added, Aggregate::Sum), ResultKind::OfValue)],
        is_nullable: false,
    });
}

impl AggregateMeaning for SumAggregate<'_> {
    fn name(&self) -> &'static str {
        "sum"
    }

    fn text(&self) -> String {
        format!("sum({})", value_text(self.of))
    }

    fn partial(&self) -> &'static str {
        "a sum"
    }

    fn role(&self) -> AggregateRole {
        if self.of.is_never_negative() { AggregateRole::Total } else { AggregateRole::Net }
    }

    fn is_zero_without_rows(&self) -> bool {
        true
    }

    fn is_total(&self) -> bool {
        true
    }

    fn scaled(&self) -> Option<&Expression> {
        Some(self.of)
    }

    fn state_words(&self) -> u64 {
        1
    }

    fn sql(&self, sql: &dyn AggregateSql) -> String {
        total_sql(self.of, sql)
    }
}

impl AggregatePlanning for SumAggregate<'_> {
    fn plan(&self, planner: &mut PlanBuilder<'_>) -> Result<Kind, Refusal> {
        RunningTotal::planned(self.of, planner)
    }

    fn column(&self, values: Type) -> (ColumnKind, &'static str) {
        (kind_of_values(values), unit_of_value(self.of))
    }

    fn parts(&self, values: Type) -> Option<NodeParts> {
        Some(NodeParts::one(Aggregate::Sum(self.of.clone().into()), MergeRule::total(values)))
    }

    fn summed(&self) -> Option<&Expression> {
        Some(self.of)
    }

    fn not_sketched(&self) -> &'static str {
        "it is counted otherwise"
    }
}

/// Returns a total over rows as SQL, zero over none. Of bytes on the wire, which rows that were collected may lack, less than all is no total.
pub(super) fn total_sql(of: &Expression, sql: &dyn AggregateSql) -> String {
    let value = sql.row_value(of);
    let total = format!("coalesce(sum({value}), 0)");
    match of.reads("wire_byte") {
        true => format!("CASE WHEN count({value}) = count(*) THEN {total} END"),
        false => total,
    }
}

/// The total: one word, of signed integers two.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RunningTotal {
    node: NodeId,
    of: Type,
    /// A row that lacks the value leaves the total of its group not known. Without this it adds nothing.
    needs_all: bool,
}

impl RunningTotal {
    /// Returns the total of a value, as `sum` and `rate` keep it.
    pub(super) fn planned(of: &Expression, planner: &mut PlanBuilder<'_>) -> Result<Kind, Refusal> {
        let node = planner.summed(of)?;
        // What was collected may have no bytes on the wire: less than all of them is no total.
        let needs_all = planner.reads(node, RowValue::WireBytes);
        Ok(Self { node, of: planner.type_of(node), needs_all }.into())
    }

    /// Makes a total not known: a row of the group lacks the value of a total that needs all.
    fn set_unknown(&self, state: &mut [u64]) {
        match self.of {
            Type::Signed => put_signed(state, UNKNOWN),
            Type::Float => state[0] = f64::NAN.to_bits(),
            _ => state[0] = NULL,
        }
    }
}

impl KeptState for RunningTotal {
    fn initial(&self) -> &'static [u64] {
        if self.of == Type::Signed { &[0, 0] } else { &[0] }
    }

    fn inputs(&self) -> [Option<NodeId>; 2] {
        [Some(self.node), None]
    }

    #[inline(always)]
    fn merge(&self, state: &mut [u64], other: &[u64]) {
        match self.of {
            Type::Signed => add_known(state, signed(other)),
            Type::Float => add_float(state, f64::from_bits(other[0])),
            _ => state[0] = total(state[0], other[0]),
        }
    }

    fn value(&self, state: &[u64]) -> Scalar {
        match self.of {
            Type::Signed => match signed(state) {
                UNKNOWN => Scalar::Null,
                total => Scalar::Integer(total),
            },
            Type::Float => Scalar::float(f64::from_bits(state[0])),
            _ => match state[0] {
                NULL => Scalar::Null,
                total => Scalar::Integer(total.into()),
            },
        }
    }

    fn values(&self) -> Type {
        self.of
    }

    fn counter(&self) -> Option<CounterWord> {
        let word = CounterWord { is_nullable: self.needs_all, is_of_values: true };
        (self.of == Type::Unsigned).then_some(word)
    }

    fn is_total(&self) -> bool {
        true
    }

    fn total_of(&self, program: &RowProgram) -> Option<RowValue> {
        match program.node(self.node) {
            ProgramNode::Column(column) => Some(*column),
            _ => None,
        }
    }

    fn is_of_any_rows(&self, program: &RowProgram) -> bool {
        // The order of floating point additions would show.
        self.of != Type::Float && is_total(self.node, program)
    }

    fn is_flat(&self) -> bool {
        // The difference of two sums of floating point numbers is not the sum of the others.
        self.of != Type::Float
    }

    fn is_kept_by_group(&self) -> bool {
        self.of != Type::Float
    }

    fn spilled(&self, program: &RowProgram, _: bool) -> SpilledValue {
        spilled_column(self.node, program)
    }
}

impl UpdatedByRows for RunningTotal {
    #[inline(always)]
    fn update<K: MaskedKey>(&self, rows: AddedRows<'_, K, impl Owners>) {
        match &rows.inputs[0] {
            Some(input) if self.needs_all => rows.each_state(|state, row| match input {
                input if input.is_null(row) => self.set_unknown(state),
                AggregateInput::Unsigned(array) => state[0] = total(state[0], array.value(row)),
                AggregateInput::Signed(array) => add_known(state, array.value(row).into()),
                AggregateInput::Float(array) => add_float(state, array.value(row)),
            }),
            Some(AggregateInput::Unsigned(array)) => {
                let values: &[u64] = array.values();
                rows.each_word_of(array.nulls(), move |total, row| *total += values[row]);
            }
            Some(AggregateInput::Signed(array)) => {
                let values = array.values();
                rows.each_state_of(array.nulls(), |state, row| add_signed(state, values[row].into()));
            }
            Some(AggregateInput::Float(array)) => {
                let values = array.values();
                rows.each_state_of(array.nulls(), |state, row| add_float(state, values[row]));
            }
            None => {}
        }
    }
}

/// A total in two words of which a value is not known. No sum of rows is this number.
const UNKNOWN: i128 = i128::MAX;

/// Adds a number to a total in two words. The sum is [`UNKNOWN`] where one of them is.
#[inline(always)]
fn add_known(words: &mut [u64], number: i128) {
    match [signed(words), number].contains(&UNKNOWN) {
        true => put_signed(words, UNKNOWN),
        false => add_signed(words, number),
    }
}
