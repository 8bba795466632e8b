//! The verdict whether a paper's finding holds on this machine.

use crate::load::LoadRange;
use std::fmt;

/// The kind of values that a verdict rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VerdictBasis {
    /// Values of rounds that were timed: what else the machine did matters.
    Rounds,
    /// Counts and computed values, which come out alike whatever the machine does meanwhile.
    Counts,
    /// Nothing: what would decide is not here, or not measured.
    Nothing,
}

/// A finding and what became of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FindingResult {
    /// The part of the paper's finding that is judged, as a clause after "that".
    pub finding: String,
    /// `None` where it is not decided.
    pub holds: Option<bool>,
    /// The reason: the measured values that decide, or why they do not.
    pub why: String,
    /// The kind of values that the verdict rests on.
    pub basis: VerdictBasis,
    /// The doubt about the machine for which it is not decided.
    pub doubt: Option<&'static str>,
}

impl FindingResult {
    /// Makes the verdict of timed rounds; `None` where they overlap.
    pub fn of_rounds(finding: &str, holds: Option<bool>, why: impl Into<String>) -> Self {
        let basis = VerdictBasis::Rounds;
        Self { finding: finding.to_owned(), holds, why: why.into(), basis, doubt: None }
    }

    /// Makes the verdict of counted or computed values.
    pub fn of_counts(finding: &str, holds: bool, why: impl Into<String>) -> Self {
        Self { basis: VerdictBasis::Counts, ..Self::of_rounds(finding, Some(holds), why) }
    }

    /// Makes a verdict that is not decided. `why` says what this machine does not have, or what is not measured.
    pub fn open(finding: &str, why: impl Into<String>) -> Self {
        Self { basis: VerdictBasis::Nothing, ..Self::of_rounds(finding, None, why) }
    }

    /// The verdict with a summary of all values in the place of those that agree with the finding, and before those that do not.
    #[must_use]
    pub(crate) fn summed_up(self, summary: &str) -> Self {
        let why = match (self.holds, self.basis) {
            (Some(true), _) => summary.to_owned(),
            (_, VerdictBasis::Nothing) => self.why,
            _ => format!("{}; {summary}", self.why),
        };
        Self { why, ..self }
    }

    /// The verdict with regard to what else the machine did while the rounds were timed: it decides only on a machine that was known to
    /// be at rest.
    #[must_use]
    pub(crate) fn under(self, load: Option<LoadRange>, cores: usize) -> Self {
        if self.basis != VerdictBasis::Rounds {
            return self;
        }
        let by_rounds = match self.holds {
            Some(true) => "by the rounds it holds: ",
            Some(false) => "by the rounds it does not hold: ",
            None => "",
        };
        let (doubt, reason) = match load {
            Some(load) if !load.is_busy(cores) => return self,
            Some(load) => ("the machine was busy", format!("the machine was busy ({})", load.text())),
            None => (
                "its load was not recorded",
                "the load of the machine was not recorded while it was measured".to_owned(),
            ),
        };
        let why = format!("{reason}; {by_rounds}{}", self.why);
        Self { holds: None, why, doubt: Some(doubt), ..self }
    }

    /// Returns the verdict in a few words, for tables.
    pub(crate) fn in_short(&self) -> String {
        match (self.holds, self.doubt, self.basis) {
            (Some(true), ..) => "holds".to_owned(),
            (Some(false), ..) => "does not hold".to_owned(),
            (None, Some(doubt), _) => format!("not decided: {doubt}"),
            (None, None, VerdictBasis::Rounds) => "not decided: rounds overlap".to_owned(),
            (None, None, _) => "not decided".to_owned(),
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn load(others: f64) -> Option<LoadRange> {
        Some(LoadRange { load_average: [2.0; 2], steal_percent: [0.0; 2], others_cores: [0.0, others] })
    }

    #[test]
    fn rounds_decide_on_a_machine_at_rest_alone() {
        let verdict = |holds| FindingResult::of_rounds("a < b", holds, "1 against 2");
        assert_eq!(verdict(Some(true)).under(load(0.01), 2), verdict(Some(true)));
        let busy = verdict(Some(true)).under(load(1.0), 2);
        assert_eq!((busy.holds, busy.in_short().as_str()), (None, "not decided: the machine was busy"));
        assert_eq!(
            busy.to_string(),
            "The paper's finding, that a < b, is not decided here: the machine was busy (load average 2, steal 0 %, \
             other processes on 0 to 1 cores); by the rounds it holds: 1 against 2."
        );
        let unknown = verdict(Some(false)).under(None, 2);
        assert_eq!(unknown.holds, None);
        assert_eq!(unknown.in_short(), "not decided: its load was not recorded");
        assert!(
            unknown.why.contains("not recorded") && unknown.why.contains("it does not hold: 1 against 2")
        );
        assert_eq!(verdict(None).under(load(0.0), 2).in_short(), "not decided: rounds overlap");
    }

    #[test]
    fn counts_and_what_is_missing_do_not_depend_on_the_load() {
        let counted = FindingResult::of_counts("a", true, "b");
        assert_eq!(counted.clone().under(load(1.0), 2), counted);
        let open = FindingResult::open("a", "no bus");
        assert_eq!(open.clone().under(load(1.0), 2), open);
        assert_eq!(open.in_short(), "not decided");
    }
}
