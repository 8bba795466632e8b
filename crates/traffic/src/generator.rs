//! The generator: frame by frame, without allocation.

use crate::event::EventSchedule;
use crate::flow::{FlowProfile, Flows, TCP};
use crate::frame::{FrameOrigin, GeneratedFrame};
use crate::headers::{self, FlowPosition};
use crate::path::{PathSimulation, PlantedPaths, TapFrame};
use crate::ranks::RankDraw;
use crate::spec::TrafficSpec;
use crate::spec::event::part;
use crate::tcp::TcpStreams;
use crate::truth::{GeneratedCounts, Truth, TruthInput};
use rand_xoshiro::rand_core::{RngCore, SeedableRng};
use rand_xoshiro::{SplitMix64, Xoshiro256PlusPlus};

/// Ranks are drawn this many at a time.
pub(crate) const DRAWN_AHEAD: usize = 64;

/// The random draws that a seed determines apart from the frames: used by everything that draws flows.
pub(crate) struct Draws {
    pub(crate) flows: Flows,
    pub(crate) ranks: RankDraw,
    /// Further numbers drawn from the seed.
    seeds: SplitMix64,
}

impl Draws {
    pub(crate) fn new(spec: &TrafficSpec) -> Self {
        let mut seeds = SplitMix64::seed_from_u64(spec.seed());
        let flows = Flows::new(spec.ipv6_ppm(), &mut seeds);
        let ranks = RankDraw::new(spec.flows(), spec.zipf(), seeds.next_u64());
        Self { flows, ranks, seeds }
    }
}

/// Flow, place in it, length by the IP header, length on the wire, and the packet's origin.
type GeneratedPacket = (FlowProfile, FlowPosition, u32, u32, FrameOrigin);

/// Generates the frames of a [`TrafficSpec`], without allocation except for planted paths.
#[derive(Clone, Debug)]
pub struct Generator {
    spec: TrafficSpec,
    /// Evenly paced frames so far, and their total: all but those of paths.
    index: u64,
    paced: u64,
    flows: Flows,
    ranks: RankDraw,
    drawn: [u32; DRAWN_AHEAD],
    used: usize,
    sizes: SizeDraw,
    tcp: TcpStreams,
    clock: FrameClock,
    plan: EventSchedule,
    paths: PlantedPaths,
    /// Times of the first and the last frame so far.
    span: Option<(u64, u64)>,
    counts: Option<GeneratedCounts>,
    /// No frame was taken back.
    whole: bool,
}

impl Generator {
    /// Makes a generator. Its memory is four bytes per flow, seven with handshakes, and eight more where `zipf` is not 0.
    pub fn new(spec: TrafficSpec) -> Self {
        let Draws { flows, ranks, mut seeds } = Draws::new(&spec);
        let sizes = SizeDraw::new(&spec, seeds.next_u64());
        let clock = FrameClock::new(&spec);
        let paths = PlantedPaths::new(&spec, &mut seeds, |ppm, frames| {
            clock.at(part(spec.packets().saturating_sub(frames), ppm))
        });
        let paced = spec.packets().saturating_sub(paths.frames);
        let plan = EventSchedule::new(&spec, paced, &mut seeds);
        Self {
            index: 0,
            paced,
            flows,
            ranks,
            drawn: [0; DRAWN_AHEAD],
            used: DRAWN_AHEAD,
            sizes,
            tcp: TcpStreams::new(spec.flows(), spec.tcp(), seeds.next_u64()),
            clock,
            plan,
            paths,
            span: None,
            counts: None,
            whole: true,
            spec,
        }
    }

    /// Makes a generator that also counts what it generates: 24 bytes more per flow.
    pub fn with_truth(spec: TrafficSpec) -> Self {
        let mut generator = Self::new(spec);
        generator.counts =
            Some(GeneratedCounts::new(&generator.spec, &generator.plan.events, &generator.paths.paths));
        generator
    }

    /// The specification.
    pub fn spec(&self) -> &TrafficSpec {
        &self.spec
    }

    /// Frames generated so far.
    pub fn generated(&self) -> u64 {
        self.index + self.paths.passed
    }

    /// The longest possible frame, bytes without check sequence.
    pub fn longest_frame(&self) -> usize {
        let sizes = self.spec.sizes().iter().map(|share| share.size - TrafficSpec::CHECK_SEQUENCE);
        let planted = self.plan.events.iter().map(|event| event.wire_len());
        let paths = (self.paths.frames != 0).then_some(PathSimulation::LONGEST_WIRE);
        sizes.chain(planted).chain(paths).max().unwrap_or(0).max(headers::LONGEST as u32) as usize
    }

    /// The longest capture of a frame: with a buffer of this many bytes nothing but `snap` cuts a frame.
    pub fn longest_capture(&self) -> usize {
        self.longest_frame().min(self.spec.snap() as usize)
    }

    /// Writes the next frame to the start of `buf`, cut at the snap length and at the buffer's end; `None` after the
    /// last one.
    #[inline]
    pub fn next_frame(&mut self, buf: &mut [u8]) -> Option<GeneratedFrame> {
        let time_ns = if self.index < self.paced { self.clock.at(self.index) } else { u64::MAX };
        if self.paths.due_ns < time_ns {
            return self.path_frame(buf);
        }
        let index = self.index;
        if index == self.paced {
            return None;
        }
        let (flow, position, total_byte, wire_len, origin) = if self.plan.takes(index, self.paced) {
            let planted = self.plan.packet(index);
            let origin = FrameOrigin::Event { event: planted.event, member: planted.member };
            (planted.flow, planted.position, planted.total_byte, planted.wire_len, origin)
        } else {
            self.background(index)
        };
        self.index += 1;
        let headers = headers::build(&flow, &position, total_byte);
        let captured = wire_len.min(self.spec.snap()).min(buf.len().try_into().unwrap_or(u32::MAX));
        write_padded(&mut buf[..captured as usize], &headers);
        Some(self.note(GeneratedFrame { time_ns, captured, wire_len, total_byte, origin }))
    }

    /// The next frame of a planted path.
    #[cold]
    fn path_frame(&mut self, buf: &mut [u8]) -> Option<GeneratedFrame> {
        let (event, frame) = self.paths.next_frame()?;
        let TapFrame { time_ns, data, wire_len, total_byte, member, .. } = frame;
        let captured = wire_len.min(self.spec.snap()).min(buf.len().try_into().unwrap_or(u32::MAX));
        write_padded(&mut buf[..captured as usize], &data);
        let origin = FrameOrigin::Event { event, member };
        Some(self.note(GeneratedFrame { time_ns, captured, wire_len, total_byte, origin }))
    }

    /// Counts a frame.
    #[inline]
    fn note(&mut self, frame: GeneratedFrame) -> GeneratedFrame {
        if let Some(counts) = &mut self.counts {
            counts.add(frame.origin, frame.total_byte, frame.wire_len);
            self.span = Some((self.span.map_or(frame.time_ns, |(first, _)| first), frame.time_ns));
        }
        frame
    }

    /// A packet of the background.
    #[inline]
    fn background(&mut self, index: u64) -> GeneratedPacket {
        let mut rank = self.next_rank();
        let mut flow = self.flows.flow(rank);
        let mut position = FlowPosition { seq: 0, ack: 0, tcp_flags: 0, id: index as u16 };
        if flow.protocol != TCP {
            let wire_len = self.sizes.draw().max(headers::length(&flow) as u32);
            return (flow, position, wire_len - headers::ETHERNET as u32, wire_len, FrameOrigin::Rank(rank));
        }
        let turn = self.tcp.turn(rank);
        if turn.rank != rank {
            rank = turn.rank;
            flow = self.flows.flow(rank);
        }
        let least = headers::length(&flow) as u32;
        let (total_byte, wire_len) = if turn.is_data {
            let wire_len = self.sizes.draw().max(least);
            (wire_len - headers::ETHERNET as u32, wire_len)
        } else {
            (
                least - headers::ETHERNET as u32,
                least.max(TrafficSpec::LEAST_SIZE - TrafficSpec::CHECK_SEQUENCE),
            )
        };
        let payload = total_byte + headers::ETHERNET as u32 - least;
        (position.seq, position.ack) = self.tcp.numbers(&flow, turn, payload);
        position.tcp_flags = turn.tcp_flags;
        (flow, position, total_byte, wire_len, FrameOrigin::Rank(rank))
    }

    /// Removes a frame from the truth: it was generated, but not sent.
    pub fn take_back(&mut self, frame: &GeneratedFrame) {
        if let Some(counts) = &mut self.counts {
            counts.take_back(frame);
            self.whole = false;
        }
    }

    #[inline]
    fn next_rank(&mut self) -> u32 {
        if self.used == DRAWN_AHEAD {
            self.ranks.draw(&mut self.drawn);
            self.tcp.fetch(&self.drawn);
            self.used = 0;
        }
        self.used += 1;
        self.drawn[self.used - 1]
    }

    /// Returns what was generated so far; `None` unless made by [`Generator::with_truth`].
    pub fn truth(&self) -> Option<Truth> {
        let counts = self.counts.as_ref()?;
        let start = self.clock.at(0);
        let run = TruthInput {
            spec: &self.spec,
            keys: &self.flows,
            events: &self.plan.events,
            paths: &self.paths.paths,
            span: self.span.unwrap_or((start, start)),
            whole: self.whole,
        };
        Some(Truth::new(&run, counts, |at| self.clock.at(at)))
    }
}

/// Writes `headers`, or as much of them as there is room for, followed by zeros.
#[inline]
fn write_padded(out: &mut [u8], headers: &[u8]) {
    match out.split_at_mut_checked(headers.len()) {
        Some((start, payload)) => {
            start.copy_from_slice(headers);
            payload.fill(0);
        }
        None => out.copy_from_slice(&headers[..out.len()]),
    }
}

/// Evenly spaced time stamps.
#[derive(Clone, Copy, Debug)]
struct FrameClock {
    start_ns: u64,
    /// The interval between two frames, in nanoseconds × 2³².
    interval: u64,
}

impl FrameClock {
    fn new(spec: &TrafficSpec) -> Self {
        Self {
            start_ns: spec.start_ns(),
            interval: ((1_000_000_000u128 << 32) / u128::from(spec.rate())) as u64,
        }
    }

    #[inline]
    fn at(&self, index: u64) -> u64 {
        self.start_ns + ((u128::from(index) * u128::from(self.interval)) >> 32) as u64
    }
}

/// Draws frame lengths from a weighted list.
#[derive(Clone, Debug)]
struct SizeDraw {
    /// Length without check sequence, and the sum of the weights up to it.
    steps: Vec<(u32, u64)>,
    random: Xoshiro256PlusPlus,
}

impl SizeDraw {
    fn new(spec: &TrafficSpec, seed: u64) -> Self {
        let mut sum = 0;
        let steps = spec.sizes().iter().map(|share| {
            sum += u64::from(share.weight);
            (share.size - TrafficSpec::CHECK_SEQUENCE, sum)
        });
        Self { steps: steps.collect(), random: Xoshiro256PlusPlus::seed_from_u64(seed) }
    }

    #[inline]
    fn draw(&mut self) -> u32 {
        let &[.., (last, sum)] = self.steps.as_slice() else { return 0 };
        if self.steps.len() == 1 {
            return last;
        }
        let at = ((u128::from(self.random.next_u64()) * u128::from(sum)) >> 64) as u64;
        self.steps.iter().find(|step| at < step.1).map_or(last, |step| step.0)
    }
}
