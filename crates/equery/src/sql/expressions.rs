//! Values and conditions as SQL.

use super::Dialect;
use flow::{Derived, DerivedField};
use std::net::IpAddr;
use task::query::{Aggregate, Comparison, Condition, Expression, GroupField, Operator};

/// The column of a field of the field table: times have their unit in the name.
pub(super) fn column(dialect: Dialect, name: &str) -> String {
    match name {
        "stime" | "ltime" => format!("{name}_ns"),
        name => dialect.identifier(name),
    }
}

/// A field of a row.
pub(super) fn field(dialect: Dialect, name: &str) -> String {
    // Without sign there is nothing below zero.
    let duration =
        "CASE WHEN ltime_ns >= stime_ns THEN ltime_ns - stime_ns WHEN ltime_ns < stime_ns THEN 0 END";
    match name {
        "duration" => format!("({duration})"),
        "pps" => format!("(total_count * 1e9 / nullif(({duration}), 0))"),
        "bps" => format!("(total_byte * 8e9 / nullif(({duration}), 0))"),
        "bytes_per_packet" => "(total_byte / nullif(total_count, 0))".to_owned(),
        "protocol_name" => protocol_name(dialect),
        "service" => service(dialect),
        "conversation" => conversation(dialect),
        "src_addr" | "dst_addr" => dialect.with_family(&column(dialect, name)),
        "forward" => format!("CASE WHEN {FORWARD} THEN 1 ELSE 0 END"),
        // What rows have of a field in which packets differ is what the flow has.
        name => match DerivedField::named(name).filter(|field| field.derived == Derived::OfFlow) {
            Some(of_flow) => column(dialect, of_flow.from[0]),
            None => column(dialect, name),
        },
    }
}

fn protocol_name(dialect: Dialect) -> String {
    let names = flow::protocol_names().filter_map(|name| Some((flow::protocol_number(name)?, name)));
    let cases: String =
        names.map(|(number, name)| format!("WHEN {number} THEN {} ", dialect.text(name))).collect();
    format!("CASE protocol {cases}ELSE {} END", dialect.as_text("protocol"))
}

/// The service by the destination's port, else by the source's.
fn service(dialect: Dialect) -> String {
    by_port(|_, name| dialect.text(name))
}

/// A service as `shown` has its port and name.
fn by_port(shown: impl Fn(u16, &str) -> String) -> String {
    let cases: String = flow::SERVICES
        .iter()
        .map(|(port, name)| format!(" WHEN {port} THEN {}", shown(*port, name)))
        .collect();
    let [destination, source] = ["dst_port", "src_port"].map(|port| format!("CASE {port}{cases} END"));
    format!("CASE WHEN protocol IN (6, 17, 132, 136) THEN coalesce({destination}, {source}) END")
}

/// The source is the lesser endpoint.
const FORWARD: &str = "(src_addr < dst_addr OR (src_addr = dst_addr AND src_port <= dst_port))";

/// The lesser endpoint, and the other one.
pub(super) fn ends(of: &str) -> [String; 2] {
    let end = |one: &str, other: &str| format!("CASE WHEN {FORWARD} THEN {one}_{of} ELSE {other}_{of} END");
    [end("src", "dst"), end("dst", "src")]
}

/// Returns the number by which a field with names is ordered where no other order is requested.
pub(super) fn number_of_name(name: &str) -> Option<String> {
    match name {
        "protocol_name" => Some("protocol".to_owned()),
        "service" => Some(by_port(|port, _| port.to_string())),
        _ => None,
    }
}

/// Returns true if a field is an address, of either family.
pub(super) fn is_address(name: &str) -> bool {
    matches!(name, "src_addr" | "dst_addr" | "addr")
}

/// The 5-tuple, the lesser endpoint first, as a text: address and port of both, and the protocol.
fn conversation(dialect: Dialect) -> String {
    let of = |one: &str, other: &str| {
        let ends = [one, other].map(|end| {
            let address = field(dialect, &format!("{end}_addr"));
            format!("hex({address}), ' ', {end}_port, ' ', ")
        });
        format!("concat({}{}protocol)", ends[0], ends[1])
    };
    format!("CASE WHEN {FORWARD} THEN {} ELSE {} END", of("src", "dst"), of("dst", "src"))
}

/// Returns the value that rows are grouped by, or that is counted. An address is cut to its prefix. `end`: where the field is of either end,
/// the value of the end.
pub(super) fn grouped(dialect: Dialect, group: &GroupField, end: Option<String>) -> String {
    let name = group.field.as_str();
    if !is_address(name) {
        return end.unwrap_or_else(|| field(dialect, name));
    }
    let address = end.unwrap_or_else(|| column(dialect, name));
    dialect.with_family(&match group.prefix {
        Some(lengths) => dialect.first_bits(&address, lengths),
        None => address,
    })
}

/// A value of a row.
pub(super) fn value(dialect: Dialect, value: &Expression) -> String {
    value_with(dialect, value, &|name| field(dialect, name), &|_| "NULL".to_owned())
}

/// A value whose fields and aggregates are given.
pub(super) fn value_with(
    dialect: Dialect,
    value: &Expression,
    field_of: &dyn Fn(&str) -> String,
    aggregate_of: &dyn Fn(&Aggregate) -> String,
) -> String {
    let side = |value: &Expression| value_with(dialect, value, field_of, aggregate_of);
    match value {
        Expression::Field(name) => field_of(name),
        Expression::Integer(number) => number.to_string(),
        Expression::Float(number) => dialect.float(*number),
        Expression::Text(value) => dialect.text(value),
        Expression::Arithmetic(left, Operator::Divide, right) => {
            format!("({} / nullif({}, 0))", side(left), side(right))
        }
        Expression::Arithmetic(left, operator, right) => {
            let [left, right] = [left, right].map(|of| match is_whole(of) {
                true => dialect.wide(&side(of)),
                false => side(of),
            });
            format!("({left} {} {right})", operator.text())
        }
        Expression::Aggregate(aggregate) => aggregate_of(aggregate),
    }
}

/// Returns true if values have the type of a column of whole numbers, which may have neither a sign nor room for results of arithmetic.
fn is_whole(value: &Expression) -> bool {
    match value {
        Expression::Field(name) => {
            flow::Field::named(name).is_some_and(|field| {
                matches!(
                    field.value,
                    flow::FieldAccessor::Unsigned(..)
                        | flow::FieldAccessor::Optional(..)
                        | flow::FieldAccessor::Time(_)
                )
            }) || ["port", "duration"].contains(&name.as_str())
        }
        Expression::Aggregate(aggregate) => aggregate.meaning().picked().is_some_and(is_whole),
        _ => false,
    }
}

/// A condition on a row.
pub(super) fn condition(dialect: Dialect, of: &Condition) -> String {
    condition_with(dialect, of, &|name| field(dialect, name), &|of| value(dialect, of))
}

/// A condition whose fields and values are given.
pub(super) fn condition_with(
    dialect: Dialect,
    of: &Condition,
    field_of: &dyn Fn(&str) -> String,
    value_of: &dyn Fn(&Expression) -> String,
) -> String {
    let inner = |of: &Condition| condition_with(dialect, of, field_of, value_of);
    let column = |name: &str| column(dialect, name);
    let joined = |of: &[Condition], word: &str, empty: &str| match of {
        [] => empty.to_owned(),
        [one] => inner(one),
        all => format!("({})", all.iter().map(inner).collect::<Vec<_>>().join(word)),
    };
    match of {
        Condition::And(of) => joined(of, " AND ", "true"),
        Condition::Or(of) => joined(of, " OR ", "false"),
        Condition::Not(of) => format!("NOT {}", inner(of)),
        Condition::Compare(left, comparison, right) => compare(dialect, left, *comparison, right, value_of),
        Condition::InPrefixes(name, prefixes) => {
            // Of rows, whose columns have no family: files can then leave out parts by their least and greatest addresses.
            let of_row = field_of(name) == field(dialect, name);
            let fields = match (name.as_str(), of_row) {
                ("addr", true) => vec![column("src_addr"), column("dst_addr")],
                (name, true) => vec![column(name)],
                (name, false) => vec![field_of(name)],
            };
            let of_field = |field: &String, prefix| {
                if of_row { row_range(field, prefix) } else { group_range(field, prefix) }
            };
            let ranges =
                prefixes.iter().flat_map(|prefix| fields.iter().map(|field| of_field(field, *prefix)));
            format!("({})", ranges.collect::<Vec<_>>().join(" OR "))
        }
        Condition::In(value, list) => {
            let is_text = list.iter().any(|member| matches!(member, Expression::Text(_)));
            let list: Vec<_> = list.iter().map(|member| operand(dialect, value, member, value_of)).collect();
            let value = if is_text { format!("lower({})", value_of(value)) } else { value_of(value) };
            format!("{value} IN ({})", list.join(", "))
        }
        Condition::Like(name, pattern) => format!("{} ILIKE {}", field_of(name), dialect.pattern(pattern)),
        Condition::IsNull(value) => format!("{} IS NULL", value_of(value)),
    }
}

fn compare(
    dialect: Dialect,
    left: &Expression,
    comparison: Comparison,
    right: &Expression,
    value_of: &dyn Fn(&Expression) -> String,
) -> String {
    let symbol = comparison.text();
    let column = |name: &str| column(dialect, name);
    // The port of either end, of a row.
    let ends = |side: &Expression| {
        let is_end = *side == Expression::field("port") && value_of(side) == column("port");
        is_end.then(|| ["src_port", "dst_port"].map(column).to_vec())
    };
    let sides = [left, right].map(|side| (ends(side), side));
    if let [(Some(_), _), _] | [_, (Some(_), _)] = &sides {
        let [lefts, rights] = sides.map(|(ends, side)| ends.unwrap_or_else(|| vec![value_of(side)]));
        let pairs =
            lefts.iter().flat_map(|left| rights.iter().map(move |right| format!("{left} {symbol} {right}")));
        return format!("({})", pairs.collect::<Vec<_>>().join(" OR "));
    }
    let sides = [(right, left), (left, right)].map(|(other, side)| operand(dialect, other, side, value_of));
    format!("{} {symbol} {}", sides[0], sides[1])
}

/// A side of a comparison: the table has MAC addresses as texts.
fn operand(
    dialect: Dialect,
    other: &Expression,
    side: &Expression,
    value_of: &dyn Fn(&Expression) -> String,
) -> String {
    let is_mac = matches!(other, Expression::Field(name) if name == "smac" || name == "dmac");
    match side {
        Expression::Integer(mac) if is_mac => dialect.text(&crate::literal::mac_text(mac.unsigned_abs())),
        // Texts are equal whatever the case of their letters.
        Expression::Text(text) => dialect.text(&text.to_ascii_lowercase()),
        side if matches!(other, Expression::Text(_)) => format!("lower({})", value_of(side)),
        side => value_of(side),
    }
}

/// The first and the last address of a prefix, of 16 bytes.
fn ends_of_prefix((address, length): (IpAddr, u8)) -> [u128; 2] {
    let (first, behind) = match address {
        IpAddr::V4(address) => (address.to_ipv6_mapped().to_bits(), 32 - u32::from(length.min(32))),
        IpAddr::V6(address) => (address.to_bits(), 128 - u32::from(length.min(128))),
    };
    [first, first | 1_u128.checked_shl(behind).map_or(u128::MAX, |bit| bit - 1)]
}

fn between(field: &str, [first, last]: [String; 2]) -> String {
    match first == last {
        true => format!("{field} = unhex('{first}')"),
        false => format!("{field} BETWEEN unhex('{first}') AND unhex('{last}')"),
    }
}

/// Rows whose address is of a prefix: in the order of bytes these are a range.
fn row_range(column: &str, prefix: (IpAddr, u8)) -> String {
    let family = if prefix.0.is_ipv4() { 4 } else { 6 };
    let of_family = format!("ip_version = {family}");
    let [first, last] = ends_of_prefix(prefix);
    let whole = if prefix.0.is_ipv4() { [0xffff_0000_0000, 0xffff_ffff_ffff] } else { [0, u128::MAX] };
    if [first, last] == whole {
        return format!("({of_family} AND {column} IS NOT NULL)");
    }
    format!("({of_family} AND {})", between(column, [first, last].map(|end| format!("{end:032x}"))))
}

/// Groups whose address, which has its family, is of a prefix.
fn group_range(field: &str, prefix: (IpAddr, u8)) -> String {
    let family = if prefix.0.is_ipv4() { 4 } else { 6 };
    between(field, ends_of_prefix(prefix).map(|end| format!("{family:02x}{end:032x}")))
}
