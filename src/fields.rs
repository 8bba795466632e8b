//! `edison fields`.

use crate::exit::{self, Failure};
use record::{FIELDS, Field, terminal};
use std::process::ExitCode;

/// Prints the field table, for people or as JSON.
pub(crate) fn print(json: bool) -> Result<ExitCode, Failure> {
    if json {
        let rows = FIELDS.iter().map(|field| {
            let cells = Field::HEADINGS.iter().zip(field.describe());
            cells.map(|(heading, cell)| ((*heading).to_owned(), cell.into())).collect()
        });
        let rows: Vec<serde_json::Map<_, _>> = rows.collect();
        return exit::print(&format!("{}\n", serde_json::json!(rows)));
    }
    let rows = FIELDS.iter().map(|field| field.describe().to_vec()).collect();
    exit::print(&terminal::text_table(&Field::HEADINGS, rows))
}
