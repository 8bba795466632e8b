//! The header fields that flows keep beyond the plain record, read from the IP header that is measured.

use flow::HeaderValues;

/// The first bytes of an IP header: all of IPv4's without its options, and half of IPv6's.
pub(crate) type HeaderStart = [u8; 20];

/// Reads the header fields of a packet, in the order of the field table ([`flow::FIELDS`]).
#[inline(always)]
pub(crate) fn read(_: &HeaderStart) -> HeaderValues {
    HeaderValues::new([])
}
