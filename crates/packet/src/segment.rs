//! A packet's TCP segment, which only loss tracking requires.

use crate::bytes::{ByteCursor, be32};

/// The fields that a TCP header provides beyond [`crate::PacketFields`]. 16 bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TcpSegment {
    /// Bytes of payload, by the IP header's length.
    pub payload: u32,
    timestamps: [u32; 2],
    /// Shift count + 1, 0 without the option.
    window_scale: u8,
    /// Flags that tell whether the other members are valid.
    kind: u8,
}

const IS_TCP: u8 = 1;
const HAS_TIMESTAMPS: u8 = 2;
const IS_UNPARSED: u8 = 4;

/// Kinds of TCP options (RFC 9293, section 3.1; RFC 7323).
mod option {
    pub(super) const END: u8 = 0;
    pub(super) const NO_OPERATION: u8 = 1;
    pub(super) const WINDOW_SCALE: u8 = 3;
    pub(super) const TIMESTAMPS: u8 = 8;
}

/// Two no-operations, then timestamps: what nearly every segment of most hosts has.
const TIMESTAMP_OPTIONS: u32 = 0x0101_080a;

impl TcpSegment {
    /// The value that stands for no TCP segment.
    pub const NONE: Self = Self { payload: 0, timestamps: [0; 2], window_scale: 0, kind: 0 };

    /// TCP, but its header was cut short or states an impossible length.
    pub const UNPARSED: Self = Self { kind: IS_UNPARSED, ..Self::NONE };

    /// A segment without options.
    pub const fn from_payload(payload: u32) -> Self {
        Self { payload, kind: IS_TCP, ..Self::NONE }
    }

    /// True if there is a segment at all.
    #[inline(always)]
    pub fn is_some(&self) -> bool {
        self.kind & IS_TCP != 0
    }

    /// True for [`TcpSegment::UNPARSED`].
    #[inline(always)]
    pub fn is_unparsed(&self) -> bool {
        self.kind & IS_UNPARSED != 0
    }

    /// TSval and TSecr of the timestamps option (RFC 7323, section 3).
    #[inline(always)]
    pub fn timestamps(&self) -> Option<(u32, u32)> {
        (self.kind & HAS_TIMESTAMPS != 0).then_some((self.timestamps[0], self.timestamps[1]))
    }

    /// TSval alone; 0 without the option.
    #[inline(always)]
    pub fn tsval(&self) -> u32 {
        self.timestamps[0]
    }

    /// Shift count of the window scale option (RFC 7323, section 2), at most 14.
    #[inline(always)]
    pub fn window_scale(&self) -> Option<u8> {
        self.window_scale.checked_sub(1)
    }

    /// Reads the segment whose header is at `bytes`, which end where the IP packet ends.
    /// [`TcpSegment::UNPARSED`] if that is not possible.
    #[inline]
    pub(crate) fn read(bytes: ByteCursor<'_>) -> Self {
        let Ok(header) = bytes.peek::<20>() else { return Self::UNPARSED };
        let header_len = usize::from(header[12] >> 4) * 4;
        if header_len < 20 || header_len > bytes.wire_len() {
            return Self::UNPARSED;
        }
        let mut segment =
            Self { payload: (bytes.wire_len() - header_len) as u32, kind: IS_TCP, ..Self::NONE };
        match bytes.peek::<32>() {
            Ok(h) if header_len == 32 && be32(h, 20) == TIMESTAMP_OPTIONS => {
                segment.timestamps = [be32(h, 24), be32(h, 28)];
                segment.kind |= HAS_TIMESTAMPS;
            }
            _ if header_len > 20 => segment.read_options(bytes, header_len),
            _ => {}
        }
        segment
    }

    #[cold]
    fn read_options(&mut self, bytes: ByteCursor<'_>, header_len: usize) {
        let mut rest = bytes.limit(header_len);
        // Bytes cut by the snap length are treated as missing.
        if rest.skip(20).is_err() {
            return;
        }
        while let Ok(&[kind]) = rest.peek::<1>() {
            let length = match kind {
                option::END => return,
                option::NO_OPERATION => 1,
                _ => match rest.peek::<2>() {
                    Ok(&[_, length]) if length >= 2 => usize::from(length),
                    _ => return,
                },
            };
            match (kind, length) {
                (option::WINDOW_SCALE, 3) => {
                    if let Ok(h) = rest.peek::<3>() {
                        // More than 14 counts as 14 (RFC 7323, section 2.3).
                        self.window_scale = h[2].min(14) + 1;
                    }
                }
                (option::TIMESTAMPS, 10) => {
                    if let Ok(h) = rest.peek::<10>() {
                        self.timestamps = [be32(h, 2), be32(h, 6)];
                        self.kind |= HAS_TIMESTAMPS;
                    }
                }
                _ => {}
            }
            if rest.skip(length).is_err() {
                return;
            }
        }
    }
}
