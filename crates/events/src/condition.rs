//! Conditions on an answer.

use crate::figure::BoundedValue;
use crate::interval::Interval;
use crate::truth::TruthValue;
use model::Value;
use notation::{Comparison, Operator};
use serde::{Deserialize, Serialize};
use std::net::IpAddr;

/// A value in a condition.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Operand {
    /// The column of this number, counted through all sources.
    Item(usize),
    /// A number.
    Number(f64),
    /// An integer, exactly.
    Integer(i64),
    /// A text.
    Text(String),
    /// Arithmetic.
    Arithmetic(Box<Operand>, Operator, Box<Operand>),
}

/// A condition on a group of the sources' answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum TriggerCondition {
    /// The condition holds if all of these do.
    And(Vec<TriggerCondition>),
    /// The condition holds if any of these does.
    Or(Vec<TriggerCondition>),
    /// The condition holds if this one does not.
    Not(Box<TriggerCondition>),
    /// Two values compared.
    Compare(Operand, Comparison, Operand),
    /// The address of this column is in any of these prefixes.
    InPrefixes(usize, Vec<(IpAddr, u8)>),
    /// A value is one of these.
    In(Operand, Vec<Operand>),
    /// The text of this column matches a pattern of SQL.
    Like(usize, String),
    /// The value is null.
    IsNull(Operand),
    /// The source of this number has no answer.
    IsMissing(usize),
    /// The condition holds whatever the packets that were lost.
    Surely(Box<TriggerCondition>),
}

/// The figures that are known of a group.
#[derive(Clone, Copy, Debug)]
pub struct GroupFigures<'a> {
    /// The figures of the group, one for each item.
    pub figures: &'a [BoundedValue],
    /// The figures where any packet that was lost may have been of the group; empty if no condition asks.
    pub widened: &'a [BoundedValue],
    /// True for each source that has no answer.
    pub missing: &'a [bool],
}

impl<'a> GroupFigures<'a> {
    /// A group of answers that are there, of which nothing was lost.
    pub fn from_figures(figures: &'a [BoundedValue]) -> Self {
        Self { figures, widened: figures, missing: &[] }
    }
}

impl Operand {
    fn figure(&self, figures: &[BoundedValue]) -> BoundedValue {
        match self {
            Self::Item(column) => figures.get(*column).cloned().unwrap_or(BoundedValue::Null),
            Self::Number(number) => BoundedValue::Number(Interval::exact(*number)),
            Self::Integer(number) => BoundedValue::Number(Interval::integer((*number).into())),
            Self::Text(text) => BoundedValue::Other(Value::Text(text.clone())),
            Self::Arithmetic(left, operator, right) => match (left.figure(figures), right.figure(figures)) {
                (BoundedValue::Number(a), BoundedValue::Number(b)) => {
                    a.calculate(*operator, b).map_or(BoundedValue::Unknown, BoundedValue::Number)
                }
                (BoundedValue::Null, _) | (_, BoundedValue::Null) => BoundedValue::Null,
                _ => BoundedValue::Unknown,
            },
        }
    }

    /// The number, if it is one.
    pub(crate) fn number(&self) -> Option<f64> {
        match self {
            Self::Number(number) => Some(*number),
            Self::Integer(number) => Some(*number as f64),
            _ => None,
        }
    }

    fn add_items(&self, items: &mut Vec<usize>) {
        match self {
            Self::Item(column) if !items.contains(column) => items.push(*column),
            Self::Arithmetic(left, _, right) => {
                left.add_items(items);
                right.add_items(items);
            }
            Self::Item(_) | Self::Number(_) | Self::Integer(_) | Self::Text(_) => {}
        }
    }
}

impl TriggerCondition {
    /// Comparisons of one column of the parent with a number that are the condition or part of it: column, comparison and number.
    pub fn thresholds(&self) -> Vec<(usize, Comparison, f64)> {
        let of = |conditions: &[Self]| conditions.iter().flat_map(Self::thresholds).collect();
        match self {
            Self::And(conditions) | Self::Or(conditions) => of(conditions),
            Self::Not(condition) | Self::Surely(condition) => condition.thresholds(),
            Self::Compare(Operand::Item(column), comparison, other) => {
                other.number().map(|number| (*column, *comparison, number)).into_iter().collect()
            }
            _ => Vec::new(),
        }
    }

    /// Returns whether a group of which this is known fulfils the condition.
    pub fn holds(&self, known: GroupFigures<'_>) -> TruthValue {
        let figures = known.figures;
        match self {
            Self::And(of) => of.iter().fold(TruthValue::True, |truth, one| truth.and(one.holds(known))),
            Self::Or(of) => of.iter().fold(TruthValue::False, |truth, one| truth.or(one.holds(known))),
            Self::Not(of) => of.holds(known).negated(),
            Self::Compare(left, comparison, right) => {
                compare(&left.figure(figures), *comparison, &right.figure(figures))
            }
            Self::In(value, list) => {
                let value = value.figure(figures);
                let is_it = |one: &Operand| compare(&value, Comparison::Equal, &one.figure(figures));
                list.iter().fold(TruthValue::False, |truth, one| truth.or(is_it(one)))
            }
            Self::InPrefixes(column, prefixes) => {
                match figures.get(*column).and_then(BoundedValue::address) {
                    Some(own) => prefixes.iter().any(|prefix| contains(*prefix, own)).into(),
                    None => TruthValue::Unknown,
                }
            }
            Self::Like(column, pattern) => match figures.get(*column) {
                Some(BoundedValue::Other(Value::Text(text))) => notation::is_like(text, pattern).into(),
                _ => TruthValue::Unknown,
            },
            Self::IsNull(value) => match value.figure(figures) {
                BoundedValue::Null => TruthValue::True,
                BoundedValue::Unknown => TruthValue::Unknown,
                _ => TruthValue::False,
            },
            Self::IsMissing(source) => known.missing.get(*source).copied().unwrap_or(false).into(),
            Self::Surely(of) => of.holds(GroupFigures { figures: known.widened, ..known }),
        }
    }

    /// Returns true if `is_so` of the condition or of a part of it.
    pub(crate) fn any(&self, is_so: &dyn Fn(&Self) -> bool) -> bool {
        is_so(self)
            || match self {
                Self::And(of) | Self::Or(of) => of.iter().any(|one| one.any(is_so)),
                Self::Not(of) | Self::Surely(of) => of.any(is_so),
                _ => false,
            }
    }

    /// The columns that it reads, each once, in the order of the text.
    pub fn items(&self) -> Vec<usize> {
        let mut items = Vec::new();
        self.add_items(&mut items);
        items
    }

    fn add_items(&self, items: &mut Vec<usize>) {
        match self {
            Self::And(of) | Self::Or(of) => of.iter().for_each(|one| one.add_items(items)),
            Self::Not(of) | Self::Surely(of) => of.add_items(items),
            Self::IsMissing(_) => {}
            Self::Compare(left, _, right) => {
                left.add_items(items);
                right.add_items(items);
            }
            Self::In(value, list) => {
                value.add_items(items);
                list.iter().for_each(|one| one.add_items(items));
            }
            Self::InPrefixes(column, _) | Self::Like(column, _) => Operand::Item(*column).add_items(items),
            Self::IsNull(value) => value.add_items(items),
        }
    }

    /// The number that one column is compared with, if the condition is no more than that.
    pub fn threshold(&self) -> Option<f64> {
        match self {
            Self::Compare(Operand::Item(_), _, threshold) => threshold.number(),
            Self::Surely(of) => of.threshold(),
            _ => None,
        }
    }
}

fn compare(left: &BoundedValue, comparison: Comparison, right: &BoundedValue) -> TruthValue {
    match (left, right) {
        (BoundedValue::Number(a), BoundedValue::Number(b)) => a.compare(comparison, *b),
        (BoundedValue::Other(a), BoundedValue::Other(b)) => match comparison {
            Comparison::Equal => (a == b).into(),
            Comparison::NotEqual => (a != b).into(),
            _ => TruthValue::Unknown,
        },
        _ => TruthValue::Unknown,
    }
}

/// Returns true if an address, or all addresses of a prefix, are in a prefix.
fn contains((network, length): (IpAddr, u8), (address, own): (IpAddr, u8)) -> bool {
    network.is_ipv4() == address.is_ipv4()
        && own >= length
        && model::network(address, length) == model::network(network, length)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(lower: f64, upper: f64) -> BoundedValue {
        BoundedValue::Number(Interval { lower, upper })
    }

    #[test]
    fn null_is_unknown_and_so_is_a_division_by_what_may_be_zero() {
        let more = |left, right| TriggerCondition::Compare(left, Comparison::Greater, right);
        let quotient =
            Operand::Arithmetic(Operand::Item(0).into(), Operator::Divide, Operand::Item(1).into());
        let condition = more(quotient.clone(), Operand::Number(0.5));
        assert_eq!(
            condition.holds(GroupFigures::from_figures(&[number(3.0, 3.0), number(4.0, 4.0)])),
            TruthValue::True
        );
        assert_eq!(
            condition.holds(GroupFigures::from_figures(&[number(3.0, 3.0), number(0.0, 4.0)])),
            TruthValue::Unknown
        );
        assert_eq!(
            condition.holds(GroupFigures::from_figures(&[BoundedValue::Null, number(4.0, 4.0)])),
            TruthValue::Unknown
        );
        assert_eq!(
            TriggerCondition::IsNull(Operand::Item(0))
                .holds(GroupFigures::from_figures(&[BoundedValue::Null])),
            TruthValue::True
        );
        assert_eq!(
            TriggerCondition::IsNull(quotient)
                .holds(GroupFigures::from_figures(&[number(1.0, 1.0), number(0.0, 0.0)])),
            TruthValue::Unknown
        );
        assert_eq!(condition.items(), [0, 1]);
        assert_eq!(condition.threshold(), None);
        assert_eq!(more(Operand::Item(3), Operand::Number(7.0)).threshold(), Some(7.0));
    }

    #[test]
    fn what_is_computed_with_null_is_null() {
        let sum = |right| Operand::Arithmetic(Operand::Item(0).into(), Operator::Add, Box::new(right));
        let is_null =
            |operand, figure| TriggerCondition::IsNull(operand).holds(GroupFigures::from_figures(&[figure]));
        assert_eq!(is_null(sum(Operand::Number(1.0)), BoundedValue::Null), TruthValue::True);
        assert_eq!(is_null(sum(Operand::Number(1.0)), number(1.0, 1.0)), TruthValue::False);
        assert_eq!(is_null(sum(Operand::Item(1)), number(1.0, 1.0)), TruthValue::True);
        // Each item once, in the order of the text.
        assert_eq!(TriggerCondition::IsNull(sum(sum(Operand::Item(2)))).items(), [0, 2]);
    }

    #[test]
    fn the_numbers_that_items_are_compared_with() {
        use Comparison::{Greater, Less};
        let more = |left, right| TriggerCondition::Compare(left, Greater, right);
        let surely = TriggerCondition::Surely(more(Operand::Item(1), Operand::Integer(5)).into());
        assert_eq!(surely.threshold(), Some(5.0));
        let less = TriggerCondition::Compare(Operand::Item(2), Less, Operand::Number(0.5));
        let condition = TriggerCondition::And(vec![
            surely,
            TriggerCondition::Or(vec![
                TriggerCondition::Not(less.into()),
                more(Operand::Item(0), Operand::Item(1)),
                TriggerCondition::IsMissing(0),
            ]),
            more(Operand::Number(3.0), Operand::Item(0)),
        ]);
        assert_eq!(condition.thresholds(), [(1, Greater, 5.0), (2, Less, 0.5)]);
        assert_eq!(condition.threshold(), None);
    }

    #[test]
    fn texts_and_addresses_are_equal_or_in_a_list() {
        let text = |text: &str| BoundedValue::Other(Value::from(text));
        let of = |condition: TriggerCondition, figure| condition.holds(GroupFigures::from_figures(&[figure]));
        let list = ["tcp", "udp"].map(|name| Operand::Text(name.to_owned()));
        let member = TriggerCondition::In(Operand::Item(0), list.to_vec());
        assert_eq!(of(member.clone(), text("udp")), TruthValue::True);
        assert_eq!(of(member.clone(), text("icmp")), TruthValue::False);
        assert_eq!(of(member, BoundedValue::Unknown), TruthValue::Unknown);
        assert_eq!(of(TriggerCondition::Like(0, "ht%".to_owned()), text("https")), TruthValue::True);
        let prefix = ("10.0.0.0".parse().expect("an address"), 8);
        let inside = TriggerCondition::InPrefixes(0, vec![prefix]);
        let address = |text: &str| BoundedValue::Other(Value::Address(text.parse().expect("an address")));
        assert_eq!(of(inside.clone(), address("10.9.8.7")), TruthValue::True);
        assert_eq!(of(inside.clone(), address("11.9.8.7")), TruthValue::False);
        assert_eq!(of(inside, address("::a00:1")), TruthValue::False);
    }
}
