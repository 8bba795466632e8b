//! Figure 2: how many entries a cache serves.

use super::PAPER;
use super::foretold::{is_measured, model};
use crate::figure::{Figure, PaperClaim};
use crate::machine::MachineProfile;
use crate::panel::{Axis, Curve, Guide, Panel, Spot};
use crate::point::{Scale, StudyPoint};
use crate::row::FigureRows;
use crate::verdict::FindingResult;

pub(crate) static FIGURE: Figure = Figure {
    paper: &PAPER,
    name: "figure-2",
    title: "entries of which 2 MB of L3 serve 70 % and 42 % of the accesses, by skew",
    section: "section 3.2",
    shows: "The most entries of which a core's part of L3 (2 MB) serves the share of the accesses that 10 Gbit/s need: 70 %, and 42 % where an L4 takes the place of \
            memory. The cache keeps the most popular entries, each by itself.",
    here: "Computed as published, and with a cache of whole lines that forgets what was not used for the longest time (docs/model.md): a popular entry shares its line of 64 bytes \
           with unpopular ones. Among the values are those for the part of L3 that this core was measured to have.",
    said: &[
        PaperClaim { what: "44 bytes, skew 1, 70 %", value: "5.5 million entries", place: "section 3.2" },
        PaperClaim { what: "17 bytes, skew 1, 70 %", value: "20 million entries", place: "section 3.2" },
        PaperClaim { what: "44 bytes, skew 1.05, 70 %", value: "100 million entries", place: "section 3.3" },
        PaperClaim { what: "44 bytes, skew 0.75, 70 %", value: "0.16 million entries", place: "section 3.2" },
        PaperClaim { what: "44 bytes, skew 0.75, 42 %", value: "1.2 million entries", place: "section 3.2" },
        PaperClaim {
            what: "64 bytes, skew 1, 42 %",
            value: "more than 500 million entries",
            place: "section 3.2",
        },
    ],
    points: |_, scale: Scale| -> Vec<StudyPoint> {
        vec![model(scale, |row| is_measured(row) || row.series == "figure_2")]
    },
    panels,
    judge,
};

const SKEWS: [f64; 5] = [0.0, 0.5, 0.75, 1.0, 1.05];
/// Mebibytes of the paper's cache, as the bench rounds them.
const PAPERS_MIB: f64 = 1.9;

fn panels(rows: &FigureRows, _: &MachineProfile) -> Vec<Panel> {
    let of_paper = rows.only("cache_mib", PAPERS_MIB);
    let panel = |share: f64, said: &[(f64, f64)], of_17: &[(f64, f64)]| {
        let rows = of_paper.only("share", share);
        let curve = |name: &str, value: &str| Curve {
            name: name.to_owned(),
            of_paper: false,
            spots: (SKEWS.iter().enumerate())
                .filter_map(|(at, skew)| {
                    let row = rows.at("figure_2", "zipf", *skew)?;
                    Some(Spot { x: at as f64, y: row.value(value), spread: None })
                })
                .collect(),
        };
        let mut curves = vec![
            curve("17 bytes", "entries_of_17"),
            curve("44 bytes", "entries_of_44"),
            curve("44 bytes, whole lines", "entries_of_44_by_line"),
            Curve::from_paper("44 bytes", said),
        ];
        if !of_17.is_empty() {
            curves.push(Curve::from_paper("17 bytes", of_17));
        }
        Panel::new(
            format!("{:.0} % of the accesses from 2 MB", 100.0 * share),
            Axis::Names { label: "skew".to_owned(), names: SKEWS.map(|skew| skew.to_string()).to_vec() },
            Axis::Log { label: "entries".to_owned() },
            curves,
        )
    };
    vec![
        panel(0.7, &[(2.0, 0.16e6), (3.0, 5.5e6), (4.0, 100e6)], &[(3.0, 20e6)]),
        panel(0.42, &[(2.0, 1.2e6)], &[])
            .with_guides([Guide::below("64 bytes, skew 1: more than 500 million")]),
    ]
}

/// The share of the paper's value from which a measured one agrees with it, as rounding and reading from a plot allow.
const NEAR: f64 = 0.8;

fn judge(rows: &FigureRows, _: &MachineProfile) -> FindingResult {
    let finding =
        "at a skew of 1 a cache of 2 MB serves 70 % of the accesses to 5.5 million entries of 44 bytes";
    let at_70 = rows.only("cache_mib", PAPERS_MIB).only("share", 0.7);
    let Some(row) = at_70.at("figure_2", "zipf", 1.0) else {
        return FindingResult::open(finding, "nothing is measured");
    };
    let million = |value: &str| row.value(value) / 1e6;
    let (published, by_line) = (million("entries_of_44"), million("entries_of_44_by_line"));
    let why = format!(
        "the published form gives {published:.1} million, but a cache keeps whole lines and forgets by use, and of such it serves {by_line:.1} million"
    );
    FindingResult::of_counts(finding, by_line >= NEAR * 5.5, why)
}
