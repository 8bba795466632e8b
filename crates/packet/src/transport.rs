//! The word of a key after its addresses.

/// The part of a key after the addresses, in one word: ports in network order (source first), protocol, type
/// of service, VLAN.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct TransportWord(pub(crate) u64);

impl TransportWord {
    /// The VLAN id of untagged packets.
    pub(crate) const NO_VLAN: u16 = u16::MAX;

    #[inline(always)]
    pub(crate) fn new(ports: [u8; 4], protocol: u8, ip_tos: u8, vlan: u16) -> Self {
        Self(
            u64::from(u32::from_ne_bytes(ports))
                | u64::from(protocol) << 32
                | u64::from(ip_tos) << 40
                | u64::from(vlan) << 48,
        )
    }

    pub(crate) fn ports(self) -> [u16; 2] {
        let p = (self.0 as u32).to_ne_bytes();
        [u16::from_be_bytes([p[0], p[1]]), u16::from_be_bytes([p[2], p[3]])]
    }

    pub(crate) fn protocol(self) -> u8 {
        (self.0 >> 32) as u8
    }

    pub(crate) fn ip_tos(self) -> u8 {
        (self.0 >> 40) as u8
    }

    pub(crate) fn vlan(self) -> u16 {
        (self.0 >> 48) as u16
    }

    /// Returns the word with the ports exchanged.
    #[inline(always)]
    pub(crate) fn reversed(word: u64) -> u64 {
        word & !0xffff_ffff | u64::from((word as u32).rotate_left(16))
    }
}
