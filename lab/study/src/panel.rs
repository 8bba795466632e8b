//! The diagrams of a figure, as data.

use crate::row::FigureRows;

/// A diagram of a figure.
#[derive(Clone, Debug)]
pub struct Panel {
    /// The title above the diagram.
    pub title: String,
    /// The axis below the diagram.
    pub x: Axis,
    /// The axis at the left of the diagram.
    pub y: Axis,
    /// The curves in the order of the legend.
    pub curves: Vec<Curve>,
    /// The statements of a paper's text that are no value at one place.
    pub guides: Vec<Guide>,
    /// The reasons that are written in the place of missing values, each with its place on the axis `x`.
    pub remarks: Vec<(f64, String)>,
}

impl Panel {
    /// Makes a diagram without guides and remarks.
    pub fn new(title: impl Into<String>, x: Axis, y: Axis, curves: Vec<Curve>) -> Self {
        Self { title: title.into(), x, y, curves, guides: Vec::new(), remarks: Vec::new() }
    }

    /// Adds statements of a paper's text.
    #[must_use]
    pub fn with_guides(mut self, guides: impl IntoIterator<Item = Guide>) -> Self {
        self.guides.extend(guides);
        self
    }

    /// Adds reasons that are written in the place of missing values.
    #[must_use]
    pub fn with_remarks(mut self, remarks: impl IntoIterator<Item = (f64, String)>) -> Self {
        self.remarks.extend(remarks);
        self
    }

    /// True if the panel shows a statement of a paper.
    pub fn has_paper(&self) -> bool {
        !self.guides.is_empty() || self.curves.iter().any(|curve| curve.of_paper)
    }
}

/// A statement of a paper's text that is marked in a diagram.
#[derive(Clone, Debug, PartialEq)]
pub struct Guide {
    /// The place where it is marked.
    pub place: GuidePlace,
    /// The statement, in a few words.
    pub text: String,
}

/// The place of a paper's statement in a diagram.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum GuidePlace {
    /// A dashed line across the diagram, at a value of the axis `y`.
    Across(f64),
    /// A dashed line from below to above, at a value of the axis `x`.
    Upright(f64),
    /// Words below the diagram: it has no place on the axes.
    Below,
}

impl Guide {
    /// A bound or a level.
    pub fn across(y: f64, text: &str) -> Self {
        Self { place: GuidePlace::Across(y), text: text.to_owned() }
    }

    /// A parameter, as the best one.
    pub fn upright(x: f64, text: &str) -> Self {
        Self { place: GuidePlace::Upright(x), text: text.to_owned() }
    }

    /// Words that have no place on the axes.
    pub fn below(text: &str) -> Self {
        Self { place: GuidePlace::Below, text: text.to_owned() }
    }
}

/// An axis.
#[derive(Clone, Debug)]
pub enum Axis {
    /// A linear axis from 0 (or the least value, if that is below 0).
    Linear {
        /// The quantity that the axis shows, and the unit.
        label: String,
    },
    /// An axis of whole numbers, as of cores, from the least to the most that there is.
    Whole {
        /// The things that are counted.
        label: String,
    },
    /// A logarithmic axis; of values of 0 the number is written at the low end, those below are not drawn.
    Log {
        /// The quantity that the axis shows, and the unit.
        label: String,
    },
    /// A logarithmic axis of bytes: each size that was measured is marked.
    Bytes {
        /// The quantity that the axis shows.
        label: String,
    },
    /// Names; a spot's place is the number of its name. Only for x: bars are drawn from 0 of a linear axis, and dots where that axis is logarithmic and
    /// has no 0.
    Names {
        /// The kind of things that the names are of.
        label: String,
        /// The names from left to right.
        names: Vec<String>,
    },
}

/// Values of one variant.
#[derive(Clone, Debug, Default)]
pub struct Curve {
    /// The name for the legend.
    pub name: String,
    /// True if the values are a paper's, on its machine: they are marked as such.
    pub of_paper: bool,
    /// The points of the curve in order.
    pub spots: Vec<Spot>,
}

/// A point of a curve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spot {
    /// The place of the point on the axis `x`.
    pub x: f64,
    /// The value of the point.
    pub y: f64,
    /// The least and the most value of several rounds.
    pub spread: Option<[f64; 2]>,
}

impl Curve {
    /// A series' value by a numeric parameter; what was not measured is left out.
    pub fn from_rows(rows: &FigureRows, series: &str, name: &str, param: &str, value: &str) -> Self {
        let mut spots: Vec<_> = rows
            .rows_of_series(series)
            .map(|row| Spot { x: row.param(param), y: row.value(value), spread: row.spread(value) })
            .filter(|spot| spot.x.is_finite() && spot.y.is_finite())
            .collect();
        spots.sort_by(|a, b| a.x.total_cmp(&b.x));
        Self { name: name.to_owned(), of_paper: false, spots }
    }

    /// Makes a curve of what a paper's text says, as pairs of place and value.
    pub fn from_paper(name: &str, values: &[(f64, f64)]) -> Self {
        let spots = values.iter().map(|&(x, y)| Spot { x, y, spread: None }).collect();
        Self { name: name.to_owned(), of_paper: true, spots }
    }
}
