//! A column of addresses.

use std::net::IpAddr;

/// Addresses by row, as numbers and families.
#[derive(Clone, Debug, Default)]
pub struct AddressColumn {
    /// The bits of the addresses: of IPv6 its own, of IPv4 those of the mapped address.
    bits: Vec<u128>,
    families: Vec<AddressFamily>,
}

/// The family of the address of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AddressFamily {
    /// A row without an address.
    None,
    V4,
    V6,
}

/// The network of IPv4-mapped addresses, `::ffff:0:0/96`.
const MAPPED: u128 = 0xffff << 32;

impl AddressColumn {
    pub(crate) fn clear(&mut self) {
        self.bits.clear();
        self.families.clear();
    }

    pub(crate) fn truncate(&mut self, rows: usize) {
        self.bits.truncate(rows);
        self.families.truncate(rows);
    }

    pub(crate) fn len(&self) -> usize {
        self.bits.len()
    }

    pub(crate) fn push(&mut self, address: Option<IpAddr>) {
        let (bits, family) = match address {
            None => (0, AddressFamily::None),
            Some(IpAddr::V4(address)) => (MAPPED | u128::from(address.to_bits()), AddressFamily::V4),
            Some(IpAddr::V6(address)) => (address.to_bits(), AddressFamily::V6),
        };
        self.bits.push(bits);
        self.families.push(family);
    }

    /// Adds an address of 16 bytes, in which IPv4 is mapped.
    pub(crate) fn push_mapped(&mut self, bits: u128) {
        self.bits.push(bits);
        self.families.push(if bits >> 32 == 0xffff { AddressFamily::V4 } else { AddressFamily::V6 });
    }

    pub(crate) fn push_v4(&mut self, bits: u32) {
        self.bits.push(MAPPED | u128::from(bits));
        self.families.push(AddressFamily::V4);
    }

    /// Returns true if any row has an address.
    pub(crate) fn is_told(&self) -> bool {
        self.families.iter().any(|family| *family != AddressFamily::None)
    }

    /// Returns true if each row has an address.
    pub(crate) fn are_all_there(&self) -> bool {
        self.len() != 0 && self.families.iter().all(|family| *family != AddressFamily::None)
    }

    /// Returns the family of a row's address; [`AddressFamily::None`] where the file lacks the column.
    pub(crate) fn family(&self, row: usize) -> AddressFamily {
        self.families.get(row).copied().unwrap_or(AddressFamily::None)
    }

    pub(crate) fn are_all_v4(&self) -> bool {
        self.families.iter().all(|family| *family == AddressFamily::V4)
    }

    #[inline(always)]
    pub(crate) fn get(&self, row: usize) -> (u128, AddressFamily) {
        (self.bits[row], self.families[row])
    }
}
