//! A hint to the processor.

/// Has a frame's first cache line on its way before the parser asks for it.
#[inline(always)]
pub(crate) fn prefetch(data: *const u8) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a hint that reads nothing, whatever the address.
    unsafe {
        std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(data.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = data;
}
