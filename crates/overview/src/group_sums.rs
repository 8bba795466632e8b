//! The sums of groups while a step lasts, within a bounded number of groups.

use crate::group_key::GroupKey;
use crate::ranking::{Leader, Ranking};
use arena::Limits;
use flowtable::{GroupTable, NO_GROUP};
use packet::Seed;

/// Groups that are looked up together.
pub(crate) const BATCH: usize = 512;
/// The words of the sums of a group; further ones belong to its owner.
pub(crate) const SUMS: usize = 4;

/// One in so many groups stays where there are too many.
const KEPT: usize = 4;
/// The number of groups by which it is judged which ones.
const SAMPLED: usize = 1_024;

const BYTES: usize = 0;
const PACKETS: usize = 1;
/// What the group may have had before it was entered: it may have been dropped.
const MORE_BYTES: usize = 2;
const MORE_PACKETS: usize = 3;

/// The bytes and packets of each group.
///
/// Where there are more groups than the bound, those with fewer bytes are dropped, and a group that comes anew may have been one of them:
/// its sums are then between bounds, as are all in lossy counting (Manku and Motwani, VLDB 2002).
#[derive(Debug)]
pub(crate) struct GroupSums<const K: usize> {
    table: GroupTable<K>,
    /// The words of state of a group.
    width: usize,
    most: usize,
    /// The most that a group had when it was dropped, together over all times at which groups were.
    dropped: [u64; 2],
    /// The sums of rows for whose group there was no memory.
    unplaced: [u64; 2],
    found: Vec<u32>,
}

impl<const K: usize> GroupSums<K> {
    /// Sums of at most `most` groups, each with `more` further words of state.
    pub(crate) fn new(most: usize, more: usize, seed: Seed, limits: &Limits) -> Self {
        let initial = vec![0; SUMS + more];
        Self {
            table: GroupTable::new(&initial, seed, limits),
            width: initial.len(),
            most: most.max(2 * BATCH),
            dropped: [0; 2],
            unplaced: [0; 2],
            found: Vec::new(),
        }
    }

    /// Adds bytes and packets to the groups of keys, [`BATCH`] at the most. `update` gets the further state of each, by its place among the keys.
    pub(crate) fn add(
        &mut self,
        keys: &[[u64; K]],
        sums: &[[u64; 2]],
        mut update: impl FnMut(usize, &mut [u64]),
    ) {
        if self.table.len() + keys.len() > self.most {
            self.drop_least();
        }
        let mut found = std::mem::take(&mut self.found);
        self.table.groups(keys, &mut found);
        let [dropped_bytes, dropped_packets] = self.dropped;
        for (at, (&group, [bytes, packets])) in found.iter().zip(sums).enumerate() {
            if group == NO_GROUP {
                self.unplaced[0] += bytes;
                self.unplaced[1] += packets;
                continue;
            }
            let state = self.table.state_mut(group);
            if state[PACKETS] == 0 && state[BYTES] == 0 {
                (state[MORE_BYTES], state[MORE_PACKETS]) = (dropped_bytes, dropped_packets);
            }
            state[BYTES] += bytes;
            state[PACKETS] += packets;
            update(at, &mut state[SUMS..]);
        }
        self.found = found;
    }

    /// Drops groups with few bytes: about [`KEPT`] of them stay.
    fn drop_least(&mut self) {
        let groups = self.table.len() as u32;
        let least = self.least_kept();
        // A vector that grows is copied, and touches new memory each time.
        let about = self.table.len() / KEPT + self.table.len() / (4 * KEPT);
        let (mut keys, mut states) = (Vec::with_capacity(about), Vec::with_capacity(about * self.width));
        // What a dropped group may have had includes what was dropped of it before.
        let [mut bytes, mut packets] = self.dropped;
        for group in 0..groups {
            let state = self.table.state(group);
            if state[BYTES] > least {
                keys.push(*self.table.key(group));
                states.extend_from_slice(state);
            } else {
                bytes = bytes.max(state[BYTES] + state[MORE_BYTES]);
                packets = packets.max(state[PACKETS] + state[MORE_PACKETS]);
            }
        }
        self.dropped = [bytes, packets];
        self.table.clear();
        let mut found = std::mem::take(&mut self.found);
        self.table.groups(&keys, &mut found);
        for (&group, state) in found.iter().zip(states.chunks_exact(self.width)) {
            if group != NO_GROUP {
                self.table.state_mut(group).copy_from_slice(state);
            }
        }
        self.found = found;
    }

    /// Returns the bytes up to which groups are dropped, by a sample of them: to order all of them takes longer than all else.
    fn least_kept(&self) -> u64 {
        let stride = (self.table.len() / SAMPLED).max(1);
        let sampled =
            (0..self.table.len() as u32).step_by(stride).map(|group| self.table.state(group)[BYTES]);
        let mut sampled: Vec<u64> = sampled.collect();
        let at = sampled.len() - sampled.len() / KEPT;
        match sampled.len() {
            0 => 0,
            len => *sampled.select_nth_unstable(at.min(len - 1)).1,
        }
    }

    fn all(&self) -> Vec<u32> {
        (0..u32::try_from(self.table.len()).unwrap_or(u32::MAX)).collect()
    }

    /// Returns the groups with the most bytes, `most` at the most, and what any other group had at most. `key` names a group.
    pub(crate) fn ranking(&self, most: usize, key: impl Fn(&[u64; K]) -> GroupKey) -> Ranking {
        let mut order = self.all();
        let by = |group: &u32| (std::cmp::Reverse(self.table.state(*group)[BYTES]), *self.table.key(*group));
        let mut others = self.dropped;
        if order.len() > most {
            order.select_nth_unstable_by_key(most, by);
            for group in &order[most..] {
                let state = self.table.state(*group);
                others[0] = others[0].max(state[BYTES] + state[MORE_BYTES]);
                others[1] = others[1].max(state[PACKETS] + state[MORE_PACKETS]);
            }
            order.truncate(most);
        }
        order.sort_unstable_by_key(by);
        // Rows without a place may be of any group.
        let plus = |sums: [u64; 2]| [sums[0] + self.unplaced[0], sums[1] + self.unplaced[1]];
        let leaders = order.into_iter().map(|group| {
            let state = self.table.state(group);
            Leader {
                key: key(self.table.key(group)),
                bytes: state[BYTES],
                packets: state[PACKETS],
                more: plus([state[MORE_BYTES], state[MORE_PACKETS]]),
            }
        });
        Ranking { leaders: leaders.collect(), others: plus(others) }
    }

    /// Returns the key, the sums and the further state of each group.
    pub(crate) fn groups(&self) -> impl Iterator<Item = (&[u64; K], [u64; 2], &[u64])> + '_ {
        (0..self.table.len() as u32).map(|group| {
            let state = self.table.state(group);
            (self.table.key(group), [state[BYTES], state[PACKETS]], &state[SUMS..])
        })
    }

    /// Removes all groups and keeps the memory.
    pub(crate) fn clear(&mut self) {
        self.table.clear();
        (self.dropped, self.unplaced) = ([0; 2], [0; 2]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    fn key(words: &[u64; 1]) -> GroupKey {
        GroupKey::Port(6, words[0] as u16)
    }

    fn number(leader: &Leader) -> u64 {
        let GroupKey::Port(_, port) = leader.key else { panic!("a port") };
        port.into()
    }

    /// Adds `rows`, and returns the ranking with the sums of a map.
    fn ranked(rows: &[(u64, u64)], most: usize) -> (Ranking, HashMap<u64, u64>) {
        let limits = Limits::new(64 << 20, usize::MAX);
        let mut sums = GroupSums::<1>::new(most, 0, Seed::new(7), &limits);
        let mut expected = HashMap::new();
        for rows in rows.chunks(100) {
            let keys: Vec<[u64; 1]> = rows.iter().map(|(key, _)| [*key]).collect();
            let added: Vec<[u64; 2]> = rows.iter().map(|(_, bytes)| [*bytes, 1]).collect();
            sums.add(&keys, &added, |_, _| {});
            rows.iter().for_each(|(key, bytes)| *expected.entry(*key).or_default() += bytes);
        }
        assert!(sums.table.len() <= most.max(2 * BATCH));
        (sums.ranking(50, key), expected)
    }

    #[test]
    fn few_groups_are_exact() {
        let rows: Vec<(u64, u64)> = (0..20_000).map(|at| (at * at % 701, at % 97 + 1)).collect();
        let (ranking, expected) = ranked(&rows, 4_096);
        let mut order: Vec<u64> = expected.values().copied().collect();
        order.sort_unstable_by_key(|bytes| std::cmp::Reverse(*bytes));
        assert_eq!(ranking.leaders.iter().map(|one| one.bytes).collect::<Vec<_>>(), order[..50]);
        assert!(ranking.leaders.iter().all(|one| one.bytes == expected[&number(one)] && one.more == [0, 0]));
        // What no leader has is bounded by the next one, exactly.
        assert_eq!(ranking.others[0], order[50]);
    }

    #[test]
    fn of_more_groups_than_there_is_room_for_the_heavy_ones_are_between_true_bounds() {
        // 60,000 groups of few bytes, and ten heavy ones that come all the time.
        let rows: Vec<(u64, u64)> =
            (0..200_000_u64)
                .map(|at| {
                    if at % 20 == 0 { (at / 20 % 10, 1_000) } else { (10 + at * 7_919 % 60_000, at % 60 + 1) }
                })
                .collect();
        let (ranking, expected) = ranked(&rows, 2_048);
        assert!(ranking.others[0] > 0);
        for leader in &ranking.leaders {
            let truth = expected[&number(leader)];
            assert!(leader.bytes <= truth && truth <= leader.bytes + leader.more[0], "{leader:?}: {truth}");
        }
        let leaders: Vec<u64> = ranking.leaders.iter().map(number).collect();
        assert!((0..10).all(|heavy| leaders.contains(&heavy)), "{leaders:?}");
        let unlisted =
            expected.iter().filter(|(key, _)| !leaders.contains(key)).map(|(_, bytes)| *bytes).max();
        assert!(unlisted.unwrap() <= ranking.others[0], "{unlisted:?} {:?}", ranking.others);
    }
}
