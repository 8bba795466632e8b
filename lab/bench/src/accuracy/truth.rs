//! The truth about a window, from a count of every flow in an ordinary map.

use super::question::AccuracyQuestion;
use super::window::BurstWindow;
use hashbrown::{HashMap, HashSet};
use packet::{FlowKey, Key, KeySpec, PacketFields, PacketKey};
use std::net::{IpAddr, Ipv6Addr};
use task::Point;
use task::TaskKind;

/// Bits of an IPv6 address that quantiles use.
pub(super) const IPV6_BITS: u32 = 48;

/// Packets of every 5-tuple.
type ExactFlowCounts = HashMap<FlowKey, u64>;

/// The truth about a window, in the form of one kind of answer.
#[derive(Debug)]
pub(super) enum WindowTruth {
    /// The figure of every flow, and the absolute value from which on it belongs into the answer.
    Flows { figures: HashMap<FlowKey, f64>, least: f64 },
    /// The number of flows of each size.
    Sizes(HashMap<u64, f64>),
    /// Bits.
    Entropy(f64),
    /// The number of distinct values.
    Distinct(f64),
    /// The inner product of the flows with themselves.
    Inner(f64),
    /// The values in order, by family; values without a family are all in the first.
    Quantiles([Vec<Point>; 2]),
}

/// The counts of a window, with which all truths about it begin.
pub(super) struct TruthContext<'a> {
    window: &'a BurstWindow,
    now: ExactFlowCounts,
    /// Values of the previous window.
    before: Option<ExactFlowCounts>,
}

fn flow_key(key: &PacketKey, spec: &KeySpec) -> FlowKey {
    match key {
        PacketKey::V4(key) => key.flow_key(spec),
        PacketKey::V6(key) => key.flow_key(spec),
    }
}

fn count(window: &BurstWindow) -> ExactFlowCounts {
    let mut counts = ExactFlowCounts::new();
    window.each(|key, _| *counts.entry(flow_key(&key, &KeySpec::FIVE_TUPLE)).or_default() += 1);
    counts
}

/// The reduced key of a flow.
fn part(key: &FlowKey, spec: &KeySpec) -> FlowKey {
    let has = |column| spec.columns().any(|name| name == column);
    FlowKey {
        src_addr: key.src_addr.filter(|_| has("src_addr")),
        dst_addr: key.dst_addr.filter(|_| has("dst_addr")),
        src_port: key.src_port.filter(|_| has("src_port")),
        dst_port: key.dst_port.filter(|_| has("dst_port")),
        protocol: key.protocol.filter(|_| has("protocol")),
        ..FlowKey::default()
    }
}

impl<'a> TruthContext<'a> {
    pub(super) fn new(window: &'a BurstWindow, before: Option<&BurstWindow>) -> Self {
        Self { window, now: count(window), before: before.map(count) }
    }

    /// Returns the number of 5-tuples.
    pub(super) fn flows(&self) -> usize {
        self.now.len()
    }

    /// The truth about one question; `None` if there is none: a change in a window without a predecessor.
    pub(super) fn truth(&self, question: &AccuracyQuestion) -> Option<WindowTruth> {
        Some(match question.kind {
            TaskKind::HeavyHitters => {
                let spec = question.key();
                let mut figures: HashMap<FlowKey, f64> = HashMap::new();
                for (key, packets) in &self.now {
                    *figures.entry(part(key, &spec)).or_default() += *packets as f64;
                }
                WindowTruth::Flows { figures, least: least(question.least, self.window.packets) }
            }
            TaskKind::SuperSpreaders => {
                let mut contacts: HashMap<FlowKey, HashSet<Option<IpAddr>>> = HashMap::new();
                for key in self.now.keys() {
                    contacts.entry(part(key, &question.key())).or_default().insert(key.dst_addr);
                }
                let figures = contacts.into_iter().map(|(key, others)| (key, others.len() as f64)).collect();
                WindowTruth::Flows { figures, least: question.least }
            }
            TaskKind::FlowSizes => {
                let mut sizes: HashMap<u64, f64> = HashMap::new();
                self.now.values().for_each(|packets| *sizes.entry(*packets).or_default() += 1.0);
                WindowTruth::Sizes(sizes)
            }
            TaskKind::Change => {
                let before = self.before.as_ref()?;
                let mut figures: HashMap<FlowKey, f64> =
                    self.now.iter().map(|(key, packets)| (*key, *packets as f64)).collect();
                before.iter().for_each(|(key, packets)| {
                    *figures.entry(*key).or_default() -= *packets as f64;
                });
                let most = self.window.packets.max(before.values().sum());
                WindowTruth::Flows { figures, least: least(question.least, most) }
            }
            TaskKind::Entropy => {
                let total = self.window.packets as f64;
                let of_flow = |packets: &u64| {
                    let share = *packets as f64 / total;
                    -share * share.log2()
                };
                WindowTruth::Entropy(self.now.values().map(of_flow).sum())
            }
            TaskKind::Inner => {
                let mut weights: HashMap<FlowKey, f64> = HashMap::new();
                for (key, packets) in &self.now {
                    *weights.entry(part(key, &question.key())).or_default() += *packets as f64;
                }
                WindowTruth::Inner(weights.values().map(|weight| weight * weight).sum())
            }
            TaskKind::Distinct => {
                let values: HashSet<FlowKey> =
                    self.now.keys().map(|key| part(key, &question.key())).collect();
                WindowTruth::Distinct(values.len() as f64)
            }
            TaskKind::Quantiles => WindowTruth::Quantiles(self.values(question.key == "src_addr")),
        })
    }

    /// Source addresses, or sizes, in order.
    fn values(&self, are_addresses: bool) -> [Vec<Point>; 2] {
        let mut values = [Vec::new(), Vec::new()];
        let address = |key: &PacketKey| match flow_key(key, &KeySpec::FIVE_TUPLE).src_addr {
            Some(IpAddr::V6(address)) => {
                let kept = u128::MAX << (128 - IPV6_BITS);
                IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & kept))
            }
            Some(address) => address,
            None => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
        };
        self.window.each(|key, fields: &PacketFields| {
            let is_second = are_addresses && matches!(key, PacketKey::V6(_));
            let value = match are_addresses {
                true => Point::Address(address(&key)),
                false => Point::Number(fields.total_byte.into()),
            };
            values[usize::from(is_second)].push(value);
        });
        values.iter_mut().for_each(|values| values.sort_unstable());
        values
    }
}

/// A share of this many packets, at least one.
fn least(share: f64, packets: u64) -> f64 {
    (share * packets as f64).ceil().max(1.0)
}
