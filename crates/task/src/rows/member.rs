//! Grouped fields and counted values as they are printed.

use super::plan::prefix_lengths;
use super::program::NameTable;
use crate::query::GroupField;
use flow::{Field, FlowKey, NULL};
use model::{Conversation, Value};
use packet::KeySpec;

/// A member of the flow key, by its name in keys.
pub(crate) fn key_value(key: &FlowKey, name: &str, field: &GroupField, of: &KeySpec) -> Value {
    let value = Value::from_key(key, name).unwrap_or_default();
    match (value, prefix_lengths(field, name, of)) {
        (Value::Address(address), Some([v4, v6])) => {
            Value::Prefix { address, length: if address.is_ipv4() { v4 } else { v6 } }
        }
        (value, _) => value,
    }
}

/// A 5-tuple without its direction, if the key is one; the lesser endpoint first.
pub(crate) fn conversation(key: &FlowKey) -> Option<Conversation> {
    let ends = [(key.src_addr?, key.src_port?), (key.dst_addr?, key.dst_port?)];
    Some(Conversation { ends, protocol: key.protocol? })
}

/// A value that is no member of the flow key.
pub(crate) fn column_value(name: &str, names: Option<NameTable>, value: u64) -> Value {
    if value == NULL {
        return Value::Null;
    }
    match (names, Field::named(name).map(|field| field.value)) {
        (Some(names), _) => Value::Text(names.name(value)),
        (_, Some(flow::FieldAccessor::Time(_))) => Value::Time(value),
        (_, Some(flow::FieldAccessor::Mac(_))) => mac(value),
        _ => Value::Unsigned(value),
    }
}

/// A MAC address, as six pairs of hexadecimal digits.
pub(crate) fn mac(number: u64) -> Value {
    let bytes = number.to_be_bytes();
    let parts: Vec<_> = bytes[2..].iter().map(|byte| format!("{byte:02x}")).collect();
    Value::Text(parts.join(":"))
}
