//! Summaries of the groups of packets without a place, as data that merge.

use super::amounts::{Amounts, WEIGHTS, differences, greater, lesser, sums};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Groups that a merged summary keeps, at the most.
const MOST: usize = 1 << 14;

/// A group's key: whether it is of IPv6, and its words.
pub(crate) type GroupKey = (bool, [u64; 5]);

/// A summary of the packets without a place in one window, or in several, by one worker or by all of them.
///
/// Bounds are certain. A group that is kept had what was counted since it was first kept, and before that at most what any
/// group had that had been discarded until then. A group that is not kept had at most what any discarded group had (`most_unkept`).
/// The idea is that of Misra and Gries (Science of Computer Programming 1982); merging keeps the bounds (Agarwal et al., Mergeable
/// Summaries, PODS 2012).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct GroupSummary {
    /// The groups in the order of their keys.
    pub(super) groups: Vec<(GroupKey, Amounts)>,
    /// The most that any group had that is not among them.
    pub(super) most_unkept: [u64; WEIGHTS],
    /// The amounts of all groups together: a packet counts once for each of its groups.
    pub(super) total: Amounts,
}

impl GroupSummary {
    /// Adds what another one knows of other packets.
    pub(super) fn merge(&mut self, other: &Self) {
        let unkept = |most: &[u64; WEIGHTS]| Amounts { lower: [0; WEIGHTS], upper: *most };
        let (ours, theirs) = (unkept(&self.most_unkept), unkept(&other.most_unkept));
        let mut all: BTreeMap<GroupKey, (Amounts, Amounts)> =
            self.groups.drain(..).map(|(key, amounts)| (key, (amounts, theirs))).collect();
        for (key, amounts) in &other.groups {
            all.entry(*key).or_insert((ours, theirs)).1 = *amounts;
        }
        self.most_unkept = sums(&self.most_unkept, &other.most_unkept);
        self.total = self.total.plus(&other.total);
        self.groups = all.into_iter().map(|(key, (one, other))| (key, one.plus(&other))).collect();
        if self.groups.len() > MOST {
            self.groups.select_nth_unstable_by_key(MOST, |(key, amounts)| (Reverse(amounts.upper), *key));
            for (_, discarded) in self.groups.drain(MOST..) {
                self.most_unkept = greater(&self.most_unkept, &discarded.upper);
            }
            self.groups.sort_unstable_by_key(|(key, _)| *key);
        }
    }

    /// Returns the most that a group had beyond its lower bound, because all that is not certain is no more than this.
    fn untold(&self) -> [u64; WEIGHTS] {
        let told = self.groups.iter().fold([0; WEIGHTS], |told, (_, amounts)| sums(&told, &amounts.lower));
        differences(&self.total.upper, &told)
    }

    /// Returns the groups with the tightest bounds that are known, and the bounds of all others.
    pub(super) fn tightened(&self) -> (impl Iterator<Item = (GroupKey, Amounts)> + '_, Amounts) {
        let untold = self.untold();
        let others = Amounts { lower: [0; WEIGHTS], upper: lesser(&self.most_unkept, &untold) };
        let groups = self.groups.iter().map(move |(key, amounts)| {
            let upper = lesser(&amounts.upper, &sums(&amounts.lower, &untold));
            (*key, Amounts { lower: amounts.lower, upper })
        });
        (groups, others)
    }
}
