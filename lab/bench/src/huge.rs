//! Vectors in huge pages, like all memory of DPDK.

/// Room for this many elements; in huge pages where the system gives any.
pub(crate) fn room<T>(count: usize) -> Vec<T> {
    const PAGE: usize = 4096;
    let mut room: Vec<T> = Vec::with_capacity(count);
    let range = room.spare_capacity_mut().as_mut_ptr_range();
    let start = range.start.addr().next_multiple_of(PAGE);
    let length = range.end.addr().saturating_sub(start) / PAGE * PAGE;
    // SAFETY: whole pages of the vector's own memory; the advice changes nothing of what is in them.
    unsafe { libc::madvise(range.start.with_addr(start).cast(), length, libc::MADV_HUGEPAGE) };
    room
}
