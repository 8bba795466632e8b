//! The leading groups of a step.

use crate::bounded::Bounded;
use crate::group_key::GroupKey;
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

    /// Returns the memory that the ranking takes, bytes.
    pub(crate) fn memory(&self) -> usize {
        self.leaders.capacity() * size_of::<Leader>()
    }
}
