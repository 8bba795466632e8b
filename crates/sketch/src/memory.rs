//! Memory of fixed-size structures: allocated at once, on large pages if worthwhile.

use super::SketchError;
use arena::ask_for_large_pages;

/// Returns `len` copies of `value`, every page of them touched, so that no update meets a page fault.
///
/// # Errors
/// The memory cannot be allocated.
pub fn filled<T: Copy>(len: usize, value: T) -> Result<Box<[T]>, SketchError> {
    filled_with(len, || value)
}

/// Returns memory filled with values that cannot be copied.
pub(crate) fn filled_with<T>(len: usize, value: impl FnMut() -> T) -> Result<Box<[T]>, SketchError> {
    let mut values = Vec::<T>::new();
    values
        .try_reserve_exact(len)
        .map_err(|_| SketchError::OutOfMemory { bytes: len.saturating_mul(size_of::<T>()) })?;
    ask_for_large_pages(values.as_mut_ptr_range().start.cast(), len * size_of::<T>());
    values.resize_with(len, value);
    Ok(values.into_boxed_slice())
}

/// Prefetches the cache line of `values[index]`; any index is allowed.
#[inline(always)]
pub fn prefetch<T>(values: &[T], index: usize) {
    arena::prefetch(values.as_ptr().wrapping_add(index));
}
