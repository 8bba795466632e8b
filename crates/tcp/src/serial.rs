//! Sequence numbers are compared by their distance, which wraps (RFC 9293, section 3.4).

/// The distance from `b` to `a`, negative if `a` lies before `b`. Right for distances below 2^31.
#[inline(always)]
pub(super) fn distance(a: u32, b: u32) -> i32 {
    a.wrapping_sub(b).cast_signed()
}

/// True if `a` is before `b`.
#[inline(always)]
pub(super) fn is_before(a: u32, b: u32) -> bool {
    distance(a, b) < 0
}

/// The one that is first.
#[inline]
pub(super) fn first(a: u32, b: u32) -> u32 {
    if is_before(a, b) { a } else { b }
}

/// The one that is last.
#[inline]
pub(super) fn last(a: u32, b: u32) -> u32 {
    if is_before(a, b) { b } else { a }
}

/// Numbers that the ranges `[a.0, a.1)` and `[b.0, b.1)` share.
#[inline]
pub(super) fn overlap(a: (u32, u32), b: (u32, u32)) -> u32 {
    u32::try_from(distance(first(a.1, b.1), last(a.0, b.0))).unwrap_or(0)
}
