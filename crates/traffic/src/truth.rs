//! The truth about a run: what was generated, exactly.

use crate::event::Planted;
use crate::event_kind::PlantedEventKind;
use crate::flow::{FlowProfile, Flows, TCP};
use crate::frame::{FrameOrigin, GeneratedFrame};
use crate::loss_truth::{LossTruth, json_integer};
use crate::path::PlantedPath;
use crate::spec::TrafficSpec;
use packet::FlowKey;
use serde::Serialize;
use std::collections::HashMap;
use std::net::IpAddr;

/// The flows in each list of the JSON form.
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
pub(crate) struct GeneratedCounts {
    background: Vec<FlowCount>,
    planted: Vec<Vec<FlowCount>>,
}

impl GeneratedCounts {
    pub(crate) fn new(spec: &TrafficSpec, events: &[Planted], paths: &[PlantedPath]) -> Self {
        let mut planted = vec![Vec::new(); spec.events().len()];
        let members = events.iter().map(|event| (usize::from(event.place), event.members));
        for (place, members) in members.chain(paths.iter().map(|path| (path.place, path.members))) {
            planted[place] = vec![FlowCount::default(); members as usize];
        }
        // With handshakes the other direction of the last flow may come too.
        let flows = (spec.flows() as usize).next_multiple_of(2);
        Self { background: vec![FlowCount::default(); flows], planted }
    }

    #[inline]
    pub(crate) fn add(&mut self, origin: FrameOrigin, total_byte: u32, wire_byte: u32) {
        self.get_mut(origin).add(total_byte, wire_byte);
    }

    pub(crate) fn take_back(&mut self, frame: &GeneratedFrame) {
        self.get_mut(frame.origin).take_back(frame);
    }

    #[inline]
    fn get_mut(&mut self, origin: FrameOrigin) -> &mut FlowCount {
        match origin {
            FrameOrigin::Rank(rank) => &mut self.background[rank as usize],
            FrameOrigin::Event { event, member } => &mut self.planted[event][member as usize],
        }
    }
}

/// A run's totals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct TrafficTotals {
    /// The counts of all packets.
    #[serde(flatten)]
    pub count: FlowCount,
    /// Distinct flow keys.
    pub flows: u64,
    /// The distinct flow keys of IPv6.
    pub ipv6_flows: u64,
    /// Time of the first packet, nanoseconds since the epoch.
    #[serde(serialize_with = "json_integer")]
    pub first_ns: u64,
    /// Time of the last packet.
    #[serde(serialize_with = "json_integer")]
    pub last_ns: u64,
    /// The losses that `--loss` must find in all; `None` if not all frames arrived.
    pub tcp_loss: Option<LossTruth>,
}

/// The truth about a planted event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct EventTruth {
    /// The kind of the event.
    pub kind: PlantedEventKind,
    /// The source of the event, if it has a single one.
    pub src_addr: Option<IpAddr>,
    /// The destination of the event, if it has a single one.
    pub dst_addr: Option<IpAddr>,
    /// The destination port of the event, if it has a single one.
    pub dst_port: Option<u16>,
    /// IP protocol number.
    pub protocol: u8,
    /// The counts of the event's packets.
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
    /// The losses that `--loss` must find in the event; `None` if not all of its frames arrived.
    pub tcp_loss: Option<LossTruth>,
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
    /// The counts of the flow's packets.
    #[serde(flatten)]
    pub count: FlowCount,
}

/// The parts that a truth is made from, in addition to the counts.
pub(crate) struct TruthInput<'a> {
    pub(crate) spec: &'a TrafficSpec,
    pub(crate) keys: &'a Flows,
    pub(crate) events: &'a [Planted],
    pub(crate) paths: &'a [PlantedPath],
    /// Times of the first and the last frame.
    pub(crate) span: (u64, u64),
    /// No frame was taken back.
    pub(crate) whole: bool,
}

/// The truth about a run. Its JSON form has everything but the table of all flows.
#[derive(Clone, Debug, Serialize)]
pub struct Truth {
    /// The specification, with every default spelled out.
    pub spec: String,
    /// The whole run.
    pub totals: TrafficTotals,
    /// The planted events of which at least one packet was generated, in the order of the specification.
    pub events: Vec<EventTruth>,
    /// The 100 flows with most packets, largest first; ties by key.
    pub top_packets: Vec<FlowTruth>,
    /// The 100 flows with most layer-3 bytes, largest first; ties by key.
    pub top_bytes: Vec<FlowTruth>,
    /// Every flow of which a packet was generated.
    #[serde(skip)]
    pub flows: HashMap<FlowKey, FlowCount>,
}

impl Truth {
    pub(crate) fn new(run: &TruthInput<'_>, counts: &GeneratedCounts, time_at: impl Fn(u64) -> u64) -> Self {
        let mut flows: HashMap<FlowKey, FlowCount> = (0..)
            .zip(&counts.background)
            .filter(|(_, count)| count.packets > 0)
            .map(|(rank, count)| (run.keys.flow(rank).key(), *count))
            .collect();
        let mut events: Vec<(usize, EventTruth)> = Vec::new();
        // The background and the evenly spread events lose nothing.
        let mut in_all = run.whole.then(LossTruth::default);
        let mut add = |place: usize,
                       kind,
                       flow: &dyn Fn(u64) -> FlowProfile,
                       (first_ns, last_ns),
                       loss: &dyn Fn(u64, u64) -> Option<LossTruth>| {
            let seen = (0..).zip(&counts.planted[place]).filter(|(_, count)| count.packets > 0);
            let seen: Vec<_> = seen.map(|(member, count)| (flow(member), *count)).collect();
            let packets = seen.iter().map(|(_, count)| count.packets).sum();
            let tcp_loss = loss(packets, seen.len() as u64).filter(|_| run.whole);
            in_all = in_all.zip(tcp_loss).map(|(sum, loss)| sum.plus(loss));
            flows.extend(seen.iter().map(|(flow, count)| (flow.key(), *count)));
            if !seen.is_empty() {
                events.push((place, event_truth(kind, &seen, first_ns, last_ns, tcp_loss)));
            }
        };
        for event in run.events {
            let span = (time_at(event.first), time_at(event.last));
            let loss = |packets, flows| Some(event.loss(packets, flows));
            add(event.place.into(), event.kind, &|member| event.flow(member), span, &loss);
        }
        for path in run.paths {
            let kind = run.spec.events()[path.place].kind();
            let span = path.span.unwrap_or_default();
            add(path.place, kind, &|member| path.path.flow(member), span, &|_, _| path.loss());
        }
        events.sort_by_key(|(place, _)| *place);
        Self {
            spec: run.spec.to_string(),
            totals: TrafficTotals {
                count: flows.values().fold(FlowCount::default(), |sum, count| sum.plus(*count)),
                flows: flows.len() as u64,
                ipv6_flows: flows
                    .keys()
                    .filter(|key| key.src_addr.is_some_and(|address| address.is_ipv6()))
                    .count() as u64,
                first_ns: run.span.0,
                last_ns: run.span.1,
                tcp_loss: in_all,
            },
            events: events.into_iter().map(|(_, event)| event).collect(),
            top_packets: top(&flows, |count| count.packets),
            top_bytes: top(&flows, |count| count.total_byte),
            flows,
        }
    }
}

fn event_truth(
    kind: PlantedEventKind,
    seen: &[(FlowProfile, FlowCount)],
    first_ns: u64,
    last_ns: u64,
    tcp_loss: Option<LossTruth>,
) -> EventTruth {
    let count = seen.iter().fold(FlowCount::default(), |sum, (_, count)| sum.plus(*count));
    let keys: Vec<FlowKey> = seen.iter().map(|(flow, _)| flow.key()).collect();
    let (sources, src_addr) = distinct(keys.iter().map(|key| key.src_addr));
    let (destinations, dst_addr) = distinct(keys.iter().map(|key| key.dst_addr));
    let (dst_ports, dst_port) = distinct(keys.iter().map(|key| key.dst_port));
    EventTruth {
        kind,
        src_addr: src_addr.flatten(),
        dst_addr: dst_addr.flatten(),
        dst_port: dst_port.flatten(),
        protocol: TCP,
        count,
        flows: seen.len() as u64,
        sources,
        destinations,
        dst_ports,
        first_ns,
        last_ns,
        tcp_loss,
    }
}

/// The number of distinct values, and the value if there is only one.
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
