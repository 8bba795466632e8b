//! Selects a uniform sample of fixed size from a stream of unknown length.

use super::draw::SketchRng;
use packet::Seed;

/// Reservoir sampling (Vitter, "Random sampling with a reservoir", ACM TOMS 1985): all of the first k are taken, and of the others
/// the n-th with the probability k/n, in the place of any.
///
/// Those between are skipped by a geometric wait with an earlier probability, which is above all later ones;
/// the candidate that it ends at is taken with the ratio of the two. So it depends only on how many there
/// were, and continues after a merge.
#[derive(Clone, Debug)]
pub(crate) struct Reservoir {
    draw: SketchRng,
    places: u64,
    seen: u64,
    /// The number to be skipped before the next candidate.
    left: u64,
    /// The number for whose probability the wait was drawn, counted from 1, and ln(1 − p) of it.
    from: u64,
    failing: f64,
}

impl Reservoir {
    pub(crate) fn new(seed: &Seed, purpose: u64, places: usize) -> Self {
        Self {
            draw: SketchRng::new(seed, purpose),
            places: places as u64,
            seen: 0,
            left: 0,
            from: 1,
            failing: f64::NEG_INFINITY,
        }
    }

    /// The number seen so far.
    pub(crate) fn seen(&self) -> u64 {
        self.seen
    }

    /// Returns how many of the next `many` come before the first that is taken; `None` if none of them is, else the next call begins after
    /// it.
    #[inline(always)]
    pub(crate) fn pass(&mut self, many: u64) -> Option<u64> {
        if self.left >= many {
            self.left -= many;
            self.seen = self.seen.saturating_add(many);
            return None;
        }
        self.candidate(many)
    }

    #[cold]
    fn candidate(&mut self, many: u64) -> Option<u64> {
        let mut before = 0;
        while self.left < many - before {
            before += self.left;
            self.seen = self.seen.saturating_add(self.left).saturating_add(1);
            // k / seen, given that k / from happened.
            let is_taken = self.seen <= self.places || self.draw.happens(self.from, self.seen);
            self.wait();
            if is_taken {
                return Some(before);
            }
            before += 1;
        }
        self.left -= many - before;
        self.seen = self.seen.saturating_add(many - before);
        None
    }

    fn wait(&mut self) {
        let next = self.seen.saturating_add(1);
        // Examining a sixteenth more costs less than a logarithm for each.
        if next - self.from > self.from / 16 || next <= self.places.saturating_add(1) {
            self.from = next;
            self.failing = SketchRng::failing(self.places as f64 / next as f64);
        }
        self.left = self.draw.failures_of(self.failing);
    }

    /// The place of one that was taken: the next free one, else any.
    #[inline]
    pub(crate) fn place(&mut self) -> usize {
        if self.seen <= self.places { self.seen as usize - 1 } else { self.below(self.places) as usize }
    }

    /// Draws any number below `end`.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        ((u128::from(self.draw.word()) * u128::from(end)) >> 64) as u64
    }

    /// True with the probability `part` / `whole`.
    pub(crate) fn happens(&mut self, part: u64, whole: u64) -> bool {
        self.draw.happens(part, whole)
    }

    /// Continues as if it had seen those of `other` too.
    pub(crate) fn join(&mut self, other: &Self) {
        self.draw = self.draw.joined(&other.draw);
        self.seen = self.seen.saturating_add(other.seen);
        self.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The numbers that a reservoir ends with, of a stream that arrives in steps of `step`.
    fn sample(seed: u64, places: usize, stream: u64, step: u64) -> Vec<u64> {
        let mut reservoir = Reservoir::new(&Seed::new(seed), 1, places);
        let mut kept = vec![u64::MAX; places];
        let mut at = 0;
        while at < stream {
            let end = stream.min(at + step);
            while let Some(before) = reservoir.pass(end - at) {
                at += before;
                let place = reservoir.place();
                kept[place] = at;
                at += 1;
                assert_eq!(reservoir.seen(), at);
            }
            at = end;
            assert_eq!(reservoir.seen(), at);
        }
        kept.retain(|number| *number != u64::MAX);
        kept
    }

    #[test]
    fn every_number_is_kept_as_often_as_every_other() {
        const SEEDS: u64 = 4_000;
        const STREAM: u64 = 60;
        for (places, step) in [(1, 1), (7, 1), (7, 13), (7, STREAM)] {
            let mut kept = [0_u32; STREAM as usize];
            for seed in 0..SEEDS {
                let mut sample = sample(seed, places, STREAM, step);
                assert_eq!(sample.len(), places);
                sample.sort();
                sample.dedup();
                assert_eq!(sample.len(), places, "none twice");
                sample.iter().for_each(|number| kept[*number as usize] += 1);
            }
            let p = places as f64 / STREAM as f64;
            let off = 5.0 * (SEEDS as f64 * p * (1.0 - p)).sqrt();
            for (number, kept) in kept.iter().enumerate() {
                let mean = SEEDS as f64 * p;
                assert!((f64::from(*kept) - mean).abs() < off, "{number}: {kept} times for {mean}");
            }
        }
    }

    #[test]
    fn the_same_are_kept_whatever_the_steps() {
        for step in [2, 100, 10_000] {
            assert_eq!(sample(1, 50, 10_000, step), sample(1, 50, 10_000, 1));
        }
        assert_eq!(sample(1, 50, 9, 4), (0..9).collect::<Vec<_>>());
    }

    #[test]
    fn a_stream_without_end_is_no_trouble() {
        let mut reservoir = Reservoir::new(&Seed::new(1), 1, 3);
        for _ in 0..3 {
            let mut rest = u64::MAX;
            while let Some(before) = reservoir.pass(rest) {
                assert!(reservoir.place() < 3);
                rest -= before + 1;
            }
        }
        assert_eq!(reservoir.seen(), u64::MAX);
    }
}
