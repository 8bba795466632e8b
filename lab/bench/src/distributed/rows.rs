//! The rows that simulated probes measure, the queries about them, and the right answers.

use flow::{Rows, WindowRow};
use model::{Answer, Span, Value};
use packet::{KeyV4, split_mix};
use std::collections::{BTreeMap, HashMap};
use std::fmt::Write;
use std::net::Ipv4Addr;

/// Flows of a probe in a window.
const FLOWS: u32 = 40;
/// Groups of each answer: no limit cuts any.
pub(super) const GROUPS: u32 = 20;
/// Queries whose answers are those of each node.
pub(super) const OF_NODES: usize = 9;
/// The query whose answer is that of all nodes together.
pub(super) const OF_ALL: &str = "all";
/// IP protocol number.
const TCP: u8 = 6;

/// The fields by which queries group, in turn.
const GROUPED_BY: [&str; 3] = ["dst_addr", "dst_port", "src_port"];

/// A flow of a probe in a window.
pub(super) struct ProbeFlow {
    source: Ipv4Addr,
    destination: Ipv4Addr,
    source_port: u16,
    destination_port: u16,
    packets: u64,
    bytes: u64,
}

/// The flows of a probe in a window, by their numbers.
pub(super) fn flows(probe: u64, window: u64) -> impl Iterator<Item = ProbeFlow> {
    (0..FLOWS).map(move |number| {
        let drawn = split_mix(&mut (probe << 40 ^ window << 8 ^ u64::from(number)));
        let packets = 1 + drawn % 1000;
        let group = number % GROUPS;
        ProbeFlow {
            source: Ipv4Addr::from(0x0a00_0000 | number),
            destination: Ipv4Addr::from(0xc000_0200 | group),
            source_port: 50_000 + (number / 2) as u16,
            destination_port: 1000 + ((number * 7) % GROUPS) as u16,
            packets,
            bytes: packets * (64 + (drawn >> 32) % 1400),
        }
    })
}

/// The flows as rows of their window.
pub(super) fn rows(flows: impl Iterator<Item = ProbeFlow>, window: Span) -> Rows<KeyV4> {
    let mut rows = Rows::with_capacity(FLOWS as usize, 0);
    for flow in flows {
        let addresses: Vec<u8> = [flow.source.octets(), flow.destination.octets()].concat();
        let ports: Vec<u8> = [flow.source_port.to_be_bytes(), flow.destination_port.to_be_bytes()].concat();
        let addresses = addresses.try_into().unwrap_or_default();
        let ports = ports.try_into().unwrap_or_default();
        let row = WindowRow {
            packets: flow.packets,
            bytes: flow.bytes,
            wire_bytes: flow.bytes,
            ip_ttl: 64,
            ..WindowRow::without_packets(
                KeyV4::new(addresses, ports, TCP),
                window.start_ns,
                window.end_ns - 1,
            )
        };
        rows.push(row, None);
    }
    rows
}

/// The text of all queries.
pub(super) fn queries() -> String {
    let mut text = String::new();
    for number in 0..OF_NODES {
        let by = GROUPED_BY[number % GROUPED_BY.len()];
        let items = match number / GROUPED_BY.len() {
            0 => "sum(total_byte) as bytes",
            1 => "sum(total_count) as packets",
            _ => "sum(total_byte) as bytes, sum(total_count) as packets",
        };
        let _ = writeln!(text, "q{number}: select {by}, {items} groupby {by} order by {by} limit {GROUPS};");
    }
    let _ = writeln!(
        text,
        "{OF_ALL}: select dst_addr, sum(total_byte) as bytes groupby dst_addr across nodes by sum;"
    );
    text
}

/// The number of a query of its name: those of nodes first, then that of all nodes.
pub(super) fn number_of(query: &str) -> Option<usize> {
    if query == OF_ALL {
        return Some(OF_NODES);
    }
    query.strip_prefix('q')?.parse().ok().filter(|number| *number < OF_NODES)
}

/// Sums of bytes and packets by the field that a query groups by.
fn sums(query: usize, flows: impl Iterator<Item = ProbeFlow>) -> HashMap<String, (u64, u64)> {
    let mut sums: HashMap<String, (u64, u64)> = HashMap::new();
    for flow in flows {
        let group = match GROUPED_BY[query % GROUPED_BY.len()] {
            "dst_addr" => flow.destination.to_string(),
            "dst_port" => flow.destination_port.to_string(),
            _ => flow.source_port.to_string(),
        };
        let sum = sums.entry(group).or_default();
        *sum = (sum.0 + flow.bytes, sum.1 + flow.packets);
    }
    sums
}

/// Returns true if the rows of an answer are right. `probes` are those whose flows it is about.
pub(super) fn is_right(
    query: usize,
    answer: &Answer,
    window: u64,
    probes: impl Iterator<Item = u64>,
) -> bool {
    let expected = sums(query, probes.flat_map(|probe| flows(probe, window)));
    let found: Option<BTreeMap<String, Vec<u64>>> = answer.rows.iter().map(|row| named(row)).collect();
    let of = |(bytes, packets): (u64, u64)| match query / GROUPED_BY.len() {
        0 => vec![bytes],
        1 => vec![packets],
        // Of all nodes too, the first one alone.
        _ if query == OF_NODES => vec![bytes],
        _ => vec![bytes, packets],
    };
    let expected: BTreeMap<_, _> = expected.into_iter().map(|(group, sums)| (group, of(sums))).collect();
    found.is_some_and(|found| found.len() == answer.rows.len() && found == expected)
}

/// A row's group as text, and its values; `None` if it has other kinds of values.
fn named(row: &[Value]) -> Option<(String, Vec<u64>)> {
    let (group, values) = row.split_first()?;
    let group = match group {
        Value::Address(address) => address.to_string(),
        Value::Unsigned(number) => number.to_string(),
        _ => return None,
    };
    let number = |value: &Value| match value {
        Value::Unsigned(number) => Some(*number),
        _ => None,
    };
    Some((group, values.iter().map(number).collect::<Option<_>>()?))
}
