//! A receive queue of the wire.

use super::buffers::Buffers;
use super::clock::{SystemClock, WireClock};
use super::counters::WireCounters;
use super::preemption::Preemptions;
use super::ring::{RingCounts, WaitingPackets};
use super::trace::{QueueFrames, Trace};
use super::{Wire, WireState};
use crate::prefetch::prefetch;
use crate::{
    Burst, FrameDescriptor, PacketSource, Poll, SourceCounter, SourceError, SourceProgress, TimeBase,
};
use std::sync::Arc;
use traffic::{ArrivalTimes, Schedule};

/// A receive queue, polled by one thread from its first poll to its last.
#[derive(Debug)]
pub struct WireQueue<C: WireClock = SystemClock> {
    name: String,
    number: usize,
    trace: Arc<Trace>,
    shared: Arc<WireState>,
    descriptors: Box<[FrameDescriptor]>,
    position: QueuePosition,
    /// Packets of this queue, over all laps.
    own: u64,
    line: Option<TimedQueue>,
    clock: C,
    /// The buffers in which frames are handed out, apart from their descriptors.
    buffers: Option<Box<dyn Buffers>>,
    /// True if the first line of each frame is prefetched for the reader.
    prefetches: bool,
}

// SAFETY: the pointers in `descriptors` lead into the trace, which may be read from any thread.
unsafe impl<C: WireClock> Send for WireQueue<C> {}

/// The state of a queue with a rate: packets arrive on the clock.
#[derive(Debug)]
pub(super) struct TimedQueue {
    schedule: Arc<Schedule>,
    ring: RingCounts,
    waiting: WaitingPackets,
    hint: usize,
    /// The state from the first poll on; `None` before it.
    began: Option<Began>,
    /// The ring as it would be, had the clock stopped in each gap; `None` before the first gap, as it is the same then.
    shadow: Option<Shadow>,
}

#[derive(Clone, Copy, Debug)]
struct Began {
    start_ns: u64,
    preemptions: Preemptions,
}

#[derive(Clone, Copy, Debug)]
struct Shadow {
    ring: RingCounts,
    hint: usize,
}

/// The next position that a queue reads.
#[derive(Clone, Copy, Debug, Default)]
struct QueuePosition {
    /// The packet's number in the queue, counted over all laps.
    number: u64,
    lap: u64,
    /// The packet's place in the queue's list.
    index: usize,
}

impl QueuePosition {
    /// Goes to another packet of a list of `frames`.
    #[inline(always)]
    fn seek(&mut self, number: u64, frames: usize) {
        if number != self.number {
            let frames = frames as u64;
            *self = Self { number, lap: number / frames, index: (number % frames) as usize };
        }
    }

    /// Continues, within the list or to its end.
    #[inline(always)]
    fn advance(&mut self, count: usize, frames: usize) {
        self.number += count as u64;
        self.index += count;
        if self.index == frames {
            self.index = 0;
            self.lap += 1;
        }
    }
}

impl TimedQueue {
    pub(super) fn new(schedule: Arc<Schedule>, ring: usize) -> Self {
        Self {
            schedule,
            ring: RingCounts::new(ring),
            waiting: WaitingPackets::new(ring),
            hint: 0,
            began: None,
            shadow: None,
        }
    }

    /// Returns how many of this queue's packets have arrived by a time after the start.
    #[inline(always)]
    fn arrived(schedule: &Schedule, trace: &Trace, queue: usize, all: u64, ns: u64, hint: &mut usize) -> u64 {
        trace.share(queue, schedule.arrived(ns, hint).min(all))
    }

    /// Returns what changes when any counter but those of gaps does.
    #[inline(always)]
    fn marks(&self) -> [u64; 4] {
        let stopped = self.shadow.as_ref().map_or(&self.ring, |shadow| &shadow.ring);
        [self.ring.offered, self.ring.waiting, stopped.offered, stopped.waiting]
    }

    fn counters(&self, rx_nombuf: u64) -> WireCounters {
        let preemptions = self.began.map(|began| began.preemptions).unwrap_or_default();
        let stopped = self.shadow.as_ref().map_or(&self.ring, |shadow| &shadow.ring);
        WireCounters {
            offered: self.ring.offered,
            delivered: self.ring.taken(),
            imissed: self.ring.missed,
            offered_clock_stopped: stopped.offered,
            imissed_clock_stopped: stopped.missed,
            gaps: preemptions.gaps,
            gap_ns: preemptions.gap_ns,
            longest_gap_ns: preemptions.longest_ns,
            rx_nombuf,
        }
    }
}

impl<C: WireClock> WireQueue<C> {
    pub(super) fn new(
        name: &str,
        number: usize,
        trace: Arc<Trace>,
        shared: Arc<WireState>,
        burst: usize,
        line: Option<TimedQueue>,
        clock: C,
    ) -> Self {
        Self {
            name: name.to_owned(),
            number,
            own: trace.share(number, shared.packets),
            trace,
            shared,
            descriptors: vec![FrameDescriptor::EMPTY; burst.max(1)].into_boxed_slice(),
            position: QueuePosition::default(),
            line,
            clock,
            buffers: None,
            prefetches: true,
        }
    }

    /// Hands frames out in these buffers from now on.
    #[must_use]
    pub fn with_buffers(self, buffers: Box<dyn Buffers>) -> Self {
        Self { buffers: Some(buffers), ..self }
    }

    /// Returns the wire that the queue belongs to: for starting its clock, and for reading the counters while it runs.
    pub fn wire(&self) -> Wire {
        Wire(self.shared.clone())
    }

    /// Returns the queue's number, from 0.
    pub fn number(&self) -> usize {
        self.number
    }

    /// Returns what the queue has counted so far.
    pub fn counters(&self) -> WireCounters {
        self.shared.counters[self.number].read()
    }

    /// The next frames of a replay that waits for its reader.
    fn replay(&mut self) -> Option<usize> {
        if let Some(buffers) = &mut self.buffers {
            buffers.release();
        }
        let queue = &self.trace.queues[self.number];
        let QueuePosition { number, lap, index } = self.position;
        // To the end of the list, without wrapping.
        let count = self.descriptors.len().min(queue.descriptors.len() - index);
        let count = (self.own - number).min(count as u64) as usize;
        if count == 0 {
            return None;
        }
        let refused = self.buffers.as_mut().is_some_and(|buffers| !buffers.reserve(count));
        let rx_nombuf = self.buffers.as_ref().map_or(0, |buffers| buffers.rx_nombuf());
        if refused {
            return Some(0);
        }
        let descriptors = &mut self.descriptors[..count];
        descriptors.copy_from_slice(&queue.descriptors[index..index + count]);
        // Checked before the start: the time of the last one is representable.
        let later_ns = self.trace.lap_ns() * lap;
        for descriptor in descriptors.iter_mut() {
            if self.prefetches {
                prefetch(descriptor.data);
            }
            // What has no time has none in any lap.
            descriptor.time_ns = descriptor.time_ns.saturating_add(later_ns);
        }
        if let Some(buffers) = &mut self.buffers {
            buffers.fill(descriptors);
        }
        self.position.advance(count, queue.descriptors.len());
        let delivered = self.position.number;
        self.shared.counters[self.number].write(WireCounters {
            offered: delivered,
            delivered,
            offered_clock_stopped: delivered,
            rx_nombuf,
            ..WireCounters::default()
        });
        Some(count)
    }

    /// Receives what has arrived by now: the oldest waiting packets. Returns `None` when all packets of the run have been handed out.
    fn receive(&mut self) -> Option<usize> {
        let line = self.line.as_mut()?;
        let now = self.clock.now_ns();
        let mut is_gap = false;
        let began = match &mut line.began {
            Some(began) => {
                is_gap = began.preemptions.poll(now, &mut self.clock);
                began
            }
            began => began.insert(Began {
                start_ns: self.shared.start(now),
                preemptions: Preemptions::begin(now, &mut self.clock),
            }),
        };
        let passed = now.saturating_sub(began.start_ns).min(Schedule::MOST_NS);
        let gap_ns = began.preemptions.gap_ns;
        let wire_start_ns = began.start_ns.wrapping_add(self.shared.epoch_offset_ns);
        if is_gap && line.shadow.is_none() {
            line.shadow = Some(Shadow { ring: line.ring, hint: line.hint });
        }

        let before = line.marks();
        let burst = self.descriptors.len() as u64;
        let arrived = |ns, hint: &mut usize| {
            TimedQueue::arrived(&line.schedule, &self.trace, self.number, self.shared.packets, ns, hint)
        };
        let first = line.ring.offered;
        let accepted = line.ring.arrive(arrived(passed, &mut line.hint));
        line.waiting.push(first, accepted);
        let mut most = burst;
        if let Some(buffers) = &mut self.buffers {
            buffers.release();
            let wanted = line.ring.waiting.min(burst);
            if wanted > 0 && !buffers.reserve(wanted as usize) {
                most = 0;
            }
        }
        let count = line.ring.take(most) as usize;
        if let Some(shadow) = &mut line.shadow {
            shadow.ring.arrive(arrived(passed.saturating_sub(gap_ns), &mut shadow.hint));
            shadow.ring.take(most);
        }
        if count > 0 {
            let slots = &mut self.descriptors[..count];
            let (waiting, position) = (&mut line.waiting, &mut self.position);
            let queue = &self.trace.queues[self.number];
            let out = HandOut { wire_start_ns, prefetches: self.prefetches };
            match &*line.schedule {
                Schedule::Even(times) => hand_out(times, queue, (waiting, position), slots, out),
                Schedule::Bursts(times) => hand_out(times, queue, (waiting, position), slots, out),
                Schedule::Line(times) => hand_out(times, queue, (waiting, position), slots, out),
                Schedule::Poisson(times) => hand_out(times, queue, (waiting, position), slots, out),
                Schedule::Steps(times) => hand_out(times, queue, (waiting, position), slots, out),
            }
            if let Some(buffers) = &mut self.buffers {
                buffers.fill(slots);
            }
        }
        if line.marks() != before || is_gap || most == 0 {
            let rx_nombuf = self.buffers.as_ref().map_or(0, |buffers| buffers.rx_nombuf());
            self.shared.counters[self.number].write(line.counters(rx_nombuf));
        }
        let is_over = line.ring.offered == self.own && line.ring.waiting == 0;
        if count == 0 && is_over { None } else { Some(count) }
    }
}

/// The settings by which frames are handed out.
#[derive(Clone, Copy, Debug)]
struct HandOut {
    /// The time when the wire's clock began, nanoseconds since the epoch.
    wire_start_ns: u64,
    /// True if the first line of each frame is prefetched for the reader.
    prefetches: bool,
}

/// Fills the slots with the oldest waiting packets, of which there are enough.
#[inline]
fn hand_out(
    times: &impl ArrivalTimes,
    queue: &QueueFrames,
    (waiting, position): (&mut WaitingPackets, &mut QueuePosition),
    mut slots: &mut [FrameDescriptor],
    HandOut { wire_start_ns, prefetches }: HandOut,
) {
    let frames = queue.descriptors.len();
    let burst = slots.len();
    while !slots.is_empty() {
        let (first, count) = waiting.pop(slots.len() as u64);
        let mut count = count as usize;
        debug_assert!(count > 0, "the ring counts more than waits");
        position.seek(first, frames);
        let (mut run, others) = slots.split_at_mut(count);
        slots = others;
        while count > 0 {
            let in_lap = count.min(frames - position.index);
            let (now, later) = run.split_at_mut(in_lap);
            let first = position.index;
            now.copy_from_slice(&queue.descriptors[first..first + in_lap]);
            for (index, descriptor) in (first..).zip(now) {
                if prefetches {
                    prefetch(descriptor.data);
                }
                descriptor.time_ns = wire_start_ns + times.time_ns(position.lap, queue.number(index));
            }
            position.advance(in_lap, frames);
            run = later;
            count -= in_lap;
        }
    }
    // After dropped packets the next ones lie elsewhere, which the hardware prefetcher cannot predict.
    if let Some((first, count)) = waiting.front()
        && first != position.number
    {
        let index = (first % frames as u64) as usize;
        let next = &queue.descriptors[index..frames.min(index + burst.min(count as usize))];
        for descriptor in next {
            prefetch(std::ptr::from_ref(descriptor).cast());
        }
    }
}

impl<C: WireClock> PacketSource for WireQueue<C> {
    #[inline]
    fn rx_burst(&mut self) -> Result<Poll<'_>, SourceError> {
        let received = if self.line.is_some() { self.receive() } else { self.replay() };
        Ok(match received {
            None => Poll::Ended,
            Some(0) => Poll::Idle,
            // SAFETY: each of these descriptors was just filled from a slot of the trace, whose frames are
            // not written to and which lives as long as `self`.
            Some(count) => Poll::Burst(unsafe { Burst::new(&self.descriptors[..count]) }),
        })
    }

    fn release(&mut self) {
        if let Some(buffers) = &mut self.buffers {
            buffers.release();
        }
    }

    fn leave_prefetching(&mut self) {
        self.prefetches = false;
    }

    fn time_base(&self) -> TimeBase {
        if self.line.is_some() { TimeBase::Clock } else { TimeBase::Packets }
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn lost(&mut self) -> Option<Vec<SourceCounter>> {
        Some(self.line.iter().map(|line| ("imissed", line.ring.missed)).collect())
    }

    fn lost_off_core(&self) -> u64 {
        let shadow =
            |line: &TimedQueue| line.shadow.map(|shadow| line.ring.missed.saturating_sub(shadow.ring.missed));
        self.line.as_ref().and_then(shadow).unwrap_or(0)
    }

    /// Returns the progress in bytes on the wire, including dropped packets.
    fn progress(&self) -> Option<SourceProgress> {
        let queue = &self.trace.queues[self.number];
        let frames = queue.descriptors.len().max(1) as u128;
        let bytes = |packets: u64| (u128::from(packets) * u128::from(queue.wire_bytes) / frames) as u64;
        let done = match &self.line {
            Some(line) => line.ring.offered - line.ring.waiting,
            None => self.position.number,
        };
        Some(SourceProgress { done: bytes(done), total: Some(bytes(self.own)) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SyntheticSource;
    use crate::wire::{ThreadTime, WireSpec};

    /// A microsecond passes with every reading.
    struct Ticking(u64);

    impl WireClock for Ticking {
        fn now_ns(&mut self) -> u64 {
            self.0 += 1_000;
            self.0
        }

        fn thread(&mut self) -> ThreadTime {
            ThreadTime { cpu_ns: self.0, blocked: 0 }
        }

        fn epoch_offset_ns(&mut self) -> u64 {
            0
        }
    }

    /// Refuses every other time.
    #[derive(Debug, Default)]
    struct Scarce {
        asked: u64,
        held: usize,
        refused: u64,
    }

    impl Buffers for Scarce {
        fn release(&mut self) {
            self.held = 0;
        }

        fn reserve(&mut self, count: usize) -> bool {
            assert_eq!(self.held, 0, "the last ones are back");
            self.asked += 1;
            if self.asked % 2 == 1 {
                self.refused += count as u64;
                return false;
            }
            self.held = count;
            true
        }

        fn fill(&mut self, frames: &mut [FrameDescriptor]) {
            assert_eq!(frames.len(), self.held);
        }

        fn rx_nombuf(&self) -> u64 {
            self.refused
        }
    }

    #[test]
    fn packets_without_a_buffer_wait_in_the_ring() {
        for text in ["", "rate=20Mpps,ring=64,packets=3000"] {
            let mut source = SyntheticSource::open("packets=1000", 32).unwrap();
            let trace = Arc::new(Trace::load(&mut source, 1, 1 << 30).unwrap());
            let spec: WireSpec = text.parse().unwrap();
            let queue = Wire::open_with("wire", &spec, &trace, 32, || Ticking(0)).unwrap().remove(0);
            let mut queue = queue.with_buffers(Box::new(Scarce::default()));
            let (mut received, mut idle) = (0, 0);
            loop {
                match queue.rx_burst().unwrap() {
                    Poll::Burst(burst) => received += burst.len() as u64,
                    Poll::Idle => idle += 1,
                    Poll::Ended => break,
                }
            }
            let counters = queue.counters();
            assert!(idle > 10);
            assert_eq!(counters.delivered, received);
            assert_eq!(
                (counters.offered, counters.waiting()),
                (if text.is_empty() { 1000 } else { 3000 }, 0)
            );
            // At 20 packets a poll, of which every other one takes 32.
            assert_eq!(counters.imissed > 0, !text.is_empty());
            assert!(counters.rx_nombuf > 0, "{counters:?}");
        }
    }
}
