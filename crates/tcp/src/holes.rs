//! The holes of a stream: sequence numbers that were skipped and are undecided.

use super::serial::{first, last, overlap};

/// Holes that are kept per stream.
pub(super) const MAX_HOLES: usize = 8;

/// The evidence on a hole in addition to its extent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Evidence {
    /// A hole that was skipped at this time.
    Open,
    /// A hole that the peer acknowledged at this time, within the reordering window after it was skipped.
    AckedYoung,
    /// A hole that the peer acknowledged at this time, later than the reordering window after it was skipped.
    AckedOld,
    /// The acknowledgement at this time was the first to indicate it.
    AckedUnseen,
}

/// Sequence numbers `[start, end)` that were not seen. 16 bytes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Hole {
    pub(super) start: u32,
    pub(super) end: u32,
    /// Bits 0 and 1: the evidence. The others: its time, nanoseconds, 62 bits.
    stamp: u64,
}

impl Hole {
    pub(super) fn new(start: u32, end: u32, evidence: Evidence, time_ns: u64) -> Self {
        Self { start, end, stamp: time_ns << 2 | evidence as u64 }
    }

    pub(super) fn evidence(&self) -> Evidence {
        match self.stamp & 3 {
            0 => Evidence::Open,
            1 => Evidence::AckedYoung,
            2 => Evidence::AckedOld,
            _ => Evidence::AckedUnseen,
        }
    }

    /// Nanoseconds from the evidence to `now`; 0 if time went backwards.
    pub(super) fn age(&self, now: u64) -> u64 {
        let age = (now << 2).wrapping_sub(self.stamp & !3);
        if age.cast_signed() < 0 { 0 } else { age >> 2 }
    }

    /// Sequence numbers in it.
    pub(super) fn len(&self) -> u32 {
        self.end.wrapping_sub(self.start)
    }

    /// True if it is so far below `next` that its sequence numbers will soon be reused.
    pub(super) fn is_stale(&self, next: u32) -> bool {
        next.wrapping_sub(self.start) > 1 << 30
    }

    pub(super) fn is_acked(&self) -> bool {
        self.evidence() != Evidence::Open
    }

    /// Returns the hole as it is after the peer acknowledged it.
    fn acked(&self, now: u64, window_ns: u64) -> Self {
        let evidence = match self.evidence() {
            Evidence::Open if self.age(now) <= window_ns => Evidence::AckedYoung,
            Evidence::Open => Evidence::AckedOld,
            _ => return *self,
        };
        Self::new(self.start, self.end, evidence, now)
    }
}

/// A list of up to [`MAX_HOLES`] holes in the order of the sequence, which is the order in which they opened.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Holes {
    list: [Hole; MAX_HOLES],
    len: u8,
}

/// The list while it changes: no step adds more than one hole.
struct Changed {
    list: [Hole; MAX_HOLES + 1],
    len: usize,
}

impl Changed {
    fn new() -> Self {
        Self { list: [Hole::default(); MAX_HOLES + 1], len: 0 }
    }

    fn push(&mut self, hole: Hole) {
        if hole.len() != 0
            && let Some(place) = self.list.get_mut(self.len)
        {
            *place = hole;
            self.len += 1;
        }
    }
}

impl Holes {
    pub(super) fn as_slice(&self) -> &[Hole] {
        &self.list[..usize::from(self.len)]
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Removes all.
    pub(super) fn clear(&mut self) {
        self.len = 0;
    }

    /// Takes the new list; returns the oldest hole if there is one too many.
    fn replace(&mut self, changed: &Changed) -> Option<Hole> {
        let too_many = usize::from(changed.len > MAX_HOLES);
        let kept = &changed.list[too_many..changed.len];
        self.list[..kept.len()].copy_from_slice(kept);
        self.len = kept.len() as u8;
        (too_many != 0).then_some(changed.list[0])
    }

    /// Adds a hole after all others; returns the one that is displaced.
    pub(super) fn open(&mut self, hole: Hole) -> Option<Hole> {
        let mut changed = Changed::new();
        self.as_slice().iter().for_each(|hole| changed.push(*hole));
        changed.push(hole);
        self.replace(&changed)
    }

    /// Removes `[start, end)` from the holes and passes on each hole that contained some of it. Returns the
    /// one that is displaced if a hole is split and there are too many.
    pub(super) fn fill(&mut self, start: u32, end: u32, mut filled: impl FnMut(&Hole)) -> Option<Hole> {
        let mut changed = Changed::new();
        for hole in self.as_slice() {
            if overlap((hole.start, hole.end), (start, end)) == 0 {
                changed.push(*hole);
                continue;
            }
            filled(hole);
            changed.push(Hole { end: last(hole.start, start), ..*hole });
            changed.push(Hole { start: first(hole.end, end), ..*hole });
        }
        self.replace(&changed)
    }

    /// Records that the peer acknowledged everything before `ack`. Returns the hole that is displaced if one
    /// is split and there are too many.
    pub(super) fn acknowledge(&mut self, ack: u32, now: u64, window_ns: u64) -> Option<Hole> {
        let mut changed = Changed::new();
        for hole in self.as_slice() {
            let middle = last(hole.start, first(hole.end, ack));
            changed.push(Hole { end: middle, ..*hole }.acked(now, window_ns));
            changed.push(Hole { start: middle, ..*hole });
        }
        self.replace(&changed)
    }

    /// Removes the holes that `is_decided` selects, and passes them on.
    pub(super) fn take(&mut self, mut is_decided: impl FnMut(&Hole) -> bool, mut decided: impl FnMut(&Hole)) {
        let mut changed = Changed::new();
        for hole in self.as_slice() {
            if is_decided(hole) {
                decided(hole);
            } else {
                changed.push(*hole);
            }
        }
        self.replace(&changed);
    }

    /// True where there is room for no more.
    pub(super) fn is_full(&self) -> bool {
        usize::from(self.len) == MAX_HOLES
    }

    /// True where a hole was acknowledged and is still undecided.
    pub(super) fn has_acked(&self) -> bool {
        self.as_slice().iter().any(Hole::is_acked)
    }
}
