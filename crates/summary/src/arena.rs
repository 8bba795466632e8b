//! A growing array that never moves: address space is reserved once, memory is taken as it is needed.
//!
//! A `Vec` would copy millions of records when it grows, which stops measuring for milliseconds, and holds the
//! old and the new copy meanwhile. Here growing is one system call per 2 MiB. Pages are 2 MiB where there are any:
//! from the reserved pool first (`MAP_HUGETLB`), else by `MADV_HUGEPAGE`; at a million flows that is worth 40 to
//! 50 %, because nearly every packet would otherwise miss the TLB too.

use crate::Limits;
use std::ops::{Deref, DerefMut};
use std::ptr::{NonNull, null_mut};
use std::{fmt, io, slice};

/// Address space for a table could not be reserved.
#[derive(Debug)]
pub struct OutOfMemory {
    bytes: usize,
    cause: io::Error,
}

impl fmt::Display for OutOfMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mib = self.bytes >> 20;
        write!(f, "cannot reserve {mib} MiB of address space: {}; lower --memory or --max-flows", self.cause)
    }
}

impl std::error::Error for OutOfMemory {}

/// One step of growth, and the size of a huge page.
const STEP: usize = 2 << 20;

/// See the module's head.
pub(crate) struct Arena<T: Copy> {
    /// Start of the reservation, on a 2 MiB boundary.
    base: NonNull<T>,
    /// Values written.
    len: usize,
    /// Bytes backed by memory, a multiple of `STEP`.
    committed: usize,
    /// Start and length of the whole reservation.
    reservation: (*mut libc::c_void, usize),
    /// False once the pool of reserved huge pages was found empty.
    try_pool: bool,
    limits: Limits,
}

// SAFETY: the arena owns its mapping alone; nothing in it is bound to a thread.
unsafe impl<T: Copy + Send> Send for Arena<T> {}

impl<T: Copy> Arena<T> {
    /// Reserves address space for up to `capacity` values and takes no memory yet.
    pub(crate) fn reserve(capacity: usize, limits: &Limits) -> Result<Self, OutOfMemory> {
        let size = capacity.saturating_mul(size_of::<T>()).saturating_add(2 * STEP);
        // SAFETY: a new anonymous mapping without access; nothing is read or written through it.
        let start = unsafe {
            libc::mmap(
                null_mut(),
                size,
                libc::PROT_NONE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
                -1,
                0,
            )
        };
        let error = || OutOfMemory { bytes: size, cause: io::Error::last_os_error() };
        if start == libc::MAP_FAILED {
            return Err(error());
        }
        let base = start.cast::<u8>().wrapping_add(start.cast::<u8>().align_offset(STEP)).cast::<T>();
        Ok(Self {
            base: NonNull::new(base).ok_or_else(error)?,
            len: 0,
            committed: 0,
            reservation: (start, size),
            try_pool: true,
            limits: limits.clone(),
        })
    }

    /// Takes memory for one more value where there is none left; false where the limits or the machine do not
    /// allow it.
    #[inline]
    pub(crate) fn make_room(&mut self) -> bool {
        (self.len + 1) * size_of::<T>() <= self.committed || self.commit_step()
    }

    /// Adds a value.
    ///
    /// # Panics
    /// Without a successful [`Arena::make_room`] before.
    #[inline]
    pub(crate) fn push(&mut self, value: T) {
        assert!((self.len + 1) * size_of::<T>() <= self.committed, "make_room comes before push");
        // SAFETY: the place lies within the committed part, which is mapped, aligned and writable, and nobody has a
        // reference to it: slices end at `len`.
        unsafe { self.base.as_ptr().add(self.len).write(value) };
        self.len += 1;
    }

    #[cold]
    fn commit_step(&mut self) -> bool {
        let at = self.base.as_ptr().cast::<u8>().wrapping_add(self.committed).cast::<libc::c_void>();
        let left = self.reservation.0 as usize + self.reservation.1 - at as usize;
        if left < STEP || !self.limits.take_bytes(STEP) {
            return false;
        }
        // A mapping in a fixed place that fails leaves a hole there, which other threads' mappings may fall into. So the
        // pool is asked elsewhere first.
        self.try_pool &= is_in_pool();
        // The pool is reserved when mapped, so that a later touch cannot fail.
        if !(self.try_pool && map(at, libc::MAP_FIXED | libc::MAP_HUGETLB)) {
            // Another process may have been faster. What now lies in the hole, if anything, is not this arena's.
            let place = if self.try_pool { libc::MAP_FIXED_NOREPLACE } else { libc::MAP_FIXED };
            self.try_pool = false;
            if !map(at, place) {
                self.give_up_from(at);
                self.limits.give_back_bytes(STEP);
                return false;
            }
            // SAFETY: advice on the range that was just mapped; where the kernel does not take it, pages are small.
            unsafe { libc::madvise(at, STEP, libc::MADV_HUGEPAGE) };
        }
        self.committed += STEP;
        true
    }

    /// Ends the reservation at `at`, where a step could not be mapped: the arena grows no more.
    fn give_up_from(&mut self, at: *mut libc::c_void) {
        let (start, length) = self.reservation;
        let kept = at as usize - start as usize;
        // SAFETY: what lies behind the step is this arena's own and was never given out.
        unsafe { libc::munmap(at.wrapping_byte_add(STEP), length - kept - STEP) };
        self.reservation.1 = kept;
    }

    /// Forgets all values and keeps the memory.
    pub(crate) fn clear(&mut self) {
        self.len = 0;
    }

    /// Bytes of memory taken.
    pub(crate) fn bytes(&self) -> usize {
        self.committed
    }

    /// Asks for the cache lines of value `index`; any index is allowed, but one far away costs a walk through the page
    /// tables.
    #[inline(always)]
    pub(crate) fn prefetch(&self, index: usize) {
        #[cfg(target_arch = "x86_64")]
        for line in (0..size_of::<T>()).step_by(64) {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            let address = self.base.as_ptr().wrapping_add(index).cast::<i8>().wrapping_add(line);
            // SAFETY: a prefetch of any address faults never and changes no value.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(address) };
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _: usize = index;
    }
}

/// Maps one step of memory; false where that fails.
fn map(at: *mut libc::c_void, flags: i32) -> bool {
    let access = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: without a place, or in one that the caller owns behind all that is in use, so that nothing is replaced.
    let mapped =
        unsafe { libc::mmap(at, STEP, access, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | flags, -1, 0) };
    if mapped != libc::MAP_FAILED && mapped != at {
        // Kernels before 4.17 take MAP_FIXED_NOREPLACE for a wish.
        // SAFETY: mapped just now, and nobody has a reference to it.
        unsafe { libc::munmap(mapped, STEP) };
    }
    mapped == at
}

/// Whether the pool of reserved huge pages has one.
fn is_in_pool() -> bool {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_HUGETLB;
    // SAFETY: a new mapping in a place that the kernel chooses.
    let probe = unsafe { libc::mmap(null_mut(), STEP, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0) };
    if probe == libc::MAP_FAILED {
        return false;
    }
    // SAFETY: mapped just now, and never used.
    unsafe { libc::munmap(probe, STEP) };
    true
}

impl<T: Copy> Deref for Arena<T> {
    type Target = [T];
    #[inline(always)]
    fn deref(&self) -> &[T] {
        // SAFETY: `base` is aligned to 2 MiB, and the `len` values behind it were written by `push`.
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
        // SAFETY: the whole reservation is this arena's own, and no reference outlives it.
        unsafe { libc::munmap(self.reservation.0, self.reservation.1) };
        self.limits.give_back_bytes(self.committed);
    }
}

impl<T: Copy> fmt::Debug for Arena<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Arena").field("len", &self.len).field("committed", &self.committed).finish()
    }
}
