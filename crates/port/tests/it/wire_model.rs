//! The wire against a simulation that works packet by packet, written differently: it moves every packet
//! through its own queue and knows nothing of intervals, ranks and runs.

use crate::wire_fixture::{EPOCH_NS, Received, TestClock, synthetic};
use notation::Rate;
use port::wire::{Trace, Wire, WireCounters, WireQueue, WireSpec};
use port::{PacketSource, Poll};
use proptest::prelude::*;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use traffic::{ArrivalProcess, Schedule};

const START_NS: u64 = 5_000_000_000;
const BURST: usize = 8;

/// One poll of the script.
#[derive(Clone, Copy, Debug)]
struct Step {
    /// Since the last step, nanoseconds.
    after: u64,
    queue: usize,
    /// Per cent of a long pause that the thread was off its core.
    off: u64,
    /// Whether it went to sleep itself.
    blocked: bool,
}

/// A ring of packets by their numbers.
#[derive(Default)]
struct Ring {
    packets: VecDeque<usize>,
    next: usize,
    offered: u64,
    missed: u64,
    delivered: u64,
}

impl Ring {
    /// Moves time on to `now` (after the start), then takes a burst.
    fn poll(&mut self, arrivals: &[(usize, u64)], now: u64, size: usize) -> Vec<usize> {
        while let Some(&(packet, time)) = arrivals.get(self.next)
            && time <= now
        {
            self.next += 1;
            self.offered += 1;
            if self.packets.len() < size { self.packets.push_back(packet) } else { self.missed += 1 }
        }
        let taken: Vec<usize> = (0..BURST).map_while(|_| self.packets.pop_front()).collect();
        self.delivered += taken.len() as u64;
        taken
    }
}

/// What a queue is expected to do.
#[derive(Default)]
struct Model {
    /// Number among all packets, and arrival.
    arrivals: Vec<(usize, u64)>,
    ring: Ring,
    stopped: Ring,
    last_poll: Option<u64>,
    gaps: Vec<u64>,
}

/// Arrivals from the specification alone: exact fractions, and for random ones the schedule's own times.
fn arrival(spec: &WireSpec, frames: &[Received], n: usize) -> u64 {
    let line = |count: usize| -> u128 {
        let bytes = |at: usize| u128::from((frames[at % frames.len()].wire_len + 4).max(64) + 20);
        let lap: u128 = (0..frames.len()).map(bytes).sum();
        lap * (count / frames.len()) as u128 + (0..count % frames.len()).map(bytes).sum::<u128>()
    };
    let even = |n: usize| match spec.rate.unwrap() {
        Rate::Packets(rate) => n as u128 * 1_000_000_000 / u128::from(rate),
        Rate::Bits(rate) if spec.arrivals == ArrivalProcess::Constant => {
            line(n) * 8_000_000_000 / u128::from(rate)
        }
        Rate::Bits(rate) => {
            line(frames.len()) * 8_000_000_000 * n as u128 / (u128::from(rate) * frames.len() as u128)
        }
    };
    match spec.arrivals {
        ArrivalProcess::Constant => even(n) as u64,
        ArrivalProcess::Bursts(count) => even(n - n % count as usize) as u64,
        ArrivalProcess::Poisson => {
            let lens = frames.iter().map(|frame| frame.wire_len);
            let schedule = Schedule::new(ArrivalProcess::Poisson, spec.rate.unwrap(), lens, spec.seed);
            schedule.time_ns((n / frames.len()) as u64, (n % frames.len()) as u32)
        }
    }
}

/// All arrivals; random ones from one schedule, which is costly to make.
fn arrivals(spec: &WireSpec, frames: &[Received], packets: usize) -> Vec<u64> {
    if spec.arrivals == ArrivalProcess::Poisson {
        let lens = frames.iter().map(|frame| frame.wire_len);
        let schedule = Schedule::new(ArrivalProcess::Poisson, spec.rate.unwrap(), lens, spec.seed);
        let time = |n| schedule.time_ns((n / frames.len()) as u64, (n % frames.len()) as u32);
        return (0..packets).map(time).collect();
    }
    (0..packets).map(|n| arrival(spec, frames, n)).collect()
}

fn queue_of(frame: &Received, queues: usize) -> usize {
    frame.rss_hash.unwrap_or(0) as usize % 128 % queues
}

fn run(text: &str, trace: &Arc<Trace>, frames: &[Received], steps: &[Step]) {
    let spec: WireSpec = text.parse().unwrap();
    let port::wire::ReplayLength::Packets(packets) = spec.length else { panic!("give packets") };
    let times = arrivals(&spec, frames, packets as usize);
    let mut models: Vec<Model> = (0..spec.queues).map(|_| Model::default()).collect();
    for (n, &time) in times.iter().enumerate() {
        models[queue_of(&frames[n % frames.len()], spec.queues)].arrivals.push((n, time));
    }
    let mut clocks = Vec::new();
    let clock = || {
        clocks.push(TestClock::default());
        clocks.last().unwrap().clone()
    };
    let mut queues = Wire::open_with("wire", &spec, trace, BURST, clock).expect("the wire opens");
    // The first one is read for the epoch only.
    let clocks = &clocks[1..];

    let mut now = START_NS;
    let mut start = None;
    for step in steps {
        now += step.after;
        let number = step.queue % spec.queues;
        let (model, clock) = (&mut models[number], &clocks[number]);
        let start = *start.get_or_insert(now);
        if let Some(last) = model.last_poll.replace(now)
            && now - last >= 50_000
        {
            let off = (now - last) * step.off / 100;
            clock.off.fetch_add(off, Relaxed);
            clock.blocked.fetch_add(step.blocked.into(), Relaxed);
            if off >= 5_000 && !step.blocked {
                model.gaps.push(off);
            }
        }
        clock.now.store(now, Relaxed);
        let stopped = now - start - model.gaps.iter().sum::<u64>();
        let expected: Vec<Received> = model
            .ring
            .poll(&model.arrivals, now - start, spec.ring)
            .into_iter()
            .map(|n| Received { time_ns: EPOCH_NS + start + times[n], ..frames[n % frames.len()].clone() })
            .collect();
        model.stopped.poll(&model.arrivals, stopped, spec.ring);
        poll(&mut queues[number], &expected, model);
        compare(&mut queues[number], model);
    }
    // Whatever is left comes out in the end, and then nothing.
    now += 1_000_000_000_000;
    for (number, queue) in queues.iter_mut().enumerate() {
        clocks[number].now.store(now, Relaxed);
        while let Poll::Burst(_) = queue.rx_burst().unwrap() {}
        assert!(matches!(queue.rx_burst(), Ok(Poll::Ended)));
        let counters = queue.counters();
        assert_eq!(counters.offered, models[number].arrivals.len() as u64);
        assert_eq!(counters.waiting(), 0);
        let progress = queue.progress().unwrap();
        assert_eq!(Some(progress.done), progress.total);
    }
    let total = queues[0].wire().total();
    assert_eq!(total.offered, packets);
    assert_eq!(total.delivered + total.imissed, packets);
}

fn poll(queue: &mut WireQueue<TestClock>, expected: &[Received], model: &Model) {
    match queue.rx_burst().expect("a wire does not fail") {
        Poll::Burst(burst) => assert_eq!(Received::all(&burst), expected),
        Poll::Idle => {
            assert!(expected.is_empty());
            assert!(model.ring.next < model.arrivals.len(), "there is more to come");
        }
        Poll::Ended => {
            assert!(expected.is_empty());
            assert_eq!(model.ring.next, model.arrivals.len(), "all have come");
        }
    }
}

fn compare(queue: &mut WireQueue<TestClock>, model: &Model) {
    let counters = queue.counters();
    assert_eq!(
        counters,
        WireCounters {
            offered: model.ring.offered,
            delivered: model.ring.delivered,
            imissed: model.ring.missed,
            offered_clock_stopped: model.stopped.offered,
            imissed_clock_stopped: model.stopped.missed,
            gaps: model.gaps.len() as u64,
            gap_ns: model.gaps.iter().sum(),
            longest_gap_ns: model.gaps.iter().copied().max().unwrap_or(0),
            rx_nombuf: 0,
        }
    );
    assert_eq!(counters.waiting(), model.ring.packets.len() as u64);
    assert_eq!(queue.lost(), Some(vec![("imissed", model.ring.missed)]));
}

fn step() -> impl Strategy<Value = Step> {
    // Short pauses, such in which the ring fills, and such in which it overflows.
    let after = prop_oneof![8 => 0..5_000u64, 3 => 5_000..49_000u64, 2 => 49_000..2_000_000u64];
    (after, 0..4usize, 0..=100u64, proptest::bool::weighted(0.2))
        .prop_map(|(after, queue, off, blocked)| Step { after, queue, off, blocked })
}

fn arrivals_text() -> impl Strategy<Value = String> {
    prop_oneof![
        3 => Just("constant".to_owned()),
        1 => Just("poisson".to_owned()),
        3 => (1..300u32).prop_map(|count| format!("bursts:{count}"))
    ]
}

fn rate_text() -> impl Strategy<Value = String> {
    prop_oneof![
        (10_000..40_000_000u64).prop_map(|rate| format!("{rate}pps")),
        (10_000_000..20_000_000_000u64).prop_map(|rate| format!("{rate}bps"))
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: testbed::cases(96), ..ProptestConfig::default() })]
    #[test]
    fn every_poll_is_as_simulated(
        arrivals in arrivals_text(),
        rate in rate_text(),
        ring in 6..9u32,
        queues in 1..4usize,
        frames in 1..200u32,
        packets in 1..4_000u64,
        seed in 0..3u64,
        steps in proptest::collection::vec(step(), 1..120),
    ) {
        let (trace, all) =
            synthetic(&format!("packets={frames},flows=50,size=64:3/594:1/1518:1,ipv6=30%,seed={seed}"), queues);
        let text = format!(
            "rate={rate},arrivals={arrivals},ring={},queues={queues},packets={packets},seed={seed}",
            1 << ring
        );
        run(&text, &trace, &all, &steps);
    }
}
