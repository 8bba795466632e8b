//! `edison check`.

use crate::exit::{self, Failure, say};
use crate::query_text::{self, QueryTextOptions};
use equery::{Checked, CheckedQuery, Diagnostic};
use serde::Serialize;
use std::process::ExitCode;

/// The answer of `--json`.
#[derive(Serialize)]
struct Answer<'a> {
    files: Vec<FileAnswer<'a>>,
}

#[derive(Serialize)]
struct FileAnswer<'a> {
    file: &'a str,
    diagnostics: &'a [Diagnostic],
    queries: &'a [CheckedQuery],
}

/// Checks the texts and says what is wrong in them.
pub(crate) fn check(options: &QueryTextOptions) -> Result<ExitCode, Failure> {
    let texts = options.texts()?;
    let site = options.site();
    let checked: Vec<Checked> = texts.iter().map(|text| equery::check(&text.source(), &site)).collect();
    for (text, checked) in texts.iter().zip(&checked) {
        query_text::show(text, checked);
        if !options.json && !checked.has_errors() {
            let names: Vec<_> = checked.queries.iter().map(|query| query.label.as_str()).collect();
            say(&format!("{}: no errors in {}", text.name, counted(&names)));
        }
    }
    if options.json {
        let files = texts.iter().zip(&checked).map(|(text, checked)| FileAnswer {
            file: &text.name,
            diagnostics: &checked.diagnostics,
            queries: &checked.queries,
        });
        let answer = serde_json::to_string(&Answer { files: files.collect() }).map_err(Failure::fault)?;
        exit::print(&format!("{answer}\n"))?;
    }
    query_text::outcome(&texts, &checked)?;
    Ok(ExitCode::SUCCESS)
}

/// How many queries, and the names of the first.
fn counted(names: &[&str]) -> String {
    const MOST: usize = 10;
    let shown = names[..names.len().min(MOST)].join(", ");
    match names.len() {
        0 => "no queries".to_owned(),
        1 => format!("1 query: {shown}"),
        more if more > MOST => format!("{more} queries: {shown}, …"),
        more => format!("{more} queries: {shown}"),
    }
}
