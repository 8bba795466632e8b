//! The counts of an entry.

/// Packets and bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct EntryCounts {
    pub(super) packets: u64,
    pub(super) bytes: u64,
}

impl EntryCounts {
    /// Bytes of each packet (the IP length of the shortest Ethernet frame); one length for all, so that tables
    /// differ in nothing but finding the entry.
    pub(super) const PACKET_BYTES: u32 = crate::cuckoo::PACKET.total_byte;

    pub(super) fn from_packets(packets: u64) -> Self {
        Self { packets, bytes: packets * u64::from(Self::PACKET_BYTES) }
    }

    /// Counts another packet.
    #[inline(always)]
    pub(super) fn add(&mut self) {
        self.packets += 1;
        self.bytes += u64::from(Self::PACKET_BYTES);
    }
}
