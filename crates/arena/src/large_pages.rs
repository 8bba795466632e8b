//! Large pages for memory of the heap.

/// Size of a large page.
const LARGE: usize = 2 << 20;

/// Requests large pages for the part that they fit into; without them a random access to megabytes misses the
/// TLB too.
pub fn ask_for_large_pages(start: *mut u8, bytes: usize) {
    let before = start.align_offset(LARGE);
    let Some(inner) = bytes.checked_sub(before).map(|room| room / LARGE * LARGE).filter(|inner| *inner > 0)
    else {
        return;
    };
    // SAFETY: whole pages within one allocation; the advice changes no value and may be refused, which only
    // costs speed.
    unsafe { libc::madvise(start.wrapping_add(before).cast(), inner, libc::MADV_HUGEPAGE) };
}
