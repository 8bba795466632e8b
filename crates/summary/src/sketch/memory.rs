//! Memory of fixed-size structures: taken at once, on large pages where that pays.

use super::SketchError;

/// Size of a large page.
const LARGE: usize = 2 << 20;

/// `len` copies of `value`, every page of them touched, so that no update meets a page fault.
pub(crate) fn filled<T: Copy>(len: usize, value: T) -> Result<Box<[T]>, SketchError> {
    filled_with(len, || value)
}

/// The same of what cannot be copied.
pub(crate) fn filled_with<T>(len: usize, value: impl FnMut() -> T) -> Result<Box<[T]>, SketchError> {
    let mut values = Vec::<T>::new();
    values
        .try_reserve_exact(len)
        .map_err(|_| SketchError::OutOfMemory { bytes: len.saturating_mul(size_of::<T>()) })?;
    ask_for_large_pages(values.as_mut_ptr_range().start.cast(), len * size_of::<T>());
    values.resize_with(len, value);
    Ok(values.into_boxed_slice())
}

/// Large pages for those that lie wholly within; without them a random access to megabytes misses the TLB too.
pub(crate) fn ask_for_large_pages(start: *mut u8, bytes: usize) {
    let before = start.align_offset(LARGE);
    let Some(inner) = bytes.checked_sub(before).map(|room| room / LARGE * LARGE).filter(|inner| *inner > 0)
    else {
        return;
    };
    // SAFETY: whole pages within one allocation; the advice changes no value and may be refused, which costs speed alone.
    unsafe { libc::madvise(start.wrapping_add(before).cast(), inner, libc::MADV_HUGEPAGE) };
}

/// Has the cache line of `values[index]` on its way; any index is allowed.
#[inline(always)]
pub(crate) fn prefetch<T>(values: &[T], index: usize) {
    crate::prefetch::prefetch(values.as_ptr().wrapping_add(index));
}
