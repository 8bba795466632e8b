//! Figure 5: a tee with sampling in the place of the measurement.

use super::PAPER;
use crate::figure::{Figure, PaperClaim};
use crate::machine::MachineProfile;
use crate::panel::{Axis, Curve, Panel};
use crate::point::{Scale, StudyPoint};
use crate::row::{FigureRow, FigureRows};
use crate::verdict::FindingResult;

pub(crate) static FIGURE: Figure = Figure {
    paper: &PAPER,
    name: "figure-5",
    title: "throughput and precision where another core measures a sample",
    section: "section 4",
    shows: "At a skew of 0.5, a tee in the place of the measurement copies 10, 15 or 20 % of the packets to a ring that another core reads. The path of the packets is faster than with the \
            measurement in it (Not-Tee), and heavy hitters are found with less precision.",
    here: "`edison run --tee`: the packets that the receiving core takes a second from a software wire which waits for it, with exact tables for 20,000 and for \
           330,000 flows (2 and 32 MiB). Precision is that of the flows with 0.2 % of a window of a million packets of 100,000 flows: at a skew of 1, as no flow has 0.2 % of them at 0.5.",
    said: &[
        PaperClaim {
            what: "throughput with a tee of 15 %, table of 2 MB",
            value: "13 Mpps",
            place: "section 4",
        },
        PaperClaim { what: "throughput without, table of 2 MB", value: "9.4 Mpps", place: "section 4" },
        PaperClaim { what: "precision with a tee of 15 %", value: "75 %", place: "section 4" },
        PaperClaim { what: "precision without", value: "97 %", place: "section 4" },
    ],
    points,
    panels,
    judge,
};

/// Flows of the tables, and their names.
const TABLES: [(u64, &str); 2] = [(20_000, "2 MiB"), (330_000, "32 MiB")];
const VARIANTS: [(&str, &str); 4] =
    [("not_tee", "no tee"), ("tee_10", "10 %"), ("tee_15", "15 %"), ("tee_20", "20 %")];
/// The place of the paper's tee among them.
const PAPERS: f64 = 2.0;

fn points(machine: &MachineProfile, scale: Scale) -> Vec<StudyPoint> {
    let seconds = scale.pick(4.0, 20.0);
    let table = |(flows, _): (u64, &str)| {
        StudyPoint::new(format!("tee flows={flows} zipf=0.5 seconds={seconds}"), move || {
            let mut rows = Vec::new();
            bench::figures::tee(flows, seconds, &mut |line| rows.push(FigureRow::from_line(&line)))?;
            Ok(rows)
        })
    };
    let answers = StudyPoint::new("tee answers packets=1000000 flows=100000 zipf=1", || {
        let mut rows = Vec::new();
        bench::figures::tee_answers(&mut |line| rows.push(FigureRow::from_line(&line)))?;
        Ok(rows)
    });
    let points = TABLES.into_iter().map(table).chain([answers]);
    points.map(|point| point.unless(machine.lacks_cores(2))).collect()
}

fn panels(rows: &FigureRows) -> Vec<Panel> {
    let names: Vec<String> = VARIANTS.iter().map(|(_, name)| (*name).to_owned()).collect();
    let spots = |value: &dyn Fn(&str) -> Option<f64>| -> Vec<(f64, f64)> {
        let spot = |(at, (series, _)): (usize, &(&str, &str))| Some((at as f64, value(series)?));
        VARIANTS.iter().enumerate().filter_map(spot).collect()
    };
    let own = |name: &str, spots: &[(f64, f64)]| Curve { of_paper: false, ..Curve::from_paper(name, spots) };
    let panel = |title: &str, y: &str, curves| Panel {
        title: title.to_owned(),
        x: Axis::Names {
            label: "share of the packets that another core measures".to_owned(),
            names: names.clone(),
        },
        y: Axis::Linear { label: y.to_owned() },
        curves,
    };
    let speeds = TABLES.map(|(flows, name)| {
        own(name, &spots(&|series| Some(rows.at(series, "flows", flows as f64)?.value("mpps"))))
    });
    let precision = |series: &str| {
        Some(100.0 * rows.rows_of_series(&format!("{series}_answers")).next()?.value("precision"))
    };
    vec![
        panel(
            "Throughput of the core that receives",
            "million packets/s",
            speeds.into_iter().chain([Curve::from_paper("2 MB", &[(0.0, 9.4), (PAPERS, 13.0)])]).collect(),
        ),
        panel(
            "Precision of heavy hitters",
            "%",
            vec![
                own("Edison", &spots(&precision)),
                Curve::from_paper("2 MB", &[(0.0, 97.0), (PAPERS, 75.0)]),
            ],
        ),
    ]
}

fn judge(rows: &FigureRows, machine: &MachineProfile) -> FindingResult {
    let finding =
        "a tee of 15 % makes the path of packets faster, 13 Mpps in the place of 9.4, and costs precision";
    let times = |(flows, _): (u64, &str)| {
        let at = |series| rows.at(series, "flows", flows as f64).map(|row| row.value("mpps"));
        Some(at("tee_15")? / at("not_tee")?)
    };
    let answers = rows.rows_of_series("tee_15_answers").next();
    let (Some(small), Some(large), Some(answers)) = (times(TABLES[0]), times(TABLES[1]), answers) else {
        let why = machine.lacks_cores(2).unwrap_or_else(|| "nothing is measured".to_owned());
        return FindingResult::open(finding, why);
    };
    let precision = answers.value("precision");
    let why = format!(
        "the core that receives is {small:.1} times as fast with a table of 2 MiB and {large:.1} times with one of 32 MiB, at a precision of {:.0} %, and {:.1} % of the flows lie within their bounds",
        100.0 * precision,
        100.0 * answers.value("within_bounds"),
    );
    FindingResult::new(finding, small.min(large) > 1.0 && precision < 1.0, why)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine() -> MachineProfile {
        MachineProfile::here()
    }

    fn rows(tee_mpps: f64, precision: f64) -> FigureRows {
        let row = |series: &str, flows: u64, name: &str, value: f64| FigureRow {
            series: series.to_owned(),
            values: [(name.to_owned(), value)].into(),
            ..FigureRow::default().with("flows", flows)
        };
        let mut rows: Vec<FigureRow> = TABLES
            .iter()
            .flat_map(|(flows, _)| {
                [row("not_tee", *flows, "mpps", 10.0), row("tee_15", *flows, "mpps", tee_mpps)]
            })
            .collect();
        rows.push(row("tee_15_answers", 100_000, "precision", precision));
        FigureRows(rows)
    }

    #[test]
    fn a_tee_that_is_faster_and_less_precise_holds() {
        assert_eq!(judge(&rows(15.0, 0.9), &machine()).holds, Some(true));
        assert_eq!(judge(&rows(9.0, 0.9), &machine()).holds, Some(false));
        assert_eq!(judge(&rows(15.0, 1.0), &machine()).holds, Some(false));
        assert_eq!(judge(&FigureRows::default(), &machine()).holds, None);
        let panels = panels(&rows(15.0, 0.9));
        assert_eq!(panels[0].curves.len(), 3);
        assert_eq!(panels[1].curves[0].spots.len(), 1);
    }
}
