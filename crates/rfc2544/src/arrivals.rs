//! Counting of what comes back in a trial.

use crate::frame::FrameSignature;

/// The counts of what a port received during a trial.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ArrivalCounts {
    /// Different test frames of the trial that came, of the right length.
    pub received: u64,
    /// Frames of the trial that had come before.
    pub duplicates: u64,
    /// Frames of the trial, counted in `received` too, that came after one with a greater sequence number (RFC 4737, section 3).
    pub reordered: u64,
    /// Frames of the trial that came with another length than they were sent with; they do not count as received.
    pub wrong_length: u64,
    /// Frames of an earlier trial.
    pub late: u64,
    /// Frames that are no test frames of this run.
    pub foreign: u64,
    /// The delays of the frames of `received`.
    pub delays: Delays,
}

/// Delays between the hand-over of a frame to the port that sends and its reception, nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Delays {
    /// Frames whose delay is known.
    pub frames: u64,
    /// Frames that, by the clock, came before they were sent: the clock was set meanwhile.
    pub clock_was_set: u64,
    /// The least delay.
    pub min_ns: u64,
    /// The greatest delay.
    pub max_ns: u64,
    /// The sum of delays, which divided by `frames` is their mean.
    pub sum_ns: u128,
    /// The delay of the frame that is tagged; `None` if there is none, or if it did not come.
    pub tagged_ns: Option<u64>,
}

impl Delays {
    /// Returns the mean delay, nanoseconds; `None` without frames.
    pub fn mean_ns(&self) -> Option<f64> {
        (self.frames > 0).then(|| self.sum_ns as f64 / self.frames as f64)
    }

    fn add(&mut self, sent_ns: u64, received_ns: u64, is_tagged: bool) {
        let Some(delay) = received_ns.checked_sub(sent_ns) else {
            self.clock_was_set += 1;
            return;
        };
        self.min_ns = if self.frames == 0 { delay } else { self.min_ns.min(delay) };
        self.max_ns = self.max_ns.max(delay);
        self.sum_ns += u128::from(delay);
        self.frames += 1;
        if is_tagged {
            self.tagged_ns = Some(delay);
        }
    }
}

/// The counting of one trial. A frame is looked up in a set with a bit for each frame of the trial, so that duplicates are known
/// exactly, however late they come.
#[derive(Clone, Debug)]
pub struct ArrivalCounter {
    trial: u32,
    /// The first trial of the run.
    first_trial: u32,
    /// Length of each frame without check sequence.
    wire_len: u32,
    frames: u64,
    /// The frame whose delay is that of the trial.
    tagged: Option<u64>,
    seen: Vec<u64>,
    /// The sequence number after the greatest that came.
    next: u64,
    counts: ArrivalCounts,
}

impl ArrivalCounter {
    /// A counter of the trial with this number, of `frames` frames of `wire_len` bytes without check sequence. `first_trial` is the number
    /// of the first trial of the run, `tagged` the sequence number of the frame whose delay is told apart.
    pub fn new(trial: u32, first_trial: u32, wire_len: u32, frames: u64, tagged: Option<u64>) -> Self {
        Self {
            trial,
            first_trial,
            wire_len,
            frames,
            tagged,
            seen: vec![0; usize::try_from(frames.div_ceil(64)).unwrap_or(usize::MAX)],
            next: 0,
            counts: ArrivalCounts::default(),
        }
    }

    /// Counts a frame: its bytes, as many as were captured, its length on the wire without check sequence, and the time of its reception
    /// in nanoseconds since 1970.
    #[inline]
    pub fn count(&mut self, frame: &[u8], wire_len: u32, time_ns: u64) {
        let Some(received) = FrameSignature::read(frame) else {
            self.counts.foreign += 1;
            return;
        };
        let FrameSignature { trial, sequence, time_ns: sent_ns } = received.signature;
        if trial != self.trial || sequence >= self.frames {
            let age = trial.wrapping_sub(self.first_trial) % crate::frame::TRIALS;
            let own_age = self.trial.wrapping_sub(self.first_trial) % crate::frame::TRIALS;
            let is_late = age < own_age;
            self.counts.late += u64::from(is_late);
            self.counts.foreign += u64::from(!is_late);
            return;
        }
        if wire_len != self.wire_len + received.tags {
            self.counts.wrong_length += 1;
            return;
        }
        let (word, bit) = ((sequence / 64) as usize, 1 << (sequence % 64));
        if self.seen[word] & bit != 0 {
            self.counts.duplicates += 1;
            return;
        }
        self.seen[word] |= bit;
        self.counts.received += 1;
        if sequence < self.next {
            self.counts.reordered += 1;
        } else {
            self.next = sequence + 1;
        }
        self.counts.delays.add(sent_ns, time_ns, self.tagged == Some(sequence));
    }

    /// Returns the counts so far.
    pub fn counts(&self) -> ArrivalCounts {
        self.counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::Addressing;
    use std::collections::BTreeSet;

    fn frame(trial: u32, sequence: u64, time_ns: u64) -> Vec<u8> {
        let mut frame = Addressing::default().test_frame(64);
        FrameSignature { trial, sequence, time_ns }.write(&mut frame);
        frame
    }

    #[test]
    fn each_kind_of_frame_is_counted_apart() {
        let mut counter = ArrivalCounter::new(12, 10, 60, 100, Some(5));
        for (sequence, sent, came) in
            [(0, 100, 150), (2, 200, 210), (1, 150, 330), (2, 200, 400), (5, 500, 577)]
        {
            counter.count(&frame(12, sequence, sent), 60, came);
        }
        counter.count(&frame(12, 7, 0), 64, 9);
        counter.count(&frame(12, 8, 1000), 60, 999);
        counter.count(&frame(10, 3, 0), 60, 9);
        counter.count(&frame(11, 3, 0), 60, 9);
        // A later trial, another run, a number that was not sent.
        counter.count(&frame(13, 3, 0), 60, 9);
        counter.count(&frame(9, 3, 0), 60, 9);
        counter.count(&frame(12, 100, 0), 60, 9);
        counter.count(&Addressing::default().learning_frame(), 60, 9);
        let counts = counter.counts();
        assert_eq!((counts.received, counts.duplicates, counts.reordered), (5, 1, 1));
        assert_eq!((counts.wrong_length, counts.late, counts.foreign), (1, 2, 4));
        let delays = counts.delays;
        assert_eq!((delays.frames, delays.clock_was_set), (4, 1));
        assert_eq!((delays.min_ns, delays.max_ns, delays.sum_ns), (10, 180, 50 + 10 + 180 + 77));
        assert_eq!((delays.tagged_ns, delays.mean_ns()), (Some(77), Some(317.0 / 4.0)));
    }

    #[test]
    fn numbers_of_trials_may_wrap() {
        let first = crate::frame::TRIALS - 1;
        let mut counter = ArrivalCounter::new(1, first, 60, 10, None);
        counter.count(&frame(first, 0, 0), 60, 1);
        counter.count(&frame(0, 0, 0), 60, 1);
        counter.count(&frame(2, 0, 0), 60, 1);
        assert_eq!((counter.counts().late, counter.counts().foreign), (2, 1));
    }

    #[test]
    fn counts_are_those_of_a_set() {
        let mut random = testbed::Random::new(7);
        for _ in 0..testbed::cases(50) {
            let frames = 1 + random.below(300);
            let mut counter = ArrivalCounter::new(0, 0, 60, frames, None);
            let (mut seen, mut duplicates, mut reordered) = (BTreeSet::new(), 0, 0);
            for _ in 0..random.below(500) {
                let sequence = random.below(frames);
                if seen.contains(&sequence) {
                    duplicates += 1;
                } else {
                    reordered += u64::from(seen.last().is_some_and(|&greatest| greatest > sequence));
                    seen.insert(sequence);
                }
                counter.count(&frame(0, sequence, 0), 60, 1);
            }
            let counts = counter.counts();
            assert_eq!(
                (counts.received, counts.duplicates, counts.reordered),
                (seen.len() as u64, duplicates, reordered)
            );
        }
    }
}
