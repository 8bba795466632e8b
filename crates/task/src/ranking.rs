//! The N largest of many, in a heap of N.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

#[derive(Debug)]
struct RankedEntry<K, T> {
    value: u64,
    /// Equal values rank by key, so that a ranking does not depend on the order of arrival.
    key: K,
    about: T,
}

impl<K: Ord, T> RankedEntry<K, T> {
    fn rank(&self) -> (u64, Reverse<&K>) {
        (self.value, Reverse(&self.key))
    }
}

impl<K: Ord, T> PartialEq for RankedEntry<K, T> {
    fn eq(&self, other: &Self) -> bool {
        self.rank() == other.rank()
    }
}

impl<K: Ord, T> Eq for RankedEntry<K, T> {}

impl<K: Ord, T> PartialOrd for RankedEntry<K, T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<K: Ord, T> Ord for RankedEntry<K, T> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.rank().cmp(&other.rank())
    }
}

/// Keeps the `N` lines of the largest value, each with its annotation.
#[derive(Debug)]
pub(crate) struct Ranking<K, T> {
    lines: usize,
    /// The smallest line kept is on top.
    heap: BinaryHeap<Reverse<RankedEntry<K, T>>>,
}

impl<K: Ord, T> Ranking<K, T> {
    /// Creates a ranking of this many lines, which has none yet.
    pub(crate) fn new(lines: usize) -> Self {
        Self { lines, heap: BinaryHeap::new() }
    }

    /// True if a line of this value may have a place: most do not, and need not be made at all.
    #[inline]
    pub(crate) fn wants(&self, value: u64) -> bool {
        self.lines != 0
            && (self.heap.len() < self.lines
                || self.heap.peek().is_some_and(|Reverse(least)| value >= least.value))
    }

    /// Offers a line.
    pub(crate) fn offer(&mut self, value: u64, key: K, about: T) {
        if !self.wants(value) {
            return;
        }
        self.heap.push(Reverse(RankedEntry { value, key, about }));
        if self.heap.len() > self.lines {
            self.heap.pop();
        }
    }

    /// The lines, largest first, converted for reports; the ranking is empty afterwards.
    pub(crate) fn take<R>(&mut self, mut line: impl FnMut(K, T) -> R) -> Vec<R> {
        let lines = std::mem::take(&mut self.heap).into_sorted_vec();
        lines.into_iter().map(|Reverse(RankedEntry { key, about, .. })| line(key, about)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_the_largest_as_a_full_sort_does() {
        let values: Vec<u64> = (0..1000u64).map(|i| i * 7919 % 101).collect();
        for lines in [0, 1, 10, 2000] {
            let mut ranking = Ranking::new(lines);
            for (key, &value) in values.iter().enumerate() {
                ranking.offer(value, key, value);
            }
            let mut all: Vec<_> = values.iter().copied().enumerate().collect();
            all.sort_by_key(|&(key, value)| (Reverse(value), key));
            assert_eq!(ranking.take(|key, value| (key, value)), all[..lines.min(1000)]);
        }
    }
}
