//! A hint to the processor.

/// Prefetches a frame's first cache line to L2 before the parser reads it. More prefetches can be in flight
/// to L2 than to L1: with it one core counts 37.8 instead of 24.5 Mpps without loss (EPYC, Zen 4; the tables'
/// lines too).
#[inline(always)]
pub(crate) fn prefetch(data: *const u8) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a hint that reads nothing, whatever the address.
    unsafe {
        std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T1 }>(data.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = data;
}
