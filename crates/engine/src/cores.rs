//! The machine's cores.

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// Cores on which this process may run, by the machine's numbers.
pub fn allowed() -> Vec<usize> {
    let set = sched_getaffinity(None).unwrap_or_default();
    let cores: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|&core| set.is_set(core)).collect();
    // Whoever asks runs on one at least.
    if cores.is_empty() { vec![0] } else { cores }
}

/// Keeps the calling thread on this core.
///
/// # Errors
/// One line, where the machine does not allow it.
pub(crate) fn pin(core: usize) -> Result<(), String> {
    let mut set = CpuSet::new();
    set.set(core);
    sched_setaffinity(None, &set).map_err(|error| format!("cannot keep a thread on core {core}: {error}"))
}
