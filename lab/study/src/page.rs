//! The page: one HTML file that needs no other and runs no script.

use crate::csv::{cells, columns};
use crate::escape::escaped;
use crate::figure::Figure;
use crate::listing::command;
use crate::machine::MachineProfile;
use crate::point::Scale;
use crate::row::FigureRow;
use crate::verdict::FindingResult;

/// A figure as it is shown.
#[derive(Debug)]
pub(crate) struct PageFigure {
    pub(crate) figure: &'static Figure,
    pub(crate) rows: Vec<FigureRow>,
    /// Points that there is a result of, and how long they took together.
    pub(crate) measured: usize,
    pub(crate) seconds: f64,
    /// The times when the first and the last of the points were measured.
    pub(crate) first: Option<String>,
    pub(crate) last: Option<String>,
    /// Points that this machine cannot measure, each with the reason.
    pub(crate) impossible: Vec<(String, String)>,
    /// Points that are not measured though it could.
    pub(crate) missing: usize,
    pub(crate) verdict: FindingResult,
    pub(crate) svg: String,
}

impl PageFigure {
    /// The measured rows, and a row for each point that this machine cannot measure, with the reason.
    pub(crate) fn csv_rows(&self) -> Vec<FigureRow> {
        let reason = |(key, reason): &(String, String)| FigureRow {
            series: key.clone(),
            note: Some(format!("not measured: {reason}")),
            ..FigureRow::default()
        };
        self.rows.iter().cloned().chain(self.impossible.iter().map(reason)).collect()
    }
}

/// Version and kind of build of this program.
pub(crate) fn program() -> &'static str {
    if cfg!(debug_assertions) {
        concat!("edison ", env!("CARGO_PKG_VERSION"), " (debug build: times are not those of a release)")
    } else {
        concat!("edison ", env!("CARGO_PKG_VERSION"))
    }
}

const STYLE: &str = "\
body { font: 16px/1.5 system-ui, sans-serif; color: #1e1e1e; background: #fff; max-width: 66rem; margin: 2rem auto; padding: 0 1rem; }
h2 { border-top: 2px solid #1e1e1e; padding-top: 1rem; margin-top: 3rem; }
h3 { margin-top: 2.5rem; }
table { border-collapse: collapse; font-size: 0.85rem; }
th, td { border: 1px solid #ccc; padding: 0.15rem 0.5rem; text-align: left; vertical-align: top; }
td.n { text-align: right; font-variant-numeric: tabular-nums; }
.wide { overflow-x: auto; }
svg { max-width: 100%; height: auto; }
.verdict { border-left: 6px solid #5a5a5a; padding: 0.4rem 0.8rem; background: #f4f4f4; }
.holds { border-color: #009e73; }
.fails { border-color: #d55e00; }
code { background: #f4f4f4; padding: 0 0.2rem; }
a { color: #00558a; }
";

/// The page of these figures.
pub(crate) fn page(shown: &[PageFigure], machine: &MachineProfile, scale: Scale, now: &str) -> String {
    let mut html = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>Edison: the papers' figures, measured here</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n\
         <h1>The papers' figures, measured here</h1>\n\
         <p>Each table and figure is measured on one machine by <code>edison-lab study</code> and drawn beside what the paper's text says. \
         Plots of the papers are not in their text, so that only values which prose and tables state are marked, as diamonds. \
         Variants that are compared are measured in turn, in one run; values are medians, and thin vertical lines go from the least to the most. \
         <strong>Every answer that was timed was compared with the truth</strong>: what was wrong is not on this page, and what is a prediction has no entry under <em>checked</em>.</p>\n",
    );
    html.push_str(&facts(machine, scale, now));
    html.push_str(&overview(shown));
    for of_paper in shown.chunk_by(|one, next| one.figure.paper.name == next.figure.paper.name) {
        let paper = of_paper[0].figure.paper;
        html.push_str(&format!(
            "<h2 id=\"{}\">{}</h2>\n<p>The paper's machine: {}.</p>\n",
            paper.name,
            escaped(paper.cite),
            escaped(paper.machine)
        ));
        of_paper.iter().for_each(|one| html.push_str(&section(one)));
    }
    html.push_str("</body>\n</html>\n");
    html
}

fn facts(machine: &MachineProfile, scale: Scale, now: &str) -> String {
    let scale = match scale {
        Scale::Quick => "quick: fewer points and shorter rounds",
        Scale::Full => "full",
    };
    let more =
        [("Program", program().to_owned()), ("Scale", scale.to_owned()), ("This page", now.to_owned())];
    let rows: String = (machine.facts().into_iter().chain(more))
        .map(|(name, value)| format!("<tr><th scope=\"row\">{name}</th><td>{}</td></tr>\n", escaped(&value)))
        .collect();
    format!("<table>\n<caption>The machine that measured</caption>\n{rows}</table>\n")
}

fn overview(shown: &[PageFigure]) -> String {
    let rows: String = shown
        .iter()
        .map(|one| {
            format!(
                "<tr><td><a href=\"#{}\">{} {}</a></td><td>{}</td><td>{}</td></tr>\n",
                one.figure.id(),
                one.figure.paper.name,
                one.figure.name,
                escaped(one.figure.title),
                holds(&one.verdict)
            )
        })
        .collect();
    format!(
        "<h2>What holds</h2>\n<table>\n<tr><th scope=\"col\">Figure</th><th scope=\"col\">About</th>\
         <th scope=\"col\">The paper's finding</th></tr>\n{rows}</table>\n"
    )
}

fn holds(verdict: &FindingResult) -> &'static str {
    match verdict.holds {
        Some(true) => "holds",
        Some(false) => "does not hold",
        None => "not decided",
    }
}

fn section(one: &PageFigure) -> String {
    let figure = one.figure;
    let id = figure.id();
    let mut html = format!(
        "<section aria-labelledby=\"{id}\">\n<h3 id=\"{id}\">{}: {}</h3>\n<p><strong>The paper</strong> ({}): {}</p>\n<p><strong>Here:</strong> {}</p>\n",
        figure.name,
        escaped(figure.title),
        escaped(figure.section),
        escaped(figure.shows),
        escaped(figure.here)
    );
    html.push_str(&one.svg);
    let class = match one.verdict.holds {
        Some(true) => " holds",
        Some(false) => " fails",
        None => "",
    };
    html.push_str(&format!("\n<p class=\"verdict{class}\">{}</p>\n", escaped(&one.verdict.to_string())));
    if !one.impossible.is_empty() {
        html.push_str("<p>Not measured on this machine:</p>\n<ul>\n");
        for (key, reason) in &one.impossible {
            html.push_str(&format!("<li>{}: {}</li>\n", escaped(key), escaped(reason)));
        }
        html.push_str("</ul>\n");
    }
    if one.missing > 0 {
        html.push_str(&format!(
            "<p>Not measured yet: {} points; the command below goes on.</p>\n",
            one.missing
        ));
    }
    if !figure.said.is_empty() {
        let said: String = figure
            .said
            .iter()
            .map(|said| {
                format!(
                    "<tr><td>{}</td><td>{}</td><td>{}</td></tr>\n",
                    escaped(said.what),
                    escaped(said.value),
                    escaped(said.place)
                )
            })
            .collect();
        html.push_str(&format!(
            "<details>\n<summary>What the paper's text says</summary>\n<div class=\"wide\"><table>\n<tr><th scope=\"col\">Of</th>\
             <th scope=\"col\">Value</th><th scope=\"col\">Place</th></tr>\n{said}</table></div>\n</details>\n"
        ));
    }
    html.push_str(&format!("<details>\n<summary>All values ({} rows)</summary>\n", one.rows.len()));
    html.push_str(&values(&one.rows));
    html.push_str("</details>\n");
    let when = match (&one.first, &one.last) {
        (Some(first), Some(last)) => {
            format!(
                "; {} points, measured in {:.0} s, {} to {}",
                one.measured,
                one.seconds,
                minute(first),
                minute(last)
            )
        }
        _ => String::new(),
    };
    html.push_str(&format!(
        "<p><code>{}</code>{when}; <a href=\"{id}.csv\">CSV</a>, <a href=\"{id}.svg\">SVG</a></p>\n</section>\n",
        escaped(&command(figure))
    ));
    html
}

/// A time to the minute.
fn minute(time: &str) -> String {
    let (date, clock) = time.split_once('T').unwrap_or((time, ""));
    format!("{date} {} UTC", clock.get(..5).unwrap_or(clock))
}

/// Writes all rows as a table.
fn values(rows: &[FigureRow]) -> String {
    let (params, values) = columns(rows);
    let names = ["series"].into_iter().chain(params.iter().copied()).chain(values.iter().copied());
    let heading: String = names
        .chain(["checked", "note"])
        .map(|name| format!("<th scope=\"col\">{}</th>", escaped(name)))
        .collect();
    let body: String = rows
        .iter()
        .map(|row| {
            let cells = cells(row, &params, &values).into_iter().map(|cell| match cell.parse::<f64>() {
                Ok(number) => format!("<td class=\"n\">{}</td>", short(&cell, number)),
                Err(_) => format!("<td>{}</td>", escaped(&cell)),
            });
            format!("<tr>{}</tr>\n", cells.collect::<String>())
        })
        .collect();
    format!("<div class=\"wide\"><table>\n<tr>{heading}</tr>\n{body}</table></div>\n")
}

/// A number without more digits than can be read; the CSV has all.
fn short(text: &str, number: f64) -> String {
    if text.contains('.') && number.abs() >= 1e-3 {
        format!("{}", (number * 1e4).round() / 1e4)
    } else {
        escaped(text)
    }
}
