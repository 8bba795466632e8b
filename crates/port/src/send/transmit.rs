//! The way from the generator to a sink, each frame when it is due.

use super::{FrameFeed, Pacing, PacketSink, SendClock, SendSchedule, pace::OVERHEAD};
use crate::SourceError;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use traffic::GeneratedFrame;

/// Frames that are generated ahead and handed over at once.
const BATCH: usize = 64;
/// A sink that accepts nothing for this long has failed.
const TIMEOUT_NS: u64 = 1_000_000_000;
/// The time to wait for room, if the sink did not wait itself, nanoseconds.
const RETRY_NS: u64 = 20_000;

/// The result of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TransmitReport {
    /// Frames that the sink accepted.
    pub frames: u64,
    /// The bytes of the accepted frames, without check sequences.
    pub wire_byte: u64,
    /// Frames that were longer than the sink accepts; they were skipped.
    pub too_long: u64,
    /// The time from the first frame until the last was accepted, or until its time had passed, nanoseconds.
    pub elapsed_ns: u64,
    /// The time that the frames take at the requested rate, nanoseconds; 0 without one.
    pub scheduled_ns: u64,
    /// The longest time that a frame was handed over after it was due, nanoseconds; 0 without a rate.
    pub longest_delay_ns: u64,
    /// True if `stop` ended the run.
    pub stopped: bool,
    /// The fault that kept the run from continuing.
    pub fault: Option<SourceError>,
}

impl TransmitReport {
    /// Frames per second; `None` if no time has passed.
    pub fn packets_per_second(&self) -> Option<f64> {
        self.per_second(self.frames)
    }

    /// Bits per second on an Ethernet link, with preamble, check sequence and gap.
    pub fn bits_per_second(&self) -> Option<f64> {
        self.per_second((self.wire_byte + self.frames * OVERHEAD) * 8)
    }

    fn per_second(&self, count: u64) -> Option<f64> {
        (self.elapsed_ns != 0).then(|| count as f64 * 1e9 / self.elapsed_ns as f64)
    }

    /// Returns true if the requested rate was kept, except for one part in a hundred and ten milliseconds.
    pub fn kept_rate(&self) -> bool {
        let bound = self.scheduled_ns.saturating_add(self.scheduled_ns / 100).saturating_add(10_000_000);
        self.scheduled_ns == 0 || self.elapsed_ns <= bound
    }
}

/// Frames that were generated, and those of them that remain to be sent.
struct TransmitBatch {
    bytes: Vec<u8>,
    slot_bytes: usize,
    /// The frames with the time at which each is due.
    frames: Vec<(GeneratedFrame, u64)>,
    next: usize,
}

impl TransmitBatch {
    fn new(feed: &impl FrameFeed) -> Self {
        let slot_bytes = feed.longest().next_multiple_of(64);
        Self { bytes: vec![0; slot_bytes * BATCH], slot_bytes, frames: Vec::with_capacity(BATCH), next: 0 }
    }

    fn fill(&mut self, feed: &mut impl FrameFeed, pace: &mut SendSchedule) {
        self.frames.clear();
        self.next = 0;
        for slot in self.bytes.chunks_exact_mut(self.slot_bytes) {
            let Some(frame) = feed.next_frame(slot) else { break };
            self.frames.push((frame, pace.next(frame.wire_len, frame.time_ns)));
        }
    }

    fn left(&self) -> &[(GeneratedFrame, u64)] {
        &self.frames[self.next..]
    }

    /// Hands over the first `count` frames that are left; how many were taken.
    fn hand_over(
        &mut self,
        count: usize,
        feed: &mut impl FrameFeed,
        sink: &mut dyn PacketSink,
    ) -> Result<usize, SourceError> {
        let mut slices: [&[u8]; BATCH] = [&[]; BATCH];
        let slots = self.bytes.chunks_exact_mut(self.slot_bytes).skip(self.next);
        let frames = &self.frames[self.next..];
        feed.leaving();
        for ((place, slot), (frame, _)) in slices.iter_mut().zip(slots).zip(frames).take(count) {
            let slot = &mut slot[..frame.captured as usize];
            feed.stamp(slot);
            *place = slot;
        }
        sink.tx_burst(&slices[..count])
    }
}

/// Sends the frames of a feed, uncut, at the requested rate, until it ends or `stop` is set. Frames that
/// are late are sent as fast as the sink accepts them. Afterwards the truth of a generator is that of what was
/// sent.
pub fn transmit<Feed: FrameFeed>(
    feed: &mut Feed,
    sink: &mut dyn PacketSink,
    pacing: Pacing,
    clock: &mut dyn SendClock,
    stop: &AtomicBool,
) -> TransmitReport {
    let mut pace = SendSchedule::new(pacing);
    let mut batch = TransmitBatch::new(feed);
    let began = clock.now_ns();
    let mut run =
        Transmission { feed, sink, clock, stop, began, progress: 0, sent: TransmitReport::default() };
    loop {
        let before = pace;
        batch.fill(run.feed, &mut pace);
        if batch.frames.is_empty() {
            break;
        }
        if !run.send(&mut batch) {
            // It ends here: what was generated and not sent does not count, neither in the truth nor in the schedule.
            pace = before;
            for (frame, _) in &batch.frames[..batch.next] {
                pace.next(frame.wire_len, frame.time_ns);
            }
            batch.left().iter().for_each(|(frame, _)| run.feed.take_back(frame));
            break;
        }
    }
    let Transmission { sink, clock, mut sent, .. } = run;
    sent.scheduled_ns = pace.end_ns();
    sent.elapsed_ns = clock.now_ns().saturating_sub(began);
    if pacing == Pacing::Unlimited {
        sent.longest_delay_ns = 0;
    }
    if !sent.stopped && sent.fault.is_none() {
        sent.elapsed_ns = sent.elapsed_ns.max(sent.scheduled_ns);
    }
    sink.finish();
    sent
}

/// A run of [`transmit`].
struct Transmission<'a, Feed> {
    feed: &'a mut Feed,
    sink: &'a mut dyn PacketSink,
    clock: &'a mut dyn SendClock,
    stop: &'a AtomicBool,
    /// The clock's time at which the run began, nanoseconds.
    began: u64,
    /// The time of the run up to which the sink is not to blame for frames that wait, nanoseconds.
    progress: u64,
    sent: TransmitReport,
}

impl<Feed: FrameFeed> Transmission<'_, Feed> {
    /// Sends the frames of a batch, each when it is due. Returns false if the run ends before all are sent.
    fn send(&mut self, batch: &mut TransmitBatch) -> bool {
        while let Some(&(first, due)) = batch.left().first() {
            let now = self.clock.now_ns().saturating_sub(self.began);
            if self.stop.load(Relaxed) {
                self.sent.stopped = true;
                return false;
            }
            if due > now {
                self.clock.wait_until(self.began.saturating_add(due));
                self.progress = due;
            } else if first.wire_len as usize > self.sink.longest() {
                self.feed.take_back(&first);
                self.sent.too_long += 1;
                batch.next += 1;
                // The sink is not the cause.
                self.progress = now;
            } else if let Err(fault) = self.send_due(batch, now) {
                self.sent.fault = Some(fault);
                return false;
            }
        }
        true
    }

    /// Hands over the first frames of a batch that are due, or waits for room.
    ///
    /// # Errors
    /// The sink fails, or has taken nothing for too long.
    fn send_due(&mut self, batch: &mut TransmitBatch, now: u64) -> Result<(), SourceError> {
        let longest = self.sink.longest();
        let ready =
            |&&(frame, due): &&(GeneratedFrame, u64)| due <= now && frame.wire_len as usize <= longest;
        let count = batch.left().iter().take_while(ready).count();
        let first_due = batch.left().first().map_or(now, |&(_, due)| due);
        match batch.hand_over(count, self.feed, self.sink)? {
            0 if now.saturating_sub(self.progress) > TIMEOUT_NS => Err(SourceError::Fault(format!(
                "{} has taken no frame for a second: is anybody there who receives?",
                self.sink.name()
            ))),
            0 => {
                self.clock.wait_until(self.began.saturating_add(now + RETRY_NS));
                Ok(())
            }
            taken => {
                let taken = taken.min(count);
                self.sent.longest_delay_ns = self.sent.longest_delay_ns.max(now.saturating_sub(first_due));
                self.sent.frames += taken as u64;
                self.sent.wire_byte +=
                    batch.left()[..taken].iter().map(|(frame, _)| u64::from(frame.wire_len)).sum::<u64>();
                batch.next += taken;
                self.progress = now;
                Ok(())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SourceCounter;
    use notation::Rate;
    use std::cell::Cell;
    use std::rc::Rc;
    use traffic::Generator;

    /// Stops except when it is waited for; every reading takes `look_ns`.
    struct FakeClock {
        now: Rc<Cell<u64>>,
        look_ns: u64,
    }

    impl SendClock for FakeClock {
        fn now_ns(&self) -> u64 {
            self.now.set(self.now.get() + self.look_ns);
            self.now.get()
        }

        fn wait_until(&mut self, ns: u64) {
            // At most until then, as the contract requires.
            self.now.set(self.now.get().max(ns.min(self.now.get() + 5_000_000)));
        }
    }

    /// Records what it accepted, and when.
    struct FakeSink {
        now: Rc<Cell<u64>>,
        longest: usize,
        /// The most that it takes at once, from a list that is repeated.
        takes: Vec<usize>,
        calls: usize,
        taken: Vec<(u64, Vec<u8>)>,
        fails_at: usize,
    }

    impl PacketSink for FakeSink {
        fn name(&self) -> &str {
            "fake"
        }
        fn longest(&self) -> usize {
            self.longest
        }
        fn link_speed(&self) -> Option<u64> {
            None
        }
        fn tx_burst(&mut self, frames: &[&[u8]]) -> Result<usize, SourceError> {
            if self.taken.len() >= self.fails_at {
                return Err(SourceError::Fault("gone".into()));
            }
            let count = self.takes[self.calls % self.takes.len()].min(frames.len());
            self.calls += 1;
            self.taken.extend(frames[..count].iter().map(|frame| (self.now.get(), frame.to_vec())));
            Ok(count)
        }
        fn finish(&mut self) {}
        fn lost(&mut self) -> Vec<SourceCounter> {
            Vec::new()
        }
    }

    const SPEC: &str = "packets=1000,flows=50,size=64:1/1518:1,rate=2000";

    fn run(
        pacing: Pacing,
        look_ns: u64,
        change: impl FnOnce(&mut FakeSink),
        stop: bool,
    ) -> (TransmitReport, Vec<(u64, Vec<u8>)>, Generator) {
        let now = Rc::new(Cell::new(77_000));
        let mut sink = FakeSink {
            now: now.clone(),
            longest: 9216,
            takes: vec![BATCH],
            calls: 0,
            taken: Vec::new(),
            fails_at: usize::MAX,
        };
        change(&mut sink);
        let mut generator = Generator::with_truth(SPEC.parse().unwrap());
        let mut clock = FakeClock { now, look_ns };
        let sent = transmit(&mut generator, &mut sink, pacing, &mut clock, &AtomicBool::new(stop));
        (sent, sink.taken, generator)
    }

    /// All frames of the specification.
    fn frames() -> Vec<(GeneratedFrame, Vec<u8>)> {
        let mut generator = Generator::new(SPEC.parse().unwrap());
        let mut buffer = [0; 1518];
        std::iter::from_fn(|| {
            let frame = generator.next_frame(&mut buffer)?;
            Some((frame, buffer[..frame.captured as usize].to_vec()))
        })
        .collect()
    }

    #[test]
    fn each_frame_leaves_when_it_is_due() {
        let expected = frames();
        for pacing in [
            Pacing::Rate(Rate::Packets(100_000)),
            Pacing::Rate(Rate::Bits(1_000_000_000)),
            Pacing::Rate(Rate::Packets(20)),
            Pacing::Times,
        ] {
            let (sent, taken, _) = run(pacing, 0, |_| {}, false);
            let mut pace = SendSchedule::new(pacing);
            assert_eq!((sent.frames, taken.len()), (1000, 1000), "{pacing:?}");
            for ((frame, bytes), (at, got)) in expected.iter().zip(&taken) {
                assert_eq!(*at, 77_000 + pace.next(frame.wire_len, frame.time_ns), "{pacing:?}");
                assert_eq!(bytes, got);
            }
            assert_eq!((sent.elapsed_ns, sent.longest_delay_ns), (pace.end_ns(), 0));
            assert!(sent.kept_rate());
        }
        let (sent, ..) = run(Pacing::Rate(Rate::Packets(100_000)), 0, |_| {}, false);
        assert_eq!(sent.packets_per_second(), Some(100_000.0));
    }

    #[test]
    fn a_sink_without_room_gets_every_frame_in_order() {
        let (sent, taken, generator) =
            run(Pacing::Unlimited, 100, |sink| sink.takes = vec![3, 0, 0, 64, 1], false);
        assert_eq!(sent.frames, 1000);
        assert!(frames().iter().map(|(_, bytes)| bytes).eq(taken.iter().map(|(_, bytes)| bytes)));
        let count = generator.truth().unwrap().totals.count;
        assert_eq!((count.packets, count.wire_byte), (1000, sent.wire_byte));
        assert_eq!(sent.fault, None);
    }

    #[test]
    fn a_rate_that_cannot_be_kept_is_known() {
        // Each frame takes five microseconds where one is requested.
        let (sent, ..) =
            run(Pacing::Rate(Rate::Packets(1_000_000)), 2_500, |sink| sink.takes = vec![1], false);
        assert_eq!((sent.frames, sent.scheduled_ns), (1000, 1_000_000));
        assert!(sent.elapsed_ns >= 2_500_000, "{}", sent.elapsed_ns);
        // The last frame is due after 999 microseconds, and is handed over when all others are.
        assert!((1_500_000..=sent.elapsed_ns).contains(&sent.longest_delay_ns), "{sent:?}");
        // Within the ten milliseconds of a short run nothing is reported.
        assert!(sent.kept_rate());
        let (sent, ..) =
            run(Pacing::Rate(Rate::Packets(1_000_000)), 25_000, |sink| sink.takes = vec![1], false);
        assert!(!sent.kept_rate() && sent.packets_per_second() < Some(50_000.0), "{sent:?}");
    }

    /// Frames of one byte that a counter of hand-overs is stamped into.
    struct Stamped {
        left: u64,
        calls: u8,
    }

    impl FrameFeed for Stamped {
        fn longest(&self) -> usize {
            1
        }
        fn next_frame(&mut self, slot: &mut [u8]) -> Option<GeneratedFrame> {
            self.left = self.left.checked_sub(1)?;
            slot[0] = 0;
            let origin = traffic::FrameOrigin::Rank(0);
            Some(GeneratedFrame { time_ns: 0, captured: 1, wire_len: 1, total_byte: 1, origin })
        }
        fn take_back(&mut self, _: &GeneratedFrame) {
            self.left += 1;
        }
        fn leaving(&mut self) {
            self.calls += 1;
        }
        fn stamp(&mut self, frame: &mut [u8]) {
            frame[0] = self.calls;
        }
    }

    #[test]
    fn frames_are_stamped_when_they_are_handed_over() {
        let now = Rc::new(Cell::new(0));
        let mut sink = FakeSink {
            now: now.clone(),
            longest: 1,
            takes: vec![2, 0, 1],
            calls: 0,
            taken: Vec::new(),
            fails_at: usize::MAX,
        };
        let mut clock = FakeClock { now, look_ns: 10 };
        let mut feed = Stamped { left: 5, calls: 0 };
        let sent = transmit(&mut feed, &mut sink, Pacing::Unlimited, &mut clock, &AtomicBool::new(false));
        // Those that were not taken get the stamp of the call that takes them.
        let stamps: Vec<u8> = sink.taken.iter().map(|(_, bytes)| bytes[0]).collect();
        assert_eq!((sent.frames, sent.longest_delay_ns, stamps), (5, 0, vec![1, 1, 3, 4, 4]));
    }

    #[test]
    fn what_is_too_long_is_left_out_and_counted() {
        let (sent, taken, generator) = run(Pacing::Unlimited, 0, |sink| sink.longest = 1500, false);
        let short: Vec<_> = frames().into_iter().filter(|(frame, _)| frame.wire_len == 60).collect();
        assert_eq!(sent.too_long, 1000 - short.len() as u64);
        assert!(short.iter().map(|(_, bytes)| bytes).eq(taken.iter().map(|(_, bytes)| bytes)));
        let truth = generator.truth().unwrap();
        assert_eq!(truth.totals.count.packets, short.len() as u64);
        assert!(truth.flows.values().all(|count| count.wire_byte == 60 * count.packets));
    }

    #[test]
    fn an_early_end_has_the_truth_of_what_was_sent() {
        let (sent, taken, generator) =
            run(Pacing::Rate(Rate::Packets(1000)), 0, |sink| sink.fails_at = 100, false);
        assert_eq!((sent.frames, taken.len()), (100, 100));
        assert!(matches!(&sent.fault, Some(SourceError::Fault(text)) if text == "gone"));
        assert_eq!(generator.truth().unwrap().totals.count.packets, 100);
        assert_eq!(sent.scheduled_ns, 100_000_000);

        let (sent, _, generator) = run(Pacing::Unlimited, 0, |_| {}, true);
        assert!(sent.stopped && sent.frames == 0 && sent.packets_per_second().is_none());
        assert_eq!(generator.truth().unwrap().totals.count.packets, 0);

        // No frame is accepted: the sender stops after a second.
        let (sent, ..) = run(Pacing::Unlimited, 0, |sink| sink.takes = vec![0], false);
        assert!(
            matches!(&sent.fault, Some(SourceError::Fault(text)) if text.contains("no frame for a second"))
        );
    }
}
