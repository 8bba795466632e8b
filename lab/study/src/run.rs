//! Measures what a folder does not have yet, and writes what it has.

use crate::beside::{FIGURES_FILE, MACHINE, OtherMachine};
use crate::csv;
use crate::figure::Figure;
use crate::folder::WritableFolder;
use crate::listing::FIGURES;
use crate::load::{LoadRange, LoadWatch};
use crate::machine::MachineProfile;
use crate::measured::{Fingerprint, MeasuredPoint, PointStore};
use crate::page::{self, BesideFigure, PageFigure};
use crate::plot;
use crate::point::{Scale, StudyPoint};
use crate::row::{FigureRow, FigureRows};
use crate::verdict::FindingResult;
use serde_json::{Value, json};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// The request to run a study.
#[derive(Debug)]
pub struct StudyRequest<'a> {
    /// The figures that are measured, in this order.
    pub figures: &'a [&'static Figure],
    /// The folder; it is made.
    pub out: &'a Path,
    /// The amount that is measured.
    pub scale: Scale,
    /// Measures again what was measured before.
    pub anew: bool,
    /// The folder of a study on another machine, whose results are shown next to these.
    pub beside: Option<&'a Path>,
    /// Ends the study after the point that is being measured.
    pub stop: &'a AtomicBool,
}

/// The outcome of a study.
#[derive(Debug)]
pub struct StudyResult {
    /// The content of `figures.json`.
    pub figures: Value,
    /// The sentence for each figure of the page: `wu table-3: The paper's finding, …`.
    pub sentences: Vec<String>,
    /// The number of points that were asked for.
    pub asked: usize,
    /// The number of points, of those asked for, that the folder has or that this machine cannot measure.
    pub done: usize,
    /// The number of points, of those asked for, that were measured just now.
    pub measured: usize,
    /// Points that failed, or whose answers were wrong, each with the reason: they are not kept.
    pub faults: Vec<String>,
}

/// Measures, and writes `index.html`, `figures.json`, and a CSV and an SVG file for each figure. The page also has figures that are
/// not asked for now, if the folder has any point of them. `say` is told how it goes, a line at a time.
///
/// # Errors
/// The folder cannot be written to, or the one of another machine cannot be read. What was measured until then is kept.
pub fn run(request: &StudyRequest, say: &mut dyn FnMut(&str)) -> Result<StudyResult, String> {
    among(FIGURES, request, say)
}

/// Runs a study as [`run`] does, where `known` are all figures that there are.
fn among(
    known: &[&'static Figure],
    request: &StudyRequest,
    say: &mut dyn FnMut(&str),
) -> Result<StudyResult, String> {
    let machine = MachineProfile::here();
    let other = request.beside.map(OtherMachine::open).transpose()?;
    let folder = WritableFolder::open(request.out)?;
    let all: Vec<String> = known.iter().map(|figure| figure.id()).collect();
    let mut measured = PointStore::read(&folder, fingerprint(&machine, request.scale), &all)?;
    if measured.damaged > 0 {
        say(&format!(
            "{} in {}, left out: what they had is measured again where it is asked for",
            notation::counted(measured.damaged as u64, "damaged line"),
            request.out.join("measured").display()
        ));
    }
    let asked: Vec<(&Figure, Vec<StudyPoint>)> =
        request.figures.iter().map(|figure| (*figure, (figure.points)(&machine, request.scale))).collect();
    if request.anew {
        let keys = asked.iter().flat_map(|(_, points)| points).map(|point| point.key.clone());
        measured.forget(&all, &keys.collect::<Vec<_>>())?;
    }
    let mut outcome = StudyResult {
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
    write(known, &folder, (&machine, other.as_ref()), request, &measured, &mut outcome)?;
    Ok(outcome)
}

fn fingerprint(machine: &MachineProfile, scale: Scale) -> Fingerprint {
    Fingerprint {
        program: page::program().to_owned(),
        machine: machine.fingerprint(),
        scale: scale.name().to_owned(),
    }
}

/// Measures the points of a figure that are not kept.
fn measure(
    figure: &Figure,
    points: &[StudyPoint],
    measured: &mut PointStore,
    stop: &AtomicBool,
    outcome: &mut StudyResult,
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
        let (began, watch) = (Instant::now(), LoadWatch::begin());
        let mut rows = match measure() {
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
        if let Some(load) = watch.end() {
            rows.iter_mut().for_each(|row| load.put(row));
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
    model::format_time(since.as_secs() * 1_000_000_000)
}

/// All that the folder has points of, and all that was asked for.
fn write(
    known: &[&'static Figure],
    folder: &WritableFolder,
    (machine, other): (&MachineProfile, Option<&OtherMachine>),
    request: &StudyRequest,
    measured: &PointStore,
    outcome: &mut StudyResult,
) -> Result<(), String> {
    let (mut shown, mut listed) = (Vec::new(), Vec::new());
    for &figure in known {
        let points = (figure.points)(machine, request.scale);
        let is_asked = request.figures.iter().any(|asked| asked.id() == figure.id());
        let beside = other.map(|other| show_other(figure, other)).transpose()?.flatten();
        let is_measured = points.iter().any(|point| measured.get(&point.key).is_some());
        if !is_asked && !is_measured && beside.is_none() {
            continue;
        }
        let one = show(figure, &points, machine, (measured, &outcome.faults), beside)?;
        folder.write(&format!("{}.csv", figure.id()), &csv::csv(&one.csv_rows()))?;
        folder.write(&format!("{}.svg", figure.id()), &one.svg)?;
        if let Some(beside) = &one.beside {
            folder.write(&format!("{}-beside.svg", figure.id()), &beside.svg)?;
        }
        listed.push(json!({
            "paper": figure.paper.name,
            "figure": figure.name,
            "title": figure.title,
            "csv": format!("{}.csv", figure.id()),
            "svg": format!("{}.svg", figure.id()),
            "finding": one.verdict.finding,
            "holds": one.verdict.holds,
            "why": one.verdict.why,
            "busy": one.load.map(|load| load.is_busy(machine.cores)),
            "load": one.load.map(|load| json!({
                "load_average": load.load_average,
                "steal_percent": load.steal_percent,
                "others_cores": load.others_cores,
            })),
            "beside": one.beside.as_ref().map(|beside| json!({
                "machine": beside.machine,
                "svg": format!("{}-beside.svg", figure.id()),
                "holds": beside.verdict.holds,
                "why": beside.verdict.why,
            })),
            "scale": request.scale.name(),
            "points": { "of": points.len(), "measured": one.measured, "impossible_here": one.impossible.len() },
        }));
        outcome.sentences.push(format!("{} {}: {}", figure.paper.name, figure.name, one.verdict));
        shown.push(one);
    }
    outcome.figures = Value::Array(listed);
    let text = serde_json::to_string_pretty(&outcome.figures).map_err(|error| error.to_string())?;
    let profile = serde_json::to_string_pretty(machine).map_err(|error| error.to_string())?;
    folder.write(MACHINE, &(profile + "\n"))?;
    let other = other.map(|other| &other.machine);
    folder.write("index.html", &page::page(&shown, (machine, other), request.scale, &now()))?;
    folder.write(FIGURES_FILE, &(text + "\n"))
}

/// Another machine's part of a figure, judged by its values; `None` if it has nothing.
fn show_other(figure: &'static Figure, other: &OtherMachine) -> Result<Option<BesideFigure>, String> {
    let Some(found) = other.rows(figure)? else { return Ok(None) };
    let rows = FigureRows(found.rows);
    let machine = &other.machine;
    let load = LoadRange::of_rows(&rows.0);
    let mut verdict = (figure.judge)(&rows, machine);
    if found.missing > 0 {
        let why = format!("{} of its points are not measured yet", found.missing);
        verdict = FindingResult::open(&verdict.finding, why);
    }
    let verdict = verdict.under(load, machine.cores);
    let svg = plot::svg(
        &format!("{}-beside", figure.id()),
        &format!("{} {} on another machine: {}", figure.paper.name, figure.name, figure.title),
        &verdict.to_string(),
        &if rows.0.is_empty() { Vec::new() } else { (figure.panels)(&rows, machine) },
        plot::HALF,
    )?;
    let machine = machine.fingerprint();
    Ok(Some(BesideFigure { machine, rows: rows.0, impossible: found.impossible, load, verdict, svg }))
}

/// A figure as far as it is measured.
fn show(
    figure: &'static Figure,
    points: &[StudyPoint],
    machine: &MachineProfile,
    (measured, faults): (&PointStore, &[String]),
    beside: Option<BesideFigure>,
) -> Result<PageFigure, String> {
    let found: Vec<_> = points.iter().filter_map(|point| Some((point, measured.get(&point.key)?))).collect();
    let shown = |(point, kept): &(&StudyPoint, &MeasuredPoint)| {
        kept.rows.iter().filter(|row| (point.shows)(row)).cloned().collect::<Vec<FigureRow>>()
    };
    let rows = FigureRows(found.iter().flat_map(shown).collect());
    let kept: Vec<_> = found.into_iter().map(|(_, kept)| kept).collect();
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
        verdict = FindingResult::open(&verdict.finding, why);
    }
    let load = LoadRange::of_rows(&rows.0);
    let verdict = verdict.under(load, machine.cores);
    let svg = plot::svg(
        &figure.id(),
        &format!("{} {}: {}", figure.paper.name, figure.name, figure.title),
        &verdict.to_string(),
        &(figure.panels)(&rows, machine),
        if beside.is_some() { plot::HALF } else { plot::WHOLE },
    )?;
    Ok(PageFigure {
        figure,
        measured: kept.len(),
        seconds: kept.iter().map(|kept| kept.seconds).sum(),
        first: kept.iter().map(|kept| kept.at.clone()).min(),
        last: kept.iter().map(|kept| kept.at.clone()).max(),
        rows: rows.0,
        impossible,
        missing,
        load,
        verdict,
        beside,
        svg,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::{Paper, PaperClaim};
    use crate::panel::{Axis, Curve, Panel};
    use std::sync::atomic::AtomicUsize;

    static PAPER: Paper = Paper { name: "made-up", cite: "A & B: <Nothing>", machine: "none < one" };
    /// How often a point of each figure was measured.
    static RESUMED: AtomicUsize = AtomicUsize::new(0);
    static FAILING: AtomicUsize = AtomicUsize::new(0);

    fn row(x: u64) -> FigureRow {
        FigureRow {
            series: "<a> & b".to_owned(),
            values: [("ns".to_owned(), x as f64)].into(),
            checked: Some(true),
            ..FigureRow::default().with("x", x)
        }
    }

    const fn figure(name: &'static str, points: fn(&MachineProfile, Scale) -> Vec<StudyPoint>) -> Figure {
        Figure {
            paper: &PAPER,
            name,
            title: "one <two> & three",
            section: "\"4\"",
            shows: "more > less",
            here: "the <same>",
            said: &[PaperClaim { what: "<what>", value: "<1 & 2>", place: "Table <1>" }],
            points,
            panels: |rows, _| {
                let curves = vec![Curve::from_rows(rows, "<a> & b", "<a> & b", "x", "ns")];
                let axis = |label: &str| Axis::Linear { label: label.to_owned() };
                vec![Panel::new("<t>", axis("x & y"), axis("ns"), curves)]
            },
            judge: |rows, _| FindingResult::of_counts("a < b", rows.0.len() > 1, "there are <rows>"),
        }
    }

    static THREE: Figure = figure("figure-1", |machine, _| {
        let point = |x: u64| {
            StudyPoint::new(format!("x={x}"), move || {
                RESUMED.fetch_add(1, Ordering::Relaxed);
                Ok(vec![row(x)])
            })
        };
        let never = StudyPoint::new("<large>", || Ok(Vec::new())).unless(machine.lacks_cores(1_000_000));
        vec![point(1), point(2), point(3), never]
    });

    static PAIR: Figure = figure("figure-3", |_, _| {
        [1, 2].map(|x| StudyPoint::new(format!("x={x}"), move || Ok(vec![row(x)]))).into()
    });

    static WRONG: Figure = figure("figure-2", |_, _| {
        let wrong = StudyPoint::new("wrong", || {
            FAILING.fetch_add(1, Ordering::Relaxed);
            Ok(vec![FigureRow { checked: Some(false), ..row(1) }])
        });
        vec![
            wrong,
            StudyPoint::new("failed", || Err("it <broke>".to_owned())),
            StudyPoint::new("right", || Ok(vec![row(3)])),
        ]
    });

    fn study(
        out: &Path,
        figures: &[&'static Figure],
        anew: bool,
        stop_at: Option<&str>,
    ) -> (StudyResult, Vec<String>) {
        let stop = AtomicBool::new(false);
        let mut said = Vec::new();
        let request = StudyRequest { figures, out, scale: Scale::Quick, anew, beside: None, stop: &stop };
        let outcome = among(&[&THREE, &WRONG], &request, &mut |line| {
            said.push(line.to_owned());
            // As a signal does while a point is measured.
            if stop_at.is_some_and(|at| line.contains(at)) {
                stop.store(true, Ordering::Relaxed);
            }
        });
        (outcome.expect("a folder"), said)
    }

    #[test]
    fn a_study_that_was_ended_goes_on() {
        let place = tempfile::tempdir().expect("a place");
        let out = place.path().join("new/study");
        let (outcome, said) = study(&out, &[&THREE], false, Some("x=2"));
        assert_eq!((outcome.asked, outcome.done, outcome.measured), (4, 2, 2), "{said:?}");
        let figure = &outcome.figures[0];
        assert_eq!(
            (&figure["holds"], &figure["why"]),
            (&Value::Null, &json!("1 of 4 points are not measured yet"))
        );
        let (outcome, said) = study(&out, &[&THREE], false, None);
        assert_eq!((outcome.done, outcome.measured), (4, 1));
        assert_eq!(said, ["made-up figure-1: 3 of 4: x=3"]);
        assert_eq!(outcome.figures[0]["holds"], true);
        assert_eq!(outcome.figures[0]["points"], json!({ "of": 4, "measured": 3, "impossible_here": 1 }));
        assert_eq!(RESUMED.load(Ordering::Relaxed), 3);
        // A damaged line is measured again, and only that.
        let lines = out.join("measured/made-up-figure-1.jsonl");
        let text = std::fs::read_to_string(&lines).expect("kept");
        std::fs::write(&lines, text.replacen("\"rows\"", "\"rows", 1)).expect("damaged");
        let (outcome, said) = study(&out, &[&THREE], false, None);
        assert_eq!((outcome.measured, said.len()), (1, 2));
        assert!(said[0].starts_with("1 damaged line in "), "{said:?}");
        let (outcome, _) = study(&out, &[&THREE], true, None);
        assert_eq!((outcome.measured, RESUMED.load(Ordering::Relaxed)), (3, 7));
        // Without asking for it, the page has it still.
        let (outcome, _) = study(&out, &[], false, None);
        assert_eq!((outcome.asked, outcome.sentences.len()), (0, 1));
        assert_eq!(
            outcome.sentences[0],
            "made-up figure-1: The paper's finding, that a < b, holds here: there are <rows>."
        );
        let page = std::fs::read_to_string(out.join("index.html")).expect("a page");
        assert!(page.contains("&lt;a&gt; &amp; b") && page.contains("A &amp; B: &lt;Nothing&gt;"));
        assert!(page.contains("&lt;large&gt;: it needs 1000000 cores"));
        for raw in ["<a> &", "<Nothing>", "<two>", "<same>", "<what>", "<rows>", "<large>", "<t>", "<script"]
        {
            assert!(!page.contains(raw), "{raw}");
        }
        let csv = std::fs::read_to_string(out.join("made-up-figure-1.csv")).expect("values");
        assert_eq!(csv.lines().count(), 5);
        assert!(
            csv.contains("<a> & b,1,") && csv.contains("\"not measured: it needs 1000000 cores, "),
            "{csv}"
        );
    }

    #[test]
    fn results_of_another_machine_are_shown_beside() {
        let place = tempfile::tempdir().expect("a place");
        let (here, there) = (place.path().join("here"), place.path().join("there"));
        study(&there, &[&PAIR], false, None);
        // A larger machine, of which the load is known and one value is another.
        let mut machine = MachineProfile::here();
        machine.cores = 4096;
        let text = serde_json::to_string(&machine).expect("JSON");
        std::fs::write(there.join(MACHINE), text).expect("written");
        let csv = "series,x,ns,checked,note\r\n<a> & b,1,7,true,\r\n<large>,,,,not measured: <no> card\r\n";
        std::fs::write(there.join("made-up-figure-3.csv"), csv).expect("written");
        let stop = AtomicBool::new(false);
        let request = StudyRequest {
            figures: &[&PAIR],
            out: &here,
            scale: Scale::Quick,
            anew: false,
            beside: Some(&there),
            stop: &stop,
        };
        let outcome = among(&[&PAIR, &WRONG], &request, &mut |_| {}).expect("both folders");
        let figure = &outcome.figures[0];
        assert_eq!((&figure["holds"], &figure["beside"]["holds"]), (&json!(true), &json!(false)), "{figure}");
        assert!(figure["beside"]["machine"].as_str().is_some_and(|machine| machine.contains("4096 cores")));
        let page = std::fs::read_to_string(here.join("index.html")).expect("a page");
        for there in ["4096 cores", "The other machine", "&lt;no&gt; card", "made-up-figure-3-beside-title"] {
            assert!(page.contains(there), "{there}");
        }
        assert!(!page.contains("<no>"));
        assert!(here.join("made-up-figure-3-beside.svg").exists());
        assert_eq!(outcome.figures.as_array().map(Vec::len), Some(1));
        // Points that were not measured there leave the finding open.
        let points = json!({ "of": 3, "measured": 1, "impossible_here": 1 });
        let listed = json!([{ "paper": "made-up", "figure": "figure-3", "points": points }]);
        std::fs::write(there.join(FIGURES_FILE), listed.to_string()).expect("written");
        let outcome = among(&[&PAIR], &request, &mut |_| {}).expect("both folders");
        let beside = &outcome.figures[0]["beside"];
        assert_eq!(
            (&beside["holds"], &beside["why"]),
            (&json!(null), &json!("1 of its points are not measured yet"))
        );
        // What is no folder of results is said before anything is measured.
        let nothing = StudyRequest { beside: Some(place.path()), ..request };
        let error = among(&[&PAIR], &nothing, &mut |_| panic!("measured")).expect_err("no results");
        assert!(error.contains("no results of a study are there"), "{error}");
    }

    #[test]
    fn what_is_wrong_is_not_kept_and_not_judged() {
        let place = tempfile::tempdir().expect("a place");
        for times in 1..=2 {
            let (outcome, _) = study(place.path(), &[&WRONG], false, None);
            assert_eq!(FAILING.load(Ordering::Relaxed), times);
            assert_eq!(
                outcome.faults,
                [
                    "made-up figure-2: wrong: <a> & b: the answer was wrong",
                    "made-up figure-2: failed: it <broke>"
                ]
            );
            assert_eq!(outcome.figures[0]["holds"], Value::Null);
            let why = outcome.figures[0]["why"].as_str().unwrap_or_default();
            assert_eq!(why, "2 of 3 points failed, one with: wrong: <a> & b: the answer was wrong");
        }
    }

    #[test]
    fn a_folder_that_cannot_be_written_is_said_in_a_line() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        let stop = AtomicBool::new(false);
        let request = StudyRequest {
            figures: &[&THREE],
            out: file.path(),
            scale: Scale::Quick,
            anew: false,
            beside: None,
            stop: &stop,
        };
        let error = run(&request, &mut |_| panic!("something was measured")).expect_err("no folder");
        assert!(
            error.starts_with(&format!("{}/measured: ", file.path().display())) && !error.contains('\n'),
            "{error}"
        );
    }
}
