//! Pins: conditions on the key of a flow by which few flows are singled out, for what is too dear for all of them.
//!
//! A connection is pinned in both directions: what one direction loses is seen in that one, and what of it arrives in the other.

mod shape;

use crate::{Key, KeyV4, KeyV6, MaskedKey, Seed};
use shape::{MaskedKeySet, shapes};
use std::fmt;
use std::net::IpAddr;

/// An address and the number of its leading bits that count.
pub type Network = (IpAddr, u8);

/// A pin: the values that the key of a pinned flow has. All that are given must be equal. Source first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Pin {
    /// Networks of the addresses.
    pub networks: [Option<Network>; 2],
    /// Ports.
    pub ports: [Option<u16>; 2],
    /// IP protocol number.
    pub protocol: Option<u8>,
}

impl Pin {
    /// Every flow.
    pub const ANY: Self = Self { networks: [None; 2], ports: [None; 2], protocol: None };

    /// True if it names a port or a network: a protocol alone singles out nothing.
    pub fn is_narrow(&self) -> bool {
        self.ports.iter().any(Option::is_some) || self.networks.iter().flatten().any(|network| network.1 != 0)
    }

    /// Returns the flows that both pin; `None` if no flow can have both.
    pub fn and(&self, other: &Self) -> Option<Self> {
        fn same<T: PartialEq>(one: Option<T>, other: Option<T>) -> Option<Option<T>> {
            match (one, other) {
                (Some(one), Some(other)) if one != other => None,
                (one, other) => Some(one.or(other)),
            }
        }
        let mut both = *self;
        for side in 0..2 {
            both.networks[side] = match (self.networks[side], other.networks[side]) {
                (Some(one), Some(other)) => Some(narrower(one, other)?),
                (one, other) => one.or(other),
            };
            both.ports[side] = same(self.ports[side], other.ports[side])?;
        }
        both.protocol = same(self.protocol, other.protocol)?;
        let [source, destination] = both.networks;
        // A packet has addresses of one family.
        let is_mixed =
            source.zip(destination).is_some_and(|(one, other)| one.0.is_ipv4() != other.0.is_ipv4());
        (!is_mixed).then_some(both)
    }

    /// Returns the pin of the other direction of the same flows.
    #[must_use]
    pub fn reversed(&self) -> Self {
        let Self { networks: [source, destination], ports: [from, to], protocol } = *self;
        Self { networks: [destination, source], ports: [to, from], protocol }
    }

    /// True if flows of this family can have it.
    fn has_family(&self, is_v6: bool) -> bool {
        self.networks.iter().flatten().all(|network| network.0.is_ipv6() == is_v6)
    }

    /// True if one key alone has it.
    fn is_whole(&self) -> bool {
        let is_address = |network: &Option<Network>| {
            network.is_some_and(|(address, bits)| bits >= if address.is_ipv4() { 32 } else { 128 })
        };
        self.networks.iter().all(is_address)
            && self.ports.iter().all(Option::is_some)
            && self.protocol.is_some()
    }
}

/// The narrower of two networks; `None` if they have no address in common.
fn narrower(one: Network, other: Network) -> Option<Network> {
    let (wide, narrow) = if one.1 <= other.1 { (one, other) } else { (other, one) };
    let has = match (wide.0, narrow.0) {
        (IpAddr::V4(wide_to), IpAddr::V4(to)) => {
            let mask = u32::MAX.checked_shl(32 - u32::from(wide.1.min(32))).unwrap_or(0);
            (wide_to.to_bits() ^ to.to_bits()) & mask == 0
        }
        (IpAddr::V6(wide_to), IpAddr::V6(to)) => {
            let mask = u128::MAX.checked_shl(128 - u32::from(wide.1.min(128))).unwrap_or(0);
            (wide_to.to_bits() ^ to.to_bits()) & mask == 0
        }
        _ => false,
    };
    has.then_some(narrow)
}

/// The reason why flows cannot be pinned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PinsError {
    /// The pins are more than [`Pins::MOST`].
    TooMany {
        /// The number of pins.
        pins: usize,
    },
    /// The combinations of members and prefix lengths are more than [`Pins::MOST_SHAPES`]: each costs every packet a lookup.
    TooManyShapes {
        /// The number of combinations.
        shapes: usize,
    },
}

impl fmt::Display for PinsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooMany { pins } => {
                write!(f, "{pins} keys or prefixes are pinned: the most are {}", Pins::MOST)
            }
            Self::TooManyShapes { shapes } => write!(
                f,
                "the pinned keys and prefixes have {shapes} combinations of members and prefix lengths: the most are {}",
                Pins::MOST_SHAPES
            ),
        }
    }
}

impl std::error::Error for PinsError {}

/// A set of pins, compiled: a packet's hash excludes most packets of other flows where whole keys are pinned, and one lookup for each
/// combination of members decides.
#[derive(Clone)]
pub struct Pins {
    pins: Vec<Pin>,
    v4: Vec<MaskedKeySet<KeyV4>>,
    v6: Vec<MaskedKeySet<KeyV6>>,
    seed: Seed,
    /// True for the leading 13 bits of the hash of a pinned key, a byte for each, which is read in fewer instructions than a bit; all are
    /// true where a pin has more keys than one. It lies in L1.
    coarse: [bool; COARSE],
    /// A bit for the leading 16 bits of the hash of each pinned key; all bits where a pin has more keys than one. It lies in L1.
    sieve: [u64; SIEVE_WORDS],
    /// True for the last 13 bits of the ports of a pinned key, source and destination exclusive-or-ed, which both directions have alike;
    /// all are true where a pin leaves a port open.
    ports: [bool; COARSE],
}

/// The number of all numbers of 13 bits.
const COARSE: usize = 1 << 13;
/// Bits for all numbers of 16 bits.
const SIEVE_WORDS: usize = 1 << 10;

impl fmt::Debug for Pins {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pins").field("pins", &self.pins.len()).finish_non_exhaustive()
    }
}

impl Pins {
    /// The most pins of a set.
    pub const MOST: usize = 4096;
    /// The most combinations of members and prefix lengths, each direction by itself.
    pub const MOST_SHAPES: usize = 64;

    /// Creates a set of no pins.
    pub fn none(seed: Seed) -> Self {
        Self {
            pins: Vec::new(),
            v4: Vec::new(),
            v6: Vec::new(),
            seed,
            sieve: [0; SIEVE_WORDS],
            coarse: [false; COARSE],
            ports: [false; COARSE],
        }
    }

    /// Compiles a set of pins of 5-tuples. `seed`: the one by which packets are hashed.
    ///
    /// # Errors
    /// If there are too many.
    pub fn new(pins: impl IntoIterator<Item = Pin>, seed: Seed) -> Result<Self, PinsError> {
        let mut pins: Vec<Pin> = pins.into_iter().collect();
        pins.sort_unstable();
        pins.dedup();
        if pins.len() > Self::MOST {
            return Err(PinsError::TooMany { pins: pins.len() });
        }
        let both: Vec<Pin> = pins.iter().flat_map(|pin| [*pin, pin.reversed()]).collect();
        let of_family = |is_v6| both.iter().filter(move |pin| pin.has_family(is_v6));
        let (v4, v6) = (shapes(of_family(false), &seed), shapes(of_family(true), &seed));
        let most = v4.len().max(v6.len());
        if most > Self::MOST_SHAPES {
            return Err(PinsError::TooManyShapes { shapes: most });
        }
        let mut compiled = Self { pins, v4, v6, ..Self::none(seed) };
        compiled.fill_sieve(&both);
        compiled.fill_ports();
        Ok(compiled)
    }

    fn fill_sieve(&mut self, both: &[Pin]) {
        if !both.iter().all(Pin::is_whole) {
            self.sieve = [u64::MAX; SIEVE_WORDS];
            self.coarse = [true; COARSE];
            return;
        }
        let mut hashes = Vec::new();
        // Packets whose directions share a table's entry have the hash of the pair.
        self.v4.iter().for_each(|shape| shape.keys().for_each(|key| hashes.extend(self.hashes(key))));
        self.v6.iter().for_each(|shape| shape.keys().for_each(|key| hashes.extend(self.hashes(key))));
        for hash in hashes {
            self.sieve[(hash >> 54) as usize] |= 1 << (hash >> 48 & 63);
            self.coarse[(hash >> 51) as usize] = true;
        }
    }

    fn fill_ports(&mut self) {
        for pin in &self.pins {
            match pin.ports {
                [Some(from), Some(to)] => self.ports[usize::from(from ^ to) % COARSE] = true,
                _ => self.ports = [true; COARSE],
            }
        }
    }

    fn hashes<K: Key>(&self, key: &K) -> [u64; 2] {
        [key.hash(&self.seed), key.pair_hash(&self.seed)]
    }

    /// True without pins.
    pub fn is_empty(&self) -> bool {
        self.pins.is_empty()
    }

    /// The pins, each once.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Pin> {
        self.pins.iter()
    }

    /// False for the hash of no pinned key, true for that of a pinned one and of some others.
    #[inline(always)]
    pub fn may_have(&self, hash: u64) -> bool {
        self.coarse[(hash >> 51) as usize] && self.sieve[(hash >> 54) as usize] >> (hash >> 48 & 63) & 1 != 0
    }

    /// False for the ports of no pinned key, true for those of a pinned one and some others: what is cheaper than [`Pins::may_have`]
    /// where the hash is not known yet.
    #[inline(always)]
    pub fn may_have_ports<K: MaskedKey>(&self, key: &K) -> bool {
        let [from, to] = key.ports();
        self.ports[usize::from(from ^ to) % COARSE]
    }

    /// True if a key, or the key of its other direction, is pinned.
    #[inline]
    pub fn have<K: MaskedKey>(&self, key: &K) -> bool {
        if K::WORDS == KeyV4::WORDS {
            let key = KeyV4::from_words(key.words());
            self.v4.iter().any(|shape| shape.has(&key, &self.seed))
        } else {
            let key = KeyV6::from_words(key.words());
            self.v6.iter().any(|shape| shape.has(&key, &self.seed))
        }
    }
}

#[cfg(test)]
mod tests;
