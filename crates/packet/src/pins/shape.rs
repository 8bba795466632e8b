//! Pinned keys that have the same members: one mask and one hash set.

use super::Pin;
use crate::{KeyParts, KeySpec, KeyV4, KeyV6, MaskedKey, Seed};
use std::net::IpAddr;

/// Keys under one mask.
#[derive(Clone, Debug)]
pub(super) struct MaskedKeySet<K> {
    mask: KeySpec,
    /// A power of two, at least half of them empty.
    slots: Vec<Option<K>>,
}

impl<K: MaskedKey + PartialEq> MaskedKeySet<K> {
    fn new(mask: KeySpec, keys: Vec<K>, seed: &Seed) -> Self {
        let mut slots = vec![None; (2 * keys.len()).next_power_of_two()];
        for key in keys {
            let mut at = Self::first(&key, seed, slots.len());
            while slots[at].is_some_and(|known| known != key) {
                at = (at + 1) % slots.len();
            }
            slots[at] = Some(key);
        }
        Self { mask, slots }
    }

    fn first(key: &K, seed: &Seed, slots: usize) -> usize {
        key.hash(seed) as usize & (slots - 1)
    }

    /// The keys, which have zeros where the mask has.
    pub(super) fn keys(&self) -> impl Iterator<Item = &K> {
        self.slots.iter().flatten()
    }

    #[inline]
    pub(super) fn has(&self, key: &K, seed: &Seed) -> bool {
        let key = key.masked(&self.mask);
        let mut at = Self::first(&key, seed, self.slots.len());
        // There is an empty slot.
        while let Some(known) = self.slots[at] {
            if known == key {
                return true;
            }
            at = (at + 1) & (self.slots.len() - 1);
        }
        false
    }
}

/// A key that a pin can be made into.
pub(super) trait PinnedKey: MaskedKey + PartialEq {
    /// The pin's values; zero where it has none.
    fn from_pin(pin: &Pin) -> Self;
}

impl PinnedKey for KeyV4 {
    fn from_pin(pin: &Pin) -> Self {
        let address = |side: usize| match pin.networks[side] {
            Some((IpAddr::V4(address), _)) => address.octets(),
            _ => [0; 4],
        };
        Self::from_parts([address(0), address(1)], parts(pin))
    }
}

impl PinnedKey for KeyV6 {
    fn from_pin(pin: &Pin) -> Self {
        let address = |side: usize| match pin.networks[side] {
            Some((IpAddr::V6(address), _)) => address.octets(),
            _ => [0; 16],
        };
        Self::from_parts([address(0), address(1)], parts(pin))
    }
}

fn parts(pin: &Pin) -> KeyParts {
    let ports = pin.ports.map(Option::unwrap_or_default);
    KeyParts { ports, protocol: pin.protocol.unwrap_or_default(), ..KeyParts::default() }
}

/// The members that a pin has.
fn mask(pin: &Pin) -> KeySpec {
    let lengths = pin.networks.map(|network| network.map(|network| network.1));
    KeySpec::from_members(lengths, pin.ports.map(|port| port.is_some()), pin.protocol.is_some())
}

/// Pins of one family by their members, the largest sets first.
pub(super) fn shapes<'a, K: PinnedKey>(
    pins: impl Iterator<Item = &'a Pin>,
    seed: &Seed,
) -> Vec<MaskedKeySet<K>> {
    let mut shapes: Vec<(KeySpec, Vec<K>)> = Vec::new();
    for pin in pins {
        let mask = mask(pin);
        let key = K::from_pin(pin).masked(&mask);
        match shapes.iter_mut().find(|(known, _)| *known == mask) {
            Some((_, keys)) => keys.push(key),
            None => shapes.push((mask, vec![key])),
        }
    }
    shapes.sort_by_key(|(_, keys)| std::cmp::Reverse(keys.len()));
    shapes.into_iter().map(|(mask, keys)| MaskedKeySet::new(mask, keys, seed)).collect()
}
