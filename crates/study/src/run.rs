//! Measures what a folder does not have yet, and writes what it has.

use crate::csv;
use crate::figure::Figure;
use crate::folder::Folder;
use crate::listing::FIGURES;
use crate::machine::Machine;
use crate::measured::{Fingerprint, Measured};
use crate::page::{self, Shown};
use crate::plot;
use crate::point::{Point, Scale};
use crate::row::{Row, Rows};
use crate::verdict::Verdict;
use serde_json::{Value, json};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// What is asked for.
#[derive(Debug)]
pub struct Request<'a> {
    /// What is measured, in this order.
    pub figures: &'a [&'static Figure],
    /// The folder; it is made.
    pub out: &'a Path,
    /// How much is measured.
    pub scale: Scale,
    /// Measures again what was measured before.
    pub anew: bool,
    /// Ends the study after the point that is being measured.
    pub stop: &'a AtomicBool,
}

/// What came of it.
#[derive(Debug)]
pub struct Outcome {
    /// The content of `figures.json`.
    pub figures: Value,
    /// For each figure of the page: `wu table-3: The paper's finding, …`.
    pub sentences: Vec<String>,
    /// Points that were asked for, that there is a result of, and that were measured just now.
    pub asked: usize,
    /// Of these, those that the folder has or that this machine cannot measure.
    pub done: usize,
    /// Of these, those that were measured just now.
    pub measured: usize,
    /// Points that failed, or whose answers were wrong, each with the reason: they are not kept.
    pub faults: Vec<String>,
}

/// Measures, and writes `index.html`, `figures.json`, and a CSV and an SVG file for each figure. The page also has figures that are
/// not asked for now, if the folder has any point of them. `say` is told how it goes, a line at a time.
///
/// # Errors
/// The folder cannot be written to. What was measured until then is kept.
pub fn run(request: &Request, say: &mut dyn FnMut(&str)) -> Result<Outcome, String> {
    let machine = Machine::here();
    let folder = Folder::open(request.out)?;
    let all: Vec<String> = FIGURES.iter().map(|figure| figure.id()).collect();
    let mut measured = Measured::read(&folder, fingerprint(&machine, request.scale), &all)?;
    if measured.damaged > 0 {
        say(&format!(
            "{} damaged lines in {}: their points are measured again",
            measured.damaged,
            request.out.join("measured").display()
        ));
    }
    let asked: Vec<(&Figure, Vec<Point>)> =
        request.figures.iter().map(|figure| (*figure, (figure.points)(&machine, request.scale))).collect();
    if request.anew {
        let keys = asked.iter().flat_map(|(_, points)| points).map(|point| point.key.clone());
        measured.forget(&all, &keys.collect::<Vec<_>>())?;
    }
    let mut outcome = Outcome {
        figures: Value::Null,
        sentences: Vec::new(),
        asked: asked.iter().map(|(_, points)| points.len()).sum(),
        done: 0,
        measured: 0,
        faults: Vec::new(),
    };
    for (figure, points) in &asked {
        measure(figure, points, &mut measured, request.stop, &mut outcome, say)?;
    }
    write(&folder, &machine, request, &measured, &mut outcome)?;
    Ok(outcome)
}

fn fingerprint(machine: &Machine, scale: Scale) -> Fingerprint {
    Fingerprint {
        program: page::program().to_owned(),
        machine: machine.fingerprint(),
        scale: scale.name().to_owned(),
    }
}

/// Measures the points of a figure that are not kept.
fn measure(
    figure: &Figure,
    points: &[Point],
    measured: &mut Measured,
    stop: &AtomicBool,
    outcome: &mut Outcome,
    say: &mut dyn FnMut(&str),
) -> Result<(), String> {
    let of = format!("{} {}", figure.paper.name, figure.name);
    for (number, point) in points.iter().enumerate() {
        let measure = match &point.measure {
            Ok(measure) if measured.get(&point.key).is_none() => measure,
            _ => {
                outcome.done += 1;
                continue;
            }
        };
        if stop.load(Ordering::Relaxed) {
            return Ok(());
        }
        say(&format!("{of}: {} of {}: {}", number + 1, points.len(), point.key));
        let began = Instant::now();
        let rows = match measure() {
            Ok(rows) => rows,
            Err(fault) => {
                outcome.faults.push(format!("{of}: {}: {fault}", point.key));
                continue;
            }
        };
        if let Some(wrong) = rows.iter().find(|row| row.checked == Some(false)) {
            outcome.faults.push(format!("{of}: {}: {}: the answer was wrong", point.key, wrong.series));
            continue;
        }
        measured.keep(&figure.id(), &point.key, now(), began.elapsed().as_secs_f64(), rows)?;
        outcome.done += 1;
        outcome.measured += 1;
    }
    Ok(())
}

/// The time, RFC 3339.
fn now() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    report::format_time(since.as_secs() * 1_000_000_000)
}

/// All that the folder has points of, and all that was asked for.
fn write(
    folder: &Folder,
    machine: &Machine,
    request: &Request,
    measured: &Measured,
    outcome: &mut Outcome,
) -> Result<(), String> {
    let (mut shown, mut listed) = (Vec::new(), Vec::new());
    for figure in FIGURES {
        let points = (figure.points)(machine, request.scale);
        let is_asked = request.figures.iter().any(|asked| asked.id() == figure.id());
        if !is_asked && !points.iter().any(|point| measured.get(&point.key).is_some()) {
            continue;
        }
        let one = show(figure, &points, machine, measured, &outcome.faults)?;
        folder.write(&format!("{}.csv", figure.id()), &csv::csv(&one.csv_rows()))?;
        folder.write(&format!("{}.svg", figure.id()), &one.svg)?;
        listed.push(json!({
            "paper": figure.paper.name,
            "figure": figure.name,
            "title": figure.title,
            "csv": format!("{}.csv", figure.id()),
            "svg": format!("{}.svg", figure.id()),
            "finding": one.verdict.finding,
            "holds": one.verdict.holds,
            "why": one.verdict.why,
            "scale": request.scale.name(),
            "points": { "of": points.len(), "measured": one.measured, "impossible_here": one.impossible.len() },
        }));
        outcome.sentences.push(format!("{} {}: {}", figure.paper.name, figure.name, one.verdict));
        shown.push(one);
    }
    outcome.figures = Value::Array(listed);
    let text = serde_json::to_string_pretty(&outcome.figures).map_err(|error| error.to_string())?;
    folder.write("index.html", &page::page(&shown, machine, request.scale, &now()))?;
    folder.write("figures.json", &(text + "\n"))
}

/// A figure as far as it is measured.
fn show(
    figure: &'static Figure,
    points: &[Point],
    machine: &Machine,
    measured: &Measured,
    faults: &[String],
) -> Result<Shown, String> {
    let kept: Vec<_> = points.iter().filter_map(|point| measured.get(&point.key)).collect();
    let rows = Rows(kept.iter().flat_map(|kept| kept.rows.clone()).collect::<Vec<Row>>());
    let impossible: Vec<_> = points
        .iter()
        .filter(|point| measured.get(&point.key).is_none())
        .filter_map(|point| Some((point.key.clone(), point.measure.as_ref().err()?.clone())))
        .collect();
    let missing = points.len() - kept.len() - impossible.len();
    let mut verdict = (figure.judge)(&rows, machine);
    if missing > 0 {
        let of_it = format!("{} {}: ", figure.paper.name, figure.name);
        let fault = faults.iter().find(|fault| fault.starts_with(&of_it));
        let why = fault.map_or_else(
            || format!("{missing} of {} points are not measured yet", points.len()),
            |fault| {
                format!("{missing} of {} points failed, one with: {}", points.len(), &fault[of_it.len()..])
            },
        );
        verdict = Verdict { holds: None, why, ..verdict };
    }
    let svg = plot::svg(
        &figure.id(),
        &format!("{} {}: {}", figure.paper.name, figure.name, figure.title),
        &verdict.to_string(),
        &(figure.panels)(&rows),
    )?;
    Ok(Shown {
        figure,
        measured: kept.len(),
        seconds: kept.iter().map(|kept| kept.seconds).sum(),
        first: kept.iter().map(|kept| kept.at.clone()).min(),
        last: kept.iter().map(|kept| kept.at.clone()).max(),
        rows: rows.0,
        impossible,
        missing,
        verdict,
        svg,
    })
}
