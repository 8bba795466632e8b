//! Classes of flow sizes.

use crate::Structure;
use std::str::FromStr;

/// The classes by which flow sizes are shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum SizeBins {
    /// A class for each power of two: 1, 2, 3 to 4, 5 to 8, … packets.
    #[default]
    Powers,
    /// A class for each size that a flow has.
    Exact,
}

/// Flows of similar size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SizeClass {
    /// The smallest size, packets.
    pub least: u64,
    /// The largest size.
    pub most: u64,
    /// The number of flows.
    pub flows: f64,
}

impl SizeBins {
    /// Sums flows by class. `sizes`: sizes in packets, ascending, and how many flows have each.
    pub fn classes(self, sizes: &[(u64, f64)]) -> Vec<SizeClass> {
        let mut classes: Vec<SizeClass> = Vec::new();
        for &(size, flows) in sizes {
            let (least, most) = self.around(size);
            match classes.last_mut() {
                Some(class) if class.most == most => class.flows += flows,
                _ => classes.push(SizeClass { least, most, flows }),
            }
        }
        classes
    }

    /// The least and the greatest size of the class of a size.
    fn around(self, size: u64) -> (u64, u64) {
        match self {
            Self::Exact => (size, size),
            Self::Powers => {
                let most = size.checked_next_power_of_two().unwrap_or(u64::MAX);
                (most / 2 + 1, most)
            }
        }
    }

    /// True if flows of each class are counted, so that their number is whole.
    pub(crate) fn are_counted(self) -> bool {
        self == Self::Exact
    }

    /// Returns the reason why a structure has no flows for these classes; `None` if it has.
    pub(crate) fn why_not(self, structure: Structure) -> Option<&'static str> {
        let is_estimated = self == Self::Exact && structure != Structure::Exact;
        is_estimated.then_some(
            "it estimates how many flows have about a size, and of a single size its figure has no bound; structure=exact \
             counts them, as does the task without memory=",
        )
    }
}

impl FromStr for SizeBins {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "powers" => Ok(Self::Powers),
            "exact" => Ok(Self::Exact),
            _ => Err("bins are powers (of two) or exact (a row for each size)".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_powers_of_two_or_single_sizes() {
        let sizes = [(1, 5.0), (2, 1.0), (3, 1.0), (4, 2.0), (5, 1.0), (u64::MAX, 1.0)];
        let of = |bins: SizeBins| -> Vec<(u64, u64, f64)> {
            bins.classes(&sizes).iter().map(|class| (class.least, class.most, class.flows)).collect()
        };
        assert_eq!(of(SizeBins::Exact), sizes.map(|(size, flows)| (size, size, flows)));
        let powers = [(1, 1, 5.0), (2, 2, 1.0), (3, 4, 3.0), (5, 8, 1.0), ((1 << 63), u64::MAX, 1.0)];
        assert_eq!(of(SizeBins::Powers), powers);
    }
}
