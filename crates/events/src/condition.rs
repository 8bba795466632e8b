//! Conditions on an answer.

use crate::figure::Figure;
use crate::interval::Interval;
use crate::truth::Truth;
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
pub enum Condition {
    /// The condition holds if all of these do.
    And(Vec<Condition>),
    /// The condition holds if any of these does.
    Or(Vec<Condition>),
    /// The condition holds if this one does not.
    Not(Box<Condition>),
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
    Surely(Box<Condition>),
}

/// The figures that are known of a group.
#[derive(Clone, Copy, Debug)]
pub struct GroupFigures<'a> {
    /// The figures of the group, one for each item.
    pub figures: &'a [Figure],
    /// The figures where any packet that was lost may have been of the group; empty if no condition asks.
    pub widened: &'a [Figure],
    /// True for each source that has no answer.
    pub missing: &'a [bool],
}

impl<'a> GroupFigures<'a> {
    /// A group of answers that are there, of which nothing was lost.
    pub fn of(figures: &'a [Figure]) -> Self {
        Self { figures, widened: figures, missing: &[] }
    }
}

impl Operand {
    fn figure(&self, figures: &[Figure]) -> Figure {
        match self {
            Self::Item(column) => figures.get(*column).cloned().unwrap_or(Figure::Null),
            Self::Number(number) => Figure::Number(Interval::exact(*number)),
            Self::Integer(number) => Figure::Number(Interval::integer((*number).into())),
            Self::Text(text) => Figure::Other(Value::Text(text.clone())),
            Self::Arithmetic(left, operator, right) => match (left.figure(figures), right.figure(figures)) {
                (Figure::Number(a), Figure::Number(b)) => {
                    a.calculate(*operator, b).map_or(Figure::Unknown, Figure::Number)
                }
                (Figure::Null, _) | (_, Figure::Null) => Figure::Null,
                _ => Figure::Unknown,
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

impl Condition {
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
    pub fn holds(&self, known: GroupFigures<'_>) -> Truth {
        let figures = known.figures;
        match self {
            Self::And(of) => of.iter().fold(Truth::True, |truth, one| truth.and(one.holds(known))),
            Self::Or(of) => of.iter().fold(Truth::False, |truth, one| truth.or(one.holds(known))),
            Self::Not(of) => of.holds(known).negated(),
            Self::Compare(left, comparison, right) => {
                compare(&left.figure(figures), *comparison, &right.figure(figures))
            }
            Self::In(value, list) => {
                let value = value.figure(figures);
                let is_it = |one: &Operand| compare(&value, Comparison::Equal, &one.figure(figures));
                list.iter().fold(Truth::False, |truth, one| truth.or(is_it(one)))
            }
            Self::InPrefixes(column, prefixes) => match figures.get(*column).and_then(Figure::address) {
                Some(own) => prefixes.iter().any(|prefix| contains(*prefix, own)).into(),
                None => Truth::Unknown,
            },
            Self::Like(column, pattern) => match figures.get(*column) {
                Some(Figure::Other(Value::Text(text))) => notation::is_like(text, pattern).into(),
                _ => Truth::Unknown,
            },
            Self::IsNull(value) => match value.figure(figures) {
                Figure::Null => Truth::True,
                Figure::Unknown => Truth::Unknown,
                _ => Truth::False,
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

fn compare(left: &Figure, comparison: Comparison, right: &Figure) -> Truth {
    match (left, right) {
        (Figure::Number(a), Figure::Number(b)) => a.compare(comparison, *b),
        (Figure::Other(a), Figure::Other(b)) => match comparison {
            Comparison::Equal => (a == b).into(),
            Comparison::NotEqual => (a != b).into(),
            _ => Truth::Unknown,
        },
        _ => Truth::Unknown,
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

    fn number(lower: f64, upper: f64) -> Figure {
        Figure::Number(Interval { lower, upper })
    }

    #[test]
    fn null_is_unknown_and_so_is_a_division_by_what_may_be_zero() {
        let more = |left, right| Condition::Compare(left, Comparison::Greater, right);
        let quotient =
            Operand::Arithmetic(Operand::Item(0).into(), Operator::Divide, Operand::Item(1).into());
        let condition = more(quotient.clone(), Operand::Number(0.5));
        assert_eq!(condition.holds(GroupFigures::of(&[number(3.0, 3.0), number(4.0, 4.0)])), Truth::True);
        assert_eq!(condition.holds(GroupFigures::of(&[number(3.0, 3.0), number(0.0, 4.0)])), Truth::Unknown);
        assert_eq!(condition.holds(GroupFigures::of(&[Figure::Null, number(4.0, 4.0)])), Truth::Unknown);
        assert_eq!(Condition::IsNull(Operand::Item(0)).holds(GroupFigures::of(&[Figure::Null])), Truth::True);
        assert_eq!(
            Condition::IsNull(quotient).holds(GroupFigures::of(&[number(1.0, 1.0), number(0.0, 0.0)])),
            Truth::Unknown
        );
        assert_eq!(condition.items(), [0, 1]);
        assert_eq!(condition.threshold(), None);
        assert_eq!(more(Operand::Item(3), Operand::Number(7.0)).threshold(), Some(7.0));
    }

    #[test]
    fn what_is_computed_with_null_is_null() {
        let sum = |right| Operand::Arithmetic(Operand::Item(0).into(), Operator::Add, Box::new(right));
        let is_null = |operand, figure| Condition::IsNull(operand).holds(GroupFigures::of(&[figure]));
        assert_eq!(is_null(sum(Operand::Number(1.0)), Figure::Null), Truth::True);
        assert_eq!(is_null(sum(Operand::Number(1.0)), number(1.0, 1.0)), Truth::False);
        assert_eq!(is_null(sum(Operand::Item(1)), number(1.0, 1.0)), Truth::True);
        // Each item once, in the order of the text.
        assert_eq!(Condition::IsNull(sum(sum(Operand::Item(2)))).items(), [0, 2]);
    }

    #[test]
    fn the_numbers_that_items_are_compared_with() {
        use Comparison::{Greater, Less};
        let more = |left, right| Condition::Compare(left, Greater, right);
        let surely = Condition::Surely(more(Operand::Item(1), Operand::Integer(5)).into());
        assert_eq!(surely.threshold(), Some(5.0));
        let less = Condition::Compare(Operand::Item(2), Less, Operand::Number(0.5));
        let condition = Condition::And(vec![
            surely,
            Condition::Or(vec![
                Condition::Not(less.into()),
                more(Operand::Item(0), Operand::Item(1)),
                Condition::IsMissing(0),
            ]),
            more(Operand::Number(3.0), Operand::Item(0)),
        ]);
        assert_eq!(condition.thresholds(), [(1, Greater, 5.0), (2, Less, 0.5)]);
        assert_eq!(condition.threshold(), None);
    }

    #[test]
    fn texts_and_addresses_are_equal_or_in_a_list() {
        let text = |text: &str| Figure::Other(Value::from(text));
        let of = |condition: Condition, figure| condition.holds(GroupFigures::of(&[figure]));
        let list = ["tcp", "udp"].map(|name| Operand::Text(name.to_owned()));
        let member = Condition::In(Operand::Item(0), list.to_vec());
        assert_eq!(of(member.clone(), text("udp")), Truth::True);
        assert_eq!(of(member.clone(), text("icmp")), Truth::False);
        assert_eq!(of(member, Figure::Unknown), Truth::Unknown);
        assert_eq!(of(Condition::Like(0, "ht%".to_owned()), text("https")), Truth::True);
        let prefix = ("10.0.0.0".parse().expect("an address"), 8);
        let inside = Condition::InPrefixes(0, vec![prefix]);
        let address = |text: &str| Figure::Other(Value::Address(text.parse().expect("an address")));
        assert_eq!(of(inside.clone(), address("10.9.8.7")), Truth::True);
        assert_eq!(of(inside.clone(), address("11.9.8.7")), Truth::False);
        assert_eq!(of(inside, address("::a00:1")), Truth::False);
    }
}
