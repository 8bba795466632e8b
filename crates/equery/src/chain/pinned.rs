//! Keys that the constants of a query pin.

use events::{Binding, EventKey, Member, QueryTrigger};
use std::collections::BTreeSet;
use task::query::{Comparison, Condition, Expression, GroupField, Grouping, Query};

/// The most keys that constants pin.
const MOST_PINNED: usize = 4096;

/// The keys of a query's groups, if its filter names each member of them. `key`: the columns of the key; `flow_key`: the fields of the
/// flow key.
pub(super) fn keys(task: &Query, key: &[usize], flow_key: &[String]) -> BTreeSet<EventKey> {
    let has_prefix = match &task.group {
        Grouping::All => false,
        Grouping::By(groups) => groups.iter().any(|group| group.prefix.is_some()),
        Grouping::Flows => flow_key.iter().any(|part| part.contains('/')),
    };
    let conjuncts: Vec<&Condition> = match &task.filter {
        Some(Condition::And(all)) => all.iter().collect(),
        other => other.iter().collect(),
    };
    let mut keys: Vec<EventKey> = vec![Vec::new()];
    for column in key {
        let Expression::Field(field) = &task.columns[*column].value else { return BTreeSet::new() };
        let members = conjuncts.iter().find_map(|conjunct| members(conjunct, field));
        let Some(members) = members.filter(|_| !has_prefix) else { return BTreeSet::new() };
        if keys.len().saturating_mul(members.len()) > MOST_PINNED {
            return BTreeSet::new();
        }
        let with = |key: &EventKey| {
            let key = key.clone();
            members.iter().map(move |member| [&key[..], std::slice::from_ref(member)].concat())
        };
        keys = keys.iter().flat_map(with).collect();
    }
    keys.into_iter().collect()
}

/// Returns the places of the members of a query's key among the fields that a firing pins, if it pins each of them.
pub(super) fn by_firing(groups: &[GroupField], trigger: &QueryTrigger) -> Option<Vec<usize>> {
    let fields: Vec<&str> = trigger
        .bindings
        .iter()
        .filter_map(|binding| match binding {
            Binding::Field { column, .. } => Some(column.name.as_str()),
            Binding::Node => None,
        })
        .collect();
    let place = |group: &GroupField| {
        let is_whole = group.prefix.is_none();
        fields.iter().position(|field| *field == group.field).filter(|_| is_whole)
    };
    (!groups.is_empty()).then(|| groups.iter().map(place).collect()).flatten()
}

/// The values of a field that a condition leaves.
fn members(condition: &Condition, field: &str) -> Option<Vec<Member>> {
    let is_field = |value: &Expression| matches!(value, Expression::Field(name) if name == field);
    match condition {
        Condition::Compare(value, Comparison::Equal, constant) if is_field(value) => {
            Some(vec![number(constant)?])
        }
        Condition::In(value, list) if is_field(value) => list.iter().map(number).collect(),
        Condition::InPrefixes(name, prefixes)
            if name == field && ["src_addr", "dst_addr"].contains(&field) =>
        {
            let whole = |(address, length): &(std::net::IpAddr, u8)| {
                let is_whole = *length == if address.is_ipv4() { 32 } else { 128 };
                is_whole.then_some(Member::Address(*address))
            };
            prefixes.iter().map(whole).collect()
        }
        _ => None,
    }
}

/// A number of the flow key.
fn number(value: &Expression) -> Option<Member> {
    match value {
        Expression::Integer(number) => u64::try_from(*number).ok().map(Member::Unsigned),
        _ => None,
    }
}
