//! The leading groups of a step, and how those of several steps are joined.

use crate::bounded::Bounded;
use crate::group_key::GroupKey;
use crate::joined_ranking::JoinedRanking;
use serde::{Deserialize, Serialize};

/// The number of groups that are kept of a step in each ranking.
pub const GROUPS: usize = 100;

/// A group among the leaders of a step. A message has it as its key, its bytes and packets, and what it may have beyond these.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "(GroupKey, u64, u64, [u64; 2])", into = "(GroupKey, u64, u64, [u64; 2])")]
pub(crate) struct Leader {
    pub(crate) key: GroupKey,
    pub(crate) bytes: u64,
    pub(crate) packets: u64,
    /// The bytes and packets that it may have beyond these.
    pub(crate) more: [u64; 2],
}

impl From<(GroupKey, u64, u64, [u64; 2])> for Leader {
    fn from((key, bytes, packets, more): (GroupKey, u64, u64, [u64; 2])) -> Self {
        Self { key, bytes, packets, more }
    }
}

impl From<Leader> for (GroupKey, u64, u64, [u64; 2]) {
    fn from(Leader { key, bytes, packets, more }: Leader) -> Self {
        (key, bytes, packets, more)
    }
}

impl Leader {
    pub(crate) fn bounded(&self) -> Bounded {
        Bounded::between(self.bytes, self.bytes.saturating_add(self.more[0]))
    }

    pub(crate) fn bounded_packets(&self) -> Bounded {
        Bounded::between(self.packets, self.packets.saturating_add(self.more[1]))
    }
}

/// The leading groups of a step, the one with the most bytes first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Ranking {
    pub(crate) leaders: Vec<Leader>,
    /// The most bytes and packets that any other group had.
    pub(crate) others: [u64; 2],
}

impl Ranking {
    /// Takes note of bytes and packets that are in no row, and of the sums of all: any group may have these, and none has more than all.
    pub(crate) fn settle(&mut self, all: [u64; 2], not_in_rows: [u64; 2]) {
        let mut rest = all;
        for leader in &self.leaders {
            rest = [rest[0].saturating_sub(leader.bytes), rest[1].saturating_sub(leader.packets)];
        }
        for leader in &mut self.leaders {
            for (more, (unplaced, rest)) in leader.more.iter_mut().zip(not_in_rows.iter().zip(rest)) {
                *more = more.saturating_add(*unplaced).min(rest);
            }
        }
        for (others, (unplaced, rest)) in self.others.iter_mut().zip(not_in_rows.iter().zip(rest)) {
            *others = others.saturating_add(*unplaced).min(rest);
        }
    }

    /// Multiplies all counts, of a sample.
    pub(crate) fn scale(&mut self, by: [f64; 2]) {
        let scaled = |count: u64, by: f64| (count as f64 * by).round() as u64;
        for leader in &mut self.leaders {
            (leader.bytes, leader.packets) = (scaled(leader.bytes, by[0]), scaled(leader.packets, by[1]));
            leader.more = [scaled(leader.more[0], by[0]), scaled(leader.more[1], by[1])];
        }
        self.others = [scaled(self.others[0], by[0]), scaled(self.others[1], by[1])];
    }

    /// Returns the bytes of a group.
    pub(crate) fn bytes(&self, key: &GroupKey) -> Bounded {
        let leader = self.leaders.iter().find(|leader| leader.key == *key);
        leader.map_or(Bounded::between(0, self.others[0]), Leader::bounded)
    }

    /// Returns the ranking of the `most` of these groups with the most bytes. `others`: the most that any other one has.
    pub(crate) fn new(mut leaders: Vec<Leader>, mut others: [u64; 2], most: usize) -> Self {
        leaders.sort_unstable_by_key(|leader| (std::cmp::Reverse(leader.bytes), leader.key));
        for dropped in leaders.drain(most.min(leaders.len())..) {
            others[0] = others[0].max(dropped.bytes.saturating_add(dropped.more[0]));
            others[1] = others[1].max(dropped.packets.saturating_add(dropped.more[1]));
        }
        leaders.shrink_to_fit();
        Self { leaders, others }
    }

    /// Joins the rankings of several steps or nodes. Where a group is not among the leaders of one of them, it has at most what others had
    /// there. The `most` groups with the most bytes are kept.
    pub(crate) fn join<'a>(rankings: impl IntoIterator<Item = &'a Self>, most: usize) -> Self {
        let mut joined = JoinedRanking::of_most(usize::MAX);
        rankings.into_iter().for_each(|ranking| joined.add(ranking));
        joined.ranking(most)
    }

    /// Returns the memory that the ranking takes, bytes.
    pub(crate) fn memory(&self) -> usize {
        self.leaders.capacity() * size_of::<Leader>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    /// Steps of random groups, of each of which only the first are kept: sums lie within the bounds of what is joined.
    #[test]
    fn joined_rankings_bound_the_truth() {
        let mut state = 5;
        let mut truth: HashMap<GroupKey, u64> = HashMap::new();
        let mut steps = Vec::new();
        for step in 0..12_u64 {
            let mut leaders: Vec<Leader> = (0..40_u16)
                .map(|port| {
                    let bytes = packet::split_mix(&mut state) % 1_000 + u64::from(port % 7) * 300 + step;
                    *truth.entry(GroupKey::Port(6, port)).or_default() += bytes;
                    Leader { key: GroupKey::Port(6, port), bytes, packets: 1, more: [0; 2] }
                })
                .collect();
            leaders.sort_unstable_by_key(|leader| std::cmp::Reverse(leader.bytes));
            let dropped = leaders.split_off(15);
            steps.push(Ranking { leaders, others: [dropped[0].bytes, 1] });
        }
        for most in [5, 15, 40] {
            let joined = Ranking::join(&steps, most);
            assert!(joined.leaders.len() <= most);
            for leader in &joined.leaders {
                let truth = truth[&leader.key];
                assert!(
                    leader.bytes <= truth && truth <= leader.bytes + leader.more[0],
                    "{leader:?} {truth}"
                );
            }
            let is_listed = |key| joined.leaders.iter().any(|leader| leader.key == key);
            let unlisted = truth.iter().filter(|(key, _)| !is_listed(**key)).map(|(_, bytes)| *bytes).max();
            assert!(unlisted.unwrap_or(0) <= joined.others[0]);
        }
        // Joined in two stages, the bounds are still true.
        let halves = [Ranking::join(&steps[..6], 15), Ranking::join(&steps[6..], 15)];
        for leader in Ranking::join(&halves, 15).leaders {
            let truth = truth[&leader.key];
            assert!(leader.bytes <= truth && truth <= leader.bytes + leader.more[0]);
        }
    }

    #[test]
    fn what_is_in_no_row_may_be_of_any_group_and_none_has_more_than_all() {
        let leader = |port, bytes| Leader { key: GroupKey::Port(6, port), bytes, packets: 1, more: [0; 2] };
        let mut ranking = Ranking { leaders: vec![leader(1, 50), leader(2, 30)], others: [10, 1] };
        ranking.settle([100, 5], [15, 1]);
        assert_eq!(ranking.leaders.iter().map(|one| one.more[0]).collect::<Vec<_>>(), [15, 15]);
        assert_eq!(ranking.others[0], 20);
    }
}
