//! Values, conditions and answers in words.

use crate::condition::{Operand, TriggerCondition};
use crate::graph::{GraphQuery, QueryTrigger};
use crate::seen::ObservedWindow;
use model::{AnswerStatus, Event, EventKind, Item, Span, Value};

/// Columns of an answer's first row that a sentence has.
const MOST_COLUMNS: usize = 8;
/// Keys that fired together and that a sentence names.
pub(crate) const MOST_KEYS: usize = 3;

/// A number: whole ones in groups of three digits.
pub(crate) fn number(number: f64) -> String {
    if number.fract() == 0.0 && number.abs() < 9e15 {
        return notation::grouped_signed(number as i64);
    }
    if number.abs() < 1e-3 || number.abs() >= 1e12 {
        return format!("{number:.3e}");
    }
    notation::trimmed(number, 4)
}

/// A time without digits that say nothing.
pub(crate) fn time(ns: u64) -> String {
    let text = model::format_time(ns);
    let text = text.trim_end_matches('Z').trim_end_matches('0').trim_end_matches('.');
    format!("{}Z", text.replacen('T', " ", 1))
}

/// A window: its second time is short where both are of one day.
pub(crate) fn window(span: Span) -> String {
    let (start, end) = (time(span.start_ns), time(span.end_ns));
    let is_one_day = start.len() > 11 && end.len() > 11 && start[..11] == end[..11];
    format!("[{start}, {})", if is_one_day { &end[11..] } else { &end })
}

/// A value with its unit.
pub(crate) fn value(value: &Value, unit: &str) -> String {
    let text = match value {
        Value::Null => return "nothing".to_owned(),
        Value::Unsigned(whole) => notation::grouped(*whole),
        Value::Signed(whole) => number(*whole as f64),
        Value::Float(float) => number(*float),
        Value::Text(text) => return format!("'{}'", plain(text)),
        Value::Conversation(conversation) => conversation.to_string(),
        Value::Address(address) => address.to_string(),
        Value::Prefix { address, length } => format!("{address}/{length}"),
        Value::Time(ns) => time(*ns),
        Value::Estimate { .. } => {
            return estimate(value, &|of| number(of), unit).unwrap_or_else(|| "nothing".to_owned());
        }
        Value::Heaviest(heaviest) => format!("{} values", heaviest.values.len()),
    };
    if unit.is_empty() { text } else { format!("{text} {unit}") }
}

/// An estimate with its unit and its bounds; `None` of other values.
pub(crate) fn estimate(value: &Value, number: &dyn Fn(f64) -> String, unit: &str) -> Option<String> {
    let Value::Estimate { value, lower, upper } = value else { return None };
    let with_unit = |of: f64| match unit {
        "" => number(of),
        unit => format!("{} {unit}", number(of)),
    };
    Some(match (lower.is_finite(), upper.is_finite()) {
        (false, false) => format!("{} (without bounds)", with_unit(*value)),
        (true, false) => format!("at least {}", with_unit(*lower)),
        (false, true) => format!("at most {}", with_unit(*upper)),
        (true, true) if lower == upper => with_unit(*value),
        (true, true) => format!("{} (between {} and {})", with_unit(*value), number(*lower), number(*upper)),
    })
}

/// A text of a stranger on one line.
fn plain(text: &str) -> String {
    text.chars().map(|letter| if letter.is_control() { '·' } else { letter }).take(80).collect()
}

fn named(column: &model::Column, of: &Value) -> String {
    format!("{} = {}", plain(&column.name), value(of, &column.unit))
}

/// A key: ` for dst_addr 192.0.2.7`; nothing where all is one group.
pub(crate) fn key(key: &[Item]) -> String {
    if key.is_empty() {
        return String::new();
    }
    let members = key.iter().map(|item| format!("{} {}", plain(&item.column.name), value(&item.value, "")));
    format!(" for {}", members.collect::<Vec<_>>().join(", "))
}

/// Returns what fired, as a reason: `count(src_addr) = 40,000 > 1,000`. `names`: those of the sources.
pub(crate) fn reason(trigger: &QueryTrigger, names: &[&str], values: &[Item]) -> String {
    let items = trigger.condition.items();
    let of = |condition: &TriggerCondition| part(condition, &items, names, values);
    let reasons: Option<Vec<String>> = match &trigger.condition {
        TriggerCondition::And(all) => all.iter().map(of).collect(),
        one => of(one).map(|reason| vec![reason]),
    };
    reasons.map_or_else(
        || {
            let values: Vec<_> = values.iter().map(|item| named(&item.column, &item.value)).collect();
            format!("{} with {}", trigger.text, values.join(", "))
        },
        |reasons| reasons.join(" and "),
    )
}

/// A comparison of an item with a number, or the absence of a source; `None` of other conditions.
fn part(condition: &TriggerCondition, items: &[usize], names: &[&str], values: &[Item]) -> Option<String> {
    match condition {
        TriggerCondition::Compare(Operand::Item(item), comparison, threshold) => {
            let threshold = threshold.number()?;
            let item = items.iter().position(|own| own == item).and_then(|at| values.get(at))?;
            Some(format!("{} {} {}", named(&item.column, &item.value), comparison.text(), number(threshold)))
        }
        TriggerCondition::Surely(of) => Some(format!("surely {}", part(of, items, names, values)?)),
        TriggerCondition::IsMissing(source) => Some(format!("no answer of {}", names.get(*source)?)),
        _ => None,
    }
}

/// Returns what a run found in a window.
pub(crate) fn found(query: &GraphQuery, seen: ObservedWindow<'_>) -> String {
    let answer = match seen {
        ObservedWindow::Missing => return "there is no answer".to_owned(),
        ObservedWindow::Empty => return "the window had no packets".to_owned(),
        ObservedWindow::Answer(answer) => answer,
    };
    let first = answer.rows.first().map(|row| {
        let columns = query.columns.iter().map(|column| &column.column);
        let values = columns.zip(row).take(MOST_COLUMNS).map(|(column, value)| named(column, value));
        values.collect::<Vec<_>>().join(", ")
    });
    let groups = answer.rows.len() as u64 + answer.rest.groups;
    let text = match (first, groups) {
        (None, _) => "nothing fitted the query".to_owned(),
        (Some(first), 1) => first,
        (Some(first), groups) => format!("{} groups, the first with {first}", notation::grouped(groups)),
    };
    match answer.status {
        AnswerStatus::Complete => text,
        AnswerStatus::Cut => format!("{text} (the window was watched in part)"),
        AnswerStatus::Partial => format!("{text} (the answer is incomplete)"),
    }
}

/// Returns what an event's values are, where they are estimates, with a comma before it.
pub(crate) fn bounds(event: &Event) -> String {
    match event.bounds.as_deref() {
        None => String::new(),
        Some("certain") => ", by an estimate with certain bounds".to_owned(),
        Some("none") => ", by an estimate without bounds".to_owned(),
        Some(bounds) => format!(", by an estimate whose bounds hold {bounds}"),
    }
}

/// An event in a sentence.
pub fn sentence(event: &Event) -> String {
    let (query, node) = (&event.query, event.node.as_deref().unwrap_or("all nodes"));
    let (key, at) = (key(&event.key), time(event.at_ns));
    let window = event.window.map(window).unwrap_or_default();
    let parent = event.fired_by.as_deref().unwrap_or(query);
    let values: Vec<_> = event.values.iter().map(|item| named(&item.column, &item.value)).collect();
    let (values, bounds) = (values.join(", "), bounds(event));
    match event.kind {
        EventKind::Fired => {
            format!("{query} fired{key} at {at} because {parent} on {node} had {values} in {window}{bounds}.")
        }
        EventKind::Resolved => {
            format!("{query} was resolved{key} at {at}: {parent} on {node} had {values} in {window}{bounds}.")
        }
        EventKind::NoData => {
            format!("{query} waits for data at {at}: {parent} has had no answer of {node} for three windows.")
        }
        EventKind::Timeout => {
            format!("{query} did not start in time at {at}: the chain ended with {parent}.")
        }
        EventKind::Expired => {
            format!("{query} expired{key} at {at}: {parent} on {node} has not seen it for long.")
        }
        EventKind::Suppressed => {
            format!("{query} started for no more keys at {at}: there are too many, {values}.")
        }
        EventKind::Missed => {
            let (on, none) = match &event.node {
                Some(node) => (&**node, format!("{node} was not")),
                None => ("any node", "none was".to_owned()),
            };
            format!(
                "{query} could not run{key} on {on} in {window}: {none} watched then, or the task came too late."
            )
        }
    }
}
