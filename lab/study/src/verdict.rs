//! The verdict whether a paper's finding holds on this machine.

use std::fmt;

/// A finding and what became of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FindingResult {
    /// The paper's finding, as a clause after "that".
    pub finding: String,
    /// `None` where this machine cannot show it.
    pub holds: Option<bool>,
    /// The reason: the measured values that decide, or what is missing.
    pub why: String,
}

impl FindingResult {
    /// Makes the verdict that measured values decide.
    pub fn new(finding: &str, holds: bool, why: impl Into<String>) -> Self {
        Self { finding: finding.to_owned(), holds: Some(holds), why: why.into() }
    }

    /// Makes a verdict that is not decided. `why` says what this machine does not have, or what is not measured.
    pub fn open(finding: &str, why: impl Into<String>) -> Self {
        Self { finding: finding.to_owned(), holds: None, why: why.into() }
    }
}

/// The verdict is displayed as one sentence.
impl fmt::Display for FindingResult {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let holds = match self.holds {
            Some(true) => "holds here",
            Some(false) => "does not hold here",
            None => "is not decided here",
        };
        write!(to, "The paper's finding, that {}, {holds}: {}.", self.finding, self.why)
    }
}
