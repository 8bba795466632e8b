//! Values and conditions as SQL.

use std::net::IpAddr;
use task::query::{Aggregate, Comparison, Condition, Expression, GroupField, Operator};

/// A name in double quotes.
pub(super) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

fn text(value: &str) -> String {
    format!("'{}'", value.replace('\'', "''"))
}

/// The column of a field of the field table: times have their unit in the name.
pub(super) fn column(name: &str) -> String {
    match name {
        "stime" | "ltime" => format!("{name}_ns"),
        name => quoted(name),
    }
}

/// A field of a row.
pub(super) fn field(name: &str) -> String {
    let duration = "(ltime_ns - stime_ns)";
    match name {
        "duration" => duration.to_owned(),
        "pps" => format!("(total_count * 1e9 / nullif({duration}, 0))"),
        "bps" => format!("(total_byte * 8e9 / nullif({duration}, 0))"),
        "bytes_per_packet" => "(total_byte / nullif(total_count, 0))".to_owned(),
        "protocol_name" => protocol_name(),
        "service" => service(),
        "conversation" => conversation(),
        "forward" => format!("CASE WHEN {} THEN 1 ELSE 0 END", is_forward()),
        name => column(name),
    }
}

fn protocol_name() -> String {
    let names = flow::protocol_names().filter_map(|name| Some((flow::protocol_number(name)?, name)));
    let cases: String = names.map(|(number, name)| format!("WHEN {number} THEN {} ", text(name))).collect();
    format!("CASE protocol {cases}ELSE protocol::VARCHAR END")
}

/// The service by the destination's port, else by the source's.
fn service() -> String {
    let services = flow::SERVICES.iter().map(|(port, name)| format!("{port}: {}", text(name)));
    let map = format!("MAP {{{}}}", services.collect::<Vec<_>>().join(", "));
    format!("CASE WHEN protocol IN (6, 17, 132, 136) THEN coalesce({map}[dst_port], {map}[src_port]) END")
}

/// The 5-tuple, the lesser endpoint first.
fn conversation() -> String {
    let [source, destination] = ends();
    format!(
        "CASE WHEN {} THEN row({source}, {destination}, protocol) \
         ELSE row({destination}, {source}, protocol) END",
        is_forward()
    )
}

/// The source is the lesser endpoint.
fn is_forward() -> String {
    let [source, destination] = ends();
    format!("row({source}) <= row({destination})")
}

fn ends() -> [String; 2] {
    ["src", "dst"].map(|end| format!("{end}_addr, {end}_port"))
}

/// Both ends of a row as a list, one where they are equal in what is read of them.
pub(super) fn either_ends(of_addresses: bool, of_ports: bool) -> String {
    let end = |end: &str| {
        let address = of_addresses.then(|| format!("addr := {end}_addr"));
        let port = of_ports.then(|| format!("port := {end}_port"));
        format!("struct_pack({})", [address, port].into_iter().flatten().collect::<Vec<_>>().join(", "))
    };
    format!("list_distinct([{}, {}])", end("src"), end("dst"))
}

/// The group's part of a value: of an address the prefix, as bits.
pub(super) fn prefixed(value: &str, group: &GroupField) -> String {
    let Some([v4, v6]) = group.prefix else { return value.to_owned() };
    let mask = |length: usize| text(&format!("{}{}", "1".repeat(length), "0".repeat(128 - length.min(128))));
    let (v4, v6) = (mask(96 + usize::from(v4.min(32))), mask(usize::from(v6.min(128))));
    format!("({value}::BIT & CASE ip_version WHEN 4 THEN {v4}::BIT ELSE {v6}::BIT END)::BLOB")
}

/// A value of a row.
pub(super) fn value(value: &Expression) -> String {
    value_with(value, &|name| field(name), &|_| "NULL".to_owned())
}

/// A value whose fields and aggregates are given.
pub(super) fn value_with(
    value: &Expression,
    field_of: &dyn Fn(&str) -> String,
    aggregate_of: &dyn Fn(&Aggregate) -> String,
) -> String {
    let side = |value: &Expression| value_with(value, field_of, aggregate_of);
    match value {
        Expression::Field(name) => field_of(name),
        Expression::Integer(number) => number.to_string(),
        Expression::Float(number) => format!("{number:?}"),
        Expression::Text(value) => text(value),
        Expression::Arithmetic(left, Operator::Divide, right) => {
            format!("({} / nullif({}, 0))", side(left), side(right))
        }
        Expression::Arithmetic(left, operator, right) => {
            format!("({} {} {})", side(left), operator.text(), side(right))
        }
        Expression::Aggregate(aggregate) => aggregate_of(aggregate),
    }
}

/// A condition on a row.
pub(super) fn condition(of: &Condition, field_of: &dyn Fn(&str) -> String) -> String {
    condition_with(of, field_of, &value)
}

/// A condition whose fields and values are given.
pub(super) fn condition_with(
    of: &Condition,
    field_of: &dyn Fn(&str) -> String,
    value_of: &dyn Fn(&Expression) -> String,
) -> String {
    let inner = |of: &Condition| condition_with(of, field_of, value_of);
    let joined = |of: &[Condition], word: &str, empty: &str| match of {
        [] => empty.to_owned(),
        [one] => inner(one),
        all => format!("({})", all.iter().map(inner).collect::<Vec<_>>().join(word)),
    };
    match of {
        Condition::And(of) => joined(of, " AND ", "true"),
        Condition::Or(of) => joined(of, " OR ", "false"),
        Condition::Not(of) => format!("NOT {}", inner(of)),
        Condition::Compare(left, comparison, right) => compare(left, *comparison, right, value_of),
        Condition::InPrefixes(name, prefixes) => {
            let is_end = name == "addr" && field_of("addr") == column("addr");
            let fields =
                if is_end { vec![column("src_addr"), column("dst_addr")] } else { vec![field_of(name)] };
            let ranges = prefixes.iter().flat_map(|prefix| fields.iter().map(|field| range(field, *prefix)));
            format!("({})", ranges.collect::<Vec<_>>().join(" OR "))
        }
        Condition::In(value, list) => {
            let list: Vec<_> = list.iter().map(|member| operand(value, member, value_of)).collect();
            format!("{} IN ({})", value_of(value), list.join(", "))
        }
        Condition::Like(name, pattern) => format!("{} ILIKE {}", field_of(name), text(pattern)),
        Condition::IsNull(value) => format!("{} IS NULL", value_of(value)),
    }
}

fn compare(
    left: &Expression,
    comparison: Comparison,
    right: &Expression,
    value_of: &dyn Fn(&Expression) -> String,
) -> String {
    let symbol = comparison.text();
    // The port of either end, of a row.
    let is_end = *left == Expression::field("port") && value_of(left) == column("port");
    if is_end {
        let right = value_of(right);
        return format!(
            "({} {symbol} {right} OR {} {symbol} {right})",
            column("src_port"),
            column("dst_port")
        );
    }
    format!("{} {symbol} {}", operand(right, left, value_of), operand(left, right, value_of))
}

/// A side of a comparison: the table has MAC addresses as texts.
fn operand(other: &Expression, side: &Expression, value_of: &dyn Fn(&Expression) -> String) -> String {
    let is_mac = matches!(other, Expression::Field(name) if name == "smac" || name == "dmac");
    match side {
        Expression::Integer(mac) if is_mac => text(&crate::literal::mac_text(mac.unsigned_abs())),
        side => value_of(side),
    }
}

/// Addresses of a prefix: in the order of bytes they are a range.
fn range(field: &str, (address, length): (IpAddr, u8)) -> String {
    let (first, behind) = match address {
        IpAddr::V4(address) => (address.to_ipv6_mapped().to_bits(), 32 - u32::from(length.min(32))),
        IpAddr::V6(address) => (address.to_bits(), 128 - u32::from(length.min(128))),
    };
    let last = first | 1_u128.checked_shl(behind).map_or(u128::MAX, |bit| bit - 1);
    let between = |first: u128, last: u128| format!("BETWEEN unhex('{first:032x}') AND unhex('{last:032x}')");
    if first == last {
        return format!("{field} = unhex('{first:032x}')");
    }
    let (first_v4, last_v4) = (0xffff_0000_0000, 0xffff_ffff_ffff);
    if address.is_ipv6() && first <= first_v4 && last >= last_v4 {
        // IPv4 is in the same order, but in no prefix of IPv6.
        return format!("({field} {} AND {field} NOT {})", between(first, last), between(first_v4, last_v4));
    }
    format!("{field} {}", between(first, last))
}
