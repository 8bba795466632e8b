//! The groups of a window, as a condition sees them.

use crate::figure::{BoundedValue, Certainty, ColumnRole};
use crate::graph::{EventSettings, GraphQuery};
use crate::interval::Interval;
use crate::key::{EventKey, Member};
use crate::known::DerivedValue;
use crate::undecided::Why;
use model::{Answer, AnswerStatus, ColumnKind, Value};

/// The answer of a window, or its absence of packets.
pub(crate) struct ConditionGroups<'a> {
    query: &'a GraphQuery,
    answer: Option<&'a Answer>,
    certainty: Certainty,
    /// The most that a group has that is not in the answer, by column; `None` if such a group has no packets.
    most: Option<Vec<f64>>,
}

impl<'a> ConditionGroups<'a> {
    /// A window without packets.
    pub(crate) fn none(query: &'a GraphQuery) -> Self {
        Self { query, answer: None, certainty: Certainty::Whole, most: None }
    }

    /// The rows of an answer; `None` if it is not one of the query.
    pub(crate) fn from_answer(query: &'a GraphQuery, answer: &'a Answer) -> Option<Self> {
        if answer.columns.len() != query.columns.len() {
            return None;
        }
        let certainty = match answer.status {
            AnswerStatus::Complete => Certainty::Whole,
            AnswerStatus::Cut => Certainty::Cut,
            AnswerStatus::Partial => Certainty::Partial,
        };
        let is_whole = certainty == Certainty::Whole;
        let lists_all = answer.rest.groups == 0 && !answer.may_lack_groups();
        let is_known = is_whole && lists_all && query.left_out.is_none();
        let most = (!is_known).then(|| {
            let of = |column: usize| {
                // What `having` leaves out is among what a structure does not list.
                if let Some(of_structure) = answer.task.as_ref().filter(|_| is_whole) {
                    let most = of_structure.most_unlisted.map(|most| Interval::integer(most.into()).upper);
                    return most.unwrap_or(f64::INFINITY);
                }
                let unlisted =
                    if answer.rest.groups == 0 { 0.0 } else { most_unlisted(query, answer, column) };
                let left_out = query.left_out.as_ref().map_or(0.0, |most| most[column]);
                if is_whole { unlisted.max(left_out) } else { f64::INFINITY }
            };
            (0..query.columns.len()).map(of).collect()
        });
        Some(Self { query, answer: Some(answer), certainty, most })
    }

    /// Returns true if the loss leaves every value without bounds.
    pub(crate) fn is_uncovered(&self, settings: &EventSettings) -> bool {
        self.answer.and_then(|answer| answer.coverage).is_some_and(|coverage| coverage < settings.coverage)
    }

    /// The share of packets that were received, where that is known.
    pub(crate) fn coverage(&self) -> Option<f64> {
        self.answer.and_then(|answer| answer.coverage)
    }

    /// Returns the bounds of values that are estimates, in words; `None` where they are exact.
    pub(crate) fn bounds_of_estimates(&self) -> Option<&'a str> {
        self.answer.and_then(Answer::bounds_of_estimates)
    }

    /// Returns what keeps values from being known, if anything does.
    pub(crate) fn lacks(&self) -> Option<Why> {
        match self.certainty {
            Certainty::Whole => None,
            Certainty::Cut => Some(Why::Cut),
            Certainty::Partial => Some(Why::Partial),
        }
    }

    /// The rows of the answer.
    pub(crate) fn rows(&self) -> &'a [Vec<Value>] {
        self.answer.map_or(&[], |answer| &answer.rows)
    }

    /// The key of a row.
    pub(crate) fn key(&self, row: &[Value]) -> EventKey {
        Self::members(row, &self.query.key)
    }

    /// The members of a row in these columns.
    pub(crate) fn members(row: &[Value], columns: &[usize]) -> EventKey {
        columns.iter().map(|column| row.get(*column).map_or(Member::Null, Member::from)).collect()
    }

    /// Returns what is known of a row, by column. `widened`: any packet that was lost may have been of it.
    pub(crate) fn figures(&self, row: &[Value], widened: bool) -> Vec<BoundedValue> {
        let certainty = if widened && self.may_have_lost() { Certainty::Partial } else { self.certainty };
        let columns = self.query.columns.iter().zip(row);
        columns.map(|(column, value)| BoundedValue::from_value(value, column.role, certainty)).collect()
    }

    /// The number of columns.
    pub(crate) fn columns(&self) -> usize {
        self.query.columns.len()
    }

    /// Returns true if the window was watched from begin to end, with all that was in it.
    pub(crate) fn is_whole(&self) -> bool {
        self.certainty == Certainty::Whole
    }

    /// Returns what is known of these columns of a row, integers exactly.
    pub(crate) fn known(&self, row: &[Value], columns: impl Iterator<Item = usize>) -> Vec<DerivedValue> {
        let of = |column: usize| {
            let value = row.get(column).unwrap_or(&Value::Null);
            DerivedValue::from_value(value, self.query.columns[column].role, self.certainty)
        };
        columns.map(of).collect()
    }

    /// Returns what is known of these columns of a group that has no row, integers exactly.
    pub(crate) fn known_absent(
        &self,
        key: &[Member],
        columns: impl Iterator<Item = usize>,
    ) -> Vec<DerivedValue> {
        let mut figures = self.absent(key, false);
        let mut of = |column: usize| {
            let figure = std::mem::replace(&mut figures[column], BoundedValue::Unknown);
            DerivedValue::absent(figure, self.query.columns[column].column.kind)
        };
        columns.map(&mut of).collect()
    }

    /// Returns what is known of a group that has no row. `widened`: any packet that was lost may have been of it.
    pub(crate) fn absent(&self, key: &[Member], widened: bool) -> Vec<BoundedValue> {
        // A sample lacks the groups of which it has no packet.
        let is_sample = self.answer.is_some_and(|answer| answer.class == model::Class::Sample);
        let is_open = is_sample || widened && self.may_have_lost();
        absent(self.query, key, |column, role| match &self.most {
            _ if is_open => BoundedValue::unlisted(role, f64::INFINITY),
            None => BoundedValue::absent(role),
            Some(most) => BoundedValue::unlisted(role, most[column]),
        })
    }

    /// Returns true if packets of the window may have been lost.
    fn may_have_lost(&self) -> bool {
        self.answer.is_some_and(|answer| answer.coverage != Some(1.0))
    }

    /// The value of a column of a group that has no row.
    pub(crate) fn absent_value(&self, key: &[Member], column: usize) -> Value {
        match (member(self.query, key, column), self.absent(key, false).get(column)) {
            (Some(member), _) => member.into(),
            (None, Some(BoundedValue::Number(it))) if it.lower == it.upper => zero(self.query, column),
            (None, Some(BoundedValue::Number(it))) => {
                Value::Estimate { value: it.lower, lower: it.lower, upper: it.upper }
            }
            (None, _) => Value::Null,
        }
    }
}

/// Returns what is known of a group without packets in a window of which everything is known.
pub(crate) fn without_packets(query: &GraphQuery, key: &[Member]) -> Vec<BoundedValue> {
    absent(query, key, |_, role| BoundedValue::absent(role))
}

/// Returns what is known of a group in a window of which nothing is known.
pub(crate) fn unknown(query: &GraphQuery, key: &[Member]) -> Vec<BoundedValue> {
    absent(query, key, |_, _| BoundedValue::Unknown)
}

/// The member of a key that a column holds, if it holds one.
fn member<'k>(query: &GraphQuery, key: &'k [Member], column: usize) -> Option<&'k Member> {
    query.key.iter().position(|own| *own == column).and_then(|at| key.get(at))
}

/// The zero of a column, of its kind.
fn zero(query: &GraphQuery, column: usize) -> Value {
    match query.columns[column].column.kind {
        ColumnKind::Float => Value::Float(0.0),
        ColumnKind::Signed => Value::Signed(0),
        ColumnKind::Estimate => Value::Estimate { value: 0.0, lower: 0.0, upper: 0.0 },
        _ => Value::Unsigned(0),
    }
}

fn absent(
    query: &GraphQuery,
    key: &[Member],
    of: impl Fn(usize, ColumnRole) -> BoundedValue,
) -> Vec<BoundedValue> {
    let figure = |(at, column): (usize, &crate::graph::AnswerColumn)| match member(query, key, at) {
        Some(member) => BoundedValue::from_value(&member.into(), ColumnRole::Key, Certainty::Whole),
        None => of(at, column.role),
    };
    query.columns.iter().enumerate().map(figure).collect()
}

/// The most that a group beyond the limit has in a column: no more than all of them together, and where rows are ordered by it no
/// more than the last row. Where values are between bounds, rows are not in the order of what they have at the most.
fn most_unlisted(query: &GraphQuery, answer: &Answer, column: usize) -> f64 {
    let upper = |value: &Value| match BoundedValue::from_value(value, ColumnRole::Total, Certainty::Whole) {
        BoundedValue::Number(interval) => interval.upper,
        _ => f64::INFINITY,
    };
    let name = &answer.columns[column].name;
    let total = answer.rest.totals.iter().find(|(total, _)| total == name);
    let together = total.map_or(f64::INFINITY, |(_, total)| upper(total));
    let last = answer.rows.last().and_then(|row| row.get(column));
    let is_ordered = query.largest_first == Some(column) && answer.bounds == "exact";
    let least = last.filter(|_| is_ordered).map_or(f64::INFINITY, upper);
    together.min(least)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::AnswerColumn;
    use model::{Column, Rest, Span, TaskNote};

    fn columns() -> [(Column, ColumnRole); 2] {
        [
            (Column::new("src_port", ColumnKind::Unsigned, ""), ColumnRole::Key),
            (Column::new("b", ColumnKind::Estimate, "bytes"), ColumnRole::Total),
        ]
    }

    fn query() -> GraphQuery {
        GraphQuery {
            columns: columns().map(|(column, role)| AnswerColumn { column, role }).into(),
            key: vec![0],
            nodes: vec![0],
            largest_first: Some(1),
            ..GraphQuery::new("q", 1)
        }
    }

    /// A group of which no packet was sampled may have had packets: a condition that it has few is not known to hold.
    #[test]
    fn a_group_without_a_sampled_packet_is_not_known_to_be_zero() {
        let query = query();
        let answer = |class| Answer {
            class,
            ..Answer::new(
                "q",
                Some(Span { start_ns: 0, end_ns: 1 }),
                columns().map(|(column, _)| column).into(),
                vec![vec![Value::Unsigned(80), Value::Unsigned(7)]],
            )
        };
        let key = [Member::Unsigned(53)];
        let absent = |class, widened| {
            let answer = answer(class);
            let groups = ConditionGroups::from_answer(&query, &answer).expect("an answer of the query");
            (groups.absent(&key, widened).pop().expect("a figure"), groups.absent_value(&key, 1))
        };
        let number = |lower, upper| BoundedValue::Number(Interval { lower, upper });
        let any = Value::Estimate { value: 0.0, lower: 0.0, upper: f64::INFINITY };
        for widened in [false, true] {
            assert_eq!(
                absent(model::Class::Sample, widened),
                (number(0.0, f64::INFINITY), any.clone()),
                "{widened}"
            );
        }
        assert_eq!(absent(model::Class::Row, false).0, number(0.0, 0.0));
    }

    /// A structure says what a group has at the most that it does not list. Without that, such a group may have anything.
    #[test]
    fn a_group_that_a_structure_does_not_list_has_what_it_says_at_the_most() {
        let (columns, mut query) = (columns(), query());
        let answer = |most_unlisted, status| Answer {
            status,
            rest: Rest::default(),
            bounds: "certain".to_owned(),
            task: Some(TaskNote {
                text: String::new(),
                structure: String::new(),
                why: String::new(),
                memory_bytes: 1,
                total: 9,
                lost: None,
                most_unlisted,
            }),
            ..Answer::new(
                "q",
                Some(Span { start_ns: 0, end_ns: 1 }),
                columns.clone().map(|(column, _)| column).into(),
                vec![vec![Value::Unsigned(80), Value::Estimate { value: 7.0, lower: 5.0, upper: 7.0 }]],
            )
        };
        let absent = |query: &GraphQuery, answer: &Answer| {
            let groups = ConditionGroups::from_answer(query, answer).expect("an answer of the query");
            groups.absent(&[Member::Unsigned(53)], false).pop().expect("a figure")
        };
        let number = |lower, upper| BoundedValue::Number(Interval { lower, upper });
        let any = number(0.0, f64::INFINITY);
        assert_eq!(absent(&query, &answer(Some(0), AnswerStatus::Complete)), number(0.0, 0.0));
        // As a column of estimates is read back.
        let whole = answer(Some(0), AnswerStatus::Complete);
        let groups = ConditionGroups::from_answer(&query, &whole).expect("an answer of the query");
        let value = groups.absent_value(&[Member::Unsigned(53)], 1);
        assert_eq!(value, Value::Estimate { value: 0.0, lower: 0.0, upper: 0.0 });
        assert_eq!(absent(&query, &answer(Some(4), AnswerStatus::Complete)), number(0.0, 4.0));
        assert_eq!(absent(&query, &answer(None, AnswerStatus::Complete)), any);
        assert_eq!(absent(&query, &answer(Some(4), AnswerStatus::Partial)), any);
        // `having` leaves out what is below its number, which the structure knows.
        query.left_out = Some(vec![f64::INFINITY, 4.0]);
        assert_eq!(absent(&query, &answer(Some(4), AnswerStatus::Complete)), number(0.0, 4.0));
        assert_eq!(absent(&query, &answer(None, AnswerStatus::Complete)), any);
    }
}
