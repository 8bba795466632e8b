//! The traffic of a step while it lasts: sums of groups, pairs of addresses, and flows with losses.

use crate::group_key::{GroupKey, KeyShape, address, number, words};
use crate::group_sums::{BATCH, GroupSums};
use crate::joined_ranking::JoinedRanking;
use crate::ranking::{GROUPS, Ranking};
use arena::Limits;
use flow::{LossCounts, Rows};
use model::view::now::RankingBy;
use packet::{KeyV4, MaskedKey, Seed};
use std::net::IpAddr;

/// The number of flows with losses that are kept of a step.
pub(crate) const LOSING: usize = 50;
/// The words of the further state of a pair: which of both sent, and the ports that each was sent to.
const PAIR_STATE: usize = 5;
/// The bits in which the ports of a pair are noted, for each way.
pub(crate) const PORT_BITS: u32 = 128;

/// The state of a pair of addresses: which of both sent to the other, and to how many ports that are below its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PairState {
    /// True if the lesser address sent, and if the greater one did.
    pub(crate) has_sent: [bool; 2],
    /// The ports that each sent to, one bit for several ports.
    pub(crate) ports: [u128; 2],
}

impl PairState {
    pub(crate) fn from_words(state: &[u64]) -> Self {
        let [flags, a, b, c, d] = std::array::from_fn(|at| state.get(at).copied().unwrap_or(0));
        Self { has_sent: [flags & 1 != 0, flags & 2 != 0], ports: [number([a, b]), number([c, d])] }
    }

    pub(crate) fn words(self) -> [u64; PAIR_STATE] {
        let [[a, b], [c, d]] = self.ports.map(words);
        [u64::from(self.has_sent[0]) | u64::from(self.has_sent[1]) << 1, a, b, c, d]
    }

    /// Adds what is known of the pair at another time.
    pub(crate) fn join(self, more: Self) -> Self {
        Self {
            has_sent: [0, 1].map(|way| self.has_sent[way] || more.has_sent[way]),
            ports: [0, 1].map(|way| self.ports[way] | more.ports[way]),
        }
    }
}

/// A flow that lost bytes in a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LosingFlow {
    pub(crate) key: GroupKey,
    /// The bytes that were lost, sent again or missed by the tap.
    pub(crate) lost: u64,
    /// The bytes of the flow in the windows in which it lost some.
    pub(crate) bytes: u64,
}

/// The traffic of a step.
#[derive(Debug)]
pub(crate) struct Traffic {
    shape: KeyShape,
    sources: GroupSums<2>,
    destinations: GroupSums<2>,
    pairs: GroupSums<4>,
    ports: GroupSums<1>,
    losing: GroupSums<5>,
    protocols: Box<[[u64; 2]; 256]>,
    /// The bytes and packets of all rows.
    rows: [u64; 2],
    batch: Batch,
}

/// The keys and sums of some rows.
#[derive(Debug, Default)]
struct Batch {
    sums: Vec<[u64; 2]>,
    sources: Vec<[u64; 2]>,
    destinations: Vec<[u64; 2]>,
    pairs: Vec<[u64; 4]>,
    ports: Vec<[u64; 1]>,
    /// Of each row, the way in its pair, and the bit of the port, where it is below the sender's.
    ways: Vec<(usize, u128)>,
}

impl Batch {
    fn clear(&mut self) {
        self.sums.clear();
        self.sources.clear();
        self.destinations.clear();
        self.pairs.clear();
        self.ports.clear();
        self.ways.clear();
    }

    #[inline(always)]
    fn push<K: MaskedKey>(&mut self, key: &K, sums: [u64; 2]) {
        let [source, destination] = key.addresses();
        let [source_port, destination_port] = key.ports();
        let way = usize::from(source > destination);
        let [low, high] = if way == 0 { [source, destination] } else { [destination, source] };
        let ([a, b], [c, d]) = (words(low), words(high));
        self.sums.push(sums);
        self.sources.push(words(source));
        self.destinations.push(words(destination));
        self.pairs.push([a, b, c, d]);
        self.ports.push([u64::from(key.protocol()) << 16 | u64::from(source_port.min(destination_port))]);
        let is_service = destination_port < source_port;
        self.ways.push((way, if is_service { 1 << port_bit(destination_port) } else { 0 }));
    }
}

/// Returns the bit of a port: neighbours have different ones.
fn port_bit(port: u16) -> u32 {
    (u32::from(port.wrapping_mul(0x9e37)) * PORT_BITS) >> 16
}

impl Traffic {
    /// No traffic, of at most `most` groups of each kind.
    pub(crate) fn new(shape: KeyShape, most: usize, seed: Seed, limits: &Limits) -> Self {
        Self {
            shape,
            sources: GroupSums::new(most, 0, seed, limits),
            destinations: GroupSums::new(most, 0, seed, limits),
            pairs: GroupSums::new(most, PAIR_STATE, seed, limits),
            ports: GroupSums::new(most, 0, seed, limits),
            losing: GroupSums::new(most / 8, 1, seed, limits),
            protocols: Box::new([[0; 2]; 256]),
            rows: [0; 2],
            batch: Batch::default(),
        }
    }

    /// Adds window rows.
    pub(crate) fn add<K: MaskedKey>(&mut self, rows: &Rows<K>) {
        for rows in rows.rows.chunks(BATCH) {
            self.batch.clear();
            for row in rows.iter().filter(|row| row.packets != 0) {
                self.batch.push(&row.key, [row.bytes, row.packets]);
                let protocol = &mut self.protocols[usize::from(row.key.protocol())];
                *protocol = [protocol[0] + row.bytes, protocol[1] + row.packets];
                self.rows = [self.rows[0] + row.bytes, self.rows[1] + row.packets];
            }
            self.add_batch();
        }
        if !rows.losses.is_empty() {
            self.add_losses(rows);
        }
    }

    fn add_batch(&mut self) {
        let Self { shape, sources, destinations, pairs, ports, batch, .. } = self;
        let has = |by| shape.refuses(by).is_none();
        if has(RankingBy::Source) {
            sources.add(&batch.sources, &batch.sums, |_, _| {});
        }
        if has(RankingBy::Destination) {
            destinations.add(&batch.destinations, &batch.sums, |_, _| {});
        }
        if has(RankingBy::Conversation) {
            pairs.add(&batch.pairs, &batch.sums, |at, state| {
                let (way, port) = batch.ways[at];
                let [upper, lower] = words(port);
                state[0] |= 1 << way;
                state[1 + 2 * way] |= upper;
                state[2 + 2 * way] |= lower;
            });
        }
        if has(RankingBy::Port) {
            ports.add(&batch.ports, &batch.sums, |_, _| {});
        }
    }

    /// Adds the flows of these rows that lost bytes.
    fn add_losses<K: MaskedKey>(&mut self, rows: &Rows<K>) {
        let lost = |loss: &LossCounts| loss.ploss_byte + loss.retrans_byte + loss.unseen_byte;
        for (at, row) in rows.rows.iter().enumerate() {
            let Some(lost) = rows.loss(at).map(lost).filter(|lost| *lost != 0) else { continue };
            let [[a, b], [c, d]] = row.key.addresses().map(words);
            let rest = row.key.without_addresses().words()[1];
            self.losing.add(&[[a, b, c, d, rest]], &[[lost, row.packets]], |_, state| state[0] += row.bytes);
        }
    }

    /// Returns the bytes of TCP.
    pub(crate) fn tcp_bytes(&self) -> u64 {
        self.protocols[6][0]
    }

    /// Returns the bytes and packets of all rows.
    pub(crate) fn rows(&self) -> [u64; 2] {
        self.rows
    }

    /// Returns the rankings of all kinds, in their order.
    pub(crate) fn rankings(&self) -> [Ranking; 5] {
        let of_address = |key: &[u64; 2]| GroupKey::Address(address(number(*key)));
        let of_pair =
            |[a, b, c, d]: &[u64; 4]| GroupKey::pair(address(number([*a, *b])), address(number([*c, *d])));
        let of_port = |[word]: &[u64; 1]| GroupKey::Port((word >> 16) as u8, *word as u16);
        RankingBy::ALL.map(|by| match by {
            _ if self.shape.refuses(by).is_some() => Ranking::default(),
            RankingBy::Source => self.sources.ranking(GROUPS, of_address),
            RankingBy::Destination => self.destinations.ranking(GROUPS, of_address),
            RankingBy::Conversation => self.pairs.ranking(GROUPS, of_pair),
            RankingBy::Port => self.ports.ranking(GROUPS, of_port),
            RankingBy::Protocol => self.by_protocol(),
        })
    }

    fn by_protocol(&self) -> Ranking {
        let of = |(number, [bytes, packets]): (usize, &[u64; 2])| crate::ranking::Leader {
            key: GroupKey::Protocol(number as u8),
            bytes: *bytes,
            packets: *packets,
            more: [0; 2],
        };
        let seen = self.protocols.iter().enumerate().filter(|(_, [_, packets])| *packets != 0);
        JoinedRanking::of_all([&Ranking { leaders: seen.map(of).collect(), others: [0; 2] }], GROUPS)
    }

    /// Returns the flows that lost most.
    pub(crate) fn losing(&self) -> Vec<LosingFlow> {
        let mut flows: Vec<LosingFlow> = self
            .losing
            .groups()
            .map(|([a, b, c, d, rest], [lost, _], state)| {
                let rest = KeyV4::from_words(&[0, *rest]);
                let addresses: [IpAddr; 2] = [[*a, *b], [*c, *d]].map(|half| address(number(half)));
                let key = GroupKey::Flow(addresses, rest.ports(), rest.protocol());
                LosingFlow { key, lost, bytes: state.first().copied().unwrap_or(0) }
            })
            .collect();
        flows.sort_unstable_by_key(|flow| (std::cmp::Reverse(flow.lost), flow.key));
        flows.truncate(LOSING);
        flows.shrink_to_fit();
        flows
    }

    /// Calls `f` with each pair of addresses and its state.
    pub(crate) fn for_each_pair(&self, mut f: impl FnMut(&[u64; 4], PairState)) {
        for (key, _, state) in self.pairs.groups() {
            f(key, PairState::from_words(state));
        }
    }

    /// Removes all of it and keeps the memory.
    pub(crate) fn clear(&mut self) {
        self.sources.clear();
        self.destinations.clear();
        self.pairs.clear();
        self.ports.clear();
        self.losing.clear();
        self.protocols.fill([0; 2]);
        self.rows = [0; 2];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbouring_ports_have_different_bits() {
        for first in [1_u16, 1_000, 8_000] {
            let bits = (first..first + 100).fold(0_u128, |bits, port| bits | 1 << port_bit(port));
            assert!(bits.count_ones() > 60, "{first}: {}", bits.count_ones());
        }
        // Never more bits than ports.
        assert!((0..25_u16).fold(0_u128, |bits, port| bits | 1 << port_bit(port * 2_551)).count_ones() <= 25);
    }

    #[test]
    fn a_pair_is_written_and_read_again() {
        let state = PairState { has_sent: [true, false], ports: [1 << 127 | 5, 1 << 64] };
        assert_eq!(PairState::from_words(&state.words()), state);
        let other = PairState { has_sent: [false, true], ports: [2, 0] };
        let joined = PairState { has_sent: [true, true], ports: [1 << 127 | 7, 1 << 64] };
        assert_eq!(state.join(other), joined);
    }
}
