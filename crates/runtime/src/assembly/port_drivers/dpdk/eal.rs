//! DPDK's environment, as `--eal` requests it.

use crate::exit::say;
use port::SourceError;
use port::dpdk::{Eal, EalConfig};
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// The environment that several nodes share: DPDK starts once in a process.
static SHARED: Mutex<Weak<Eal>> = Mutex::new(Weak::new());

/// The words of `--eal TEXT`.
pub(super) fn arguments(eal: Option<&str>) -> Vec<String> {
    eal.into_iter().flat_map(|text| text.split_whitespace()).map(str::to_owned).collect()
}

/// Starts DPDK for the ports of several nodes, which are opened while the returned value lives.
pub(super) fn share(config: &EalConfig) -> Result<Arc<Eal>, SourceError> {
    let eal = Eal::init(config)?;
    *SHARED.lock().unwrap_or_else(PoisonError::into_inner) = Arc::downgrade(&eal);
    Ok(eal)
}

/// Starts DPDK for what is opened with it, unless it is shared, and prints what the user ought to know of it; of a device that cannot be
/// opened the error alone.
pub(super) fn with<T>(
    config: &EalConfig,
    open: impl FnOnce(&Arc<Eal>) -> Result<T, SourceError>,
) -> Result<T, SourceError> {
    let shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner).upgrade();
    let eal = shared.map_or_else(|| Eal::init(config), Ok)?;
    let opened = open(&eal)?;
    eal.warnings().iter().for_each(|line| say(line));
    Ok(opened)
}
