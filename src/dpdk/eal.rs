//! DPDK's environment, as `--eal` requests it.

use crate::exit::say;
use port::SourceError;
use port::dpdk::{Eal, EalConfig};
use std::sync::Arc;

/// The words of `--eal TEXT`.
pub(super) fn arguments(eal: Option<&str>) -> Vec<String> {
    eal.into_iter().flat_map(|text| text.split_whitespace()).map(str::to_owned).collect()
}

/// Starts it for what is opened with it, and prints what the user ought to know of it; of a device that cannot be opened the error alone.
pub(super) fn with<T>(
    config: &EalConfig,
    open: impl FnOnce(&Arc<Eal>) -> Result<T, SourceError>,
) -> Result<T, SourceError> {
    let eal = Eal::init(config)?;
    let opened = open(&eal)?;
    eal.warnings().iter().for_each(|line| say(line));
    Ok(opened)
}
