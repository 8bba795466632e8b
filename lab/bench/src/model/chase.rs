//! The time that a load waits for a cache or for memory: walks in which each load determines the address of the next.

use super::caches::LINE;
use crate::compare::thread_time;
use crate::huge::room;
use packet::split_mix;
use std::hint::black_box;

/// A line that names the next one.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct ChaseLink([u32; LINE / 4]);

/// Lines in one random cycle.
pub(super) struct Cycle(Vec<ChaseLink>);

impl Cycle {
    /// Makes a cycle over `bytes` of memory, in large pages where there are any.
    pub(super) fn new(bytes: u64) -> Self {
        let lines = (bytes as usize / LINE).max(2) as u32;
        let mut links: Vec<ChaseLink> = room(lines as usize);
        links.extend((0..lines).map(|line| ChaseLink([line; LINE / 4])));
        // Sattolo's shuffle: one cycle through all.
        let mut random = u64::from(lines);
        for last in (1..lines as usize).rev() {
            let other = (split_mix(&mut random) % last as u64) as usize;
            let (here, there) = (links[last].0[0], links[other].0[0]);
            (links[last].0[0], links[other].0[0]) = (there, here);
        }
        Self(links)
    }

    /// True if the walk comes to every line once before it is back: what makes it a measurement of all of
    /// them. It leaves them as near as they will be.
    pub(super) fn is_whole(&self) -> bool {
        let (mut at, mut sum) = (0, 0_u64);
        for step in 1..=self.0.len() {
            at = self.0[at as usize].0[0];
            sum += u64::from(at);
            if at == 0 && step < self.0.len() {
                return false;
            }
        }
        let lines = self.0.len() as u64;
        at == 0 && sum == lines * (lines - 1) / 2
    }

    /// Nanoseconds of `steps` loads along the cycle. Of a cycle that is larger than a cache, that cache
    /// serves nothing: the line that comes next is the one that was not used for the longest time.
    pub(super) fn walk(&self, steps: u64) -> f64 {
        let began = thread_time();
        let mut at = 0;
        for _ in 0..steps {
            at = self.0[at as usize].0[0];
        }
        black_box(at);
        thread_time() - began
    }

    /// Nanoseconds of `steps` loads from anywhere in the first `bytes`, each after the last. Of these a cache
    /// serves as much as it holds. Drawing takes additional time.
    pub(super) fn jump(&self, bytes: u64, steps: u64) -> f64 {
        let lines = (bytes as usize / LINE).clamp(1, self.0.len());
        let links = &self.0[..lines];
        let began = thread_time();
        let (mut random, mut last) = (bytes, 0);
        for _ in 0..steps {
            // No line has a number of 32 bits, so that this adds nothing: but the processor cannot know.
            let drawn = split_mix(&mut random) ^ u64::from(last >> 31);
            last = links[((u128::from(drawn) * lines as u128) >> 64) as usize].0[0];
        }
        black_box(last);
        thread_time() - began
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_cycle_through_every_line() {
        for bytes in [0, 128, 192, 4096, 1 << 20] {
            let cycle = Cycle::new(bytes);
            assert_eq!(cycle.0.len(), (bytes as usize / LINE).max(2));
            assert!(cycle.is_whole(), "{bytes}");
        }
    }

    #[test]
    fn a_shorter_cycle_is_seen() {
        let mut cycle = Cycle::new(4096);
        let next = cycle.0[0].0[0] as usize;
        // Past the second line.
        cycle.0[0].0[0] = cycle.0[next].0[0];
        assert!(!cycle.is_whole());
    }
}
