//! A sender, a receiver and a path between them with a tap in the middle, where everything that goes wrong is
//! planted: the simulation knows the truth because it did it.
//!
//! The transfer is of whole segments, numbered from 0. The sender keeps a window of them, sends again when the
//! first one is not acknowledged in time (that one, or all that are out), and the receiver acknowledges what it
//! has in a row.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use tcp::{LossCounts, Segment, TcpConnection, flag};
use testbed::Random;

pub(crate) const MS: u64 = 1_000_000;

/// How a transfer goes: times in nanoseconds, chances as one in this many (0: never).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Plan {
    pub(crate) seed: u64,
    pub(crate) segments: usize,
    pub(crate) window: usize,
    /// One way from the sender to the tap, and from the tap to the receiver; back it takes as long.
    pub(crate) before_tap: u64,
    pub(crate) behind_tap: u64,
    /// Between two segments that are sent.
    pub(crate) spacing: u64,
    pub(crate) timeout: u64,
    pub(crate) goes_back: bool,
    pub(crate) delays_acks: bool,
    pub(crate) lost_before: u64,
    /// Only first copies are lost before the tap, ten segments apart at least: something passes after each.
    pub(crate) is_spaced: bool,
    pub(crate) lost_behind: u64,
    pub(crate) missed: u64,
    pub(crate) duplicated: u64,
    /// Delayed before the tap by up to this much.
    pub(crate) delayed: u64,
    pub(crate) longest_delay: u64,
    pub(crate) ack_lost: u64,
    /// From this segment on nothing goes wrong before or at the tap: nothing follows the end of a transfer
    /// that would show a hole.
    pub(crate) safe_from: usize,
    /// The tap sees nothing from this time on.
    pub(crate) stops_at: u64,
    /// Initial sequence numbers, of the sender and of the receiver.
    pub(crate) isn: [u32; 2],
    /// Which direction the sender is.
    pub(crate) direction: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    SendNew,
    AtTap { segment: usize, is_seen: bool, goes_on: bool },
    AtReceiver { segment: usize },
    AckTimer { count: u64 },
    AckAtTap { until: usize, goes_on: bool },
    AckAtSender { until: usize },
    Timeout { count: u64 },
}

/// What was done to the transfer.
#[derive(Clone, Debug, Default)]
pub(crate) struct Planted {
    /// First copies that were lost before the tap, and their bytes.
    pub(crate) first_lost_before: u32,
    pub(crate) first_lost_before_byte: u64,
    /// Copies that were lost after the tap.
    pub(crate) lost_behind: u32,
    pub(crate) lost_behind_byte: u64,
    /// Copies of the network's own making that passed the tap.
    pub(crate) duplicates: u32,
}

/// What passed the tap and was seen there.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seen {
    /// Time and number of each segment.
    pub(crate) data: Vec<(u64, usize)>,
    /// Time of each acknowledgement, and of how many segments.
    pub(crate) acks: Vec<(u64, usize)>,
}

pub(crate) struct Outcome {
    pub(crate) planted: Planted,
    pub(crate) seen: Seen,
    pub(crate) sizes: Vec<u32>,
    /// The tracker's counts of the data's direction and of the other one.
    pub(crate) counts: [LossCounts; 2],
    /// All of it arrived and was acknowledged.
    pub(crate) is_complete: bool,
}

struct Simulation {
    plan: Plan,
    random: Random,
    queue: BinaryHeap<Reverse<(u64, u64, Event)>>,
    events: u64,
    now: u64,
    sizes: Vec<u32>,
    /// Offsets of the segments' first bytes, and of the end.
    offsets: Vec<u32>,
    planted: Planted,
    seen: Seen,
    connection: TcpConnection,
    // The sender.
    next_new: usize,
    unacked: usize,
    timer: u64,
    next_loss: usize,
    // The receiver.
    received: Vec<bool>,
    in_row: usize,
    unanswered: u32,
    ack_timer: u64,
}

/// Runs a transfer to its end.
pub(crate) fn run(plan: Plan) -> Outcome {
    let mut random = Random::new(plan.seed);
    // One byte sent again cannot be told from a keep-alive.
    let sizes: Vec<u32> = (0..plan.segments).map(|_| 2 + random.below(1_459) as u32).collect();
    let mut offsets = vec![0];
    for size in &sizes {
        offsets.push(offsets[offsets.len() - 1] + size);
    }
    let mut simulation = Simulation {
        received: vec![false; plan.segments],
        plan,
        random,
        queue: BinaryHeap::new(),
        events: 0,
        now: MS,
        sizes,
        offsets,
        planted: Planted::default(),
        seen: Seen::default(),
        connection: TcpConnection::default(),
        next_new: 0,
        unacked: 0,
        timer: 0,
        next_loss: 0,
        in_row: 0,
        unanswered: 0,
        ack_timer: 0,
    };
    simulation.handshake();
    simulation.push(0, Event::SendNew);
    while let Some(Reverse((time, _, event))) = simulation.queue.pop() {
        simulation.now = time;
        simulation.take(event);
    }
    let mut counts = simulation.connection.finish();
    if plan.direction == 1 {
        counts.reverse();
    }
    Outcome {
        is_complete: simulation.unacked == plan.segments,
        planted: simulation.planted,
        seen: simulation.seen,
        sizes: simulation.sizes,
        counts,
    }
}

impl Simulation {
    fn push(&mut self, delay: u64, event: Event) {
        self.events += 1;
        self.queue.push(Reverse((self.now + delay, self.events, event)));
    }

    fn take(&mut self, event: Event) {
        match event {
            Event::SendNew => {
                if self.next_new < self.plan.segments && self.next_new < self.unacked + self.plan.window {
                    if self.next_new == self.unacked {
                        self.start_timer();
                    }
                    self.next_new += 1;
                    self.send(self.next_new - 1, true);
                    self.push(self.plan.spacing, Event::SendNew);
                }
            }
            Event::AtTap { segment, is_seen, goes_on } => {
                if is_seen {
                    self.show(segment);
                }
                if goes_on {
                    self.push(self.plan.behind_tap, Event::AtReceiver { segment });
                }
            }
            Event::AtReceiver { segment } => self.receive(segment),
            Event::AckTimer { count } => {
                if count == self.ack_timer && self.unanswered != 0 {
                    self.acknowledge();
                }
            }
            Event::AckAtTap { until, goes_on } => {
                self.show_ack(until);
                if goes_on {
                    self.push(self.plan.before_tap, Event::AckAtSender { until });
                }
            }
            Event::AckAtSender { until } => {
                if until > self.unacked {
                    self.unacked = until;
                    self.start_timer();
                    self.push(0, Event::SendNew);
                }
            }
            Event::Timeout { count } => {
                if count == self.timer && self.unacked < self.next_new {
                    let last = if self.plan.goes_back { self.next_new } else { self.unacked + 1 };
                    for segment in self.unacked..last {
                        self.send(segment, false);
                    }
                    self.start_timer();
                }
            }
        }
    }

    fn start_timer(&mut self) {
        self.timer += 1;
        self.push(self.plan.timeout, Event::Timeout { count: self.timer });
    }

    fn send(&mut self, segment: usize, is_first: bool) {
        let plan = self.plan;
        let is_safe = segment >= plan.safe_from;
        let may_be_lost = !is_safe && (!plan.is_spaced || is_first && segment >= self.next_loss);
        let bytes = u64::from(self.sizes[segment]);
        if may_be_lost && self.random.once_in(plan.lost_before) {
            self.next_loss = segment + 10;
            if is_first {
                self.planted.first_lost_before += 1;
                self.planted.first_lost_before_byte += bytes;
            }
            return;
        }
        let copies = if self.random.once_in(plan.duplicated) { 2 } else { 1 };
        self.planted.duplicates += copies - 1;
        for _ in 0..copies {
            let is_lost_behind = self.random.once_in(plan.lost_behind);
            if is_lost_behind {
                self.planted.lost_behind += 1;
                self.planted.lost_behind_byte += bytes;
            }
            let is_seen = is_safe || !self.random.once_in(plan.missed);
            let is_delayed = !is_safe && self.random.once_in(plan.delayed);
            let delay = if is_delayed { 1 + self.random.below(plan.longest_delay) } else { 0 };
            let event = Event::AtTap { segment, is_seen, goes_on: !is_lost_behind };
            self.push(plan.before_tap + delay, event);
        }
    }

    fn receive(&mut self, segment: usize) {
        let is_next = segment == self.in_row;
        // A receiver of go-back-N keeps nothing that is out of order.
        self.received[segment] |= is_next || !self.plan.goes_back;
        while self.received.get(self.in_row) == Some(&true) {
            self.in_row += 1;
        }
        self.unanswered += 1;
        if !self.plan.delays_acks || !is_next || self.unanswered == 2 {
            self.acknowledge();
        } else {
            self.ack_timer += 1;
            self.push(40 * MS, Event::AckTimer { count: self.ack_timer });
        }
    }

    fn acknowledge(&mut self) {
        self.unanswered = 0;
        let is_lost = self.random.once_in(self.plan.ack_lost);
        let event = Event::AckAtTap { until: self.in_row, goes_on: !is_lost };
        self.push(self.plan.behind_tap, event);
    }

    // What the tap sees.

    fn segment(&mut self, side: usize, offset: u32, ack: u32, payload: u32, flags: u8) {
        if self.now >= self.plan.stops_at {
            return;
        }
        let [own, other] = [self.plan.isn[side], self.plan.isn[1 - side]];
        let segment = Segment {
            time_ns: self.now,
            seq: own.wrapping_add(offset),
            ack: if flags & flag::ACK == 0 { 0 } else { other.wrapping_add(ack) },
            payload,
            window: 60_000,
            flags,
            ..Segment::default()
        };
        let segment = segment.with_window_scale((flags & flag::SYN != 0).then_some(8));
        self.connection.segment(side ^ self.plan.direction, &segment);
    }

    fn handshake(&mut self) {
        let Plan { before_tap, behind_tap, .. } = self.plan;
        self.segment(0, 0, 0, 0, flag::SYN);
        self.now += 2 * behind_tap;
        self.segment(1, 0, 1, 0, flag::SYN | flag::ACK);
        self.now += 2 * before_tap;
        self.segment(0, 1, 1, 0, flag::ACK);
    }

    fn show(&mut self, segment: usize) {
        if self.now < self.plan.stops_at {
            self.seen.data.push((self.now, segment));
        }
        self.segment(0, 1 + self.offsets[segment], 1, self.sizes[segment], flag::ACK);
    }

    fn show_ack(&mut self, until: usize) {
        if self.now < self.plan.stops_at {
            self.seen.acks.push((self.now, until));
        }
        self.segment(1, 1, 1 + self.offsets[until], 0, flag::ACK);
    }
}
