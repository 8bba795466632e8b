//! The N largest of many, in a heap of N.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use record::report::{Ranked, Totals};

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Line<K> {
    value: u64,
    /// Equal values rank by key, so that a ranking does not hang on the order of arrival.
    key: Reverse<K>,
    totals: [u64; 4],
}

/// Keeps the `N` lines of the largest value.
#[derive(Debug)]
pub(crate) struct Ranking<K> {
    lines: usize,
    /// The smallest line kept is on top.
    heap: BinaryHeap<Reverse<Line<K>>>,
}

impl<K: Ord + Copy> Ranking<K> {
    pub(crate) fn new(lines: usize) -> Self {
        Self { lines, heap: BinaryHeap::new() }
    }

    /// True where a line of this value may have a place: most do not, and need not be made at all.
    #[inline]
    pub(crate) fn wants(&self, value: u64) -> bool {
        self.lines != 0
            && (self.heap.len() < self.lines
                || self.heap.peek().is_some_and(|Reverse(least)| value >= least.value))
    }

    /// Offers a line.
    pub(crate) fn offer(&mut self, value: u64, key: K, totals: Totals) {
        if !self.wants(value) {
            return;
        }
        let totals = [totals.packets, totals.total_byte, totals.wire_byte, totals.flows];
        self.heap.push(Reverse(Line { value, key: Reverse(key), totals }));
        if self.heap.len() > self.lines {
            self.heap.pop();
        }
    }

    /// The lines, largest first, and an empty ranking.
    pub(crate) fn take(&mut self) -> Vec<Ranked<K>> {
        std::mem::take(&mut self.heap)
            .into_sorted_vec()
            .into_iter()
            .map(|Reverse(line)| {
                let [packets, total_byte, wire_byte, flows] = line.totals;
                Ranked { key: line.key.0, totals: Totals { packets, total_byte, wire_byte, flows } }
            })
            .collect()
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
                ranking.offer(value, key, Totals { packets: value, ..Totals::default() });
            }
            let mut all: Vec<_> = values.iter().copied().enumerate().collect();
            all.sort_by_key(|&(key, value)| (Reverse(value), key));
            let got: Vec<_> = ranking.take().iter().map(|r| (r.key, r.totals.packets)).collect();
            assert_eq!(got, all[..lines.min(1000)]);
        }
    }
}
