//! `edison check`.

use equery::{CheckedQuery, CheckedText, Diagnostic};
use runtime::exit::{self, Failure, say};
use runtime::questions::query_text::{self, NamedText, QueryTextOptions};
use serde::Serialize;
use std::collections::BTreeMap;
use std::process::ExitCode;

/// The answer of `--json`.
#[derive(Serialize)]
struct CheckOutput<'a> {
    files: Vec<FileCheck<'a>>,
}

#[derive(Serialize)]
struct FileCheck<'a> {
    file: &'a str,
    diagnostics: &'a [Diagnostic],
    queries: &'a [CheckedQuery],
}

/// Checks the texts and says what is wrong in them.
pub(crate) fn check(options: &QueryTextOptions) -> Result<ExitCode, Failure> {
    let texts = options.texts()?;
    let site = options.site();
    let key = equery::ExplainContext::from_options(&site).key;
    let mut checked: Vec<CheckedText> =
        texts.iter().map(|text| equery::check(&text.source(), &site)).collect();
    // Texts of the command line are one text to `run`, which numbers their queries.
    let files = options.files.len();
    warn_of_taken_names(&texts[..files], &mut checked[..files]);
    for (text, checked) in texts.iter().zip(&checked) {
        query_text::show(text, checked);
        if !options.json && !checked.has_errors() {
            let names: Vec<_> = checked.queries.iter().map(|query| query.label.as_str()).collect();
            say(&format!("{}: no errors in {}", text.name, counted(&names)));
            checked.queries.iter().filter_map(|query| by_packets(query, &key)).for_each(|line| say(&line));
        }
    }
    if options.json {
        let files = texts.iter().zip(&checked).map(|(text, checked)| FileCheck {
            file: &text.name,
            diagnostics: &checked.diagnostics,
            queries: &checked.queries,
        });
        let answer =
            serde_json::to_string(&CheckOutput { files: files.collect() }).map_err(Failure::fault)?;
        exit::print(&format!("{answer}\n"))?;
    }
    query_text::outcome(&texts, &checked)?;
    Ok(ExitCode::SUCCESS)
}

/// Warns of names that a text before has, too: `run` and `controller` refuse the two texts together.
fn warn_of_taken_names(texts: &[NamedText], checked: &mut [CheckedText]) {
    let mut places: BTreeMap<String, String> = BTreeMap::new();
    for (text, checked) in texts.iter().zip(checked) {
        let source = text.source();
        let mut own = BTreeMap::new();
        for (name, span) in &checked.places {
            let place = source.place(span.start);
            if let Some(other) = places.get(name) {
                let message = format!(
                    "the name '{name}' is taken by the query at {other}: the two texts do not run together"
                );
                let help = Some("give one of the queries another name to run both".to_owned());
                checked.diagnostics.push(Diagnostic::warning("taken_name", &source, span, message, help));
            }
            own.entry(name.clone()).or_insert(place);
        }
        for (name, place) in own {
            places.entry(name).or_insert(place);
        }
    }
}

/// Says that a query is counted by packets, if it is.
fn by_packets(query: &CheckedQuery, key: &[String]) -> Option<String> {
    let (fields, _) = query.by_packets(key);
    let label = &query.label;
    (!fields.is_empty()).then(|| format!("{label}: packets are counted by {} for it", fields.join(", ")))
}

/// Writes how many queries there are, and the names of the first.
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
