//! Packets in the forms in which structures take them. Tasks that need the same form share it: a key is
//! masked and hashed once a burst, however many tasks count it.

mod rows;

use crate::selection::Selection;
use crate::spec::{IPV6_LEFT_OUT, Quantity, Weight};
use packet::{Bursts, Key, KeySpec, KeyV4, KeyV6, KeyedPacket, MaskedKey, Packets, Seed};
use sketch::{Contact, Update};

/// The form of the input of a structure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum InputKind {
    /// Flows of a key.
    Flows { key: KeySpec, weight: Weight },
    /// Flows of a key, of the packets that a selection takes.
    Selected { key: KeySpec, weight: Weight, only: Selection },
    /// Keys and their peers: `pair` is the key and the peer together.
    Contacts { key: KeySpec, pair: KeySpec },
    /// Values of a field.
    Values(Quantity),
}

/// A burst in the form of one feed. IPv6 packets are among `v4` where the form has no addresses.
#[derive(Debug, Default)]
pub(crate) struct FeedItems {
    pub(crate) v4: FamilyItems<KeyV4>,
    pub(crate) v6: FamilyItems<KeyV6>,
}

/// The items of one address family. Only the parts of this feed are filled.
#[derive(Debug, Default)]
pub(crate) struct FamilyItems<K> {
    pub(crate) flows: Vec<Update<K>>,
    pub(crate) contacts: Vec<Contact<K>>,
    pub(crate) values: Vec<u64>,
    /// The values of rows, each with its number of packets.
    pub(crate) weighed_values: Vec<(u64, u64)>,
    /// Sum of the weights.
    pub(crate) total: u64,
}

impl<K> FamilyItems<K> {
    fn clear(&mut self) {
        self.flows.clear();
        self.contacts.clear();
        self.values.clear();
        self.weighed_values.clear();
        self.total = 0;
    }
}

/// Makes bursts of each feed. One for each worker.
#[derive(Debug)]
pub(crate) struct Feeder {
    seed: Seed,
    /// The key that packets' hashes are of, if the run's hashes can be reused.
    hashed: Option<KeySpec>,
    feeds: Vec<(InputKind, FeedItems)>,
}

impl Feeder {
    pub(crate) fn new(seed: Seed, hashed: Option<KeySpec>, feeds: &[InputKind]) -> Self {
        Self { seed, hashed, feeds: feeds.iter().map(|feed| (*feed, FeedItems::default())).collect() }
    }

    /// Converts a burst.
    #[inline]
    pub(crate) fn feed(&mut self, bursts: &Bursts) {
        let Packets { v4, v6 } = bursts.packets();
        let Self { seed, hashed, feeds } = self;
        for (feed, fed) in feeds {
            fed.v4.clear();
            fed.v6.clear();
            match feed {
                InputKind::Flows { key, weight } => {
                    let is_hashed = Some(*key) == *hashed;
                    flows_of_both(v4.iter(), v6.iter(), fed, seed, (key, *weight), is_hashed);
                }
                InputKind::Selected { key, weight, only } => {
                    let is_hashed = Some(*key) == *hashed;
                    let of_v4 = v4.iter().filter(|packet| only.takes_v4(&packet.key));
                    let of_v6 = v6.iter().filter(|packet| only.takes_v6(&packet.key));
                    flows_of_both(of_v4, of_v6, fed, seed, (key, *weight), is_hashed);
                }
                InputKind::Contacts { key, pair } => {
                    let masked = |packet: &KeyV4| (packet.masked(key), packet.masked(pair));
                    contacts(v4, &mut fed.v4, seed, masked);
                    if key.has_addresses() {
                        let masked = |packet: &KeyV6| (packet.masked(key), packet.masked(pair));
                        contacts(v6, &mut fed.v6, seed, masked);
                    } else {
                        let masked =
                            |packet: &KeyV6| (packet.without_addresses().masked(key), packet.masked(pair));
                        contacts(v6, &mut fed.v4, seed, masked);
                    }
                }
                InputKind::Values(quantity) => {
                    values(v4, &mut fed.v4, |packet| value_v4(packet, *quantity));
                    if quantity.is_address() {
                        values(v6, &mut fed.v6, |packet| value_v6(packet, *quantity));
                    } else {
                        values(v6, &mut fed.v4, |packet| value_v6(packet, *quantity));
                    }
                }
            }
        }
    }

    pub(crate) fn fed(&self, feed: usize) -> &FeedItems {
        &self.feeds[feed].1
    }
}

/// Takes the flows of packets of both families.
#[inline(always)]
fn flows_of_both<'a>(
    v4: impl Iterator<Item = &'a KeyedPacket<KeyV4>>,
    v6: impl Iterator<Item = &'a KeyedPacket<KeyV6>>,
    fed: &mut FeedItems,
    seed: &Seed,
    (key, weight): (&KeySpec, Weight),
    is_hashed: bool,
) {
    flows(v4, &mut fed.v4, seed, weight, is_hashed, |packet| packet.masked(key));
    if key.has_addresses() {
        flows(v6, &mut fed.v6, seed, weight, is_hashed, |packet| packet.masked(key));
    } else {
        let masked = |packet: &KeyV6| packet.without_addresses().masked(key);
        flows(v6, &mut fed.v4, seed, weight, false, masked);
    }
}

#[inline(always)]
fn flows<'a, P: Key + 'a, K: Key>(
    packets: impl Iterator<Item = &'a KeyedPacket<P>>,
    items: &mut FamilyItems<K>,
    seed: &Seed,
    weight: Weight,
    is_hashed: bool,
    masked: impl Fn(&P) -> K,
) {
    items.flows.extend(packets.map(|packet| {
        let key = masked(&packet.key);
        let hash = if is_hashed { packet.hash } else { key.hash(seed) };
        let weight = match weight {
            Weight::Packets => 1,
            Weight::Bytes => packet.fields.total_byte.into(),
        };
        items.total += weight;
        Update { key, hash, weight }
    }));
}

#[inline(always)]
fn contacts<P: Key, K: Key>(
    packets: &[KeyedPacket<P>],
    items: &mut FamilyItems<K>,
    seed: &Seed,
    masked: impl Fn(&P) -> (K, P),
) {
    items.contacts.extend(packets.iter().map(|packet| {
        let (key, pair) = masked(&packet.key);
        Contact { key, pair: pair.hash(seed) }
    }));
    items.total += packets.len() as u64;
}

#[inline(always)]
fn values<P, K>(
    packets: &[KeyedPacket<P>],
    items: &mut FamilyItems<K>,
    value: impl Fn(&KeyedPacket<P>) -> u64,
) {
    items.values.extend(packets.iter().map(value));
    items.total += packets.len() as u64;
}

#[inline(always)]
fn port(bytes: [u8; 2]) -> u64 {
    u16::from_be_bytes(bytes).into()
}

#[inline(always)]
fn value_v4(packet: &KeyedPacket<KeyV4>, quantity: Quantity) -> u64 {
    match quantity {
        Quantity::Size => packet.fields.total_byte.into(),
        quantity => value_of_v4(&packet.key, quantity),
    }
}

#[inline(always)]
fn value_v6(packet: &KeyedPacket<KeyV6>, quantity: Quantity) -> u64 {
    match quantity {
        Quantity::Size => packet.fields.total_byte.into(),
        quantity => value_of_v6(&packet.key, quantity),
    }
}

/// A member of a key; of a packet's size a key knows nothing.
#[inline(always)]
fn value_of_v4(key: &KeyV4, quantity: Quantity) -> u64 {
    let key = key.to_bytes();
    let address = |at: usize| u32::from_be_bytes(std::array::from_fn(|i| key[at + i])).into();
    match quantity {
        Quantity::SrcAddr => address(0),
        Quantity::DstAddr => address(4),
        Quantity::SrcPort => port([key[8], key[9]]),
        Quantity::DstPort => port([key[10], key[11]]),
        Quantity::Size => 0,
    }
}

/// Returns a member of an IPv6 key; of a packet's size a key knows nothing.
#[inline(always)]
fn value_of_v6(key: &KeyV6, quantity: Quantity) -> u64 {
    let key = key.to_bytes();
    let address = |at: usize| u64::from_be_bytes(std::array::from_fn(|i| key[at + i])) >> IPV6_LEFT_OUT;
    match quantity {
        Quantity::SrcAddr => address(0),
        Quantity::DstAddr => address(16),
        Quantity::SrcPort => port([key[32], key[33]]),
        Quantity::DstPort => port([key[34], key[35]]),
        Quantity::Size => 0,
    }
}
