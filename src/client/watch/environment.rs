//! The environment that a program gets for an event.

use crate::client::show;
use model::{Event, Item};
use std::collections::BTreeMap;

/// The prefix of the names of all variables. Those of Edison's own options begin with EDISON_.
const PREFIX: &str = "EVENT_";
/// The most bytes of a value, and the most variables: a system bounds what a program gets. The event's JSON has all.
const MOST_BYTES: usize = 4_096;
const MOST_VARIABLES: usize = 100;

/// Returns the variables of an event. A value that is null, is too long or has a zero byte has none.
pub(super) fn variables(event: &Event, controller: &str) -> BTreeMap<String, String> {
    let own = [
        ("ID", Some(event.event.clone())),
        ("KIND", Some(event.kind.name().to_owned())),
        ("QUERY", Some(event.query.clone())),
        ("NODE", event.node.clone()),
        ("AT", Some(model::format_time(event.at_ns))),
        ("PARENT", event.parent.clone()),
        ("TITLE", event.title.clone()),
        ("CONTROLLER", Some(controller.to_owned())),
    ];
    let own = own.into_iter().map(|(name, value)| (name.to_owned(), value));
    let all = own.chain(items("KEY", &event.key)).chain(items("VALUE", &event.values));
    let mut variables = BTreeMap::new();
    for (name, value) in all {
        let is_fit = |value: &String| value.len() <= MOST_BYTES && !value.contains('\0');
        if let Some(value) = value.filter(is_fit).filter(|_| variables.len() < MOST_VARIABLES) {
            variables.entry(PREFIX.to_owned() + &name).or_insert(value);
        }
    }
    variables
}

/// Returns the names of variables of another event, which the program itself may have got.
pub(super) fn inherited() -> impl Iterator<Item = std::ffi::OsString> {
    std::env::vars_os().map(|(name, _)| name).filter(|name| name.to_string_lossy().starts_with(PREFIX))
}

/// The members of a key or of values: `sum(total_byte)` is `SUM_TOTAL_BYTE_`.
fn items<'a>(group: &'a str, items: &'a [Item]) -> impl Iterator<Item = (String, Option<String>)> + 'a {
    items.iter().map(move |item| {
        let letter =
            |letter: char| if letter.is_ascii_alphanumeric() { letter.to_ascii_uppercase() } else { '_' };
        let name: String = item.column.name.chars().map(letter).collect();
        let value = (item.value != model::Value::Null).then(|| show::value(item));
        (format!("{group}_{name}"), value)
    })
}
