//! Planted events: their frames on the wire, and in which packets of the run they appear.

use crate::event_kind::{PlantedEventKind, SPOOFED_BITS};
use crate::flow::{AddressPair, CLIENTS, FlowProfile, TCP, client_v4};
use crate::headers::{self, FlowPosition};
use crate::loss_truth::LossTruth;
use crate::permutation::Permutation;
use crate::spec::{EventSpec, TrafficSpec};
use crate::tcp::{ACK, SYN};
use rand_xoshiro::SplitMix64;

/// One event of evenly spread packets while it is generated.
#[derive(Clone, Debug)]
pub(crate) struct Planted {
    pub(crate) kind: PlantedEventKind,
    /// Place in the specification; distinguishes events of one kind in their addresses.
    pub(crate) place: u8,
    /// The number of flows among which the packets of the event alternate.
    pub(crate) members: u64,
    packets: u64,
    pub(crate) emitted: u64,
    /// Position in the run of the first and the last packet so far.
    pub(crate) first: u64,
    pub(crate) last: u64,
    start: u64,
    span: u64,
    spread: Permutation,
}

impl Planted {
    /// Makes the event of a specification. `paced` is the number of the run's packets that are not those of a path.
    fn new(spec: &EventSpec, packets: u64, paced: u64, place: u8, seeds: &mut SplitMix64) -> Self {
        let (start, end) = spec.window(paced);
        let bits = if spec.kind() == PlantedEventKind::Scan { CLIENTS.ilog2() } else { SPOOFED_BITS };
        Self {
            kind: spec.kind(),
            place,
            members: spec.members(packets),
            packets: spec.packets(packets),
            emitted: 0,
            first: 0,
            last: 0,
            start,
            span: end - start,
            spread: Permutation::draw(bits, seeds),
        }
    }

    /// The position in the run at which its next packet is due: evenly spread over its window.
    fn due(&self) -> u64 {
        if self.emitted == self.packets {
            return u64::MAX;
        }
        let offset = u128::from(self.emitted) * u128::from(self.span) / u128::from(self.packets);
        self.start + offset as u64
    }

    /// The flow of a member.
    pub(crate) fn flow(&self, member: u64) -> FlowProfile {
        let image = self.spread.at(member) as u32;
        let victim = [203, 0, 113, 10 + self.place];
        let scanner = [198, 51, 100, 10 + self.place];
        let (src, src_port, dst, dst_port) = match self.kind {
            PlantedEventKind::Flood => {
                let spoofed = (0x4000_0000 | image).to_be_bytes();
                (spoofed, 1024 + (image >> 7) as u16 % 60_000, victim, 443)
            }
            PlantedEventKind::Scan => (scanner, 40_000, client_v4(image), 22),
            PlantedEventKind::Portscan => (scanner, 50_000, victim, 1 + member as u16),
            // Paths have separate flows.
            PlantedEventKind::Elephant
            | PlantedEventKind::Loss
            | PlantedEventKind::Retransmission
            | PlantedEventKind::Reorder => {
                ([192, 0, 2, 10 + self.place], 443, client_v4(self.place.into()), 50_000)
            }
        };
        FlowProfile {
            addresses: AddressPair::V4 { src, dst },
            src_port,
            dst_port,
            protocol: TCP,
            ttl: 52,
            outbound: false,
            initial_seq: image,
        }
    }

    /// Returns what `--loss` must find in this many packets of the event, of this many flows: a repeated SYN is a retransmission.
    pub(crate) fn loss(&self, packets: u64, flows: u64) -> LossTruth {
        let is_repeated = self.kind != PlantedEventKind::Elephant;
        LossTruth { retrans_count: if is_repeated { packets - flows } else { 0 }, ..LossTruth::default() }
    }

    /// Length on the wire without the check sequence: Ethernet pads a SYN.
    pub(crate) fn wire_len(&self) -> u32 {
        (self.kind.total_byte() + headers::ETHERNET as u32)
            .max(TrafficSpec::LEAST_SIZE - TrafficSpec::CHECK_SEQUENCE)
    }

    fn position(&self, flow: &FlowProfile) -> FlowPosition {
        let id = self.emitted as u16;
        match self.kind {
            PlantedEventKind::Flood | PlantedEventKind::Scan | PlantedEventKind::Portscan => {
                FlowPosition { seq: flow.initial_seq, ack: 0, tcp_flags: SYN, id }
            }
            PlantedEventKind::Elephant
            | PlantedEventKind::Loss
            | PlantedEventKind::Retransmission
            | PlantedEventKind::Reorder => {
                let payload = self.wire_len() - headers::length(flow) as u32;
                let seq = flow.initial_seq.wrapping_add((self.emitted as u32).wrapping_mul(payload));
                FlowPosition { seq, ack: 1, tcp_flags: ACK, id }
            }
        }
    }
}

/// The evenly spread events of a run, and the next one of them.
#[derive(Clone, Debug)]
pub(crate) struct EventSchedule {
    pub(crate) events: Vec<Planted>,
    /// The position at which the next planted packet is due; `u64::MAX` without one.
    due: u64,
    next: usize,
    /// Planted packets still to come.
    left: u64,
}

/// The packet that an event puts into the run.
pub(crate) struct PlantedPacket {
    /// Place in the specification.
    pub(crate) event: usize,
    pub(crate) member: u64,
    pub(crate) flow: FlowProfile,
    pub(crate) position: FlowPosition,
    pub(crate) total_byte: u32,
    pub(crate) wire_len: u32,
}

impl EventSchedule {
    /// Makes the plan of a specification. `paced` is the number of the run's packets that are not those of a path.
    pub(crate) fn new(spec: &TrafficSpec, paced: u64, seeds: &mut SplitMix64) -> Self {
        let mut plan = Self { events: Vec::new(), due: u64::MAX, next: 0, left: 0 };
        for (place, event) in (0..).zip(spec.events()).filter(|(_, event)| !event.kind().is_path()) {
            plan.left += event.packets(spec.packets());
            plan.events.push(Planted::new(event, spec.packets(), paced, place, seeds));
        }
        plan.choose();
        plan
    }

    /// The event whose packet is due first.
    fn choose(&mut self) {
        let dues = self.events.iter().map(Planted::due);
        (self.next, self.due) = dues.enumerate().min_by_key(|&(_, due)| due).unwrap_or((0, u64::MAX));
    }

    /// True if packet `index` of a run of `packets` is a planted one. If events overlap, a due packet waits
    /// for the next free place; at the run's end the last places are reserved for waiting ones.
    #[inline]
    pub(crate) fn takes(&self, index: u64, packets: u64) -> bool {
        index >= self.due || packets - index == self.left
    }

    /// The next planted packet, as packet `index` of the run. Only after [`EventSchedule::takes`] returned true.
    pub(crate) fn packet(&mut self, index: u64) -> PlantedPacket {
        let planted = &mut self.events[self.next];
        let member = planted.emitted % planted.members;
        let flow = planted.flow(member);
        let packet = PlantedPacket {
            event: planted.place.into(),
            member,
            flow,
            position: planted.position(&flow),
            total_byte: planted.kind.total_byte(),
            wire_len: planted.wire_len(),
        };
        if planted.emitted == 0 {
            planted.first = index;
        }
        planted.last = index;
        planted.emitted += 1;
        self.left -= 1;
        self.choose();
        packet
    }
}
