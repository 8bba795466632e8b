//! The keys of rows in one of their directions.

use super::address::{AddressColumn, AddressFamily};
use super::columns::InputColumns;
use flow::NULL;
use packet::{KeyParts, KeyV4, KeyV6};

/// The columns of keys in one direction of rows.
pub(crate) struct Direction<'a> {
    pub(crate) source: &'a AddressColumn,
    pub(crate) destination: &'a AddressColumn,
    pub(crate) source_port: &'a [u64],
    pub(crate) destination_port: &'a [u64],
    pub(crate) protocol: &'a [u64],
    pub(crate) vlan: &'a [u64],
    pub(crate) tos: &'a [u64],
    /// The family of the addresses, where the file tells it; empty elsewhere.
    pub(crate) ip_version: &'a [u64],
    /// The number of packets that each one of a row stands for, where that is wanted and the file tells it.
    pub(crate) sampling_rate: &'a [u64],
    pub(crate) key_has_vlan: bool,
    /// Flags for sources and for destinations: true once the file is known to have a row with such an address. Otherwise its keys are without
    /// it.
    pub(crate) are_told: [bool; 2],
    /// True if a row that leaves an address open has a key.
    pub(crate) keeps_open: bool,
}

impl Direction<'_> {
    #[inline(always)]
    fn parts(&self, row: usize) -> KeyParts {
        let of = |values: &[u64]| values.get(row).copied().filter(|value| *value != NULL).unwrap_or(0);
        KeyParts {
            ports: [of(self.source_port) as u16, of(self.destination_port) as u16],
            protocol: of(self.protocol) as u8,
            ip_tos: of(self.tos) as u8,
            vlan: self.key_has_vlan.then(|| {
                let vlan = InputColumns::number(self.vlan, row);
                (vlan != NULL).then_some(vlan as u16)
            }),
        }
    }

    /// Returns the address family of a row's key; `None` if the row has no key.
    pub(crate) fn family(&self, row: usize) -> Option<AddressFamily> {
        let of = |addresses: &AddressColumn| match addresses.len() {
            0 => None,
            _ => Some(addresses.get(row).1),
        };
        let families = [of(self.source), of(self.destination)];
        let mut addresses = families.iter().zip(self.are_told);
        let lacks_address =
            addresses.any(|(family, is_told)| is_told && *family == Some(AddressFamily::None));
        if lacks_address && !self.keeps_open {
            return None;
        }
        let numbers = [self.source_port, self.destination_port, self.protocol, self.tos];
        let has_number = || numbers.iter().any(|values| values.get(row).is_some_and(|value| *value != NULL));
        match families {
            // No address is wanted.
            [None, None] => {
                (has_number() || numbers.iter().all(|values| values.is_empty())).then_some(AddressFamily::V4)
            }
            // What is mapped is of IPv6 where the row is.
            families if InputColumns::number(self.ip_version, row) == 6 => families
                .iter()
                .flatten()
                .find(|family| **family != AddressFamily::None)
                .map(|_| AddressFamily::V6),
            // A row of mixed families is of IPv6, with the other address mapped.
            families => {
                let told = [AddressFamily::V6, AddressFamily::V4]
                    .into_iter()
                    .find(|own| families.contains(&Some(*own)));
                told.or_else(|| (self.keeps_open && has_number()).then_some(AddressFamily::V4))
            }
        }
    }

    /// Returns true if each row has all of its key, and all addresses are of IPv4.
    pub(crate) fn are_all_v4(&self) -> bool {
        let numbers = [self.source_port, self.destination_port, self.protocol, self.tos];
        [self.source, self.destination].iter().all(|addresses| addresses.are_all_v4())
            && numbers.iter().all(|numbers| !numbers.contains(&NULL))
            && !self.ip_version.contains(&6)
    }

    #[inline(always)]
    pub(crate) fn v4(&self, row: usize) -> KeyV4 {
        let of = |addresses: &AddressColumn| match addresses.len() {
            0 => [0; 4],
            _ => (addresses.get(row).0 as u32).to_be_bytes(),
        };
        KeyV4::from_parts([of(self.source), of(self.destination)], self.parts(row))
    }

    pub(crate) fn v6(&self, row: usize) -> KeyV6 {
        let of = |addresses: &AddressColumn| match addresses.len() {
            0 => [0; 16],
            _ => addresses.get(row).0.to_be_bytes(),
        };
        KeyV6::from_parts([of(self.source), of(self.destination)], self.parts(row))
    }
}
