//! The groups of several nodes.

use super::Merging;
use super::parts::MergeRule;
use crate::query::{Across, Grouping, Operator};
use crate::rows::group_value::Group;
use crate::rows::scalar::Scalar;
use model::{Answer, AnswerStatus, Span, Value};
use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};
use std::net::IpAddr;

/// A member of a group's key, in the order in which groups of equal rank are sorted: null is last.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum OrderedMember {
    Number(u64),
    Address(IpAddr),
    Prefix(IpAddr, u8),
    Text(String),
    Null,
}

impl From<&Value> for OrderedMember {
    fn from(value: &Value) -> Self {
        match value {
            Value::Unsigned(number) | Value::Time(number) => Self::Number(*number),
            Value::Signed(number) => Self::Number(number.cast_unsigned()),
            Value::Float(number) | Value::Estimate { value: number, .. } => Self::Number(number.to_bits()),
            Value::Address(address) => Self::Address(*address),
            Value::Prefix { address, length } => Self::Prefix(*address, *length),
            Value::Text(text) => Self::Text(text.clone()),
            Value::Conversation(conversation) => Self::Text(conversation.to_string()),
            Value::Null | Value::Heaviest(_) => Self::Null,
        }
    }
}

/// The groups of a window. Their values are in arrays, so that no group has allocations of its own.
#[derive(Debug)]
pub(super) struct MergedGroups<'a> {
    merging: &'a Merging,
    /// The values of the fields that are grouped by, as the first node has them.
    keys: Vec<&'a [Value]>,
    /// The parts of each group, one after the other; `None` where no node has the group.
    parts: Vec<Option<Scalar>>,
    /// The parts of each group per second of the time that each node watched, where these times differ.
    rates: Vec<Option<Scalar>>,
    /// The seconds that all nodes watched; `None` where these differ.
    seconds: Option<f64>,
    /// The most groups that one node had.
    pub(super) largest: u64,
    /// The total of the groups that nodes left out, by part.
    pub(super) left_out: Vec<f64>,
    /// True if a node left groups out.
    pub(super) is_open: bool,
    /// The number of groups that some node leaves out is not known.
    pub(super) is_uncounted: bool,
    /// True if some values are between bounds.
    pub(super) is_unsure: bool,
}

/// A group, as conditions, columns and orders read it.
#[derive(Clone, Copy, Debug)]
pub(super) struct MergedGroup<'a> {
    all: &'a MergedGroups<'a>,
    number: usize,
}

impl<'a> MergedGroups<'a> {
    /// The groups of these answers.
    pub(super) fn new(merging: &'a Merging, window: Span, answers: &[&'a Answer]) -> Self {
        let parts = &merging.parts;
        let watched: Vec<f64> =
            answers.iter().map(|answer| answer.watched.unwrap_or(window).seconds()).collect();
        let first = watched.first().copied().unwrap_or_else(|| window.seconds());
        let seconds = watched.iter().all(|other| *other == first).then_some(first);
        let mut merged = Self {
            merging,
            keys: Vec::new(),
            parts: Vec::new(),
            rates: Vec::new(),
            seconds,
            largest: answers.iter().map(|answer| all_groups(answer)).max().unwrap_or(0),
            left_out: vec![0.0; parts.rules.len()],
            is_open: answers.iter().any(|answer| answer.rest.groups != 0),
            is_uncounted: answers.iter().any(|answer| answer.rest.is_open),
            is_unsure: answers.iter().any(|answer| answer.rest.groups != 0 || answer.bounds != "exact"),
        };
        let mut numbers: HashMap<Vec<OrderedMember>, usize> = HashMap::new();
        if merging.plan.query.group == Grouping::All {
            numbers.insert(Vec::new(), merged.add(&[]));
        }
        let mut key = Vec::new();
        for (answer, watched) in answers.iter().zip(&watched) {
            for row in &answer.rows {
                key.clear();
                key.extend(members(merging, row));
                let number = match numbers.get(key.as_slice()) {
                    Some(number) => *number,
                    None => {
                        let number = merged.add(&row[..parts.keys.min(row.len())]);
                        numbers.insert(key.clone(), number);
                        number
                    }
                };
                merged.merge(number, row, *watched, answer.status == AnswerStatus::Partial);
            }
        }
        for (answer, watched) in answers.iter().zip(&watched).filter(|(answer, _)| answer.rest.groups != 0) {
            let known: HashSet<Vec<OrderedMember>> =
                answer.rows.iter().map(|row| members(merging, row).collect()).collect();
            let others = numbers.iter().filter(|(key, _)| !known.contains(*key));
            let others: Vec<usize> = others.map(|(_, number)| *number).collect();
            for (at, rule) in parts.rules.iter().enumerate() {
                let most = merged.most_left_out(answer, at);
                for number in &others {
                    let place = number * parts.rules.len() + at;
                    widen(&mut merged.parts[place], *rule, merging.by, most);
                    if seconds.is_none() {
                        widen(&mut merged.rates[place], *rule, merging.by, most / watched);
                    }
                }
            }
        }
        merged
    }

    /// Adds a group of which nothing is known yet, and returns its number.
    fn add(&mut self, key: &'a [Value]) -> usize {
        self.keys.push(key);
        let rules = self.merging.parts.rules.len();
        self.parts.resize(self.parts.len() + rules, None);
        if self.seconds.is_none() {
            self.rates.resize(self.rates.len() + rules, None);
        }
        self.keys.len() - 1
    }

    /// Adds a node's values of a group. `watched`: how long the node observed the window, seconds. `is_partial`: the node may have more
    /// of the group.
    fn merge(&mut self, number: usize, row: &[Value], watched: f64, is_partial: bool) {
        let Self { merging, parts, rates, seconds, .. } = self;
        let rules = &merging.parts.rules;
        for (at, rule) in rules.iter().enumerate() {
            let value = match row.get(merging.parts.keys + at).map_or(Scalar::Null, scalar) {
                Scalar::Null if is_partial => Scalar::Unknown,
                value => value,
            };
            let place = number * rules.len() + at;
            merge(&mut parts[place], value, *rule, merging.by);
            if seconds.is_none() {
                merge(&mut rates[place], per_second(value, watched), *rule, merging.by);
            }
        }
    }

    /// The most that a group has in a part which the node leaves out; infinite where nothing is known. Counts it to all that is left out.
    fn most_left_out(&mut self, answer: &Answer, part: usize) -> f64 {
        let parts = &self.merging.parts;
        let upper = |value: &Value| scalar(value).interval().map_or(f64::INFINITY, |[_, _, upper]| upper);
        let column = parts.keys + part;
        let name = &parts.query.columns[column].name;
        let MergeRule::Total(_, is_signed) = parts.rules[part] else { return f64::INFINITY };
        let total = answer.rest.totals.iter().find(|(total, _)| total == name);
        let total = total.filter(|_| !is_signed).map_or(f64::INFINITY, |(_, total)| upper(total));
        self.left_out[part] += total;
        // Where values are between bounds, groups are not in the order of what they have at the most.
        let is_ranked = parts.ranked == Some(part) && answer.bounds == "exact";
        let last = answer.rows.last().and_then(|row| row.get(column)).filter(|_| is_ranked);
        total.min(last.map_or(f64::INFINITY, upper))
    }

    /// Returns the number of groups.
    pub(super) fn len(&self) -> usize {
        self.keys.len()
    }

    /// The groups, in the order in which they came.
    pub(super) fn iter(&self) -> impl Iterator<Item = MergedGroup<'_>> {
        (0..self.keys.len()).map(|number| MergedGroup { all: self, number })
    }
}

impl Group for MergedGroup<'_> {
    fn aggregate(&self, number: usize) -> Scalar {
        let source = &self.all.merging.parts.sources[number];
        if let Some(part) = source.part() {
            return self.part(&self.all.parts, part);
        }
        let parts: Vec<Scalar> = source.parts.iter().map(|part| self.part(&self.all.parts, *part)).collect();
        (source.value)(&parts)
    }

    fn quantile(&self, _: usize, _: f64) -> Scalar {
        Scalar::Unknown
    }

    fn member(&self, number: usize) -> Option<Value> {
        Some(self.all.keys[self.number].get(number).cloned().unwrap_or_default())
    }

    fn seconds(&self) -> Option<f64> {
        self.all.seconds
    }

    fn rate(&self, number: usize) -> Scalar {
        match (self.all.seconds, self.all.merging.parts.sources[number].part()) {
            (None, Some(part)) => self.part(&self.all.rates, part),
            (seconds, _) => per_second(self.aggregate(number), seconds.unwrap_or(0.0)),
        }
    }
}

impl MergedGroup<'_> {
    /// A part; without rows that of none.
    fn part(&self, of: &[Option<Scalar>], part: usize) -> Scalar {
        let rules = &self.all.merging.parts.rules;
        of[self.number * rules.len() + part].unwrap_or(match rules[part] {
            MergeRule::Total(none, _) => none,
            MergeRule::Least | MergeRule::Greatest => Scalar::Null,
        })
    }

    /// The order of keys.
    pub(super) fn by_key(&self, other: &Self) -> Ordering {
        let members = |group: &Self| members(self.all.merging, self.all.keys[group.number]);
        members(self).cmp(members(other))
    }
}

/// The key of a row, in the order in which groups are sorted.
fn members<'a>(merging: &'a Merging, row: &'a [Value]) -> impl Iterator<Item = OrderedMember> + 'a {
    merging.parts.sorted.iter().map(|field| row.get(*field).map_or(OrderedMember::Null, OrderedMember::from))
}

/// Groups that an answer has or leaves out.
fn all_groups(answer: &Answer) -> u64 {
    (answer.rows.len() as u64).saturating_add(answer.rest.groups)
}

fn scalar(value: &Value) -> Scalar {
    match value {
        Value::Unsigned(number) | Value::Time(number) => Scalar::Integer((*number).into()),
        Value::Signed(number) => Scalar::Integer((*number).into()),
        Value::Float(number) => Scalar::float(*number),
        Value::Estimate { value, lower, upper } => {
            Scalar::Between { value: *value, lower: *lower, upper: *upper }
        }
        _ => Scalar::Null,
    }
}

fn per_second(value: Scalar, seconds: f64) -> Scalar {
    value.calculate(Operator::Divide, Scalar::Float(seconds))
}

/// Adds what another node has.
fn merge(own: &mut Option<Scalar>, other: Scalar, rule: MergeRule, by: Across) {
    *own = Some(match (*own, rule, by) {
        (None, ..) => other,
        (Some(own), MergeRule::Total(..), Across::Sum) => own.plus(other),
        // A total that is not known is none of several.
        (Some(own), MergeRule::Total(..), Across::Max)
            if own.interval().is_none() || other.interval().is_none() =>
        {
            own.calculate(Operator::Add, other)
        }
        (Some(own), MergeRule::Least, _) => own.outermost(other, Ordering::Less),
        (Some(own), MergeRule::Greatest | MergeRule::Total(..), _) => own.outermost(other, Ordering::Greater),
    });
}

/// Widens a part of a group that a node may have left out: it has `most` there at the most.
fn widen(own: &mut Option<Scalar>, rule: MergeRule, by: Across, most: f64) {
    if most == 0.0 {
        return;
    }
    let Some([value, lower, upper]) = own.and_then(Scalar::interval) else {
        if matches!(rule, MergeRule::Least | MergeRule::Greatest) {
            *own = Some(Scalar::Unknown);
        }
        return;
    };
    *own = Some(match (rule, by) {
        (MergeRule::Total(_, true), _) => Scalar::unbounded(value),
        (MergeRule::Total(..), Across::Sum) => Scalar::Between { value, lower, upper: upper + most },
        (MergeRule::Total(..), Across::Max) if upper >= most => return,
        (MergeRule::Total(..), Across::Max) => Scalar::Between { value, lower, upper: most },
        (MergeRule::Least, _) => Scalar::Between { value, lower: f64::NEG_INFINITY, upper },
        (MergeRule::Greatest, _) => Scalar::Between { value, lower, upper: f64::INFINITY },
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    const COUNT: MergeRule = MergeRule::Total(Scalar::Integer(0), false);

    #[test]
    fn what_nodes_have_is_added_or_the_largest_is_taken() {
        let between = |value, lower, upper| Scalar::Between { value, lower, upper };
        let of = |values: &[Scalar], rule, by| {
            let mut merged = None;
            values.iter().for_each(|value| merge(&mut merged, *value, rule, by));
            merged
        };
        let (three, five) = (Scalar::Integer(3), Scalar::Integer(5));
        assert_eq!(of(&[three, five], COUNT, Across::Sum), Some(Scalar::Integer(8)));
        assert_eq!(of(&[three, five], COUNT, Across::Max), Some(five));
        assert_eq!(of(&[three, Scalar::Null], COUNT, Across::Max), Some(Scalar::Null));
        assert_eq!(of(&[three, Scalar::Null, five], MergeRule::Least, Across::Sum), Some(three));
        assert_eq!(of(&[Scalar::Null, five, three], MergeRule::Greatest, Across::Sum), Some(five));
        let wide = between(4.0, 1.0, 9.0);
        assert_eq!(of(&[three, wide], COUNT, Across::Sum), Some(between(7.0, 4.0, 12.0)));
        assert_eq!(of(&[three, wide], COUNT, Across::Max), Some(between(4.0, 3.0, 9.0)));
        // More than 64 bits have is no overflow.
        let most = Scalar::Integer(u64::MAX.into());
        assert_eq!(of(&[most, five], COUNT, Across::Sum), Some(Scalar::Integer(i128::from(u64::MAX) + 5)));
    }

    #[test]
    fn what_may_have_been_left_out_widens() {
        let of = |rule, by, most| {
            let mut own = Some(Scalar::Integer(7));
            widen(&mut own, rule, by, most);
            own.and_then(Scalar::interval)
        };
        let all = f64::INFINITY;
        assert_eq!(of(COUNT, Across::Sum, 0.0), Some([7.0; 3]));
        assert_eq!(of(COUNT, Across::Sum, 5.0), Some([7.0, 7.0, 12.0]));
        assert_eq!(of(COUNT, Across::Max, 5.0), Some([7.0; 3]));
        assert_eq!(of(COUNT, Across::Max, 9.0), Some([7.0, 7.0, 9.0]));
        assert_eq!(of(MergeRule::Least, Across::Sum, all), Some([7.0, -all, 7.0]));
        assert_eq!(of(MergeRule::Greatest, Across::Max, all), Some([7.0, 7.0, all]));
        assert_eq!(of(MergeRule::Total(Scalar::Integer(0), true), Across::Sum, all), Some([7.0, -all, all]));
    }
}
