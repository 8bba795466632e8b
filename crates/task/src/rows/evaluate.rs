//! Evaluates a program over a batch of rows, with the kernels of Apache Arrow.

use super::input::AggregateInput;
use super::keyed::lesser;
use super::member::conversation;
use super::program::{Constant, NetworkMask, NodeId, ProgramNode, RowKeyMember, RowProgram, Type};
use crate::query::{Comparison, Operator};
use arrow_arith::{boolean, numeric};
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type, UInt64Type};
use arrow_array::{
    Array, ArrayRef, BooleanArray, Datum, Float64Array, Int64Array, PrimitiveArray, Scalar, UInt64Array,
};
use arrow_buffer::{BooleanBuffer, NullBuffer, ScalarBuffer};
use arrow_ord::cmp;
use arrow_schema::ArrowError;
use arrow_select::nullif::nullif;
use flow::{FIELDS, NULL, Part, RowBatch, RowValue};
use geo::AddressLocation;
use notation::is_like;
use packet::{KeySpec, KeyV6, MaskedKey};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

/// The protocol whose flows have losses.
const TCP: u8 = 6;

/// The value of a node for all rows of a batch.
#[derive(Clone, Debug)]
enum BatchValues {
    Array(ArrayRef),
    /// A value that is the same for all rows.
    Constant(Scalar<ArrayRef>),
}

impl Datum for BatchValues {
    fn get(&self) -> (&dyn Array, bool) {
        match self {
            Self::Array(array) => (array.as_ref(), false),
            Self::Constant(scalar) => scalar.get(),
        }
    }
}

impl BatchValues {
    fn new(array: ArrayRef, is_constant: bool) -> Self {
        if is_constant { Self::Constant(Scalar::new(array)) } else { Self::Array(array) }
    }

    fn is_constant(&self) -> bool {
        matches!(self, Self::Constant(_))
    }

    fn array(&self) -> &dyn Array {
        self.get().0
    }
}

/// The values of nodes for the rows of one batch, each computed when it is first needed.
#[derive(Debug)]
pub(crate) struct Evaluation<'a, K> {
    program: &'a RowProgram,
    batch: &'a RowBatch<K>,
    /// The [pass](crate::rows::PlanContext::passes) of the rows.
    pass: usize,
    values: Vec<Option<BatchValues>>,
}

impl<'a, K: MaskedKey> Evaluation<'a, K> {
    pub(crate) fn new(program: &'a RowProgram, batch: &'a RowBatch<K>) -> Self {
        Self { program, batch, pass: 0, values: vec![None; program.len()] }
    }

    pub(crate) fn with_pass(self, pass: usize) -> Self {
        Self { pass, ..self }
    }

    pub(crate) fn pass(&self) -> usize {
        self.pass
    }

    /// The batch.
    pub(crate) fn batch(&self) -> &'a RowBatch<K> {
        self.batch
    }

    /// Appends the numbers of the rows for which a condition is true.
    pub(crate) fn select(&mut self, condition: NodeId, selected: &mut Vec<u32>) {
        let values = self.values(condition);
        let is_true = is_true(&values);
        match values.is_constant() {
            true if is_true.value(0) => selected.extend(0..self.batch.len() as u32),
            true => {}
            false => selected.extend(is_true.set_indices_u32()),
        }
    }

    /// The values of a node that are numbers or numbers of names. A condition is 1 where it is true, else 0.
    pub(crate) fn input(&mut self, node: NodeId) -> AggregateInput {
        let rows = self.batch.len();
        match (self.values(node), self.program.type_of(node)) {
            (values, Type::Signed) => AggregateInput::Signed(spread(&values, rows)),
            (values, Type::Float) => AggregateInput::Float(spread(&values, rows)),
            (values, Type::Boolean) => {
                AggregateInput::Unsigned(match (is_true(&values), values.is_constant()) {
                    (holds, true) => UInt64Array::from_value(holds.value(0).into(), rows),
                    (holds, false) => UInt64Array::from_iter_values(holds.iter().map(u64::from)),
                })
            }
            (values, _) => AggregateInput::Unsigned(spread(&values, rows)),
        }
    }

    fn values(&mut self, id: NodeId) -> BatchValues {
        if let Some(values) = &self.values[id] {
            return values.clone();
        }
        let values = self.evaluate(id);
        self.values[id] = Some(values.clone());
        values
    }

    // Long: one case for each kind of node.
    fn evaluate(&mut self, id: NodeId) -> BatchValues {
        let batch = self.batch;
        let unsigned = |values: Vec<u64>| BatchValues::Array(Arc::new(UInt64Array::from(values)));
        let each = |value: &dyn Fn(&K) -> u64| unsigned(batch.keys.iter().map(value).collect());
        match self.program.node(id).clone() {
            ProgramNode::Column(column @ RowValue::Statistic(_)) => {
                let value = |bits: &u64| (*bits != NULL).then(|| f64::from_bits(*bits));
                BatchValues::Array(Arc::new(batch.column(column).iter().map(value).collect::<Float64Array>()))
            }
            ProgramNode::Column(column) => BatchValues::Array(Arc::new(self.column(column))),
            ProgramNode::Member(RowKeyMember::Protocol) => each(&|key| key.protocol().into()),
            ProgramNode::Member(RowKeyMember::SourcePort) => each(&|key| key.ports()[0].into()),
            ProgramNode::Member(RowKeyMember::DestinationPort) => each(&|key| key.ports()[1].into()),
            ProgramNode::Duration => {
                let times = batch.column(RowValue::First).iter().zip(batch.column(RowValue::Last));
                let duration = |(first, last): (&u64, &u64)| {
                    (*first != NULL && *last != NULL).then(|| last.saturating_sub(*first))
                };
                BatchValues::Array(Arc::new(times.map(duration).collect::<UInt64Array>()))
            }
            // Between an endpoint and itself there is one direction.
            ProgramNode::Forward => each(&|key| (lesser(*key) == *key).into()),
            ProgramNode::ProtocolName => each(&|key| key.protocol().into()),
            ProgramNode::Service => {
                let service = |key: &K| {
                    let [source, destination] = key.ports();
                    flow::service(key.protocol(), source, destination).map(|number| number as u64)
                };
                BatchValues::Array(Arc::new(batch.keys.iter().map(service).collect::<UInt64Array>()))
            }
            ProgramNode::Asn(side) => self.places(side, |place| place.asn.map(u64::from)),
            ProgramNode::Country(side) => {
                self.places(side, |place| place.country.map(|letters| u16::from_be_bytes(letters).into()))
            }
            ProgramNode::Constant(constant) => BatchValues::Constant(Scalar::new(match constant {
                Constant::Unsigned(number) => Arc::new(UInt64Array::from(vec![number])),
                Constant::Signed(number) => Arc::new(Int64Array::from(vec![number])),
                Constant::Float(number) => Arc::new(Float64Array::from(vec![number])),
                Constant::Boolean(is_true) => Arc::new(BooleanArray::from(vec![is_true])),
            })),
            ProgramNode::Cast(of, to) => {
                let values = self.values(of);
                BatchValues::new(cast(values.array(), self.program.type_of(of), to), values.is_constant())
            }
            ProgramNode::Arithmetic(left, operator, right) => {
                let operands = [self.values(left), self.values(right)];
                let is_constant = operands.iter().all(BatchValues::is_constant);
                let array = match self.program.type_of(id) {
                    Type::Float => calculate_floats(operator, &operands),
                    _ => calculate(operator, &operands),
                };
                BatchValues::new(array, is_constant)
            }
            ProgramNode::Compare(left, comparison, right) => {
                let operands = [self.values(left), self.values(right)];
                let is_constant = operands.iter().all(BatchValues::is_constant);
                BatchValues::new(Arc::new(compare(comparison, &operands)), is_constant)
            }
            ProgramNode::IsIn(of, list) => {
                let values = self.values(of);
                let array = values.array().as_primitive::<UInt64Type>();
                let is_in = |value: &u64| match list[..] {
                    [one] => *value == one,
                    _ => list.binary_search(value).is_ok(),
                };
                let found = array.values().iter().map(is_in).collect();
                boolean_values(BooleanArray::new(found, array.nulls().cloned()), values.is_constant())
            }
            ProgramNode::InNetworks(sides, networks) => {
                boolean_values(in_networks(batch, sides, &networks), false)
            }
            ProgramNode::SameAddress => {
                let is_same = |key: &K| {
                    let [source, destination] = key.addresses();
                    source == destination
                };
                boolean_values(BooleanArray::new(batch.keys.iter().map(is_same).collect(), None), false)
            }
            ProgramNode::Conversation(patterns) => {
                let is_one = |key: &K| {
                    let conversation = conversation(&lesser(*key).flow_key(&KeySpec::FIVE_TUPLE));
                    let text = conversation.map_or_else(String::new, |conversation| conversation.to_string());
                    patterns.iter().any(|pattern| is_like(&text, pattern))
                };
                boolean_values(BooleanArray::new(batch.keys.iter().map(is_one).collect(), None), false)
            }
            ProgramNode::IsNull(of) => {
                let values = self.values(of);
                let is_null = match values.array().nulls() {
                    Some(nulls) => !nulls.inner(),
                    None => BooleanBuffer::new_unset(values.array().len()),
                };
                boolean_values(BooleanArray::new(is_null, None), values.is_constant())
            }
            ProgramNode::Not(of) => {
                let values = self.values(of);
                let array = values.array().as_boolean();
                boolean_values(
                    BooleanArray::new(!array.values(), array.nulls().cloned()),
                    values.is_constant(),
                )
            }
            ProgramNode::And(parts) => self.join(&parts, boolean::and_kleene),
            ProgramNode::Or(parts) => self.join(&parts, boolean::or_kleene),
        }
    }

    fn join(
        &mut self,
        parts: &[NodeId],
        join: fn(&BooleanArray, &BooleanArray) -> Result<BooleanArray, ArrowError>,
    ) -> BatchValues {
        let rows = self.batch.len();
        let mut joined: Option<BooleanArray> = None;
        for part in parts {
            let values = self.values(*part);
            let array = values.array().as_boolean();
            let array = match values.is_constant() {
                true => BooleanArray::from(vec![array.value(0); rows]),
                false => array.clone(),
            };
            joined = Some(match joined {
                None => array,
                Some(earlier) => join(&earlier, &array).unwrap_or_else(|_| no_booleans(rows)),
            });
        }
        boolean_values(joined.unwrap_or_else(|| no_booleans(rows)), false)
    }

    /// Looks up the addresses of a side in the databases.
    fn places(&self, side: usize, of: impl Fn(AddressLocation) -> Option<u64>) -> BatchValues {
        let is_v6 = K::WORDS == KeyV6::WORDS;
        let Some(databases) = self.program.places() else {
            return BatchValues::Array(Arc::new(UInt64Array::new_null(self.batch.len())));
        };
        let mut lookup = databases.lookup();
        let place = |key: &K| {
            let bits = key.addresses()[side];
            // In keys, IPv4's addresses are mapped ones.
            let address = match is_v6 {
                true => IpAddr::V6(Ipv6Addr::from_bits(bits)),
                false => IpAddr::V4(Ipv4Addr::from_bits(bits as u32)),
            };
            of(lookup.place(address))
        };
        BatchValues::Array(Arc::new(self.batch.keys.iter().map(place).collect::<UInt64Array>()))
    }

    /// A column of the batch. Flows that are not TCP have no losses.
    fn column(&self, column: RowValue) -> UInt64Array {
        let values = self.batch.column(column);
        let is_loss = is_loss(column);
        // Rows of files may lack any value.
        let is_nullable = is_loss || values.contains(&NULL);
        let nulls = is_nullable.then(|| {
            let present = values.iter().zip(&self.batch.keys);
            NullBuffer::from_iter(
                present.map(|(value, key)| *value != NULL && !(is_loss && key.protocol() != TCP)),
            )
        });
        UInt64Array::new(ScalarBuffer::from(values.to_vec()), nulls.filter(|nulls| nulls.null_count() != 0))
    }
}

/// True for what loss tracking measures.
pub(crate) fn is_loss(column: RowValue) -> bool {
    matches!(column, RowValue::RttSum | RowValue::RttCount)
        || FIELDS.iter().any(|field| field.row == column && field.part == Part::Loss)
}

/// Returns where a condition is true: it is not where it is unknown.
fn is_true(condition: &BatchValues) -> BooleanBuffer {
    let array = condition.array().as_boolean();
    match array.nulls() {
        Some(nulls) => array.values() & nulls.inner(),
        None => array.values().clone(),
    }
}

fn boolean_values(array: BooleanArray, is_constant: bool) -> BatchValues {
    BatchValues::new(Arc::new(array), is_constant)
}

/// Returns nulls for a kernel that refuses its operands, whose types and lengths the plan has made equal: nothing is known there.
fn no_booleans(rows: usize) -> BooleanArray {
    BooleanArray::new_null(rows)
}

fn in_networks<K: MaskedKey>(batch: &RowBatch<K>, sides: &[usize], networks: &[NetworkMask]) -> BooleanArray {
    let is_v6 = K::WORDS == KeyV6::WORDS;
    let networks: Vec<_> = networks.iter().filter(|network| network.is_v6 == is_v6).collect();
    let is_in = |key: &K| {
        let addresses = key.addresses();
        sides
            .iter()
            .any(|side| networks.iter().any(|network| addresses[*side] & network.mask == network.bits))
    };
    BooleanArray::new(batch.keys.iter().map(is_in).collect(), None)
}

/// Numbers as another type; null where that cannot hold them.
fn cast(array: &dyn Array, from: Type, to: Type) -> ArrayRef {
    match (from, to) {
        (Type::Unsigned | Type::Name(_), Type::Signed) => {
            let signed: Int64Array =
                array.as_primitive::<UInt64Type>().unary_opt(|number| i64::try_from(number).ok());
            Arc::new(signed)
        }
        (Type::Signed, Type::Unsigned) => {
            let unsigned: UInt64Array =
                array.as_primitive::<Int64Type>().unary_opt(|number| u64::try_from(number).ok());
            Arc::new(unsigned)
        }
        (Type::Signed, _) => {
            let floats: Float64Array = array.as_primitive::<Int64Type>().unary(|number| number as f64);
            Arc::new(floats)
        }
        (Type::Float, _) => Arc::new(array.as_primitive::<Float64Type>().clone()),
        _ => {
            let floats: Float64Array = array.as_primitive::<UInt64Type>().unary(|number| number as f64);
            Arc::new(floats)
        }
    }
}

/// Arithmetic of integers.
fn calculate(operator: Operator, operands: &[BatchValues; 2]) -> ArrayRef {
    let [left, right] = operands;
    let calculated = match operator {
        Operator::Add => numeric::add(left, right),
        Operator::Subtract => numeric::sub(left, right),
        Operator::Multiply | Operator::Divide => numeric::mul(left, right),
    };
    calculated.unwrap_or_else(|_| calculate_each(operator, operands))
}

/// Calculates each value by itself: null where a result is out of range.
fn calculate_each(operator: Operator, operands: &[BatchValues; 2]) -> ArrayRef {
    let [left, right] = operands.each_ref().map(|values| values.array().as_primitive::<Int64Type>());
    let rows = left.len().max(right.len());
    let value = |array: &Int64Array, row: usize| {
        let row = if array.len() == 1 { 0 } else { row };
        array.is_valid(row).then(|| array.value(row))
    };
    let calculated = (0..rows).map(|row| {
        let (left, right) = (value(left, row)?, value(right, row)?);
        match operator {
            Operator::Add => left.checked_add(right),
            Operator::Subtract => left.checked_sub(right),
            Operator::Multiply | Operator::Divide => left.checked_mul(right),
        }
    });
    Arc::new(calculated.collect::<Int64Array>())
}

/// Arithmetic of floating point numbers; null where the divisor is 0.
fn calculate_floats(operator: Operator, operands: &[BatchValues; 2]) -> ArrayRef {
    let [left, right] = operands;
    let calculated = match operator {
        Operator::Add => numeric::add_wrapping(left, right),
        Operator::Subtract => numeric::sub_wrapping(left, right),
        Operator::Multiply => numeric::mul_wrapping(left, right),
        Operator::Divide => {
            let zero = Float64Array::new_scalar(0.0);
            let divisor = cmp::eq(&right.array().as_primitive::<Float64Type>().clone(), &zero)
                .and_then(|is_zero| nullif(right.array(), &is_zero));
            divisor.and_then(|divisor| numeric::div(left, &BatchValues::new(divisor, right.is_constant())))
        }
    };
    let rows = left.array().len().max(right.array().len());
    calculated.unwrap_or_else(|_| Arc::new(Float64Array::new_null(rows)))
}

fn compare(comparison: Comparison, operands: &[BatchValues; 2]) -> BooleanArray {
    let [left, right] = operands;
    let compared = match comparison {
        Comparison::Equal => cmp::eq(left, right),
        Comparison::NotEqual => cmp::neq(left, right),
        Comparison::Less => cmp::lt(left, right),
        Comparison::LessOrEqual => cmp::lt_eq(left, right),
        Comparison::Greater => cmp::gt(left, right),
        Comparison::GreaterOrEqual => cmp::gt_eq(left, right),
    };
    compared.unwrap_or_else(|_| no_booleans(left.array().len().max(right.array().len())))
}

/// The values of all rows, also where they are the same.
fn spread<T: arrow_array::ArrowPrimitiveType>(values: &BatchValues, rows: usize) -> PrimitiveArray<T> {
    let array = values.array().as_primitive::<T>();
    match values.is_constant() {
        true if array.is_null(0) => PrimitiveArray::new_null(rows),
        true => PrimitiveArray::from_value(array.value(0), rows),
        false => array.clone(),
    }
}
