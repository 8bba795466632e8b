//! The memory that a thread has taken from the allocator, for tests of what structures say of theirs.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// The system's allocator, counted. A test program declares it as its `#[global_allocator]`.
#[derive(Debug)]
pub struct CountingAllocator;

thread_local! {
    /// Bytes that this thread has taken. The harness's thread allocates while a test runs, so each counts its own.
    static TAKEN: Cell<usize> = const { Cell::new(0) };
}

// SAFETY: every call is passed on to the system's allocator unchanged; counting allocates nothing and touches no allocated memory.
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // A thread that ends has no count any more.
        let _ = TAKEN.try_with(|taken| taken.set(taken.get().wrapping_add(layout.size())));
        // SAFETY: the caller's guarantees are the required ones.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        let _ = TAKEN.try_with(|taken| taken.set(taken.get().wrapping_sub(layout.size())));
        // SAFETY: `place` came from `alloc` above, which got it from the system's allocator.
        unsafe { System.dealloc(place, layout) }
    }
}

/// The bytes that a structure may take in addition to its arrays: boxes of fixed size, such as tables of hash functions.
const OVERHEAD: usize = 256;

/// Fails where the structure that `make` returns takes more or less memory than it `says`, or says that it takes more than `most`. Returns
/// what it says.
#[track_caller]
pub fn check_memory<T>(
    name: &str,
    most: usize,
    make: impl FnOnce() -> T,
    says: impl FnOnce(&T) -> usize,
) -> usize {
    let before = TAKEN.with(Cell::get);
    let made = make();
    let taken = TAKEN.with(Cell::get).wrapping_sub(before);
    let said = says(&made);
    assert!(said <= most, "{name}: {said} of {most}");
    assert!(taken <= said + OVERHEAD, "{name} takes {taken} bytes and says {said}");
    assert!(taken + OVERHEAD >= said, "{name} takes only {taken} bytes and says {said}");
    said
}
