//! A count between bounds.

use model::Value;

/// A count that is not less than `lower` and not more than `upper`, unless it is an estimate: then `lower` is the most likely value, and there
/// are no bounds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Bounded {
    pub(crate) lower: u64,
    pub(crate) upper: u64,
    pub(crate) is_estimate: bool,
}

impl Bounded {
    pub(crate) fn exact(count: u64) -> Self {
        Self { lower: count, upper: count, is_estimate: false }
    }

    pub(crate) fn between(lower: u64, upper: u64) -> Self {
        Self { lower, upper: upper.max(lower), is_estimate: false }
    }

    pub(crate) fn estimate_if(self, is_estimate: bool) -> Self {
        Self { is_estimate: self.is_estimate || is_estimate, ..self }
    }

    pub(crate) fn plus(self, more: Self) -> Self {
        Self {
            lower: self.lower.saturating_add(more.lower),
            upper: self.upper.saturating_add(more.upper),
            is_estimate: self.is_estimate || more.is_estimate,
        }
    }

    /// Returns what is left of a whole without this part of it.
    pub(crate) fn rest_of(self, whole: Self) -> Self {
        Self {
            lower: whole.lower.saturating_sub(self.upper),
            upper: whole.upper.saturating_sub(self.lower),
            is_estimate: self.is_estimate || whole.is_estimate,
        }
    }

    /// Returns the count as answers write it: what is certain is its value, "at least so many".
    pub(crate) fn value(self) -> Value {
        let Self { lower, upper, is_estimate } = self;
        match (is_estimate, lower == upper) {
            (true, _) => {
                Value::Estimate { value: lower as f64, lower: f64::NEG_INFINITY, upper: f64::INFINITY }
            }
            (false, true) => Value::Unsigned(lower),
            (false, false) => {
                Value::Estimate { value: lower as f64, lower: lower as f64, upper: upper as f64 }
            }
        }
    }
}
