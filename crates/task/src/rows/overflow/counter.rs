//! The bounded summary that one worker fills, packet by packet.

use super::amounts::{Amounts, WEIGHTS, greater, sums};
use super::summary::{GroupKey, GroupSummary};
use super::{BURST, SummaryPlan, UnplacedPacket};
use crate::rows::keyed::{base, lesser};
use arena::Limits;
use flowtable::{GroupTable, NO_GROUP};
use packet::{KeyV4, KeyV6, MaskedKey, Seed};
use std::cmp::Reverse;

/// Groups of one address family that are kept, at the most: where there are more, the lesser half is discarded.
pub(super) const CAPACITY: usize = 4096;

/// The groups of one summary in the open window.
#[derive(Debug)]
pub(super) struct SummaryCounter {
    plan: SummaryPlan,
    v4: FamilyGroups<2>,
    v6: FamilyGroups<5>,
    most_unkept: [u64; WEIGHTS],
    total: Amounts,
}

/// Groups of one address family, and what a burst needs.
#[derive(Debug)]
struct FamilyGroups<const N: usize> {
    table: GroupTable<N>,
    keys: Vec<[u64; N]>,
    amounts: Vec<Amounts>,
    found: Vec<u32>,
    /// Groups that remain when others are discarded.
    remaining: Vec<([u64; N], Amounts)>,
}

impl<const N: usize> FamilyGroups<N> {
    fn new(seed: Seed, limits: &Limits) -> Self {
        Self {
            table: GroupTable::new(&[0; 2 * WEIGHTS], seed, limits),
            keys: Vec::with_capacity(2 * BURST),
            amounts: Vec::with_capacity(2 * BURST),
            found: Vec::with_capacity(2 * BURST),
            remaining: Vec::new(),
        }
    }

    fn push(&mut self, words: &[u64], amounts: Amounts) {
        let mut key = [0; N];
        key.iter_mut().zip(words).for_each(|(word, own)| *word = *own);
        self.keys.push(key);
        self.amounts.push(amounts);
    }

    /// Counts what was pushed.
    fn count(&mut self, most_unkept: &mut [u64; WEIGHTS]) {
        if self.table.len() + self.keys.len() > CAPACITY {
            self.discard(most_unkept);
        }
        self.table.groups(&self.keys, &mut self.found);
        for (group, amounts) in self.found.iter().zip(&self.amounts) {
            if *group == NO_GROUP {
                // There is no memory: it may have been of any group that is not kept.
                *most_unkept = sums(most_unkept, &amounts.upper);
                continue;
            }
            let state = self.table.state_mut(*group);
            let mut sum = Amounts::from_words(state);
            if sum.is_nothing() {
                sum.upper = *most_unkept;
            }
            store(state, &sum.plus(amounts));
        }
        self.keys.clear();
        self.amounts.clear();
    }

    /// Discards the groups that had the fewest packets.
    fn discard(&mut self, most_unkept: &mut [u64; WEIGHTS]) {
        self.remaining.clear();
        self.remaining.extend(groups(&self.table));
        let by_packets = |(key, amounts): &([u64; N], Amounts)| (Reverse(amounts.upper[0]), *key);
        let kept = CAPACITY / 2;
        self.remaining.select_nth_unstable_by_key(kept, by_packets);
        for (_, discarded) in self.remaining.drain(kept..) {
            *most_unkept = greater(most_unkept, &discarded.upper);
        }
        self.table.clear();
        let mut batch = [[0; N]; BURST];
        for kept in self.remaining.chunks(BURST) {
            batch.iter_mut().zip(kept).for_each(|(key, (own, _))| *key = *own);
            self.table.groups(&batch[..kept.len()], &mut self.found);
            for (group, (_, amounts)) in self.found.iter().zip(kept) {
                match *group {
                    NO_GROUP => *most_unkept = greater(most_unkept, &amounts.upper),
                    group => store(self.table.state_mut(group), amounts),
                }
            }
        }
    }
}

fn groups<const N: usize>(table: &GroupTable<N>) -> impl Iterator<Item = ([u64; N], Amounts)> + '_ {
    let amounts = |group: u32| Amounts::from_words(table.state(group));
    (0..table.len() as u32).map(move |group| (*table.key(group), amounts(group)))
}

fn store(state: &mut [u64], amounts: &Amounts) {
    state[..WEIGHTS].copy_from_slice(&amounts.lower);
    state[WEIGHTS..].copy_from_slice(&amounts.upper);
}

impl SummaryCounter {
    pub(super) fn new(plan: &SummaryPlan, seed: Seed, limits: &Limits) -> Self {
        Self {
            plan: plan.clone(),
            v4: FamilyGroups::new(seed, limits),
            v6: FamilyGroups::new(seed, limits),
            most_unkept: [0; WEIGHTS],
            total: Amounts::default(),
        }
    }

    /// Counts some packets, at most [`BURST`].
    pub(super) fn count(&mut self, v4: &[UnplacedPacket<KeyV4>], v6: &[UnplacedPacket<KeyV6>]) {
        self.push(v4, |key| *key);
        match self.plan.has_addresses() {
            true => self.push(v6, |key| *key),
            false => self.push(v6, KeyV6::without_addresses),
        }
        let Self { v4, v6, most_unkept, .. } = self;
        v4.count(most_unkept);
        v6.count(most_unkept);
    }

    fn push<K: MaskedKey, Q: MaskedKey>(&mut self, packets: &[UnplacedPacket<K>], key_of: impl Fn(&K) -> Q) {
        let is_v6 = Q::WORDS == KeyV6::WORDS;
        for UnplacedPacket { key, counts } in packets {
            let lower = match self.plan.filter.holds(key) {
                Some(false) => continue,
                Some(true) => *counts,
                None => [0; WEIGHTS],
            };
            let amounts = Amounts { lower, upper: *counts };
            let mut add = |words: &[u64]| {
                self.total = self.total.plus(&amounts);
                match is_v6 {
                    true => self.v6.push(words, amounts),
                    false => self.v4.push(words, amounts),
                }
            };
            let Some(parts) = &self.plan.parts else {
                self.total = self.total.plus(&amounts);
                continue;
            };
            let key = key_of(key);
            let plain = if parts.is_conversation { lesser(key) } else { key }.masked(&parts.plain);
            let Some(either) = &parts.either else {
                add(plain.words());
                continue;
            };
            let mut sides = [[0; 5]; 2];
            for (words, key) in sides.iter_mut().zip([key, key.reversed()]) {
                base(&plain, words);
                words.iter_mut().zip(key.masked(either).words()).for_each(|(word, own)| *word |= own);
            }
            // Both ends in one group are one packet of it.
            sides[..if sides[0] == sides[1] { 1 } else { 2 }].iter().for_each(|words| add(words));
        }
    }

    /// Returns the counts since the last call.
    pub(super) fn take(&mut self) -> GroupSummary {
        let wide = |words: &[u64]| std::array::from_fn(|at| words.get(at).copied().unwrap_or(0));
        let v4 = groups(&self.v4.table).map(|(key, amounts)| ((false, wide(&key)), amounts));
        let v6 = groups(&self.v6.table).map(|(key, amounts)| ((true, wide(&key)), amounts));
        let mut groups: Vec<(GroupKey, Amounts)> = v4.chain(v6).collect();
        groups.sort_unstable_by_key(|(key, _)| *key);
        self.v4.table.clear();
        self.v6.table.clear();
        GroupSummary {
            groups,
            most_unkept: std::mem::take(&mut self.most_unkept),
            total: std::mem::take(&mut self.total),
        }
    }
}
