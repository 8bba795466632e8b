//! Values as literals of Equery, and conditions that they fulfil.

use model::Value;

/// The field without the lengths of its prefixes.
fn plain(field: &str) -> &str {
    field.split_once('/').map_or(field, |(field, _)| field)
}

/// Returns the literal of a value; `None` where Equery has none.
fn literal(value: &Value) -> Option<String> {
    Some(match value {
        Value::Unsigned(number) => number.to_string(),
        Value::Address(address) => address.to_string(),
        Value::Prefix { address, length } => format!("{address}/{length}"),
        Value::Text(text) if !text.contains(char::is_control) => format!("'{}'", text.replace('\'', "''")),
        _ => return None,
    })
}

/// Returns the condition that one value of a field fulfils, and no other; `None` where Equery has none.
fn condition(field: &str, value: &Value) -> Option<String> {
    let plain = plain(field);
    Some(match value {
        Value::Null => format!("{plain} is null"),
        Value::Prefix { .. } => format!("{plain} in {}", literal(value)?),
        value => format!("{field} = {}", literal(value)?),
    })
}

/// Returns the condition that a group fulfils, and no other; `None` where Equery has none.
pub(crate) fn of_group(by: &[&str], key: &[Value]) -> Option<String> {
    let conditions: Option<Vec<String>> =
        by.iter().zip(key).map(|(field, value)| condition(field, value)).collect();
    Some(conditions?.join(" and "))
}

/// Returns the condition that these groups fulfil, and no others; `None` without any.
pub(crate) fn of_groups<'a>(by: &[&str], keys: impl Iterator<Item = &'a [Value]>) -> Option<String> {
    let keys: Vec<&[Value]> = keys.collect();
    let [field] = by else {
        let groups = keys.iter().filter_map(|key| of_group(by, key));
        let groups: Vec<String> = groups.map(|group| format!("({group})")).collect();
        return (!groups.is_empty()).then(|| groups.join(" or "));
    };
    // One list is looked up faster than many comparisons.
    let literals: Vec<String> = keys.iter().filter_map(|key| literal(key.first()?)).collect();
    let mut parts = Vec::new();
    if !literals.is_empty() {
        parts.push(format!("{} in ({})", plain(field), literals.join(", ")));
    }
    if keys.iter().any(|key| key.first() == Some(&Value::Null)) {
        parts.push(format!("{} is null", plain(field)));
    }
    (!parts.is_empty()).then(|| parts.join(" or "))
}
