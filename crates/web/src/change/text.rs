//! The Equery texts of a question.

use super::asked::ChangeAsked;
use super::field::ChangeField;
use super::leaders::Leaders;
use super::literal;
use super::names::{name_of_all, name_of_field};
use equery::{CheckOptions, Severity, SourceText};
use model::{Span, format_time};
use std::fmt::Write;

/// The column that is summed.
const VALUE: &str = "value";
/// The groups of a ranking.
const RANKED: usize = 100;
/// The groups of a ranking where many nodes answer, whose answers share one size.
const RANKED_OF_MANY: usize = 20;
/// The number of nodes that are many.
const MANY: usize = 100;

/// Returns the text that asks which groups lead in each period, and what all have.
pub(crate) fn ranking(asked: &ChangeAsked, nodes: usize) -> String {
    let limit = if nodes > MANY { RANKED_OF_MANY } else { RANKED };
    let mut text = of_all(asked);
    for side in [0, 1] {
        for (at, field) in asked.fields.iter().enumerate() {
            let name = name_of_field(side, at);
            query(&mut text, &name, asked, side, Some((field, limit)), None);
        }
    }
    text
}

/// Returns the text that asks what the leaders have in both periods, and what all have.
pub(crate) fn figures(asked: &ChangeAsked, leaders: &Leaders) -> String {
    let mut text = of_all(asked);
    for (at, (field, chosen)) in asked.fields.iter().zip(&leaders.fields).enumerate() {
        let Some(pins) = literal::of_groups(field.by, chosen.keys()) else { continue };
        for side in [0, 1] {
            let groups = Some((*field, chosen.keys().count()));
            query(&mut text, &name_of_field(side, at), asked, side, groups, Some(&pins));
        }
    }
    text
}

fn of_all(asked: &ChangeAsked) -> String {
    let mut text = String::new();
    for side in [0, 1] {
        query(&mut text, &name_of_all(side), asked, side, None, None);
    }
    text
}

/// Writes a query about a period. `groups`: the field and the most groups; all are one without.
fn query(
    text: &mut String,
    name: &str,
    asked: &ChangeAsked,
    side: usize,
    groups: Option<(&ChangeField, usize)>,
    pins: Option<&str>,
) {
    let Span { start_ns, end_ns } = asked.periods[side];
    let fields = groups.map(|(field, _)| field.by.join(", ")).unwrap_or_default();
    let before = if fields.is_empty() { String::new() } else { format!("{fields}, ") };
    let conditions: Vec<String> =
        asked.conditions.iter().map(String::as_str).chain(pins).map(|one| format!("({one})")).collect();
    let filter =
        if conditions.is_empty() { String::new() } else { format!(" where {}", conditions.join(", ")) };
    let tail = groups.map(|(_, limit)| format!(" groupby {fields} limit {limit}")).unwrap_or_default();
    let (from, to) = (format_time(start_ns), format_time(end_ns));
    let sum = asked.measure.sum();
    // Writing to a text does not fail.
    let _ = writeln!(text, "{name}: select {before}{sum} as {VALUE} from '{from}' to '{to}'{filter}{tail};");
}

/// Returns why flows cannot be grouped by a field, or pass a condition, in one line; all can without either.
pub(crate) fn is_answerable(
    options: &CheckOptions,
    field: Option<&ChangeField>,
    condition: Option<&str>,
) -> Result<(), String> {
    let by = field.map(|field| field.by.join(", "));
    let select = by.as_ref().map(|by| format!("{by}, ")).unwrap_or_default();
    let filter = condition.map(|condition| format!(" where ({condition})")).unwrap_or_default();
    let groups = by.as_ref().map(|by| format!(" groupby {by}")).unwrap_or_default();
    let text = format!("select {select}count(*){filter}{groups};");
    let options = CheckOptions { continuous: Vec::new(), reads_history: true, ..options.clone() };
    let checked = equery::check(&SourceText { name: "condition", text: &text }, &options);
    let wrong = checked.diagnostics.iter().find(|found| found.severity == Severity::Error);
    let Some(wrong) = wrong else { return Ok(()) };
    let help = wrong.help.as_ref().map(|help| format!("; {help}")).unwrap_or_default();
    Err(format!("{}{help}", wrong.message).replace('\n', " "))
}
