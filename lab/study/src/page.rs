//! The page: one HTML file that needs no other and runs no script.

use crate::csv::{NOT_MEASURED, cells, columns};
use crate::escape::escaped;
use crate::figure::Figure;
use crate::listing::command;
use crate::load::{LoadRange, MUCH_OTHERS, MUCH_OTHERS_SHARE, MUCH_STEAL};
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
    /// The load of the machine by others while the points were measured; `None` where it was not recorded.
    pub(crate) load: Option<LoadRange>,
    pub(crate) verdict: FindingResult,
    /// This figure on another machine.
    pub(crate) beside: Option<BesideFigure>,
    pub(crate) svg: String,
}

/// A figure of another machine.
#[derive(Debug)]
pub(crate) struct BesideFigure {
    /// Processor, cores and memory.
    pub(crate) machine: String,
    pub(crate) rows: Vec<FigureRow>,
    pub(crate) impossible: Vec<(String, String)>,
    pub(crate) load: Option<LoadRange>,
    pub(crate) verdict: FindingResult,
    pub(crate) svg: String,
}

impl PageFigure {
    /// The measured rows, and a row for each point that this machine cannot measure, with the reason.
    pub(crate) fn csv_rows(&self) -> Vec<FigureRow> {
        let reason = |(key, reason): &(String, String)| FigureRow {
            series: key.clone(),
            note: Some(format!("{NOT_MEASURED}{reason}")),
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
.two { display: grid; grid-template-columns: 1fr 1fr; gap: 1.5rem; }
.two > div { min-width: 0; }
@media (max-width: 60rem) { .two { display: block; } }
.verdict { border-left: 6px solid #5a5a5a; padding: 0.4rem 0.8rem; background: #f4f4f4; }
.holds { border-color: #009e73; }
.fails { border-color: #d55e00; }
code { background: #f4f4f4; padding: 0 0.2rem; }
a { color: #00558a; }
";

/// The page of these figures, beside those of another machine if there is one.
pub(crate) fn page(
    shown: &[PageFigure],
    (machine, other): (&MachineProfile, Option<&MachineProfile>),
    scale: Scale,
    now: &str,
) -> String {
    let mut html = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>Edison: the papers' figures, measured here</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n\
         <h1>The papers' figures, measured here</h1>\n\
         <p>Each table and figure is measured on one machine by <code>edison-lab study</code> and drawn beside what the paper's text says. \
         Plots of the papers are not in their text, so that only values which prose and tables state are marked, as diamonds. \
         Variants that are compared are measured in turn, in one run; values are medians, and thin vertical lines go from the least to the most. \
         A finding is judged where these do not overlap, on a machine that did nothing else: at most {MUCH_STEAL} % of its processor time was stolen by its host, and \
         other processes kept at most {MUCH_OTHERS} cores busy, or {} % of all. Elsewhere it is not decided. \
         <strong>Every answer that was timed was compared with the truth</strong>: what was wrong is not on this page, and what is a prediction has no entry under <em>checked</em>.</p>\n",
        100.0 * MUCH_OTHERS_SHARE
    );
    html.push_str(&facts(machine, scale, now));
    if let Some(other) = other {
        html.push_str(&table_of("The other machine", &other.facts()));
    }
    html.push_str(&overview(shown, other.is_some()));
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
    let facts: Vec<_> = machine.facts().into_iter().chain(more).collect();
    table_of("The machine that measured", &facts)
}

/// A table of names and values.
fn table_of(caption: &str, facts: &[(&str, String)]) -> String {
    let rows: String = facts
        .iter()
        .map(|(name, value)| format!("<tr><th scope=\"row\">{name}</th><td>{}</td></tr>\n", escaped(value)))
        .collect();
    format!("<table>\n<caption>{caption}</caption>\n{rows}</table>\n")
}

fn overview(shown: &[PageFigure], has_other: bool) -> String {
    let rows: String = shown
        .iter()
        .map(|one| {
            let beside = one.beside.as_ref().map_or_else(String::new, |beside| beside.verdict.in_short());
            let beside = if has_other { format!("<td>{beside}</td>") } else { String::new() };
            format!(
                "<tr><td><a href=\"#{}\">{} {}</a></td><td>{}</td><td>{}</td>{beside}</tr>\n",
                one.figure.id(),
                one.figure.paper.name,
                one.figure.name,
                escaped(one.figure.title),
                one.verdict.in_short()
            )
        })
        .collect();
    let heading = if has_other { "<th scope=\"col\">On the other machine</th>" } else { "" };
    format!(
        "<h2>What holds</h2>\n<table>\n<tr><th scope=\"col\">Figure</th><th scope=\"col\">About</th>\
         <th scope=\"col\">The paper's finding</th>{heading}</tr>\n{rows}</table>\n"
    )
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
    let here = result(&one.svg, &one.verdict, &one.rows, one.load, &one.impossible);
    match &one.beside {
        None => html.push_str(&here),
        Some(other) => {
            let there = result(&other.svg, &other.verdict, &other.rows, other.load, &other.impossible);
            html.push_str(&format!(
                "<div class=\"two\">\n<div>\n<h4>This machine</h4>\n{here}</div>\n<div>\n<h4>{}</h4>\n{there}</div>\n</div>\n",
                escaped(&other.machine)
            ));
        }
    }
    if one.missing > 0 {
        html.push_str(&format!(
            "<p>Not measured yet: {}; the command below goes on.</p>\n",
            notation::counted(one.missing as u64, "point")
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
    if let Some(other) = &one.beside {
        html.push_str(&format!(
            "<details>\n<summary>All values of the other machine ({} rows)</summary>\n{}</details>\n",
            other.rows.len(),
            values(&other.rows)
        ));
    }
    let when = match (&one.first, &one.last) {
        (Some(first), Some(last)) => {
            format!(
                "; {}, measured in {:.0} s, {} to {}",
                notation::counted(one.measured as u64, "point"),
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

/// A machine's part of a figure: the picture, the verdict, the load by others, and what it cannot measure.
fn result(
    svg: &str,
    verdict: &FindingResult,
    rows: &[FigureRow],
    load: Option<LoadRange>,
    impossible: &[(String, String)],
) -> String {
    let class = match verdict.holds {
        Some(true) => " holds",
        Some(false) => " fails",
        None => "",
    };
    let mut html = format!("<p class=\"verdict{class}\">{}</p>\n", escaped(&verdict.to_string()));
    // The picture of nothing has the words of the verdict.
    if !rows.is_empty() {
        html.insert_str(0, &format!("{svg}\n"));
    }
    if rows.iter().any(|row| row.checked.is_some()) {
        let load = load.map_or_else(|| "not recorded".to_owned(), |load| load.text());
        html.push_str(&format!("<p>The machine while it was measured: {}.</p>\n", escaped(&load)));
    }
    if !impossible.is_empty() {
        html.push_str("<p>Not measured on this machine:</p>\n<ul>\n");
        for (key, reason) in impossible {
            html.push_str(&format!("<li>{}: {}</li>\n", escaped(key), escaped(reason)));
        }
        html.push_str("</ul>\n");
    }
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
