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
}

/// An axis.
#[derive(Clone, Debug)]
pub enum Axis {
    /// A linear axis from 0 (or the least value, if that is below 0).
    Linear {
        /// The quantity that the axis shows, and the unit.
        label: String,
    },
    /// A logarithmic axis; values of 0 and less are not drawn.
    Log {
        /// The quantity that the axis shows, and the unit.
        label: String,
    },
    /// A logarithmic axis of bytes: each size that was measured is marked.
    Bytes {
        /// The quantity that the axis shows.
        label: String,
    },
    /// Names; a spot's place is the number of its name. Only for x: bars are drawn.
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
