//! What is measured at a time, and kept when it is measured.

use crate::row::Row;
use std::fmt;

/// How much is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// Fewer points and shorter rounds: all figures in under ten minutes on two cores.
    Quick,
    /// All points.
    Full,
}

impl Scale {
    /// Its name in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Quick => "quick",
            Self::Full => "full",
        }
    }

    /// One of two.
    pub fn pick<T>(self, quick: T, full: T) -> T {
        match self {
            Self::Quick => quick,
            Self::Full => full,
        }
    }
}

/// Measures the rows of a point. The error is one line.
type Measure = Box<dyn Fn() -> Result<Vec<Row>, String>>;

/// Variants that are compared with each other are one point, and measured in turn, so that ratios are of one run.
pub struct Point {
    /// What is measured and all its parameters, as `latency bytes=32768 zipf=1`: a kept point is found by it.
    pub key: String,
    /// How it is measured, or why this machine cannot.
    pub measure: Result<Measure, String>,
    /// Which of its rows the figure shows.
    pub shows: fn(&Row) -> bool,
}

impl Point {
    /// One that this machine can measure.
    pub fn new(key: impl Into<String>, measure: impl Fn() -> Result<Vec<Row>, String> + 'static) -> Self {
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

impl Point {
    /// Only some of its rows are of the figure: the others are of another one that measures the same point.
    #[must_use]
    pub fn only(self, shows: fn(&Row) -> bool) -> Self {
        Self { shows, ..self }
    }
}

impl fmt::Debug for Point {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let reason = self.measure.as_ref().err();
        to.debug_struct("Point").field("key", &self.key).field("cannot", &reason).finish()
    }
}
