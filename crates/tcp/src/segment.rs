//! A TCP segment, reduced to what the tracker reads.

/// TCP flags (RFC 9293, section 3.1).
pub mod flag {
    /// The end of the data from the sender.
    pub const FIN: u8 = 0x01;
    /// Synchronise sequence numbers.
    pub const SYN: u8 = 0x02;
    /// Reset the connection.
    pub const RST: u8 = 0x04;
    /// Push: the end of what the sender had to send.
    pub const PSH: u8 = 0x08;
    /// The acknowledgement number is valid.
    pub const ACK: u8 = 0x10;
}

/// A TCP segment. 32 bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Segment {
    /// Time at the tap, nanoseconds.
    pub time_ns: u64,
    /// Sequence number.
    pub seq: u32,
    /// Acknowledgement number.
    pub ack: u32,
    /// Bytes of TCP payload by the IP length, not by what was captured.
    pub payload: u32,
    /// TSval of the timestamps option, 0 without it.
    pub tsval: u32,
    /// TSecr of the timestamps option, 0 without it.
    pub tsecr: u32,
    /// Window as in the header, unscaled.
    pub window: u16,
    /// TCP flags, CWR to FIN, as in [`flag`].
    pub flags: u8,
    /// Bits 0 to 3: the window scale option + 1, or 0. Bit 4: the timestamps option is present.
    pub options: u8,
}

const _: () = assert!(size_of::<Segment>() == 32);

const SCALE: u8 = 0x0f;
const TIMESTAMPS: u8 = 0x10;

impl Segment {
    /// The greatest shift that may be used; a larger one in a SYN is reduced to this (RFC 7323, section 2.3).
    pub const MAX_SCALE: u8 = 14;

    /// Returns the segment with this window scale option, or without one. It is used on SYN only.
    #[must_use]
    #[inline]
    pub fn with_window_scale(mut self, shift: Option<u8>) -> Self {
        self.options = self.options & !SCALE | shift.map_or(0, |shift| shift.min(Self::MAX_SCALE) + 1);
        self
    }

    /// Returns the segment with this timestamps option (TSval, TSecr), or without one (RFC 7323, section 3).
    #[must_use]
    #[inline]
    pub fn with_timestamps(mut self, timestamps: Option<(u32, u32)>) -> Self {
        self.options = self.options & !TIMESTAMPS | if timestamps.is_some() { TIMESTAMPS } else { 0 };
        (self.tsval, self.tsecr) = timestamps.unwrap_or_default();
        self
    }

    /// Shift of the window scale option.
    #[inline]
    pub fn window_scale(&self) -> Option<u8> {
        (self.options & SCALE).checked_sub(1)
    }

    /// TSval and TSecr of the timestamps option.
    #[inline]
    pub fn timestamps(&self) -> Option<(u32, u32)> {
        (self.options & TIMESTAMPS != 0).then_some((self.tsval, self.tsecr))
    }

    /// True if all of `flags` are set.
    #[inline(always)]
    pub(super) fn has(&self, flags: u8) -> bool {
        self.flags & flags == flags
    }

    /// Sequence numbers that the segment takes: its payload, and one each for SYN and FIN.
    #[inline]
    pub(super) fn len(&self) -> u32 {
        self.payload + u32::from(self.has(flag::SYN)) + u32::from(self.has(flag::FIN))
    }

    /// The sequence number of the first payload byte.
    #[inline]
    pub(super) fn payload_start(&self) -> u32 {
        self.seq.wrapping_add(u32::from(self.has(flag::SYN)))
    }
}
