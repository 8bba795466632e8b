//! Frames as a source hands them over: where the bytes lie, and what else the source knows of them.

use crate::prefetch::prefetch;
use packet::{Frame, LinkType};
use std::marker::PhantomData;
use std::ops::Range;

/// A frame's place in its source's memory: what a source fills, 40 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
    /// The descriptor of no bytes at no time: what a source's slots hold before the first burst.
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

    /// Returns the descriptors of the burst's frames.
    pub(crate) fn descriptors(&self) -> &[FrameDescriptor] {
        self.descriptors
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

    /// The time of each frame, in the same order as [`Burst::frames`]. No frame's bytes are touched.
    #[inline(always)]
    pub fn times(&self) -> impl ExactSizeIterator<Item = u64> + use<'a> {
        self.descriptors.iter().map(|d| d.time_ns)
    }

    /// The time of the frame at this place, if there is one.
    #[inline(always)]
    pub fn time(&self, at: usize) -> Option<u64> {
        self.descriptors.get(at).map(|d| d.time_ns)
    }

    /// The time of the last frame; `None` without frames.
    #[inline(always)]
    pub fn last_time(&self) -> Option<u64> {
        self.descriptors.last().map(|d| d.time_ns)
    }

    /// The frame at this place, if there is one.
    #[inline(always)]
    pub fn frame(&self, at: usize) -> Option<Frame<'a>> {
        let (_, behind) = self.descriptors.split_at_checked(at)?;
        Self { descriptors: behind, ..*self }.frames().next()
    }

    /// The greatest length of a frame on the wire; 0 without frames. No frame's bytes are touched.
    #[inline(always)]
    pub fn longest(&self) -> u32 {
        self.descriptors.iter().fold(0, |longest, d| longest.max(d.wire_len))
    }

    /// Prefetches the first line of the frame at this place, if there is one.
    #[inline(always)]
    pub fn prefetch(&self, at: usize) {
        self.descriptors.get(at).iter().for_each(|d| prefetch(d.data));
    }

    /// Prefetches the first lines of these frames, as far as there are so many.
    #[inline(always)]
    pub fn prefetch_all(&self, frames: Range<usize>) {
        let end = frames.end.min(self.len());
        let frames = self.descriptors.get(frames.start..end).unwrap_or_default();
        frames.iter().for_each(|d| prefetch(d.data));
    }

    /// The frames in the order of arrival.
    #[inline(always)]
    pub fn frames(&self) -> impl ExactSizeIterator<Item = Frame<'a>> + Clone + use<'a> {
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

/// A copy of one frame, which stays when its burst is gone.
#[derive(Debug)]
pub struct HeldFrame {
    data: Box<[u8]>,
    /// Leads into `data`.
    descriptor: FrameDescriptor,
}

impl HeldFrame {
    /// A copy of the first frame of a burst, if there is one.
    pub fn first_of(burst: Burst<'_>) -> Option<Self> {
        let (frame, descriptor) = (burst.frames().next()?, burst.descriptors.first()?);
        let data: Box<[u8]> = frame.data.into();
        let descriptor = FrameDescriptor { data: data.as_ptr(), ..*descriptor };
        Some(Self { data, descriptor })
    }

    /// The frame as a burst of one.
    pub fn burst(&self) -> Burst<'_> {
        debug_assert_eq!(self.data.len(), self.descriptor.captured as usize);
        // SAFETY: the descriptor leads to the bytes of `data`, as many as it states, which stay where they are and as they are while
        // the burst borrows `self`.
        unsafe { Burst::new(std::slice::from_ref(&self.descriptor)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_held_frame_is_the_frame() {
        let data = [1u8, 2, 3];
        let descriptor = FrameDescriptor {
            data: data.as_ptr(),
            captured: 3,
            wire_len: 70,
            time_ns: 9,
            link: LinkType::Ethernet,
            stripped_vlan: Some(5),
            ..FrameDescriptor::EMPTY
        };
        let descriptors = [descriptor, FrameDescriptor::EMPTY];
        // SAFETY: the first leads to three bytes that stay, the second to none.
        let burst = unsafe { Burst::new(&descriptors) };
        let held = Box::new(HeldFrame::first_of(burst).expect("a frame"));
        let frame = held.burst().frames().next().expect("the frame");
        assert_eq!((frame.data, frame.wire_len, frame.time_ns), (&data[..], 70, 9));
        assert_eq!((frame.link, frame.stripped_vlan, held.burst().len()), (LinkType::Ethernet, Some(5), 1));
        assert!(HeldFrame::first_of(burst.split(0).0).is_none());
    }
}
