//! The most memory that a query takes, as an estimate from its plan.

use crate::fields;
use crate::kind::ValueKind;
use task::query::{GroupField, Grouping, Query};

/// Flows in a window where nothing else is known.
pub(crate) const DEFAULT_FLOWS: u64 = 1_000_000;
/// Bytes of a word.
const WORD: u64 = 8;
/// Tables double: up to half of one is empty.
const SLACK: u64 = 2;

/// Bytes that a query takes in a window of `flows` flows, or of more where it keeps more.
pub(crate) fn estimate(plan: &Query, flows: u64) -> u64 {
    let limit = plan.limit.map_or(0, |limit| limit as u64);
    let (groups, key) = match &plan.group {
        Grouping::All => (1, 0),
        Grouping::Flows => (flows.max(limit), 6),
        Grouping::By(fields) => (flows.max(limit), fields.iter().map(words).sum()),
    };
    let state = plan.aggregates();
    let of_groups = state.iter().map(|of| of.meaning().state_words()).fold(key, u64::saturating_add);
    let of_values =
        state.iter().map(|of| of.meaning().value_words(flows, &words)).fold(0, u64::saturating_add);
    let answer = limit.saturating_mul(plan.columns.len() as u64);
    groups
        .saturating_mul(of_groups.max(1))
        .saturating_add(of_values)
        .saturating_mul(WORD * SLACK)
        .saturating_add(answer.saturating_mul(WORD))
}

/// Words of a value.
fn words(field: &GroupField) -> u64 {
    match fields::find(&field.field).map(|field| field.kind) {
        Some(ValueKind::Address) => 2,
        Some(ValueKind::Text) if field.field == "conversation" => 5,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use task::query::{Aggregate, Expression, OutputColumn, ValueWeight};

    fn query(columns: Vec<OutputColumn>, group: Grouping) -> Query {
        Query { group, columns, ..Query::new("q", [], []) }
    }

    #[test]
    fn memory_is_of_groups_values_and_the_answer() {
        let by_source = Grouping::By(vec![GroupField::from_field("src_addr")]);
        let plan =
            query(vec![OutputColumn::field("src_addr"), OutputColumn::sum("total_byte")], by_source.clone());
        assert_eq!(estimate(&plan, 1_000), 1_000 * 3 * 16);
        assert_eq!(estimate(&query(vec![OutputColumn::count("n")], Grouping::All), 1_000), 16);
        let limited = Query { limit: Some(1_000_000), ..plan };
        assert_eq!(estimate(&limited, 1_000), 1_000_000 * 3 * 16 + 1_000_000 * 2 * 8);
        let top = Aggregate::Top(usize::MAX, GroupField::from_field("src_addr"), ValueWeight::Rows);
        let top = query(vec![OutputColumn::new("t", Expression::Aggregate(top))], Grouping::All);
        assert_eq!(estimate(&top, 1_000), u64::MAX);
    }

    #[test]
    fn an_aggregate_that_stands_twice_is_kept_once() {
        let once = query(vec![OutputColumn::count("n")], Grouping::All);
        let twice = query(vec![OutputColumn::count("n"), OutputColumn::count("m")], Grouping::All);
        assert_eq!(estimate(&once, 10), estimate(&twice, 10));
    }
}
