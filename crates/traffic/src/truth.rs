//! What was generated, exactly.

use crate::event::{EventKind, Planted};
use crate::flow::{Flow, Flows, TCP};
use crate::generator::{GeneratedFrame, Origin};
use crate::spec::Spec;
use packet::FlowKey;
use serde::{Serialize, Serializer};
use std::collections::HashMap;
use std::net::IpAddr;

/// The flows that each list of the JSON form has.
const TOP: usize = 100;

/// Packets and bytes of a flow, an event or a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct FlowCount {
    /// Packets.
    #[serde(serialize_with = "json_integer")]
    pub packets: u64,
    /// Sum of the lengths that the IP headers state.
    #[serde(serialize_with = "json_integer")]
    pub total_byte: u64,
    /// Sum of the frames' lengths on the wire, without check sequences.
    #[serde(serialize_with = "json_integer")]
    pub wire_byte: u64,
}

impl FlowCount {
    #[inline]
    fn add(&mut self, total_byte: u32, wire_byte: u32) {
        self.packets += 1;
        self.total_byte += u64::from(total_byte);
        self.wire_byte += u64::from(wire_byte);
    }

    fn take_back(&mut self, frame: &GeneratedFrame) {
        self.packets -= 1;
        self.total_byte -= u64::from(frame.total_byte);
        self.wire_byte -= u64::from(frame.wire_len);
    }

    fn plus(self, other: Self) -> Self {
        Self {
            packets: self.packets + other.packets,
            total_byte: self.total_byte + other.total_byte,
            wire_byte: self.wire_byte + other.wire_byte,
        }
    }
}

/// Counts by rank and by member: keys come when the run is over.
#[derive(Clone, Debug)]
pub(crate) struct Counts {
    background: Vec<FlowCount>,
    planted: Vec<Vec<FlowCount>>,
}

impl Counts {
    pub(crate) fn new(spec: &Spec, events: &[Planted]) -> Self {
        let of_members = |event: &Planted| vec![FlowCount::default(); event.members as usize];
        Self {
            // With handshakes the other direction of the last flow may come too.
            background: vec![FlowCount::default(); (spec.flows() as usize).next_multiple_of(2)],
            planted: events.iter().map(of_members).collect(),
        }
    }

    #[inline]
    pub(crate) fn add(&mut self, origin: Origin, total_byte: u32, wire_byte: u32) {
        self.of(origin).add(total_byte, wire_byte);
    }

    pub(crate) fn take_back(&mut self, frame: &GeneratedFrame) {
        self.of(frame.origin).take_back(frame);
    }

    #[inline]
    fn of(&mut self, origin: Origin) -> &mut FlowCount {
        match origin {
            Origin::Rank(rank) => &mut self.background[rank as usize],
            Origin::Event { event, member } => &mut self.planted[event][member as usize],
        }
    }
}

/// A run's totals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Totals {
    /// All packets.
    #[serde(flatten)]
    pub count: FlowCount,
    /// Distinct flow keys.
    pub flows: u64,
    /// Those of IPv6.
    pub ipv6_flows: u64,
    /// Time of the first packet, nanoseconds since the epoch.
    #[serde(serialize_with = "json_integer")]
    pub first_ns: u64,
    /// Time of the last packet.
    #[serde(serialize_with = "json_integer")]
    pub last_ns: u64,
}

/// One planted event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct EventTruth {
    /// What it is.
    pub kind: EventKind,
    /// Its one source, if it has one.
    pub src_addr: Option<IpAddr>,
    /// Its one destination, if it has one.
    pub dst_addr: Option<IpAddr>,
    /// Its one destination port, if it has one.
    pub dst_port: Option<u16>,
    /// IP protocol number.
    pub protocol: u8,
    /// Its packets.
    #[serde(flatten)]
    pub count: FlowCount,
    /// Distinct flow keys.
    pub flows: u64,
    /// Distinct source addresses.
    pub sources: u64,
    /// Distinct destination addresses.
    pub destinations: u64,
    /// Distinct destination ports.
    pub dst_ports: u64,
    /// Time of its first packet, nanoseconds since the epoch.
    #[serde(serialize_with = "json_integer")]
    pub first_ns: u64,
    /// Time of its last packet.
    #[serde(serialize_with = "json_integer")]
    pub last_ns: u64,
}

/// A flow and its counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct FlowTruth {
    /// Source address.
    pub src_addr: Option<IpAddr>,
    /// Destination address.
    pub dst_addr: Option<IpAddr>,
    /// Source port; 0 where the protocol has none.
    pub src_port: Option<u16>,
    /// Destination port; ICMP: type × 256 + code.
    pub dst_port: Option<u16>,
    /// IP protocol number.
    pub protocol: Option<u8>,
    /// Its packets.
    #[serde(flatten)]
    pub count: FlowCount,
}

/// What was generated. Its JSON form has everything but the table of all flows.
#[derive(Clone, Debug, Serialize)]
pub struct Truth {
    /// The specification, with every default spelled out.
    pub spec: String,
    /// The whole run.
    pub totals: Totals,
    /// The planted events of which at least one packet was generated, in the order of the specification.
    pub events: Vec<EventTruth>,
    /// The 100 flows with most packets, largest first; equals by key.
    pub top_packets: Vec<FlowTruth>,
    /// The 100 flows with most layer-3 bytes, largest first; equals by key.
    pub top_bytes: Vec<FlowTruth>,
    /// Every flow of which a packet was generated.
    #[serde(skip)]
    pub flows: HashMap<FlowKey, FlowCount>,
}

impl Truth {
    pub(crate) fn new(
        spec: &Spec,
        counts: &Counts,
        keys: &Flows,
        planted: &[Planted],
        generated: u64,
        time_at: impl Fn(u64) -> u64,
    ) -> Self {
        let mut flows: HashMap<FlowKey, FlowCount> = (0..)
            .zip(&counts.background)
            .filter(|(_, count)| count.packets > 0)
            .map(|(rank, count)| (keys.flow(rank).key(), *count))
            .collect();
        let mut events = Vec::new();
        for (event, counts) in planted.iter().zip(&counts.planted) {
            let seen = (0..).zip(counts).filter(|(_, count)| count.packets > 0);
            let seen: Vec<_> = seen.map(|(member, count)| (event.flow(member), *count)).collect();
            if seen.is_empty() {
                continue;
            }
            flows.extend(seen.iter().map(|(flow, count)| (flow.key(), *count)));
            events.push(event_truth(event, &seen, &time_at));
        }
        Self {
            spec: spec.to_string(),
            totals: Totals {
                count: flows.values().fold(FlowCount::default(), |sum, count| sum.plus(*count)),
                flows: flows.len() as u64,
                ipv6_flows: flows
                    .keys()
                    .filter(|key| key.src_addr.is_some_and(|address| address.is_ipv6()))
                    .count() as u64,
                first_ns: time_at(0),
                last_ns: time_at(generated.saturating_sub(1)),
            },
            events,
            top_packets: top(&flows, |count| count.packets),
            top_bytes: top(&flows, |count| count.total_byte),
            flows,
        }
    }
}

fn event_truth(event: &Planted, seen: &[(Flow, FlowCount)], time_at: impl Fn(u64) -> u64) -> EventTruth {
    let count = seen.iter().fold(FlowCount::default(), |sum, (_, count)| sum.plus(*count));
    let keys: Vec<FlowKey> = seen.iter().map(|(flow, _)| flow.key()).collect();
    let (sources, src_addr) = distinct(keys.iter().map(|key| key.src_addr));
    let (destinations, dst_addr) = distinct(keys.iter().map(|key| key.dst_addr));
    let (dst_ports, dst_port) = distinct(keys.iter().map(|key| key.dst_port));
    EventTruth {
        kind: event.kind,
        src_addr: src_addr.flatten(),
        dst_addr: dst_addr.flatten(),
        dst_port: dst_port.flatten(),
        protocol: TCP,
        count,
        flows: seen.len() as u64,
        sources,
        destinations,
        dst_ports,
        first_ns: time_at(event.first),
        last_ns: time_at(event.last),
    }
}

/// How many different values there are, and the value if it is one.
fn distinct<T: Ord + Copy>(values: impl Iterator<Item = T>) -> (u64, Option<T>) {
    let mut values: Vec<T> = values.collect();
    values.sort_unstable();
    values.dedup();
    let only = if let [only] = values.as_slice() { Some(*only) } else { None };
    (values.len() as u64, only)
}

fn top(flows: &HashMap<FlowKey, FlowCount>, by: impl Fn(&FlowCount) -> u64) -> Vec<FlowTruth> {
    let mut order: Vec<(&FlowKey, &FlowCount)> = flows.iter().collect();
    let larger_first = |(key, count): &(&FlowKey, &FlowCount)| (std::cmp::Reverse(by(count)), **key);
    if order.len() > TOP {
        order.select_nth_unstable_by_key(TOP, larger_first);
        order.truncate(TOP);
    }
    order.sort_unstable_by_key(larger_first);
    order.into_iter().map(|(key, count)| flow_truth(*key, *count)).collect()
}

fn flow_truth(key: FlowKey, count: FlowCount) -> FlowTruth {
    let FlowKey { src_addr, dst_addr, src_port, dst_port, protocol, .. } = key;
    FlowTruth { src_addr, dst_addr, src_port, dst_port, protocol, count }
}

/// Integers beyond 2⁵³ as text: a reader that takes numbers as doubles would round them.
fn json_integer<S: Serializer>(value: &u64, serializer: S) -> Result<S::Ok, S::Error> {
    if *value <= 1 << 53 { serializer.serialize_u64(*value) } else { serializer.collect_str(value) }
}
