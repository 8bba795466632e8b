//! A cursor over captured bytes that knows how many more were on the wire.

use crate::NotMeasured;

/// Bytes still to be parsed. `data` may be shorter than `wire`: the snap length cut the rest.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ByteCursor<'a> {
    data: &'a [u8],
    wire: usize,
}

/// The reason why required bytes are missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Short {
    /// The bytes were on the wire but not captured.
    Captured,
    /// The bytes never were on the wire.
    Wire,
}

impl Short {
    /// The reason; `malformed` is that of a frame that is itself too short.
    pub(crate) fn or(self, malformed: NotMeasured) -> NotMeasured {
        match self {
            Self::Captured => NotMeasured::Truncated,
            Self::Wire => malformed,
        }
    }
}

impl<'a> ByteCursor<'a> {
    pub(crate) fn new(data: &'a [u8], wire: usize) -> Self {
        Self { data: &data[..data.len().min(wire)], wire }
    }

    /// Returns the offset at which the bytes begin in `all`, which they are a part of.
    pub(crate) fn offset_in(&self, all: &[u8]) -> usize {
        (self.data.as_ptr() as usize).saturating_sub(all.as_ptr() as usize)
    }

    /// Bytes left on the wire.
    pub(crate) fn wire_len(&self) -> usize {
        self.wire
    }

    fn shortage(&self, needed: usize) -> Short {
        if self.wire < needed { Short::Wire } else { Short::Captured }
    }

    /// The next `N` bytes, without consuming them.
    pub(crate) fn peek<const N: usize>(&self) -> Result<&'a [u8; N], Short> {
        self.data.first_chunk().ok_or(self.shortage(N))
    }

    /// The next `N` bytes.
    pub(crate) fn take<const N: usize>(&mut self) -> Result<&'a [u8; N], Short> {
        let (head, rest) = self.data.split_first_chunk().ok_or(self.shortage(N))?;
        self.data = rest;
        self.wire -= N;
        Ok(head)
    }

    /// Passes over `n` bytes.
    pub(crate) fn skip(&mut self, n: usize) -> Result<(), Short> {
        self.data = self.data.get(n..).ok_or(self.shortage(n))?;
        self.wire -= n;
        Ok(())
    }

    /// Returns the bytes as the beginning of `n` bytes, of which others are elsewhere: as if they had not been captured.
    pub(crate) fn extend_to(self, n: usize) -> Self {
        Self { wire: self.wire.max(n), ..self }
    }

    /// The first `n` bytes only: what lies behind them (padding, trailers) does not belong.
    pub(crate) fn limit(self, n: usize) -> Self {
        Self::new(self.data, self.wire.min(n))
    }
}

/// Big-endian 16 bits at `at`.
#[inline(always)]
pub(crate) fn be16<const N: usize>(bytes: &[u8; N], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

/// Big-endian 32 bits at `at`.
#[inline(always)]
pub(crate) fn be32<const N: usize>(bytes: &[u8; N], at: usize) -> u32 {
    u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

/// The number of headers of any kind that a frame may have still: tags, labels, extension and tunnel headers. Bounds the work that a frame
/// of 4,000 tags can cause.
#[derive(Debug)]
pub(crate) struct HeaderBudget(u8);

impl HeaderBudget {
    /// The most headers of a frame: more than any real frame has, tunnels included.
    pub(crate) const MAX_HEADERS: u8 = 32;

    pub(crate) fn new() -> Self {
        Self(Self::MAX_HEADERS)
    }

    /// Takes one header out of the budget.
    pub(crate) fn spend(&mut self) -> Result<(), NotMeasured> {
        self.0 = self.0.checked_sub(1).ok_or(NotMeasured::MalformedNesting)?;
        Ok(())
    }
}
