//! The state of the system's clock, as the kernel tells it.

use model::view::KernelClock;

/// Returns whether something keeps the clock right, and by how much it may be off; `None` if the kernel does not say.
pub(super) fn kernel_clock() -> Option<KernelClock> {
    // SAFETY: `timex` is plain data, of which all zeros is a value; with `modes` 0 the call changes nothing but it.
    let mut timex: libc::timex = unsafe { std::mem::zeroed() };
    // SAFETY: the pointer is to a `timex` of this frame.
    let state = unsafe { libc::adjtimex(&raw mut timex) };
    if state == -1 {
        return None;
    }
    let is_synchronised = state != libc::TIME_ERROR && timex.status & libc::STA_UNSYNC == 0;
    let max_error_ns = u64::try_from(timex.maxerror).ok().and_then(|micros| micros.checked_mul(1_000));
    Some(KernelClock { synchronised: Some(is_synchronised), max_error_ns })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_says_something() {
        let clock = kernel_clock().expect("Linux has adjtimex");
        assert!(clock.synchronised.is_some() && clock.max_error_ns.is_some());
    }
}
