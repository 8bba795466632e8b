//! A growing array that never moves: address space is reserved once, memory is committed as needed.
//!
//! A `Vec` would copy millions of records when it grows, which stops measuring for milliseconds, and holds
//! the old and the new copy meanwhile. Here memory is committed in steps of 2 MiB. Pages are 2 MiB where
//! there are any: from the reserved pool first (`MAP_HUGETLB`), else by `MADV_HUGEPAGE`; at a million flows
//! that is worth 40 to 50 %, because nearly every packet would otherwise miss the TLB too.
//!
//! A page is zeroed when it is first touched, which takes up to a millisecond for one of 2 MiB. So some steps
//! are committed ahead of use, and a thread of the process touches them first (`populate`): advancing to such
//! a step costs the measuring thread a few atomic operations, no system call and no page fault.

mod populate;
mod region;
#[cfg(test)]
mod tests;

use crate::Limits;
use crate::prefetch::{prefetch, prefetch_lines};
use region::{Region, STEP};
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use std::sync::Arc;
use std::{fmt, io, slice};

/// Memory for a table, or address space for it, could not be allocated.
#[derive(Debug)]
pub struct OutOfMemory {
    bytes: usize,
    /// The system's error; `None` if the limits refused it.
    cause: Option<io::Error>,
}

impl OutOfMemory {
    /// Returns the error of memory that the limits refused.
    pub fn from_limits(bytes: usize) -> Self {
        Self { bytes, cause: None }
    }

    /// Bytes that were requested.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// The system's error for address space; `None` if the limits had no room.
    pub fn cause(&self) -> Option<&io::Error> {
        self.cause.as_ref()
    }
}

impl fmt::Display for OutOfMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mib = self.bytes.div_ceil(1 << 20);
        match &self.cause {
            Some(cause) => write!(f, "cannot reserve {mib} MiB of address space: {cause}"),
            None => write!(f, "the memory that is allowed leaves no {mib} MiB for shared state"),
        }
    }
}

impl std::error::Error for OutOfMemory {}

/// Bytes of the first step that are in use when the next one is taken: a small table commits no more than
/// one.
const EARLY: usize = STEP / 8;

/// A growing array that never moves.
pub struct Arena<T: Copy> {
    /// Start of the memory, on a 2 MiB boundary.
    base: NonNull<T>,
    /// Values written.
    len: usize,
    /// Bytes that may be written, a multiple of `STEP`.
    committed: usize,
    /// Bytes in use beyond which growth needs attention; not more than `committed`.
    watched: usize,
    region: Arc<Region>,
}

// SAFETY: the arena alone refers to its values; nothing in it is bound to a thread.
unsafe impl<T: Copy + Send> Send for Arena<T> {}

impl<T: Copy> Arena<T> {
    /// Reserves address space for up to `capacity` values; one step ahead is taken already, if available.
    pub fn reserve(capacity: usize, limits: &Limits) -> Result<Self, OutOfMemory> {
        let size = capacity.saturating_mul(size_of::<T>());
        let (region, base) =
            Region::reserve(size, limits).map_err(|cause| OutOfMemory { bytes: size, cause: Some(cause) })?;
        let region = Arc::new(region);
        populate::add(region.clone());
        // The first values must not stop the caller either.
        region.pay_ahead();
        Ok(Self { base: base.cast(), len: 0, committed: 0, watched: 0, region })
    }

    /// Commits memory for one more value if none is left; false if the limits or the machine do not allow it.
    #[inline]
    pub fn make_room(&mut self) -> bool {
        (self.len + 1) * size_of::<T>() <= self.watched || self.grow()
    }

    /// Adds a value.
    ///
    /// # Panics
    /// If there was no successful [`Arena::make_room`] before.
    #[inline]
    pub fn push(&mut self, value: T) {
        assert!((self.len + 1) * size_of::<T>() <= self.committed, "make_room comes before push");
        // SAFETY: the place lies within the committed part, which is mapped, aligned and writable, and no
        // reference to it exists: slices end at `len`.
        unsafe { self.base.as_ptr().add(self.len).write(value) };
        self.len += 1;
    }

    #[cold]
    fn grow(&mut self) -> bool {
        let needed = (self.len + 1) * size_of::<T>();
        if needed > self.committed {
            if !self.region.advance() {
                return false;
            }
            self.committed += STEP;
        }
        if self.committed == STEP && needed <= EARLY {
            self.watched = EARLY;
        } else {
            self.watched = self.committed;
            self.region.pay_ahead();
        }
        true
    }

    /// Removes all values and keeps the memory.
    pub fn clear(&mut self) {
        self.len = 0;
    }

    /// Bytes of memory committed, including steps ahead.
    pub fn bytes(&self) -> usize {
        self.region.bytes()
    }

    /// Prefetches the cache lines of value `index`; any index is allowed, but one far away costs a walk
    /// through the page tables.
    #[inline(always)]
    pub fn prefetch(&self, index: usize) {
        prefetch_lines(self.base.as_ptr().wrapping_add(index));
    }

    /// Prefetches one of the cache lines of value `index`.
    #[inline(always)]
    pub fn prefetch_line(&self, index: usize, line: usize) {
        prefetch(self.base.as_ptr().wrapping_add(index).wrapping_byte_add(line * 64));
    }
}

impl<T: Copy> Deref for Arena<T> {
    type Target = [T];
    #[inline(always)]
    fn deref(&self) -> &[T] {
        // SAFETY: `base` is aligned to 2 MiB, and the `len` values after it were written by `push`.
        unsafe { slice::from_raw_parts(self.base.as_ptr(), self.len) }
    }
}

impl<T: Copy> DerefMut for Arena<T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as in `deref`; `&mut self` makes it the only reference.
        unsafe { slice::from_raw_parts_mut(self.base.as_ptr(), self.len) }
    }
}

impl<T: Copy> Drop for Arena<T> {
    fn drop(&mut self) {
        // No reference to a value outlives the arena, and the populating thread is excluded.
        self.region.close();
        populate::remove(&self.region);
    }
}

impl<T: Copy> fmt::Debug for Arena<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Arena").field("len", &self.len).field("committed", &self.committed).finish()
    }
}
