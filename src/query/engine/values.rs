//! Values as engines write them.

use model::{Column, ColumnKind, Conversation, Heaviest, Value};
use packet::KeySpec;
use serde_json::Value as Json;
use std::net::{IpAddr, Ipv6Addr};
use task::query::{Expression, GroupField, Grouping, OutputColumn, Query};

/// Floating point numbers are whole up to here.
const MOST_WHOLE: f64 = 9_007_199_254_740_992.0;

/// The shape of a column's values.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum ValueShape {
    /// Values of a kind.
    Plain(ColumnKind),
    /// Prefixes of these lengths, of IPv4 and of IPv6.
    Prefix([u8; 2]),
    Conversation,
    /// The heaviest of the values of this shape.
    Heaviest(Box<ValueShape>),
}

impl ValueShape {
    /// The shape of a column of a query over rows of such a key.
    pub(super) fn from_column(query: &Query, key: &KeySpec, item: &OutputColumn, column: &Column) -> Self {
        match &item.value {
            Expression::Field(name) => {
                let groups = if let Grouping::By(groups) = &query.group { &groups[..] } else { &[] };
                let group = groups.iter().find(|group| group.field == *name);
                Self::from_field(name, group.and_then(|group| group.prefix), key, column.kind)
            }
            Expression::Aggregate(aggregate) => match aggregate.meaning().heaviest() {
                Some((_, GroupField { field, prefix }, _)) => {
                    Self::Heaviest(Box::new(Self::from_field(field, *prefix, key, kind_of(field))))
                }
                None => Self::Plain(column.kind),
            },
            _ => Self::Plain(column.kind),
        }
    }

    fn from_field(name: &str, prefix: Option<[u8; 2]>, key: &KeySpec, kind: ColumnKind) -> Self {
        // As rows have them: those of the flow key are no longer for a question.
        let member = if name == "addr" { "src_addr" } else { name };
        let of_key = key.prefix_lengths(member).unwrap_or([32, 128]);
        let lengths = prefix.map_or(of_key, |[v4, v6]| [v4.min(of_key[0]), v6.min(of_key[1])]);
        let is_whole = lengths == [32, 128];
        match (name, kind) {
            ("conversation", _) => Self::Conversation,
            (_, ColumnKind::Address | ColumnKind::Prefix) => {
                if is_whole {
                    Self::Plain(ColumnKind::Address)
                } else {
                    Self::Prefix(lengths)
                }
            }
            (_, kind) => Self::Plain(kind),
        }
    }

    /// Reads a value of this shape; `None` if it is of another one.
    pub(super) fn read(&self, json: &Json) -> Option<Value> {
        if json.is_null() {
            return Some(match self {
                // No value has weight.
                Self::Heaviest(_) => Value::Heaviest(Box::default()),
                _ => Value::Null,
            });
        }
        match self {
            Self::Plain(kind) => plain(*kind, json),
            Self::Prefix(lengths) => {
                let address = address(json.as_str()?)?;
                let length = lengths[usize::from(address.is_ipv6())];
                Some(Value::Prefix { address, length })
            }
            Self::Conversation => conversation(json.as_str()?).map(Value::Conversation),
            Self::Heaviest(of) => {
                let values = json.as_array()?.iter().map(|entry| of.weighed(entry));
                let values = values.collect::<Option<Vec<_>>>()?;
                Some(Value::Heaviest(Box::new(Heaviest { values, ..Heaviest::default() })))
            }
        }
    }

    /// A value and its weight.
    fn weighed(&self, entry: &Json) -> Option<(Value, u64)> {
        let (value, weight) = match entry {
            Json::Array(pair) => (pair.first()?, pair.get(1)?),
            entry => (entry.get("value")?, entry.get("weight")?),
        };
        Some((self.read(value)?, unsigned(weight)?))
    }
}

/// The kind of a field's values, as rows have them.
fn kind_of(name: &str) -> ColumnKind {
    if let Some(field) = flow::Field::named(name) {
        return Column::from_field(field).kind;
    }
    match flow::DerivedField::named(name).map(|derived| derived.type_name) {
        Some("address") => ColumnKind::Address,
        Some("float64") => ColumnKind::Float,
        Some(name) if name.starts_with("uint") => ColumnKind::Unsigned,
        _ => ColumnKind::Text,
    }
}

fn plain(kind: ColumnKind, json: &Json) -> Option<Value> {
    Some(match kind {
        ColumnKind::Unsigned => Value::Unsigned(unsigned(json)?),
        ColumnKind::Signed => Value::Signed(signed(json)?),
        ColumnKind::Time => Value::Time(unsigned(json)?),
        ColumnKind::Float => float(json)?,
        ColumnKind::Text => Value::Text(json.as_str()?.to_owned()),
        ColumnKind::Address => Value::Address(address(json.as_str()?)?),
        // These have shapes of their own, or come of counting packets.
        ColumnKind::Prefix | ColumnKind::Estimate | ColumnKind::Heaviest => return None,
    })
}

/// An integer without sign. Engines write large ones as texts, and some whole ones with a point.
pub(super) fn unsigned(json: &Json) -> Option<u64> {
    match json {
        Json::String(text) => text.parse().ok(),
        json => json.as_u64().or_else(|| whole(json).and_then(|number| u64::try_from(number).ok())),
    }
}

/// An integer of either sign.
pub(super) fn integer(json: &Json) -> Option<i128> {
    unsigned(json).map(i128::from).or_else(|| signed(json).map(i128::from))
}

fn signed(json: &Json) -> Option<i64> {
    match json {
        Json::String(text) => text.parse().ok(),
        json => json.as_i64().or_else(|| whole(json)),
    }
}

fn whole(json: &Json) -> Option<i64> {
    let number = json.as_f64().filter(|number| number.fract() == 0.0 && number.abs() < MOST_WHOLE)?;
    Some(number as i64)
}

/// Reads a floating point number. One that is not finite is null, as in answers.
fn float(json: &Json) -> Option<Value> {
    let number: f64 = match json {
        Json::String(text) => text.parse().ok()?,
        json => json.as_f64()?,
    };
    Some(if number.is_finite() { Value::Float(number) } else { Value::Null })
}

/// An address of 16 bytes behind its family as hexadecimal digits; IPv4 is mapped.
fn address(digits: &str) -> Option<IpAddr> {
    let is_one = digits.len() == 34 && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    let (family, bits) = digits.split_at_checked(2).filter(|_| is_one)?;
    let address = Ipv6Addr::from_bits(u128::from_str_radix(bits, 16).ok()?);
    match family {
        "04" => address.to_ipv4_mapped().map(IpAddr::V4),
        "06" => Some(IpAddr::V6(address)),
        _ => None,
    }
}

/// Address and port of both ends, and the protocol.
fn conversation(text: &str) -> Option<Conversation> {
    let parts: Vec<&str> = text.split(' ').collect();
    let [one, one_port, other, other_port, protocol] = parts[..] else { return None };
    let ends = [(address(one)?, one_port.parse().ok()?), (address(other)?, other_port.parse().ok()?)];
    Some(Conversation { ends, protocol: protocol.parse().ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_heaviest_values_of_any_field_are_read() {
        use ColumnKind::{Address, Float, Text, Unsigned};
        let json = |kind: ColumnKind| match kind {
            Unsigned => json!(7),
            Float => json!(0.5),
            Address => json!("0400000000000000000000FFFF0A010203"),
            _ => json!("text"),
        };
        let known = [
            ("vlan", Unsigned),
            ("first_vlan", Unsigned),
            ("last_ip_ttl", Unsigned),
            ("any_tcp_flags", Unsigned),
            ("first_smac", Text),
            ("addr", Address),
            ("port", Unsigned),
            ("duration", Unsigned),
            ("pps", Float),
            ("service", Text),
        ];
        for (field, kind) in known {
            assert_eq!(kind_of(field), kind, "{field}");
        }
        // No derived field has a type of which nothing is known.
        for field in flow::DERIVED {
            let kind = kind_of(field.name);
            let is_text = matches!(field.type_name, "text" | "mac");
            assert_eq!(kind == Text, is_text, "{}: {}", field.name, field.type_name);
            assert!(ValueShape::Plain(kind).read(&json(kind)).is_some(), "{}", field.name);
        }
    }

    #[test]
    fn values_are_read_as_the_plan_has_them() {
        use ColumnKind::{Address, Float, Signed, Text, Time, Unsigned};
        let mapped = "0400000000000000000000FFFF0A010203";
        let of_v6 = "0600000000000000000000FFFF0A010203";
        let v4 = IpAddr::from([10, 1, 2, 3]);
        let cases = [
            (Unsigned, json!(7), Some(Value::Unsigned(7))),
            (Unsigned, json!("18446744073709551615"), Some(Value::Unsigned(u64::MAX))),
            (Unsigned, json!(7.0), Some(Value::Unsigned(7))),
            (Unsigned, json!(7.5), None),
            (Unsigned, json!(-7), None),
            (Unsigned, json!(1e300), None),
            (Unsigned, json!([7]), None),
            (Signed, json!(-7), Some(Value::Signed(-7))),
            (Time, json!("5"), Some(Value::Time(5))),
            (Float, json!(1), Some(Value::Float(1.0))),
            (Float, json!("NaN"), Some(Value::Null)),
            (Float, json!("x"), None),
            (Text, json!("x"), Some(Value::Text("x".to_owned()))),
            (Text, json!(1), None),
            (Address, json!(mapped), Some(Value::Address(v4))),
            (Address, json!(of_v6), Some(Value::Address("::ffff:10.1.2.3".parse().expect("an address")))),
            (Address, json!("040000000000000000000000000A010203"), None),
            (Address, json!("04+0000000000000000000FFFF0A010203"), None),
            (Address, json!("00000000000000000000FFFF0A010203"), None),
            (Address, json!("10.1.2.3"), None),
            (Address, json!(null), Some(Value::Null)),
        ];
        for (kind, json, expected) in cases {
            assert_eq!(ValueShape::Plain(kind).read(&json), expected, "{kind:?} {json}");
        }
        let prefix = ValueShape::Prefix([24, 48]).read(&json!("0400000000000000000000FFFF0A010200"));
        assert_eq!(prefix, Some(Value::Prefix { address: IpAddr::from([10, 1, 2, 0]), length: 24 }));
        let ends = [(v4, 80), (IpAddr::V6(Ipv6Addr::LOCALHOST), 9)];
        let text = format!("{mapped} 80 0600000000000000000000000000000001 9 6");
        let read = ValueShape::Conversation.read(&json!(text));
        assert_eq!(read, Some(Value::Conversation(Conversation { ends, protocol: 6 })));
        assert_eq!(ValueShape::Conversation.read(&json!(format!("{text} 6"))), None);
        let heaviest = ValueShape::Heaviest(Box::new(ValueShape::Plain(Unsigned)));
        let expected = Heaviest { values: vec![(Value::Unsigned(53), 9)], ..Heaviest::default() };
        for json in [json!([{"value": 53, "weight": "9", "less": -9}]), json!([[53, 9]])] {
            assert_eq!(heaviest.read(&json), Some(Value::Heaviest(Box::new(expected.clone()))), "{json}");
        }
        assert_eq!(heaviest.read(&json!([[53]])), None);
    }
}
