//! A question why traffic changed.

use super::field::ChangeField;
use super::outcome::ChangeMeasure;
use model::Span;

/// The most groups of a field that an answer lists.
pub(crate) const MOST_GROUPS: usize = 20;

/// A question why traffic changed between two periods.
#[derive(Clone, Debug)]
pub(crate) struct ChangeAsked {
    pub(crate) measure: ChangeMeasure,
    /// The earlier period and the later one.
    pub(crate) periods: [Span; 2],
    /// The fields whose groups are compared.
    pub(crate) fields: Vec<&'static ChangeField>,
    /// True if nodes are compared, too.
    pub(crate) is_by_node: bool,
    /// The conditions that all flows pass, each a text without errors.
    pub(crate) conditions: Vec<String>,
    /// The number of groups that are listed of each field.
    pub(crate) top: usize,
    /// True if nodes see the same traffic: then the figures are those of the node that saw most.
    pub(crate) is_of_one_node: bool,
}

impl ChangeAsked {
    /// Returns true if the periods are of different length: then rates are compared.
    pub(crate) fn compares_rates(&self) -> bool {
        let [before, after] = self.periods;
        before.length_ns() != after.length_ns()
    }

    /// Returns what a sum in each period is multiplied by before the two are compared.
    pub(crate) fn scales(&self) -> [f64; 2] {
        if self.compares_rates() { self.periods.map(|period| 1.0 / period.seconds()) } else { [1.0; 2] }
    }
}
