//! The points of a study, each of which is measured at a time and kept when it is measured.

use crate::row::FigureRow;
use std::fmt;

/// The amount that is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// Fewer points and shorter rounds: all figures in under ten minutes on two cores.
    Quick,
    /// The full number of points.
    Full,
}

impl Scale {
    /// Returns the name of the scale in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Quick => "quick",
            Self::Full => "full",
        }
    }

    /// Returns the value of two that is for this scale.
    pub fn pick<T>(self, quick: T, full: T) -> T {
        match self {
            Self::Quick => quick,
            Self::Full => full,
        }
    }
}

/// Measures the rows of a point. The error is one line.
type Measure = Box<dyn Fn() -> Result<Vec<FigureRow>, String>>;

/// Variants that are compared with each other are one point, and measured in turn, so that ratios are of one run.
pub struct StudyPoint {
    /// The text that says what is measured with all its parameters, as `latency bytes=32768 zipf=1`: a kept point is found by it.
    pub key: String,
    /// The function that measures the point, or the reason why this machine cannot.
    pub measure: Result<Measure, String>,
    /// The condition that says which of the point's rows the figure shows.
    pub shows: fn(&FigureRow) -> bool,
}

impl StudyPoint {
    /// One that this machine can measure.
    pub fn new(
        key: impl Into<String>,
        measure: impl Fn() -> Result<Vec<FigureRow>, String> + 'static,
    ) -> Self {
        Self { key: key.into(), measure: Ok(Box::new(measure)), shows: |_| true }
    }

    /// One that cannot be measured, and why.
    pub fn impossible(key: impl Into<String>, reason: impl Into<String>) -> Self {
        Self { key: key.into(), measure: Err(reason.into()), shows: |_| true }
    }

    /// One that it cannot, if there is a reason.
    #[must_use]
    pub fn unless(self, reason: Option<String>) -> Self {
        match reason {
            Some(reason) => Self { measure: Err(reason), ..self },
            None => self,
        }
    }
}

impl StudyPoint {
    /// Restricts the point to some of its rows: the others are of another figure that measures the same point.
    #[must_use]
    pub fn only(self, shows: fn(&FigureRow) -> bool) -> Self {
        Self { shows, ..self }
    }
}

impl fmt::Debug for StudyPoint {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let reason = self.measure.as_ref().err();
        to.debug_struct("Point").field("key", &self.key).field("cannot", &reason).finish()
    }
}
