//! From a query's state for a window to its answer: order, limit, and the exact rest.

use super::keyed::{Groups, OF_V6, flow_key, key_words};
use super::order::Ranked;
use super::plan::{Grouping, ItemKind, Parts, Plan};
use super::query::{GroupField, MOST_GROUPS};
use super::site::Site;
use super::state::{Kinds, QueryState};
use super::top_rows::TopRow;
use flow::{Field, FlowKey, NULL};
use packet::{Key, KeyV4, KeyV6, MaskedKey};
use report::{Answer, Column, ColumnKind, Rest, Span, Value};
use std::net::IpAddr;

/// The sums of packets that are in no row, because their flows had no place in the table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unplaced {
    /// Packets.
    pub packets: u64,
    /// Layer-3 bytes.
    pub bytes: u64,
    /// Bytes of the frames on the wire.
    pub wire_bytes: u64,
}

impl Unplaced {
    /// Adds others.
    pub fn add(&mut self, more: &Self) {
        self.packets += more.packets;
        self.bytes += more.bytes;
        self.wire_bytes += more.wire_bytes;
    }
}

impl QueryState {
    /// The answer, and an empty state.
    pub(crate) fn answer(
        &mut self,
        plan: &Plan,
        site: &Site,
        window: Option<Span>,
        outside: &Unplaced,
    ) -> Answer {
        let columns = columns(plan, site);
        let row = |key: Vec<Value>, state: &[u64]| -> Vec<Value> {
            key.into_iter()
                .chain(plan.items.iter().map(|item| value(plan, item.kind, item.at, state)))
                .collect()
        };
        let mut rest = vec![0; plan.items.len()];
        let mut groups_left = 0;
        let unplaced_packets = outside.packets;
        // Whether a filter would let them through is not known.
        let outside = |kind: ItemKind| match kind {
            _ if plan.filter.is_some() => None,
            ItemKind::Sum(flow::RowValue::Packets) => Some(outside.packets),
            ItemKind::Sum(flow::RowValue::Bytes) => Some(outside.bytes),
            ItemKind::Sum(flow::RowValue::WireBytes) => Some(outside.wire_bytes),
            _ => None,
        };
        let is_whole = matches!(plan.grouping, Grouping::All)
            && plan.items.iter().all(|item| outside(item.kind).is_some());
        let is_total =
            |kind: ItemKind| matches!(kind, ItemKind::Sum(_) | ItemKind::SumOf(_) | ItemKind::Count);
        let rows = match (&mut self.groups, &plan.grouping) {
            (Kinds::All(state), _) => {
                for item in &plan.items {
                    state[item.at] = state[item.at].wrapping_add(outside(item.kind).unwrap_or(0));
                }
                vec![row(Vec::new(), state)]
            }
            (Kinds::Rows(top) | Kinds::Ranked(top), grouping) => {
                let (all, totals) = (top.rows, top.totals.clone());
                let first = top.first(plan);
                groups_left = all - first.len() as u64;
                for (rest, item) in rest.iter_mut().zip(&plan.items).filter(|(_, item)| is_total(item.kind)) {
                    let shown: u64 = first.iter().map(|row| row.state[item.at]).sum();
                    *rest = totals[item.at] - shown;
                }
                let flow_key = |row: &TopRow| match row.is_v6 {
                    false => KeyV4::of_words(&row.key).flow_key(&site.key),
                    true => KeyV6::of_words(&row.key).flow_key(&site.key),
                };
                let values = |row: &TopRow| match grouping {
                    Grouping::Parts(parts) => {
                        group_values(if row.is_v6 { OF_V6 } else { 0 }, &row.key, parts, plan, site)
                    }
                    Grouping::All | Grouping::Rows => {
                        let key = flow_key(row);
                        plan.query.group.iter().map(|field| member(&key, &field.field, field, site)).collect()
                    }
                };
                first.iter().map(|top| row(values(top), &top.state)).collect()
            }
            (Kinds::Parts(groups), Grouping::Parts(parts)) => {
                let first = first(groups, plan);
                groups_left = (groups.len() - first.len()) as u64;
                for (rest, item) in rest.iter_mut().zip(&plan.items).filter(|(_, item)| is_total(item.kind)) {
                    groups.each(|_, _, state| *rest += state[item.at]);
                    *rest -= first.iter().map(|number| groups.get(*number).1[item.at]).sum::<u64>();
                }
                let rows = first.iter().map(|&number| {
                    let (words, state) = groups.get(number);
                    row(group_values(number, words, parts, plan, site), state)
                });
                rows.collect()
            }
            (Kinds::Parts(_), _) => Vec::new(),
        };
        let mut answer = Answer::new(plan.query.name.clone(), window, columns, rows);
        if !matches!(plan.grouping, Grouping::All) {
            let totals = plan
                .query
                .items
                .iter()
                .zip(&plan.items)
                .zip(&rest)
                .filter(|((_, item), _)| is_total(item.kind));
            let totals = totals.map(|((item, planned), rest)| {
                (item.name.clone(), rest + self.unplaced[planned.at] + outside(planned.kind).unwrap_or(0))
            });
            answer.rest = Rest { groups: groups_left, totals: totals.collect() };
        }
        if unplaced_packets != 0 && !is_whole {
            answer.lacks(&format!(
                "{unplaced_packets} packets had no place in the table: they are in no group"
            ));
        }
        if self.unplaced_rows != 0 {
            answer.lacks(&format!(
                "memory ran out: {} rows, or groups of another core's rows, are in no group",
                self.unplaced_rows
            ));
        }
        let is_unsure = plan.items.iter().any(|item| match item.kind {
            ItemKind::Distinct(..) => self.is_unsure(item.at),
            _ => false,
        });
        if is_unsure {
            answer.bounds = "certain".to_owned();
        }
        answer
    }

    fn is_unsure(&self, at: usize) -> bool {
        match &self.groups {
            Kinds::All(state) => state[at + 1] != 0,
            Kinds::Rows(_) => false,
            Kinds::Ranked(top) => top.is_unsure,
            Kinds::Parts(groups) => {
                let mut is_unsure = false;
                groups.each(|_, _, state| is_unsure |= state[at + 1] != 0);
                is_unsure
            }
        }
    }
}

/// The numbers of the groups in the answer, in its order.
fn first(groups: &Groups, plan: &Plan) -> Vec<u64> {
    let limit = plan.query.limit.unwrap_or(MOST_GROUPS);
    if limit == 0 {
        return Vec::new();
    }
    let order = plan.first_order();
    // By the order's first item alone, as a number that is smaller for earlier groups: few groups are
    // compared further.
    let mut ranks = Vec::with_capacity(groups.len());
    groups.each(|number, _, state| {
        let value = plan.value(order.item, state);
        ranks.push((if order.descending { !value } else { value }, number));
    });
    let mut numbers: Vec<u64> = if limit < ranks.len() {
        let (_, &mut (last, _), _) = ranks.select_nth_unstable_by_key(limit - 1, |(rank, _)| *rank);
        ranks.iter().filter(|(rank, _)| *rank <= last).map(|(_, number)| *number).collect()
    } else {
        ranks.iter().map(|(_, number)| *number).collect()
    };
    let ranked = |number: &u64| {
        let (words, state) = groups.get(*number);
        Ranked { state, is_v6: key_words(*number) == KeyV6::WORDS, words }
    };
    let by_rank = |a: &u64, b: &u64| plan.compare(&ranked(a), &ranked(b));
    if limit < numbers.len() {
        numbers.select_nth_unstable_by(limit, by_rank);
        numbers.truncate(limit);
    }
    numbers.sort_by(by_rank);
    numbers
}

fn columns(plan: &Plan, site: &Site) -> Vec<Column> {
    let group = plan.query.group.iter().map(|field| {
        let name = field.field.to_ascii_lowercase();
        let known = match name.as_str() {
            "addr" => "src_addr",
            "port" => "src_port",
            "conversation" => return Column::new(name, ColumnKind::Text, ""),
            name => name,
        };
        let mut column =
            Field::named(known).map_or_else(|| Column::new("", ColumnKind::Text, ""), Column::of_field);
        if column.kind == ColumnKind::Address && prefix(field, known, site).is_some() {
            column.kind = ColumnKind::Prefix;
        }
        Column { name, ..column }
    });
    let items = plan.query.items.iter().map(|item| {
        use super::query::Aggregate::{Count, CountDistinct, MeanRoundTrip, Min, Sum, SumOf};
        let unit = match &item.aggregate {
            Sum(field) | Min(field) => Field::named(field).map_or("", |field| field.unit),
            SumOf(fields) => {
                fields.first().and_then(|field| Field::named(field)).map_or("", |field| field.unit)
            }
            Count => "flows",
            CountDistinct(_) => "",
            MeanRoundTrip => "ns",
        };
        Column::new(item.name.clone(), ColumnKind::Unsigned, unit)
    });
    group.chain(items).collect()
}

/// The lengths that a grouped address is cut to, by the query or by the run's keys; `None` for whole ones.
fn prefix(field: &GroupField, member: &str, site: &Site) -> Option<[u8; 2]> {
    let of_key = site.key.prefix_lengths(member)?;
    let lengths = field.prefix.map_or(of_key, |[v4, v6]| [v4.min(of_key[0]), v6.min(of_key[1])]);
    (lengths != [32, 128]).then_some(lengths)
}

/// The value of a member of the flow key, by its name in keys.
fn member(key: &FlowKey, name: &str, field: &GroupField, site: &Site) -> Value {
    let name = name.to_ascii_lowercase();
    let value = Value::of_key(key, &name).unwrap_or_default();
    match (value, prefix(field, &name, site)) {
        (Value::Address(address), Some([v4, v6])) => {
            Value::Prefix { address, length: if address.is_ipv4() { v4 } else { v6 } }
        }
        (value, _) => value,
    }
}

fn group_values(number: u64, words: &[u64], parts: &Parts, plan: &Plan, site: &Site) -> Vec<Value> {
    let has_addresses = parts.spec().has_addresses();
    let key = flow_key(number, words, &parts.spec());
    let mut extras = words.iter().skip(if has_addresses { key_words(number) } else { KeyV4::WORDS });
    let of_field = |field: &GroupField| match field.field.to_ascii_lowercase().as_str() {
        "addr" => member(&key, "src_addr", field, site),
        "port" => member(&key, "src_port", field, site),
        "conversation" => Value::Text(conversation(&key)),
        name @ ("src_addr" | "dst_addr" | "protocol" | "src_port" | "dst_port") => {
            member(&key, name, field, site)
        }
        name => extra(name, extras.next().copied().unwrap_or(NULL)),
    };
    plan.query.group.iter().map(of_field).collect()
}

/// `192.0.2.1:443 <-> 198.51.100.7:50000 tcp`: the lesser endpoint first.
fn conversation(key: &FlowKey) -> String {
    let end = |address: Option<IpAddr>, port: Option<u16>| match (address, port) {
        (Some(IpAddr::V6(address)), Some(port)) => format!("[{address}]:{port}"),
        (Some(address), Some(port)) => format!("{address}:{port}"),
        _ => String::new(),
    };
    let protocol = key.protocol.map(flow::protocol_name).unwrap_or_default();
    format!("{} <-> {} {protocol}", end(key.src_addr, key.src_port), end(key.dst_addr, key.dst_port))
}

/// A value that is no member of the flow key.
fn extra(name: &str, value: u64) -> Value {
    let kind = Field::named(name).map(|field| field.value);
    match (value, kind) {
        (NULL, _) => Value::Null,
        (ns, Some(flow::Value::Time(_))) => Value::Time(ns),
        (mac, Some(flow::Value::Mac(_))) => {
            let bytes = mac.to_be_bytes();
            let parts: Vec<_> = bytes[2..].iter().map(|byte| format!("{byte:02x}")).collect();
            Value::Text(parts.join(":"))
        }
        (number, _) => Value::Unsigned(number),
    }
}

fn value(plan: &Plan, kind: ItemKind, at: usize, state: &[u64]) -> Value {
    match kind {
        ItemKind::Sum(_) | ItemKind::SumOf(_) | ItemKind::Count => Value::Unsigned(state[at]),
        ItemKind::Min(_) if state[at] == NULL => Value::Null,
        ItemKind::Min(_) => Value::Unsigned(state[at]),
        ItemKind::MeanRoundTrip => state[at].checked_div(state[at + 1]).into(),
        // One row has one value.
        ItemKind::Distinct(..) if matches!(plan.grouping, Grouping::Rows) => Value::Unsigned(state[at]),
        ItemKind::Distinct(..) => match (state[at], state[at + 1]) {
            (count, 0) => Value::Unsigned(count),
            (count, unsure) => {
                Value::Estimate { value: count as f64, lower: count as f64, upper: (count + unsure) as f64 }
            }
        },
    }
}
