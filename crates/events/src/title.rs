//! Titles of events: what happened, in a sentence that names no query.

use crate::title_form::{TitleForm, TitlePart};
use crate::words;
use model::{Event, EventKind, Item, Value};
use notation::printable;

/// The most characters of a title.
const LONGEST: usize = 400;
/// The most characters of a text in a title, as of a name in packets.
const LONGEST_TEXT: usize = 80;

/// What a firing fills in.
pub(crate) struct Filling<'a> {
    pub(crate) key: &'a [Item],
    /// The name of the node; `None` for all nodes together.
    pub(crate) node: Option<&'a str>,
    /// The values of the items of the form, in their order.
    pub(crate) values: &'a [Item],
}

impl TitleForm {
    /// The title of a firing; `None` where firings have none.
    pub(crate) fn filled(&self, filling: &Filling<'_>) -> Option<String> {
        let mut values = filling.values.iter();
        let mut title = String::new();
        for part in &self.parts {
            match part {
                TitlePart::Text(text) => title.push_str(text),
                TitlePart::Item(_) => {
                    let value = values.next().map_or_else(|| unknown().to_owned(), said);
                    title.push_str(&value);
                }
                TitlePart::Key => title.push_str(&words::key(filling.key)),
                TitlePart::Node => title.push_str(&printable(filling.node.unwrap_or("all nodes"))),
            }
        }
        (!title.is_empty()).then(|| shortened(&printable(&title), LONGEST))
    }
}

const fn unknown() -> &'static str {
    "an unknown value"
}

/// A value as people write it: without its unit, except of times.
fn said(item: &Item) -> String {
    let number = |number: f64| match item.column.unit.as_str() {
        "ns" => notation::computed_time_text(number),
        _ => words::number(number),
    };
    match &item.value {
        Value::Null => unknown().to_owned(),
        Value::Text(text) => shortened(text, LONGEST_TEXT),
        // Ports are no numbers of anything, and nobody writes them in groups.
        Value::Unsigned(port) if is_identifier(&item.column.name) => port.to_string(),
        Value::Unsigned(whole) if item.column.unit == "ns" => number(*whole as f64),
        Value::Estimate { lower, upper, .. } if upper.is_infinite() => format!("at least {}", number(*lower)),
        Value::Estimate { value, lower, upper } if lower < upper => {
            format!("{} (between {} and {})", number(*value), number(*lower), number(*upper))
        }
        Value::Estimate { value, .. } | Value::Float(value) => number(*value),
        other => words::value(other, ""),
    }
}

/// True for a column of numbers that identify something, as ports do.
fn is_identifier(column: &str) -> bool {
    let ends = ["port", "vlan", "asn", "_as", "protocol"];
    !column.contains('(') && ends.iter().any(|end| column.ends_with(end))
}

fn shortened(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// The title of an event that is about no condition: what could not be done. `None` for the others.
pub(crate) fn of_trouble(event: &Event) -> Option<String> {
    let node = printable(event.node.as_deref().unwrap_or("all nodes"));
    let key = words::key(&event.key);
    match event.kind {
        EventKind::NoData => Some(format!("No answers of {node} for three windows")),
        EventKind::Timeout => Some("What was to follow did not come in time".to_owned()),
        EventKind::Suppressed => {
            let number = event.values.first().map(said).unwrap_or_default();
            let at = event.node.as_ref().map(|_| format!(" at {node}")).unwrap_or_default();
            Some(format!("{number} more keys than are followed{at}"))
        }
        EventKind::Missed => Some(format!("Nothing was measured{key} at {node}: it was asked too late")),
        EventKind::Fired | EventKind::Resolved | EventKind::Expired => None,
    }
}

/// The title of several firings: that of the first, and how many more there are.
pub(crate) fn of_firings(fired: &[&Event]) -> Option<String> {
    let title = fired.first()?.title.as_ref()?;
    match fired.len() {
        1 => Some(title.clone()),
        all => Some(format!("{title}, and {} more", notation::grouped(all as u64 - 1))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{Column, ColumnKind};

    fn item(name: &str, kind: ColumnKind, unit: &str, value: Value) -> Item {
        Item { column: Column::new(name, kind, unit), value }
    }

    #[test]
    fn values_are_as_people_write_them() {
        let said = |kind, unit: &str, value| said(&item("v", kind, unit, value));
        assert_eq!(said(ColumnKind::Unsigned, "bytes", Value::Unsigned(1_234_567)), "1,234,567");
        assert_eq!(said(ColumnKind::Signed, "", Value::Signed(-1_200)), "-1,200");
        assert_eq!(said(ColumnKind::Float, "", Value::Float(0.25)), "0.25");
        assert_eq!(said(ColumnKind::Unsigned, "ns", Value::Unsigned(1_500_000)), "1.50 ms");
        assert_eq!(said(ColumnKind::Address, "", Value::Address([192, 0, 2, 7].into())), "192.0.2.7");
        assert_eq!(
            said(ColumnKind::Time, "", Value::Time(1_704_067_202_500_000_000)),
            "2024-01-01 00:00:02.5Z"
        );
        let estimate = |lower, upper| Value::Estimate { value: 5_000.0, lower, upper };
        assert_eq!(said(ColumnKind::Estimate, "", estimate(4_000.0, f64::INFINITY)), "at least 4,000");
        assert_eq!(
            said(ColumnKind::Estimate, "", estimate(4_000.0, 6_000.0)),
            "5,000 (between 4,000 and 6,000)"
        );
        assert_eq!(said(ColumnKind::Unsigned, "", Value::Null), "an unknown value");
        let port = item("dst_port", ColumnKind::Unsigned, "", Value::Unsigned(51_820));
        assert_eq!(super::said(&port), "51820");
        let ports = item("count(dst_port)", ColumnKind::Unsigned, "", Value::Unsigned(51_820));
        assert_eq!(super::said(&ports), "51,820");
    }

    #[test]
    fn hostile_names_are_text_of_one_line() {
        let name = format!("a\u{1b}[2J\n<b>{{x}}\u{202e}{}", "y".repeat(70_000));
        let form = TitleForm {
            parts: vec![
                TitlePart::Text("Host ".to_owned()),
                TitlePart::Item(3),
                TitlePart::Text(" at ".to_owned()),
                TitlePart::Node,
            ],
            is_said: true,
        };
        let values = [item("host", ColumnKind::Text, "", Value::Text(name.as_str().into()))];
        let filling = Filling { key: &[], node: Some("Node\r1"), values: &values };
        let title = form.filled(&filling).expect("a title");
        assert!(title.starts_with("Host a�[2J�<b>{x}�yyy"), "{title}");
        assert!(title.ends_with("y… at Node�1"), "{title}");
        assert!(title.chars().count() < 120);
        let long = Filling { node: Some(&name), ..filling };
        assert_eq!(form.filled(&long).expect("a title").chars().count(), LONGEST + 1);
        assert_eq!(TitleForm::default().filled(&long), None);
    }
}
