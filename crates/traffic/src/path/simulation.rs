//! The connections, event by event.

use super::{PathSpec, PathTruth, TapTruth};
use crate::flow::{AddressPair, FlowProfile, TCP};
use crate::headers::{self, FlowPosition};
use crate::tcp::{ACK, FIN, PSH, SYN};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{RngCore, SeedableRng};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// Payload of a segment: what fits an Ethernet frame after headers without options.
const PAYLOAD: u32 = 1460;
/// Segments that may be in flight: as the window in the headers allows (64,240 bytes).
const WINDOW: u32 = 44;
/// Segments of a connection's end that are never lost, so that others follow every loss.
const SAFE_TAIL: u32 = WINDOW;
/// Later segments that arrived before one counts as lost (RFC 6675, DupThresh).
const DUP_THRESH: u32 = 3;
/// Time between two segments of a sender: 1 Gbit/s.
const SPACING_NS: u64 = 12_000;
/// The delay of segments that the hop holds back: others overtake them, but too few for them to count as
/// lost.
const DELAY_NS: u64 = SPACING_NS * 5 / 2;
const _: () = assert!(DELAY_NS < DUP_THRESH as u64 * SPACING_NS);
const START_NS: u64 = 1_704_067_200_000_000_000;

/// A frame as a tap sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TapFrame {
    /// Number of the tap, from 0 at the client on.
    pub tap: u32,
    /// Time stamp, nanoseconds since the epoch.
    pub time_ns: u64,
    /// Captured bytes: the headers; the payload is cut.
    pub data: Vec<u8>,
    /// Length on the wire without the check sequence.
    pub wire_len: u32,
    /// Length that the IP header states.
    pub(crate) total_byte: u32,
    /// Twice the connection's number, and one more on the way back.
    pub(crate) member: u64,
}

/// A packet on the path.
#[derive(Clone, Copy, Debug)]
enum PathPacket {
    Syn,
    SynAck,
    /// Segment of this number; sent for the first time or again.
    Data(u32, bool),
    /// Acknowledges all segments below; sent in response to this segment, if any.
    Ack(u32, Option<u32>),
    /// The client's, after all data, and the server's answer.
    Fin,
    FinAck,
    LastAck,
}

impl PathPacket {
    fn goes_forward(self) -> bool {
        matches!(self, Self::Syn | Self::Data(..) | Self::Fin | Self::LastAck)
            // The acknowledgement of SYN and ACK comes from the client.
            || matches!(self, Self::Ack(0, None))
    }
}

#[derive(Clone, Copy, Debug)]
enum SimulationEvent {
    /// The client may send.
    Send,
    /// A packet passes a tap, with its IP identification where it was seen at one before.
    Tap(u32, PathPacket, Option<u16>),
}

/// The fate of the first transmission of a segment at the lossy hop. It is drawn also where no hop is lossy: a seed gives the same connections
/// with losses and without.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Passed,
    Lost,
    Delayed,
}

#[derive(Clone, Debug)]
struct SimulatedConnection {
    flow: FlowProfile,
    reverse: FlowProfile,
    fates: Vec<Fate>,
    /// The latest segment that passed each tap, by tap.
    latest: Vec<u32>,
    /// The segments that arrived at the server, and those of which the client knows.
    arrived: Vec<bool>,
    known: Vec<bool>,
    /// All below have arrived; all below are known to have.
    expected: u32,
    acknowledged: u32,
    next: u32,
    highest_known: u32,
    resent: Vec<bool>,
    to_resend: VecDeque<u32>,
    /// A `Send` is under way.
    sends: bool,
    id: u16,
}

/// Simulates a [`PathSpec`]: frames in the order of time, over all taps.
#[derive(Clone, Debug)]
pub struct PathSimulation {
    spec: PathSpec,
    connections: Vec<SimulatedConnection>,
    /// The events to come, by time, then in the order in which they were made.
    events: BinaryHeap<Reverse<(u64, u64, u32, EventSlot)>>,
    made: u64,
    truth: PathTruth,
}

/// An event in the heap; its order is irrelevant, as the number before it is unique.
#[derive(Clone, Copy, Debug)]
struct EventSlot(SimulationEvent);

impl PartialEq for EventSlot {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}
impl Eq for EventSlot {}
impl PartialOrd for EventSlot {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for EventSlot {
    fn cmp(&self, _: &Self) -> std::cmp::Ordering {
        std::cmp::Ordering::Equal
    }
}

impl PathSimulation {
    /// A path on which nothing has happened yet.
    pub fn new(spec: PathSpec) -> Self {
        Self::placed(spec, [192, 0, 2, 1], START_NS)
    }

    /// A path to this server that begins at this time.
    pub(crate) fn placed(spec: PathSpec, server: [u8; 4], start_ns: u64) -> Self {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(spec.seed);
        let taps = vec![TapTruth::default(); spec.hops as usize + 1];
        let truth =
            PathTruth { spec: spec.to_string(), lossy_hop: spec.lossy, lost_count: 0, lost_byte: 0, taps };
        let mut path =
            Self { spec: spec.clone(), connections: Vec::new(), events: BinaryHeap::new(), made: 0, truth };
        let over_ns = spec.over.as_nanos();
        for number in 0..spec.connections {
            let at = start_ns + (u128::from(number) * over_ns / u128::from(spec.connections)) as u64;
            path.connections.push(SimulatedConnection::new(number, &spec, server, &mut random));
            path.schedule(at, number, SimulationEvent::Tap(0, PathPacket::Syn, None));
        }
        path
    }

    /// Length of the longest frame that is captured.
    pub const LONGEST: usize = headers::LONGEST;

    /// Length of the longest frame on the wire, without check sequence.
    pub(crate) const LONGEST_WIRE: u32 = headers::TCP_OVER_IPV4 as u32 + PAYLOAD;

    /// Returns what was lost so far; complete once [`PathSimulation::next_frame`] returns none.
    pub fn truth(&self) -> &PathTruth {
        &self.truth
    }

    /// The flow of a member: see [`TapFrame`].
    pub(crate) fn flow(&self, member: u64) -> FlowProfile {
        let connection = &self.connections[(member / 2) as usize];
        if member.is_multiple_of(2) { connection.flow } else { connection.reverse }
    }

    /// The number of frames that a tap will see.
    pub(crate) fn frames_at(&self, tap: u32) -> u64 {
        let of = |connection: &SimulatedConnection| {
            // Three packets each for the beginning and the end, and an acknowledgement of each segment.
            let lost = connection.fates.iter().filter(|&&fate| fate == Fate::Lost).count();
            let again = if tap < self.spec.lossy { lost } else { 0 };
            (6 + 2 * connection.fates.len() + again) as u64
        };
        self.connections.iter().map(of).sum()
    }

    fn schedule(&mut self, at: u64, connection: u32, event: SimulationEvent) {
        self.made += 1;
        self.events.push(Reverse((at, self.made, connection, EventSlot(event))));
    }

    /// The next frame at any tap; `None` when all connections are over.
    pub fn next_frame(&mut self) -> Option<TapFrame> {
        while let Some(Reverse((now, _, number, EventSlot(event)))) = self.events.pop() {
            match event {
                SimulationEvent::Send => self.send(now, number),
                SimulationEvent::Tap(tap, packet, id) => {
                    return Some(self.pass(now, number, (tap, packet, id)));
                }
            }
        }
        None
    }

    /// A packet passes a tap and continues to the next one, to an end, or nowhere.
    fn pass(&mut self, now: u64, number: u32, (tap, packet, id): (u32, PathPacket, Option<u16>)) -> TapFrame {
        let hop_ns = u64::from(self.spec.rtt_us) * 1000 / 2 / u64::from(self.spec.hops);
        let connection = &mut self.connections[number as usize];
        let id = id.unwrap_or_else(|| connection.next_id());
        let passed = if packet.goes_forward() { tap } else { self.spec.hops - tap };
        let (data, wire_len, total_byte) = connection.frame(packet, id, passed as u8);
        self.truth.taps[tap as usize].packets += 1;
        let truth = &mut self.truth.taps[tap as usize].loss;
        // A segment that was lost is repaired once: before the lossy hop that is a retransmission, after it a
        // repair.
        if let PathPacket::Data(_, true) = packet {
            if tap < self.spec.lossy {
                truth.retrans_count += 1;
                truth.retrans_byte += u64::from(PAYLOAD);
            } else {
                truth.ploss_count += 1;
                truth.ploss_byte += u64::from(PAYLOAD);
            }
        }
        let mut fate = Fate::Passed;
        if let PathPacket::Data(segment, false) = packet {
            let latest = &mut connection.latest[tap as usize];
            truth.reorder_count += u64::from(segment < *latest);
            *latest = segment.max(*latest);
            if tap + 1 == self.spec.lossy {
                fate = connection.fates[segment as usize];
            }
        }
        let forward = packet.goes_forward();
        let hop_ns = if fate == Fate::Delayed { hop_ns + DELAY_NS } else { hop_ns };
        if fate == Fate::Lost {
            self.truth.lost_count += 1;
            self.truth.lost_byte += u64::from(PAYLOAD);
        } else if forward && tap < self.spec.hops {
            self.schedule(now + hop_ns, number, SimulationEvent::Tap(tap + 1, packet, Some(id)));
        } else if !forward && tap > 0 {
            self.schedule(now + hop_ns, number, SimulationEvent::Tap(tap - 1, packet, Some(id)));
        } else {
            self.arrive(now, number, packet);
        }
        let member = 2 * u64::from(number) + u64::from(!forward);
        TapFrame { tap, time_ns: now, data, wire_len, total_byte, member }
    }

    /// A packet is at its end, immediately after the last tap.
    fn arrive(&mut self, now: u64, number: u32, packet: PathPacket) {
        let last = self.spec.hops;
        let connection = &mut self.connections[number as usize];
        let soon = now + 1000;
        match packet {
            PathPacket::Syn => {
                self.schedule(soon, number, SimulationEvent::Tap(last, PathPacket::SynAck, None))
            }
            PathPacket::SynAck => {
                connection.sends = true;
                self.schedule(soon, number, SimulationEvent::Tap(0, PathPacket::Ack(0, None), None));
                self.schedule(soon + SPACING_NS, number, SimulationEvent::Send);
            }
            PathPacket::Data(segment, _) => {
                connection.arrived[segment as usize] = true;
                while connection.arrived.get(connection.expected as usize) == Some(&true) {
                    connection.expected += 1;
                }
                let ack = PathPacket::Ack(connection.expected, Some(segment));
                self.schedule(soon, number, SimulationEvent::Tap(last, ack, None));
            }
            PathPacket::Ack(expected, Some(segment)) => {
                connection.learn(expected, segment);
                if !connection.sends {
                    connection.sends = true;
                    self.schedule(soon, number, SimulationEvent::Send);
                }
            }
            PathPacket::Fin => {
                self.schedule(soon, number, SimulationEvent::Tap(last, PathPacket::FinAck, None))
            }
            PathPacket::FinAck => {
                self.schedule(soon, number, SimulationEvent::Tap(0, PathPacket::LastAck, None))
            }
            PathPacket::Ack(_, None) | PathPacket::LastAck => {}
        }
    }

    /// The client sends what it may, retransmissions first.
    fn send(&mut self, now: u64, number: u32) {
        let connection = &mut self.connections[number as usize];
        let segments = connection.fates.len() as u32;
        let packet = if let Some(segment) = connection.to_resend.pop_front() {
            PathPacket::Data(segment, true)
        } else if connection.next < segments && connection.next < connection.acknowledged + WINDOW {
            connection.next += 1;
            PathPacket::Data(connection.next - 1, false)
        } else {
            connection.sends = false;
            if connection.acknowledged == segments && connection.next == segments {
                connection.next += 1;
                self.schedule(now, number, SimulationEvent::Tap(0, PathPacket::Fin, None));
            }
            return;
        };
        self.schedule(now, number, SimulationEvent::Tap(0, packet, None));
        self.schedule(now + SPACING_NS, number, SimulationEvent::Send);
    }
}

impl SimulatedConnection {
    fn new(number: u32, spec: &PathSpec, server: [u8; 4], random: &mut Xoshiro256PlusPlus) -> Self {
        let [_, _, high, low] = number.to_be_bytes();
        let client = [10, 1, high, low];
        let (client_port, server_port) = (50_000 + (number % 10_000) as u16, 443);
        let flow = FlowProfile {
            addresses: AddressPair::V4 { src: client, dst: server },
            src_port: client_port,
            dst_port: server_port,
            protocol: TCP,
            ttl: 60,
            outbound: true,
            initial_seq: random.next_u64() as u32,
        };
        let reverse = FlowProfile {
            addresses: AddressPair::V4 { src: server, dst: client },
            src_port: server_port,
            dst_port: client_port,
            outbound: false,
            initial_seq: random.next_u64() as u32,
            ..flow
        };
        let segments = spec.segments as usize;
        let lossy = spec.segments.saturating_sub(SAFE_TAIL) as usize;
        let mut is_drawn = |ppm: u32| random.next_u64() % 1_000_000 < u64::from(ppm);
        let fates = (0..segments)
            .map(|segment| match segment < lossy {
                true if is_drawn(spec.loss_ppm) => Fate::Lost,
                // No number is drawn unnecessarily: output without delays is the same as before delays were
                // added.
                true if spec.reorder_ppm != 0 && is_drawn(spec.reorder_ppm) => Fate::Delayed,
                _ => Fate::Passed,
            })
            .collect();
        Self {
            flow,
            reverse,
            fates,
            latest: vec![0; spec.hops as usize + 1],
            arrived: vec![false; segments],
            known: vec![false; segments],
            expected: 0,
            acknowledged: 0,
            next: 0,
            highest_known: 0,
            resent: vec![false; segments],
            to_resend: VecDeque::new(),
            sends: false,
            id: 0,
        }
    }

    /// The client is informed which segment arrived, as by selective acknowledgements (RFC 2018), and
    /// retransmits what must be lost.
    fn learn(&mut self, expected: u32, segment: u32) {
        self.known[segment as usize] = true;
        self.acknowledged = self.acknowledged.max(expected);
        self.highest_known = self.highest_known.max(segment);
        let surely_lost = self.highest_known.saturating_sub(DUP_THRESH - 1);
        for missing in self.acknowledged..surely_lost {
            let at = missing as usize;
            if !self.known[at] && !self.resent[at] {
                self.resent[at] = true;
                self.to_resend.push_back(missing);
            }
        }
    }

    /// The IP identification of the next packet, which it has at all taps.
    fn next_id(&mut self) -> u16 {
        self.id = self.id.wrapping_add(1);
        self.id
    }

    /// Returns the bytes of a packet, its length on the wire and the length in its IP header. Its TTL is lower by the number of hops that it has
    /// `passed`.
    fn frame(&self, packet: PathPacket, id: u16, passed: u8) -> (Vec<u8>, u32, u32) {
        let flow = if packet.goes_forward() { self.flow } else { self.reverse };
        let flow = &FlowProfile { ttl: flow.ttl - passed, ..flow };
        let (client, server) =
            (self.flow.initial_seq.wrapping_add(1), self.reverse.initial_seq.wrapping_add(1));
        let behind = |segments: u32| client.wrapping_add(segments.wrapping_mul(PAYLOAD));
        let all = behind(self.fates.len() as u32);
        let (seq, ack, tcp_flags, payload) = match packet {
            PathPacket::Syn => (self.flow.initial_seq, 0, SYN, 0),
            PathPacket::SynAck => (self.reverse.initial_seq, client, SYN | ACK, 0),
            PathPacket::Data(segment, _) => (behind(segment), server, PSH | ACK, PAYLOAD),
            PathPacket::Ack(0, None) => (client, server, ACK, 0),
            PathPacket::Ack(expected, _) => (server, behind(expected), ACK, 0),
            PathPacket::Fin => (all, server, FIN | ACK, 0),
            PathPacket::FinAck => (server, all.wrapping_add(1), FIN | ACK, 0),
            PathPacket::LastAck => (all.wrapping_add(1), server.wrapping_add(1), ACK, 0),
        };
        let length = headers::length(flow);
        let total_byte = (length - headers::ETHERNET) as u32 + payload;
        let built = headers::build(flow, &FlowPosition { seq, ack, tcp_flags, id }, total_byte);
        let wire_len = (total_byte + headers::ETHERNET as u32).max(60);
        (built[..length].to_vec(), wire_len, total_byte)
    }
}
