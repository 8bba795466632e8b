//! The header fields that flows keep beyond the plain record, read from the IP header that is measured.

use crate::bytes::be32;
use flow::HeaderValues;

/// The first bytes of an IP header: all of IPv4's without its options, and half of IPv6's.
pub(crate) type HeaderStart = [u8; 20];

/// Reads the header fields of a packet, in the order of the field table ([`flow::FIELDS`]).
#[inline(always)]
pub(crate) fn read(h: &HeaderStart) -> HeaderValues {
    let is_v6 = h[0] >> 4 == 6;
    let ip_ttl = Some(u32::from(if is_v6 { h[7] } else { h[8] }));
    let flow_label = is_v6.then(|| be32(h, 0) & 0xf_ffff);
    HeaderValues::new([flow_label, ip_ttl, ip_ttl])
}
