//! Schemas as text.

use serde_json::{Map, Value as Json};

/// The longest line, characters, where a value may be split.
const WIDTH: usize = 120;
/// Members that come first, in this order.
const FIRST: [&str; 21] = [
    "$schema",
    "$id",
    "title",
    "description",
    "$ref",
    "type",
    "const",
    "enum",
    "format",
    "pattern",
    "exclusiveMinimum",
    "minimum",
    "maximum",
    "properties",
    "required",
    "additionalProperties",
    "items",
    "anyOf",
    "if",
    "then",
    "else",
];
/// The member that comes last.
const LAST: &str = "$defs";

/// Writes a schema: what says what it is comes first, and members of objects that are always there are in their order, the others behind
/// them. The text does not depend on the order in which the members of an object are kept.
pub fn text(schema: &Json) -> String {
    let mut text = String::new();
    write(schema, &[], 0, 0, &mut text);
    text.push('\n');
    text
}

/// Writes a value behind `used` characters of a line.
fn write(json: &Json, required: &[&str], indent: usize, used: usize, text: &mut String) {
    let short = line(json, required);
    match json {
        Json::Object(members) if !members.is_empty() && used + short.chars().count() > WIDTH => {
            let ordered = ordered(members, required);
            let items =
                ordered.iter().map(|(name, member)| (format!("{}: ", Json::from(name.as_str())), *member));
            block(['{', '}'], items, |name| inner(members, name), indent, text);
        }
        Json::Array(items) if !is_words(items) && used + short.chars().count() > WIDTH => {
            block(['[', ']'], items.iter().map(|item| (String::new(), item)), |_| Vec::new(), indent, text);
        }
        _ => text.push_str(&short),
    }
}

/// A list of words stays in one line.
fn is_words(items: &[Json]) -> bool {
    items.iter().all(Json::is_string)
}

/// Writes members or items, each in a line of its own. `order`: the order of the members of the member with a name.
fn block<'a>(
    [open, close]: [char; 2],
    items: impl Iterator<Item = (String, &'a Json)>,
    order: impl Fn(&str) -> Vec<&'a str>,
    indent: usize,
    text: &mut String,
) {
    let indent = indent + 2;
    text.push(open);
    for (at, (name, item)) in items.enumerate() {
        text.push_str(if at == 0 { "\n" } else { ",\n" });
        text.push_str(&" ".repeat(indent));
        text.push_str(&name);
        // A comma may follow.
        let used = indent + name.chars().count() + 1;
        write(item, &order(name.trim_matches(['"', ':', ' '])), indent, used, text);
    }
    text.push('\n');
    text.push_str(&" ".repeat(indent - 2));
    text.push(close);
}

/// A value in one line.
fn line(json: &Json, required: &[&str]) -> String {
    match json {
        Json::Object(members) if !members.is_empty() => {
            let member = |(name, member): &(&String, &Json)| {
                format!("{}: {}", Json::from(name.as_str()), line(member, &inner(members, name)))
            };
            let members: Vec<String> = ordered(members, required).iter().map(member).collect();
            format!("{{ {} }}", members.join(", "))
        }
        Json::Array(items) => {
            let items: Vec<String> = items.iter().map(|item| line(item, &[])).collect();
            format!("[{}]", items.join(", "))
        }
        other => other.to_string(),
    }
}

/// The order of the members of a member with this name: that of what is required, where it has the properties of an object.
fn inner<'a>(members: &'a Map<String, Json>, name: &str) -> Vec<&'a str> {
    match name {
        "properties" => {
            let required = members.get("required").and_then(Json::as_array);
            required.into_iter().flatten().filter_map(Json::as_str).collect()
        }
        _ => Vec::new(),
    }
}

fn ordered<'a>(members: &'a Map<String, Json>, required: &[&str]) -> Vec<(&'a String, &'a Json)> {
    let first = if required.is_empty() { &FIRST[..] } else { required };
    let mut ordered: Vec<_> = members.iter().collect();
    let place = |name: &str| first.iter().position(|one| *one == name).unwrap_or(first.len());
    ordered.sort_by_key(|(name, _)| (*name == LAST, place(name), name.as_str()));
    ordered
}
