//! What is drawn, as data.

use crate::row::Rows;

/// One diagram of a figure.
#[derive(Clone, Debug)]
pub struct Panel {
    /// Above it.
    pub title: String,
    /// Below it.
    pub x: Axis,
    /// At its left.
    pub y: Axis,
    /// In the order of the legend.
    pub curves: Vec<Curve>,
}

/// An axis.
#[derive(Clone, Debug)]
pub enum Axis {
    /// From 0 (or the least value, if that is below 0).
    Linear {
        /// What it shows, and the unit.
        label: String,
    },
    /// By the logarithm; values of 0 and less are not drawn.
    Log {
        /// What it shows, and the unit.
        label: String,
    },
    /// By the logarithm, in bytes: each size that was measured is marked.
    Bytes {
        /// What it shows.
        label: String,
    },
    /// Names; a spot's place is the number of its name. Only for x: bars are drawn.
    Names {
        /// What they name.
        label: String,
        /// The names from left to right.
        names: Vec<String>,
    },
}

/// Values of one variant.
#[derive(Clone, Debug, Default)]
pub struct Curve {
    /// For the legend.
    pub name: String,
    /// A paper's values, on its machine: marked as such.
    pub of_paper: bool,
    /// Its points in order.
    pub spots: Vec<Spot>,
}

/// A point of a curve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spot {
    /// Where it is.
    pub x: f64,
    /// Its value.
    pub y: f64,
    /// Least and most of several rounds.
    pub spread: Option<[f64; 2]>,
}

impl Curve {
    /// A series' value by a numeric parameter; what was not measured is left out.
    pub fn of(rows: &Rows, series: &str, name: &str, param: &str, value: &str) -> Self {
        let mut spots: Vec<_> = rows
            .of(series)
            .map(|row| Spot { x: row.param(param), y: row.value(value), spread: row.spread(value) })
            .filter(|spot| spot.x.is_finite() && spot.y.is_finite())
            .collect();
        spots.sort_by(|a, b| a.x.total_cmp(&b.x));
        Self { name: name.to_owned(), of_paper: false, spots }
    }

    /// What a paper's text says, as pairs of place and value.
    pub fn of_paper(name: &str, values: &[(f64, f64)]) -> Self {
        let spots = values.iter().map(|&(x, y)| Spot { x, y, spread: None }).collect();
        Self { name: name.to_owned(), of_paper: true, spots }
    }
}
