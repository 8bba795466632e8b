//! `sum(x)`: the total.

use super::words::{add_float, add_signed, put_signed, signed, total};
use super::{AddedRows, CounterWord, KeptState, UpdatedByRows};
use crate::rows::input::Input;
use crate::rows::overflow::SpilledValue;
use crate::rows::owners::Owners;
use crate::rows::plan::{is_total, spilled_column};
use crate::rows::program::{Node, NodeId, Program, Type};
use crate::rows::scalar::Scalar;
use arrow_array::Array;
use flow::{NULL, RowValue};
use packet::MaskedKey;

/// The total: one word, of signed integers two.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RunningTotal {
    pub(crate) node: NodeId,
    pub(crate) of: Type,
    /// A row that lacks the value leaves the total of its group not known. Without this it adds nothing.
    pub(crate) needs_all: bool,
}

impl RunningTotal {
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

    fn total_of(&self, program: &Program) -> Option<RowValue> {
        match program.node(self.node) {
            Node::Column(column) => Some(*column),
            _ => None,
        }
    }

    fn is_of_any_rows(&self, program: &Program) -> bool {
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

    fn spilled(&self, program: &Program, _: bool) -> SpilledValue {
        spilled_column(self.node, program)
    }
}

impl UpdatedByRows for RunningTotal {
    #[inline(always)]
    fn update<K: MaskedKey>(&self, mut rows: AddedRows<'_, K, impl Owners>) {
        match &rows.inputs[0] {
            Some(input) if self.needs_all => rows.each_state(|state, row| match input {
                input if input.is_null(row) => self.set_unknown(state),
                Input::Unsigned(array) => state[0] = total(state[0], array.value(row)),
                Input::Signed(array) => add_known(state, array.value(row).into()),
                Input::Float(array) => add_float(state, array.value(row)),
            }),
            Some(Input::Unsigned(array)) => {
                let values = array.values();
                rows.each_word_of(array.nulls(), |total, row| *total += values[row]);
            }
            Some(Input::Signed(array)) => {
                let values = array.values();
                rows.each_state_of(array.nulls(), |state, row| add_signed(state, values[row].into()));
            }
            Some(Input::Float(array)) => {
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
