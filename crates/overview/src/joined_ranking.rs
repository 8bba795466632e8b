//! Rankings of several steps or nodes on their way to one.

use crate::group_key::GroupKey;
use crate::ranking::{Leader, Ranking};
use std::collections::HashMap;

/// A group that is a leader of some of the rankings.
#[derive(Clone, Copy, Debug)]
struct JoinedGroup {
    /// What it has in these.
    sums: Leader,
    /// The most that others have in these.
    known: [u64; 2],
}

impl JoinedGroup {
    /// Returns what it may have beyond `others`, the most that others have in all rankings.
    fn beyond(&self) -> [u64; 2] {
        let Leader { bytes, packets, more, .. } = self.sums;
        [(bytes, 0), (packets, 1)]
            .map(|(count, at): (u64, usize)| count.saturating_add(more[at]).saturating_sub(self.known[at]))
    }
}

/// Rankings that are joined one after the other, of a bounded number of groups. Where a group is not a leader, it has at most what others have there.
#[derive(Debug)]
pub(crate) struct JoinedRanking {
    groups: HashMap<GroupKey, JoinedGroup>,
    /// The most groups that are kept.
    most: usize,
    /// The sums of what others have at most.
    others: [u64; 2],
    /// The most that a group which is kept no more may have beyond these.
    dropped: [u64; 2],
}

impl JoinedRanking {
    /// Creates no ranking, of at most this number of groups.
    pub(crate) fn of_most(most: usize) -> Self {
        Self { groups: HashMap::new(), most, others: [0; 2], dropped: [0; 2] }
    }

    /// Returns the ranking of several steps or nodes: of the `most` groups with the most bytes.
    pub(crate) fn of_all<'a>(rankings: impl IntoIterator<Item = &'a Ranking>, most: usize) -> Ranking {
        let mut joined = Self::of_most(usize::MAX);
        rankings.into_iter().for_each(|ranking| joined.add(ranking));
        joined.ranking(most)
    }

    /// Adds a ranking.
    pub(crate) fn add(&mut self, ranking: &Ranking) {
        self.others = [0, 1].map(|at| self.others[at].saturating_add(ranking.others[at]));
        for leader in &ranking.leaders {
            // It may have been here before.
            let new = || Leader { bytes: 0, packets: 0, more: self.dropped, ..*leader };
            let group =
                self.groups.entry(leader.key).or_insert_with(|| JoinedGroup { sums: new(), known: [0; 2] });
            group.sums.bytes = group.sums.bytes.saturating_add(leader.bytes);
            group.sums.packets = group.sums.packets.saturating_add(leader.packets);
            for at in [0, 1] {
                group.sums.more[at] = group.sums.more[at].saturating_add(leader.more[at]);
                group.known[at] = group.known[at].saturating_add(ranking.others[at]);
            }
        }
        if self.groups.len() > self.most {
            self.drop_half();
        }
    }

    /// Drops the half of the groups with fewer bytes.
    fn drop_half(&mut self) {
        let mut groups: Vec<JoinedGroup> = self.groups.values().copied().collect();
        let half = groups.len() / 2;
        groups
            .select_nth_unstable_by_key(half, |group| (std::cmp::Reverse(group.sums.bytes), group.sums.key));
        for dropped in &groups[half..] {
            let beyond = dropped.beyond();
            self.dropped = [0, 1].map(|at| self.dropped[at].max(beyond[at]));
            self.groups.remove(&dropped.sums.key);
        }
    }

    /// Returns the ranking of the `most` groups with the most bytes.
    pub(crate) fn ranking(&self, most: usize) -> Ranking {
        let of = |group: &JoinedGroup| {
            let unknown = [0, 1].map(|at| self.others[at].saturating_sub(group.known[at]));
            let more = [0, 1].map(|at| group.sums.more[at].saturating_add(unknown[at]));
            Leader { more, ..group.sums }
        };
        let others = [0, 1].map(|at| self.others[at].saturating_add(self.dropped[at]));
        Ranking::new(self.groups.values().map(of).collect(), others, most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
            let joined = JoinedRanking::of_all(&steps, most);
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
        let halves = [JoinedRanking::of_all(&steps[..6], 15), JoinedRanking::of_all(&steps[6..], 15)];
        for leader in JoinedRanking::of_all(&halves, 15).leaders {
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

    /// Of more groups than are kept, sums lie within the bounds, also of those that come back.
    #[test]
    fn bounds_hold_where_groups_are_dropped_and_come_back() {
        let mut state = 11;
        let mut truth: HashMap<GroupKey, u64> = HashMap::new();
        let mut joined = JoinedRanking::of_most(40);
        for ranking in 0..60_u64 {
            let mut own: HashMap<GroupKey, u64> = HashMap::new();
            for _ in 0..30 {
                let port = (packet::split_mix(&mut state) % 200) as u16;
                *own.entry(GroupKey::Port(17, port)).or_default() +=
                    packet::split_mix(&mut state) % 900 + u64::from(port < 5) * 2_000 + ranking;
            }
            own.iter().for_each(|(key, bytes)| *truth.entry(*key).or_default() += bytes);
            let leaders = own.into_iter().map(|(key, bytes)| Leader { key, bytes, packets: 1, more: [0; 2] });
            joined.add(&Ranking::new(leaders.collect(), [0; 2], 20));
            assert!(joined.groups.len() <= 40);
        }
        let ranking = joined.ranking(10);
        assert_eq!(ranking.leaders.len(), 10);
        for leader in &ranking.leaders {
            let truth = truth[&leader.key];
            assert!(leader.bytes <= truth && truth <= leader.bytes + leader.more[0], "{leader:?} {truth}");
        }
        let is_listed = |key: &GroupKey| ranking.leaders.iter().any(|leader| leader.key == *key);
        let unlisted = truth.iter().filter(|(key, _)| !is_listed(key)).map(|(_, bytes)| *bytes).max();
        assert!(unlisted.expect("others") <= ranking.others[0]);
        // The bounds say something: the largest group has not been dropped.
        assert!(ranking.leaders[0].bytes > ranking.others[0] / 4, "{ranking:?}");
    }
}
