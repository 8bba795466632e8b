//! `edison fields`.

use flow::{DERIVED, DerivedField, FIELDS, Field};
use runtime::exit::{self, Failure};
use runtime::wording;
use std::process::ExitCode;

const HEADINGS: [&str; 8] =
    ["name", "type", "unit", "aggregation", "nullable", "option", "meaning", "source"];

/// Prints the field table, for people or as JSON.
pub(crate) fn print(json: bool) -> Result<ExitCode, Failure> {
    let described =
        FIELDS.iter().map(describe).chain(describe_patterns()).chain(DERIVED.iter().map(describe_derived));
    if json {
        let rows = described.map(|cells| {
            let cells = HEADINGS.iter().zip(cells);
            cells.map(|(heading, cell)| ((*heading).to_owned(), cell.into())).collect()
        });
        let rows: Vec<serde_json::Map<_, _>> = rows.collect();
        return exit::print(&format!("{}\n", serde_json::json!(rows)));
    }
    let rows = described.map(|cells| cells.to_vec()).collect();
    exit::print(&terminal::text_table(&HEADINGS, rows))
}

/// The row of a field.
fn describe(field: &Field) -> [String; 8] {
    [
        field.name.to_owned(),
        field.value.type_name().to_owned(),
        field.unit.to_owned(),
        field.aggregation.name().to_owned(),
        if field.value.nullable() { "yes" } else { "no" }.to_owned(),
        wording::option_of_part(field.part).to_owned(),
        field.meaning.to_owned(),
        field.source(),
    ]
}

/// The row of a field that queries compute.
fn describe_derived(field: &DerivedField) -> [String; 8] {
    [
        field.name.to_owned(),
        field.type_name.to_owned(),
        field.unit.to_owned(),
        "none".to_owned(),
        if field.nullable { "yes" } else { "no" }.to_owned(),
        if field.derived.needs_geo() { "--geo, --query" } else { "--query" }.to_owned(),
        field.meaning.to_owned(),
        format!("from {}; docs/equery.md", field.from.join(", ")),
    ]
}

/// The rows for the columns whose names depend on the run: statistics, and the other direction.
fn describe_patterns() -> [[String; 8]; 2] {
    let statistic = [
        "{gap,size,iat}_{mean,stddev,pN}",
        "float64",
        "packets, bytes, ns",
        "none",
        "yes",
        "--gap, --packet-size, --inter-arrival",
        "mean, standard deviation, percentile N of the interleaving gap, the packet size, the inter-arrival time",
        "paper: Zhang et al., FloWatcher-DPDK, TNSM 2019, section III.D",
    ];
    let reverse = [
        "reverse_*",
        "as the field",
        "as the field",
        "as the field",
        "yes",
        "--biflow",
        "every field that is no part of the key, of the packets in the other direction",
        "RFC 5103",
    ];
    [statistic, reverse].map(|row| row.map(str::to_owned))
}

#[cfg(test)]
mod tests {
    use super::*;
    use flow::Part;

    #[test]
    fn rows_have_what_their_headings_say() {
        for field in FIELDS {
            let row = describe(field);
            assert_eq!(row[0], field.name);
            assert!(!row[6].is_empty() && !row[7].is_empty(), "{}", field.name);
            assert_eq!(row[5].is_empty(), field.part == Part::Plain, "{}", field.name);
        }
        for pattern in describe_patterns() {
            assert!(pattern[5].starts_with("--") && pattern.iter().all(|cell| !cell.is_empty()));
        }
    }
}
