//! Fixed-size fields in the byte order of the machine that wrote the capture.

/// The byte order of a pcap file or of one pcapng section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ByteOrder {
    Little,
    Big,
}

impl ByteOrder {
    /// The two bytes at `at`. Panics outside of `bytes`: callers pass arrays or blocks of a checked length.
    #[inline(always)]
    pub(super) fn u16(self, bytes: &[u8], at: usize) -> u16 {
        let field = [bytes[at], bytes[at + 1]];
        match self {
            Self::Little => u16::from_le_bytes(field),
            Self::Big => u16::from_be_bytes(field),
        }
    }

    /// The four bytes at `at`, under the same condition.
    #[inline(always)]
    pub(super) fn u32(self, bytes: &[u8], at: usize) -> u32 {
        let field = [bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]];
        match self {
            Self::Little => u32::from_le_bytes(field),
            Self::Big => u32::from_be_bytes(field),
        }
    }

    /// Eight bytes, if there are exactly eight.
    pub(super) fn u64(self, bytes: &[u8]) -> Option<u64> {
        let field = bytes.try_into().ok()?;
        Some(match self {
            Self::Little => u64::from_le_bytes(field),
            Self::Big => u64::from_be_bytes(field),
        })
    }
}
