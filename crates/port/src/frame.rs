//! Frames as a source hands them over: where the bytes lie, and what else the source knows of them.

use packet::{Frame, LinkType};
use std::marker::PhantomData;

/// A frame's place in its source's memory: what a source fills, 40 bytes.
#[derive(Clone, Copy, Debug)]
pub struct FrameDescriptor {
    /// First captured byte.
    pub data: *const u8,
    /// Time of arrival, nanoseconds since the epoch.
    pub time_ns: u64,
    /// Captured bytes at `data`.
    pub captured: u32,
    /// Length on the wire.
    pub wire_len: u32,
    /// The link type.
    pub link: LinkType,
    /// The tag that the driver stripped.
    pub stripped_vlan: Option<u16>,
    /// The card's hash of the frame for receive-side scaling; `None` if there is no card or it made none.
    pub rss_hash: Option<u32>,
}

// SAFETY: it is a place and no access to it: the creator of a burst guarantees the bytes.
unsafe impl Send for FrameDescriptor {}

const _: () = assert!(size_of::<FrameDescriptor>() == 40);

impl FrameDescriptor {
    /// No bytes at no time: what a source's slots hold before the first burst.
    pub const EMPTY: Self = Self {
        data: std::ptr::dangling(),
        time_ns: 0,
        captured: 0,
        wire_len: 0,
        link: LinkType::Unsupported,
        stripped_vlan: None,
        rss_hash: None,
    };
}

/// The frames of one `rx_burst`.
#[derive(Clone, Copy, Debug)]
pub struct Burst<'a> {
    descriptors: &'a [FrameDescriptor],
    frames: PhantomData<&'a [u8]>,
}

impl<'a> Burst<'a> {
    /// # Safety
    /// For the whole of `'a`, each descriptor's `data` must point to `captured` initialised bytes that are
    /// not written to.
    #[inline]
    pub unsafe fn new(descriptors: &'a [FrameDescriptor]) -> Self {
        Self { descriptors, frames: PhantomData }
    }

    /// The first `count` frames, or all, and the others.
    #[inline]
    pub fn split(self, count: u64) -> (Self, Self) {
        let count = usize::try_from(count).unwrap_or(usize::MAX).min(self.len());
        let (first, others) = self.descriptors.split_at(count);
        (Self { descriptors: first, ..self }, Self { descriptors: others, ..self })
    }

    /// Number of frames.
    #[inline]
    pub fn len(&self) -> usize {
        self.descriptors.len()
    }

    /// True without frames.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.descriptors.is_empty()
    }

    /// The card's hash of each frame, in the same order as [`Burst::frames`].
    #[inline(always)]
    pub fn rss_hashes(&self) -> impl ExactSizeIterator<Item = Option<u32>> + use<'a> {
        self.descriptors.iter().map(|d| d.rss_hash)
    }

    /// The frames in the order of arrival.
    #[inline(always)]
    pub fn frames(&self) -> impl ExactSizeIterator<Item = Frame<'a>> + use<'a> {
        self.descriptors.iter().map(|d| Frame {
            // SAFETY: `new`'s caller guaranteed `captured` readable bytes at `data` for `'a`.
            data: unsafe { std::slice::from_raw_parts(d.data, d.captured as usize) },
            wire_len: d.wire_len,
            time_ns: d.time_ns,
            link: d.link,
            stripped_vlan: d.stripped_vlan,
        })
    }
}
