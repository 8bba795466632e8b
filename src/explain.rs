//! `edison explain`.

use crate::commands::ExplainOptions as Options;
use equery::{CheckedText, Diagnostic, ExplainContext, Explanation};
use runtime::exit::{self, Failure};
use runtime::questions::query_text;
use serde::Serialize;
use std::process::ExitCode;

/// The answer of `--json`.
#[derive(Serialize)]
struct ExplainOutput<'a> {
    files: Vec<FileExplanation<'a>>,
}

#[derive(Serialize)]
struct FileExplanation<'a> {
    file: &'a str,
    diagnostics: &'a [Diagnostic],
    #[serde(flatten)]
    explanation: Explanation,
}

/// Explains the queries of the texts: class, place, cost, reaction time and SQL.
pub(crate) fn explain(asked: &Options) -> Result<ExitCode, Failure> {
    let options = &asked.texts;
    let texts = options.texts()?;
    let site = options.site();
    let checked: Vec<CheckedText> = texts.iter().map(|text| equery::check(&text.source(), &site)).collect();
    texts.iter().zip(&checked).for_each(|(text, checked)| query_text::show(text, checked));
    query_text::outcome(&texts, &checked)?;
    let place =
        ExplainContext { dialect: asked.sql.unwrap_or_default(), ..ExplainContext::from_options(&site) };
    let explained = texts.iter().zip(&checked).map(|(text, checked)| FileExplanation {
        file: &text.name,
        diagnostics: &checked.diagnostics,
        explanation: equery::explain(checked, &place),
    });
    let answer = ExplainOutput { files: explained.collect() };
    if options.json {
        let answer = serde_json::to_string(&answer).map_err(Failure::fault)?;
        return exit::print(&format!("{answer}\n"));
    }
    if asked.sql.is_some() {
        let queries = answer.files.iter().flat_map(|file| &file.explanation.queries);
        let statements: Vec<_> = queries.map(equery::QueryExplanation::statement).collect();
        return exit::print(&statements.join("\n"));
    }
    let texts: Vec<_> = answer.files.iter().map(|file| file.explanation.to_string()).collect();
    exit::print(&texts.join("\n"))
}
