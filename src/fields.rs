//! `edison fields`.

use crate::exit::{self, Failure};
use flow::{FIELDS, Field};
use record::terminal;
use std::process::ExitCode;

/// Prints the field table, for people or as JSON.
pub(crate) fn print(json: bool) -> Result<ExitCode, Failure> {
    let described = FIELDS.iter().map(Field::describe).chain(Field::describe_patterns());
    if json {
        let rows = described.map(|cells| {
            let cells = Field::HEADINGS.iter().zip(cells);
            cells.map(|(heading, cell)| ((*heading).to_owned(), cell.into())).collect()
        });
        let rows: Vec<serde_json::Map<_, _>> = rows.collect();
        return exit::print(&format!("{}\n", serde_json::json!(rows)));
    }
    let rows = described.map(|cells| cells.to_vec()).collect();
    exit::print(&terminal::text_table(&Field::HEADINGS, rows))
}
