//! A burst of parsed packets of both address families.

use crate::{KeyBurst, KeyV4, KeyV6, KeyedPacket, Numbers};

/// A burst for each address family, filled and counted together.
#[derive(Debug)]
pub struct Bursts {
    /// The IPv4 packets.
    pub v4: KeyBurst<KeyV4>,
    /// The IPv6 packets.
    pub v6: KeyBurst<KeyV6>,
}

/// Packets of both address families.
#[derive(Clone, Copy, Debug, Default)]
pub struct Packets<'a> {
    /// The IPv4 packets, in the order of arrival.
    pub v4: &'a [KeyedPacket<KeyV4>],
    /// The IPv6 packets, in the order of arrival.
    pub v6: &'a [KeyedPacket<KeyV6>],
}

impl Bursts {
    /// Room for `capacity` packets of each family; more are accepted, at the cost of an allocation.
    pub fn with_capacity(capacity: usize) -> Self {
        Self { v4: KeyBurst::with_capacity(capacity), v6: KeyBurst::with_capacity(capacity) }
    }

    /// Returns all packets.
    #[inline(always)]
    pub fn packets(&self) -> Packets<'_> {
        Packets { v4: self.v4.packets(), v6: self.v6.packets() }
    }

    /// The packets that were added since [`Bursts::lengths`] returned these numbers; none if the bursts were
    /// cleared since and hold fewer.
    #[inline(always)]
    pub fn packets_since(&self, (v4, v6): (usize, usize)) -> Packets<'_> {
        Packets {
            v4: self.v4.packets().get(v4..).unwrap_or_default(),
            v6: self.v6.packets().get(v6..).unwrap_or_default(),
        }
    }

    /// The number of packets of each family.
    #[inline(always)]
    pub fn lengths(&self) -> (usize, usize) {
        (self.v4.packets().len(), self.v6.packets().len())
    }

    /// The number of packets.
    #[inline(always)]
    pub fn len(&self) -> usize {
        self.v4.packets().len() + self.v6.packets().len()
    }

    /// True if there is no packet.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Removes all packets and keeps the capacity.
    #[inline]
    pub fn clear(&mut self) {
        self.v4.clear();
        self.v6.clear();
    }

    /// Sets the range of the packets' numbers.
    #[inline]
    pub fn set_numbers(&mut self, numbers: Numbers) {
        self.v4.set_numbers(numbers);
        self.v6.set_numbers(numbers);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_families_count() {
        let mut bursts = Bursts::with_capacity(2);
        assert!(bursts.is_empty());
        bursts.v4.push_keyed(&KeyedPacket::default(), None);
        let before = bursts.lengths();
        (0..2).for_each(|_| bursts.v6.push_keyed(&KeyedPacket::default(), None));
        assert_eq!((before, bursts.lengths(), bursts.len()), ((1, 0), (1, 2), 3));
        let Packets { v4, v6 } = bursts.packets_since(before);
        assert_eq!((v4.len(), v6.len()), (0, 2));
        assert_eq!((bursts.packets().v4.len(), bursts.packets().v6.len()), (1, 2));
        bursts.clear();
        assert!(bursts.is_empty() && bursts.packets_since(before).v4.is_empty());
    }
}
