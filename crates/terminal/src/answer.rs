//! An answer as a table.

use crate::cell::{CellFormat, KeyCells, align};
use crate::layout::{self, KEY, LayoutColumn};
use crate::paper::Paper;
use crate::table::{Align, AlignedTable, HeadingNote};
use crate::time::when;
use model::Totals;
use model::{Answer, AnswerStatus, Value};
use notation::grouped;

/// A total that is not known.
const UNKNOWN: &str = "unknown";

/// An answer as a table with at most `most` rows. `totals` is the whole that its packets and bytes are shares
/// of.
pub fn answer(answer: &Answer, totals: Option<&Totals>, most: usize) -> String {
    answer_on(answer, totals, most, Paper::PLAIN)
}

/// Returns an answer as a table, as [`answer()`] does, in lines that fit on this paper, where shortened names and omitted shares suffice for
/// that.
pub fn answer_on(answer: &Answer, totals: Option<&Totals>, most: usize, paper: Paper) -> String {
    let mut text = String::new();
    table(answer, totals, most).fitting(paper.columns()).render_on(paper, &mut text);
    let more = answer.rows.len().saturating_sub(most);
    if more > 0 {
        text.push_str(&format!("  … and {} more\n", grouped(more as u64)));
    }
    if answer.rest.groups > 0 {
        // Of the columns that the table has.
        let shown = layout::columns(answer, None);
        let total = |(name, total): &(String, Value)| {
            let column = shown.iter().find(|column| answer.columns[column.at].name == *name)?;
            let text = match total {
                Value::Null => UNKNOWN.to_owned(),
                total => CellFormat::from_answer(answer, column.at).text(total),
            };
            Some(format!(", {} {text}", column.heading))
        };
        let totals: String = answer.rest.totals.iter().filter_map(total).collect();
        let groups = match answer.rest.is_open {
            true => "an unknown number of groups".to_owned(),
            false => notation::counted(answer.rest.groups, "group"),
        };
        text.push_str(&format!("  rest: {groups}{totals}\n"));
    }
    text
}

/// The first rows of an answer in lines of at most this many columns, under its heading.
pub(crate) fn brief(answer: &Answer, totals: Option<&Totals>, most: usize, columns: usize) -> Vec<String> {
    let mut table = table(answer, totals, most);
    // What keeps a window from being whole stands at its head.
    if answer.watched.is_some() && answer.reason.is_none() {
        table.note = None;
    }
    let mut text = String::new();
    table.fitting(columns).render(&mut text);
    text.lines().map(str::to_owned).collect()
}

/// The heading and the first rows.
fn table(answer: &Answer, totals: Option<&Totals>, most: usize) -> AlignedTable {
    let columns: Vec<_> =
        layout::columns(answer, totals).iter().flat_map(|shown| cells(answer, shown)).collect();
    let row = |row: &Vec<Value>| {
        let mut cells: Vec<String> = columns.iter().map(|column| column.cell(answer, row)).collect();
        if is_other(answer, row)
            && let Some(first) = cells.first_mut()
        {
            *first = "other (table full)".to_owned();
        }
        cells
    };
    let rows = answer.rows.iter().take(most).map(row).collect();
    let heading = "  ".to_owned() + &layout::heading(answer);
    let note =
        status(answer).map(|text| HeadingNote { text, is_warning: answer.status != AnswerStatus::Complete });
    let columns = columns.iter().map(|column| (column.heading.clone(), column.align)).collect();
    AlignedTable { heading, note, columns, rows }
}

/// The headings of an answer's columns, and the texts of its rows.
pub(crate) fn cell_texts(answer: &Answer) -> (Vec<String>, Vec<Vec<String>>) {
    let table = table(answer, None, usize::MAX);
    (table.columns.into_iter().map(|(heading, _)| heading).collect(), table.rows)
}

/// Returns the line that says what keeps the answer from being complete and from which levels of a store it was read.
fn status(answer: &Answer) -> Option<String> {
    let watched = answer.watched.map(|watched| format!("watched {}", when(watched)));
    let levels = (!answer.levels.is_empty()).then(|| format!("from {}", answer.levels.join(", ")));
    let why = [watched, answer.reason.clone(), levels].into_iter().flatten().collect::<Vec<_>>().join("; ");
    let status = match answer.status {
        AnswerStatus::Complete => "",
        AnswerStatus::Partial => "partial",
        AnswerStatus::Cut => "cut",
    };
    match (status, why.as_str()) {
        ("", "") => None,
        ("", why) => Some(format!("  {why}")),
        (status, "") => Some(format!("  {status}")),
        (status, why) => Some(format!("  {status}: {why}")),
    }
}

/// A row without a key in a ranking of flows. A frame without a tag lacks a VLAN identifier alone.
fn is_other(answer: &Answer, row: &[Value]) -> bool {
    let is_key = |name: &str| name != "vlan" && KEY.contains(&name);
    let mut key = answer.columns.iter().zip(row).filter(|(column, _)| is_key(&column.name)).peekable();
    layout::is_continuous(&answer.query)
        && key.peek().is_some()
        && key.all(|(_, value)| *value == Value::Null)
}

/// A column of the table.
struct TableColumn {
    heading: String,
    align: Align,
    at: usize,
    content: CellContent,
}

/// The text of its cells for the value at a position of the row.
enum CellContent {
    Value(CellFormat),
    Lower(CellFormat),
    Upper(CellFormat),
    Share(u64),
    /// An address with the port of this column.
    Endpoint(&'static str),
    Protocol,
    /// Sizes from the value to that of the next column.
    Sizes,
}

impl TableColumn {
    fn cell(&self, answer: &Answer, row: &[Value]) -> String {
        let value = &row[self.at];
        match self.content {
            // A number of flows is never absent.
            CellContent::Value(_) if *value == Value::Null && answer.columns[self.at].unit == "flows" => {
                UNKNOWN.to_owned()
            }
            CellContent::Value(form) => form.text(value),
            CellContent::Lower(form) => {
                let [lower, _] = form.bounds(value);
                lower
            }
            CellContent::Upper(form) => {
                let [_, upper] = form.bounds(value);
                upper
            }
            CellContent::Share(whole) => {
                value.as_unsigned().map_or_else(String::new, |part| share(part, whole))
            }
            CellContent::Endpoint(port) => KeyCells::new(answer, row).endpoint(value, port),
            CellContent::Protocol => KeyCells::new(answer, row).protocol(value),
            CellContent::Sizes => {
                let (from, to) =
                    (CellFormat::Grouped(0).text(value), CellFormat::Grouped(0).text(&row[self.at + 1]));
                if from == to { from } else { format!("{from} to {to}") }
            }
        }
    }
}

/// The columns of the table that show a column of the answer: none where another shows it too.
fn cells(answer: &Answer, shown: &LayoutColumn) -> Vec<TableColumn> {
    let at = shown.at;
    let has = |name| answer.column(name).is_some();
    let has_sizes = |from: usize| {
        let names = answer.columns.iter().skip(from).map(|column| column.name.as_str());
        names.take(2).eq(["size_from", "size_to"])
    };
    let column =
        |heading: &str, align, content| TableColumn { heading: heading.to_owned(), align, at, content };
    let named = |content| vec![column(&shown.heading, align(&answer.columns[at]), content)];
    match answer.columns[at].name.as_str() {
        "src_port" if has("src_addr") => vec![],
        "dst_port" if has("dst_addr") => vec![],
        "size_to" if at > 0 && has_sizes(at - 1) => vec![],
        "src_addr" => named(CellContent::Endpoint("src_port")),
        "dst_addr" => named(CellContent::Endpoint("dst_port")),
        "protocol" => named(CellContent::Protocol),
        "size_from" if has_sizes(at) => vec![column("packets of a flow", Align::Right, CellContent::Sizes)],
        _ => {
            let form = CellFormat::from_answer(answer, at);
            let mut columns = named(CellContent::Value(form));
            if answer.rows.iter().any(|row| matches!(row[at], Value::Estimate { .. })) {
                columns.push(column("at least", Align::Right, CellContent::Lower(form)));
                columns.push(column("at most", Align::Right, CellContent::Upper(form)));
            } else if let Some(whole) = shown.whole {
                columns.push(column("", Align::Right, CellContent::Share(whole)));
            }
            columns
        }
    }
}

/// A part of a whole; empty if there is no whole.
fn share(part: u64, whole: u64) -> String {
    if whole == 0 { String::new() } else { format!("{:.1} %", part as f64 * 100.0 / whole as f64) }
}
