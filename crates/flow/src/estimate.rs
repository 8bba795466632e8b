//! An estimate and its bounds.

/// An estimate, in the unit of the weights (or in flows).
///
/// Numbers are `f64`: exact up to 2⁵³, and some estimates are negative or fractions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The most likely value.
    pub value: f64,
    /// The bounds of the value where theory gives them. The structure's docs name their source.
    pub bounds: Option<Bounds>,
}

/// The limits within which the truth lies, for one query about a stream that does not depend on the seed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounds {
    /// The lower bound: the truth is not less.
    pub lower: f64,
    /// The upper bound: the truth is not more. Infinite where nothing is known.
    pub upper: f64,
    /// The least probability that both bounds hold, over the choice of the seed; 1 is certain.
    pub confidence: f64,
}

impl Bounds {
    /// True if `truth` lies within.
    pub fn contain(&self, truth: f64) -> bool {
        (self.lower..=self.upper).contains(&truth)
    }
}

impl Estimate {
    /// A value without a bound.
    pub fn unbounded(value: f64) -> Self {
        Self { value, bounds: None }
    }

    /// A value that is the truth.
    pub fn exact(value: f64) -> Self {
        Self::bounded(value, value, value, 1.0)
    }

    /// A value between bounds that hold with the probability `confidence` or more.
    pub fn bounded(value: f64, lower: f64, upper: f64, confidence: f64) -> Self {
        Self { value, bounds: Some(Bounds { lower, upper, confidence }) }
    }

    /// Returns the same estimate of a total, about what was on the wire: all of `lost`, in the unit of the weights
    /// (flows: packets), may have been of the queried flow. `None`, a loss that the source cannot count,
    /// leaves no upper bound.
    pub fn widened_by_loss(self, lost: Option<u64>) -> Self {
        let lost = lost.map_or(f64::INFINITY, |lost| lost as f64);
        Self { bounds: self.bounds.map(|bounds| Bounds { upper: bounds.upper + lost, ..bounds }), ..self }
    }

    /// Returns the same estimate of a difference, later minus earlier, with this much lost of each: a loss of the
    /// earlier stream may make the difference smaller.
    pub fn widened_by_losses(self, earlier: Option<u64>, later: Option<u64>) -> Self {
        let earlier = earlier.map_or(f64::INFINITY, |lost| lost as f64);
        let less = |bounds: Bounds| Bounds { lower: bounds.lower - earlier, ..bounds };
        Self { bounds: self.bounds.map(less), ..self }.widened_by_loss(later)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_lost_widens_the_upper_bound_alone() {
        let seen = Estimate::bounded(7.0, 5.0, 8.0, 0.9);
        assert_eq!(seen.widened_by_loss(Some(0)), seen);
        assert_eq!(seen.widened_by_loss(Some(100)), Estimate::bounded(7.0, 5.0, 108.0, 0.9));
        assert_eq!(seen.widened_by_loss(None), Estimate::bounded(7.0, 5.0, f64::INFINITY, 0.9));
        assert_eq!(Estimate::unbounded(7.0).widened_by_loss(Some(1)).bounds, None);
        assert_eq!(seen.widened_by_losses(Some(3), Some(100)), Estimate::bounded(7.0, 2.0, 108.0, 0.9));
        assert_eq!(seen.widened_by_losses(None, Some(0)).bounds.expect("bounds").lower, f64::NEG_INFINITY);
        assert!(seen.bounds.expect("bounds").contain(8.0) && !seen.bounds.expect("bounds").contain(8.1));
    }
}
