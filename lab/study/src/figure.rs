//! A table or a figure of a paper.

use crate::machine::MachineProfile;
use crate::panel::Panel;
use crate::point::{Scale, StudyPoint};
use crate::row::FigureRows;
use crate::verdict::FindingResult;

/// A paper.
#[derive(Debug)]
pub struct Paper {
    /// The name of the paper on the command line.
    pub name: &'static str,
    /// Authors, title, place and year.
    pub cite: &'static str,
    /// The machine that it measured on, as its text says.
    pub machine: &'static str,
}

/// A statement of a paper's text, in prose or in a table. Plots are not in the text.
#[derive(Debug)]
pub struct PaperClaim {
    /// The quantity that the statement is about.
    pub what: &'static str,
    /// The value, with its unit.
    pub value: &'static str,
    /// The section or table that says it.
    pub place: &'static str,
}

/// A table or a figure: what the paper shows, and how it is measured, drawn and judged here.
#[derive(Debug)]
pub struct Figure {
    /// The paper that it is in.
    pub paper: &'static Paper,
    /// The name of the figure on the command line: `figure-1`, `table-3`.
    pub name: &'static str,
    /// The subject of the figure, in one line.
    pub title: &'static str,
    /// The place of the figure in the paper.
    pub section: &'static str,
    /// The results that the paper shows, and its finding.
    pub shows: &'static str,
    /// The way in which it is measured here, and what differs from the paper's measurement.
    pub here: &'static str,
    /// The paper's own values.
    pub said: &'static [PaperClaim],
    /// The points that are measured on this machine, in order. Points with equal keys are measured once, whichever figure asks first.
    pub points: fn(&MachineProfile, Scale) -> Vec<StudyPoint>,
    /// The panels that are drawn of the measured rows, from left to right.
    pub panels: fn(&FigureRows, &MachineProfile) -> Vec<Panel>,
    /// The verdict whether the paper's finding holds. It is asked for only when all points are measured that the machine can measure.
    pub judge: fn(&FigureRows, &MachineProfile) -> FindingResult,
}

impl Figure {
    /// `alipourfard-figure-1`: the name of its files.
    pub fn id(&self) -> String {
        format!("{}-{}", self.paper.name, self.name)
    }
}
