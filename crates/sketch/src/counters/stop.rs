//! Saturating counters of 32 bits.

/// Adds, saturating, which is counted in `saturated`. `MAY_END`: false if the sum of all weights cannot
/// saturate.
#[inline(always)]
pub fn grow<const MAY_END: bool>(count: &mut u32, weight: u64, saturated: &mut u64) {
    if !MAY_END {
        *count = count.wrapping_add(weight as u32);
        return;
    }
    // One addition in memory and a branch that is never taken.
    let (sum, is_over) = count.overflowing_add(weight as u32);
    *count = sum;
    if is_over | (weight > u64::from(u32::MAX)) {
        stop(count, saturated);
    }
}

#[cold]
fn stop(count: &mut u32, saturated: &mut u64) {
    *count = u32::MAX;
    *saturated += 1;
}

/// Returns the saturating sum of `count` and `weight`; and 1 if it saturated.
#[inline(always)]
pub fn add(count: u32, weight: u64) -> (u32, u64) {
    let sum = u64::from(count).saturating_add(weight);
    (u32::try_from(sum).unwrap_or(u32::MAX), u64::from(sum > u64::from(u32::MAX)))
}
