//! Titles of events: what happened, in a sentence that names no query.

use crate::title_form::{TitleForm, TitlePart};
use crate::words;
use model::{Event, EventKind, Item, Value};
use notation::printable;

/// The most characters of a title.
const LONGEST: usize = 400;
/// The most characters of a text in a title, as of a name in packets.
const LONGEST_TEXT: usize = 80;

/// The facts that a firing fills in.
pub(crate) struct Filling<'a> {
    pub(crate) key: &'a [Item],
    /// The name of the node; `None` for all nodes together.
    pub(crate) node: Option<&'a str>,
    /// The values of the items of the form, in their order.
    pub(crate) values: &'a [Item],
}

impl TitleForm {
    /// Returns the title of a firing; `None` where firings have none.
    pub(crate) fn filled(&self, filling: &Filling<'_>) -> Option<String> {
        let mut values = filling.values.iter();
        let mut title = String::new();
        for part in &self.parts {
            match part {
                TitlePart::Text(text) => title.push_str(text),
                TitlePart::Item(_) => {
                    let value = values.next().map(|item| said(item, &self.missing_unit(item)));
                    title.push_str(value.as_deref().unwrap_or(unknown()));
                }
                TitlePart::Key => title.push_str(&words::key(filling.key)),
                TitlePart::Node => title.push_str(&printable(filling.node.unwrap_or("all nodes"))),
            }
        }
        (!title.is_empty()).then(|| shortened(&printable(&title), LONGEST))
    }

    /// Returns the unit of a value that no text of the title says; empty where one does, or it has none.
    fn missing_unit(&self, item: &Item) -> String {
        let word = |text: &str| text.trim_end_matches('s').to_ascii_lowercase();
        let unit = &item.column.unit;
        let own = word(unit.split(|letter: char| !letter.is_alphanumeric()).next().unwrap_or_default());
        let says_it = |part: &TitlePart| match part {
            TitlePart::Text(text) => {
                text.split(|letter: char| !letter.is_alphanumeric()).any(|of| word(of) == own)
            }
            TitlePart::Item(_) | TitlePart::Key | TitlePart::Node => false,
        };
        if self.parts.iter().any(says_it) { String::new() } else { unit.clone() }
    }
}

const fn unknown() -> &'static str {
    "an unknown value"
}

/// Returns a value as people write it, with its unit and its bounds.
fn said(item: &Item, unit: &str) -> String {
    let is_time = item.column.unit == "ns";
    let number = |number: f64| match is_time {
        true => notation::computed_time_text(number),
        false => words::number(number),
    };
    let unit = if is_time { "" } else { unit };
    let with_unit = |text: String| match (text.as_str(), unit) {
        (_, "") => text,
        ("1", unit) => format!("1 {}", unit.strip_suffix('s').unwrap_or(unit)),
        (text, unit) => format!("{text} {unit}"),
    };
    match &item.value {
        Value::Null => unknown().to_owned(),
        Value::Text(text) => shortened(text, LONGEST_TEXT),
        // Ports are no numbers of anything, and are not written in groups.
        Value::Unsigned(port) if is_identifier(&item.column.name) => port.to_string(),
        Value::Unsigned(whole) if is_time => number(*whole as f64),
        Value::Signed(whole) if is_time => number(*whole as f64),
        Value::Float(value) => with_unit(number(*value)),
        value @ (Value::Unsigned(_) | Value::Signed(_)) => with_unit(words::value(value, "")),
        other => words::estimate(other, &number, unit).unwrap_or_else(|| words::value(other, "")),
    }
}

/// Returns true for a column of numbers that identify something, as ports do.
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

/// Returns the title of an event that is about no condition: it says what could not be done. `None` for the others.
pub(crate) fn of_trouble(event: &Event) -> Option<String> {
    let node = printable(event.node.as_deref().unwrap_or("all nodes"));
    let key = words::key(&event.key);
    match event.kind {
        EventKind::NoData => Some(format!("No answers of {node} for three windows")),
        EventKind::Timeout => Some("What was to follow did not come in time".to_owned()),
        EventKind::Suppressed => {
            let number = event.values.first().map(|item| said(item, "")).unwrap_or_default();
            let at = event.node.as_ref().map(|_| format!(" at {node}")).unwrap_or_default();
            Some(format!("{number} more keys than are followed{at}"))
        }
        EventKind::Missed => Some(format!("Nothing was measured{key} at {node}: it was asked too late")),
        EventKind::Fired | EventKind::Resolved | EventKind::Expired => None,
    }
}

/// Returns the title of several firings: the title of the first, and how many more there are.
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
        let said = |kind, unit: &str, value| said(&item("v", kind, unit, value), unit);
        assert_eq!(said(ColumnKind::Unsigned, "bytes", Value::Unsigned(1_234_567)), "1,234,567 bytes");
        assert_eq!(said(ColumnKind::Unsigned, "bytes", Value::Unsigned(1)), "1 byte");
        assert_eq!(said(ColumnKind::Float, "packets/s", Value::Float(0.5)), "0.5 packets/s");
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
        assert_eq!(
            said(ColumnKind::Estimate, "bytes", estimate(4_000.0, 6_000.0)),
            "5,000 bytes (between 4,000 and 6,000)"
        );
        assert_eq!(
            said(ColumnKind::Signed, "ns", estimate(f64::NEG_INFINITY, 6_000.0)),
            format!("at most {}", notation::computed_time_text(6_000.0))
        );
        assert_eq!(
            said(ColumnKind::Estimate, "packets", estimate(f64::NEG_INFINITY, f64::INFINITY)),
            "5,000 packets (without bounds)"
        );
        assert_eq!(said(ColumnKind::Signed, "ns", Value::Signed(-1_500_000)), "-1.50 ms");
        assert_eq!(said(ColumnKind::Unsigned, "", Value::Null), "an unknown value");
        let port = item("dst_port", ColumnKind::Unsigned, "", Value::Unsigned(51_820));
        assert_eq!(super::said(&port, ""), "51820");
        let ports = item("count(dst_port)", ColumnKind::Unsigned, "", Value::Unsigned(51_820));
        assert_eq!(super::said(&ports, ""), "51,820");
    }

    /// A unit stands once: in the text, or behind the value that has it.
    #[test]
    fn a_value_has_its_unit_unless_the_text_says_it() {
        let filled = |before: &str, behind: &str, unit: &str| {
            let text = |text: &str| TitlePart::Text(text.to_owned());
            let parts = vec![text(before), TitlePart::Item(0), text(behind)];
            let values = [item("v", ColumnKind::Unsigned, unit, Value::Unsigned(5_000))];
            let form = TitleForm { parts, is_said: true };
            form.filled(&Filling { key: &[], node: None, values: &values }).expect("a title")
        };
        assert_eq!(filled("Sent ", " before", "bytes"), "Sent 5,000 bytes before");
        assert_eq!(filled("Sent ", " bytes", "bytes"), "Sent 5,000 bytes");
        assert_eq!(filled("Bytes: ", "", "bytes"), "Bytes: 5,000");
        assert_eq!(filled("Sent ", " bytes a second", "bytes/s"), "Sent 5,000 bytes a second");
        assert_eq!(filled("Sent ", "", "packets/s"), "Sent 5,000 packets/s");
        assert_eq!(filled("Sent ", " there", ""), "Sent 5,000 there");
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
