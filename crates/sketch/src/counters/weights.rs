//! The weights of a burst, which decide how it is counted.

use crate::Update;

/// The sum of a burst's weights, and whether its packets are counted one by one.
#[derive(Clone, Copy)]
pub(crate) struct Weights {
    /// The sum of the weights, which saturates.
    pub(crate) sum: u64,
    /// True if each packet weighs 1.
    pub(crate) are_ones: bool,
}

impl Weights {
    /// Returns the weights of these packets.
    #[inline(always)]
    pub(crate) fn from_burst<K>(burst: &[Update<K>]) -> Self {
        let with = |all: Self, update: &Update<K>| Self {
            sum: all.sum.saturating_add(update.weight),
            are_ones: all.are_ones & (update.weight == 1),
        };
        burst.iter().fold(Self::ones(0), with)
    }

    /// Returns the weights of this many packets that weigh 1 each.
    pub(crate) fn ones(packets: usize) -> Self {
        Self { sum: packets as u64, are_ones: true }
    }
}
