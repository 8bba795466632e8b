//! A small cache of places: traffic comes back to few addresses.

use crate::AddressLocation;
use std::net::IpAddr;

const BITS: u32 = 12;

/// Places of the addresses that were looked up last, each in the one slot that its address has.
#[derive(Debug, Default)]
pub(crate) struct PlaceCache {
    /// The slots of the cache; empty until the first address.
    slots: Vec<Option<(IpAddr, AddressLocation)>>,
}

impl PlaceCache {
    /// The place of an address, which `find` finds where it is not known.
    pub(crate) fn place(
        &mut self,
        address: IpAddr,
        find: impl FnOnce() -> AddressLocation,
    ) -> AddressLocation {
        if self.slots.is_empty() {
            self.slots.resize(1 << BITS, None);
        }
        let slot = &mut self.slots[slot(address)];
        match slot {
            Some((known, place)) if *known == address => *place,
            _ => slot.insert((address, find())).1,
        }
    }
}

fn slot(address: IpAddr) -> usize {
    let bits = match address {
        IpAddr::V4(v4) => u64::from(v4.to_bits()),
        IpAddr::V6(v6) => (v6.to_bits() >> 64) as u64 ^ (v6.to_bits() as u64).rotate_left(32),
    };
    // The upper bits of the product depend on all bits of the address.
    (bits.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - BITS)) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    #[test]
    fn an_address_is_found_once_and_another_takes_its_slot() {
        let mut cache = PlaceCache::default();
        let place = |n: u32| AddressLocation { asn: Some(n), country: None };
        let address = |n: u32| IpAddr::V4(Ipv4Addr::from_bits(n));
        assert_eq!(cache.place(address(7), || place(7)), place(7));
        assert_eq!(cache.place(address(7), || unreachable!("it is known")), place(7));
        let other = (8..).find(|n| slot(address(*n)) == slot(address(7))).expect("slots are few");
        assert_eq!(cache.place(address(other), || place(other)), place(other));
        assert_eq!(cache.place(address(7), || place(9)), place(9));
    }
}
