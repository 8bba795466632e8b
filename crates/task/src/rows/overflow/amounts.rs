//! Amounts of packets between bounds.

/// Packets, layer-3 bytes, and bytes on the wire.
pub(crate) const WEIGHTS: usize = 3;

/// The least and the greatest amounts that there can have been.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Amounts {
    pub(crate) lower: [u64; WEIGHTS],
    pub(crate) upper: [u64; WEIGHTS],
}

impl Amounts {
    /// True if there certainly was nothing.
    pub(crate) fn is_nothing(&self) -> bool {
        self.upper[0] == 0
    }

    pub(crate) fn plus(&self, more: &Self) -> Self {
        Self { lower: sums(&self.lower, &more.lower), upper: sums(&self.upper, &more.upper) }
    }

    pub(super) fn from_words(words: &[u64]) -> Self {
        let word = |at: usize| words.get(at).copied().unwrap_or(0);
        Self { lower: std::array::from_fn(word), upper: std::array::from_fn(|at| word(WEIGHTS + at)) }
    }
}

/// The sums of both, weight by weight.
pub(super) fn sums(one: &[u64; WEIGHTS], other: &[u64; WEIGHTS]) -> [u64; WEIGHTS] {
    std::array::from_fn(|at| one[at].saturating_add(other[at]))
}

/// The greater of both, weight by weight.
pub(super) fn greater(one: &[u64; WEIGHTS], other: &[u64; WEIGHTS]) -> [u64; WEIGHTS] {
    std::array::from_fn(|at| one[at].max(other[at]))
}

/// The lesser of both, weight by weight.
pub(super) fn lesser(one: &[u64; WEIGHTS], other: &[u64; WEIGHTS]) -> [u64; WEIGHTS] {
    std::array::from_fn(|at| one[at].min(other[at]))
}

/// The differences of both, weight by weight: the first without the other.
pub(super) fn differences(one: &[u64; WEIGHTS], other: &[u64; WEIGHTS]) -> [u64; WEIGHTS] {
    std::array::from_fn(|at| one[at].saturating_sub(other[at]))
}
