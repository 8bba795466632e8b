//! DPDK's environment, as `--eal` requests it.

use crate::exit::say;
use port::SourceError;
use port::dpdk::{Eal, EalConfig};
use std::sync::Arc;

/// The words of `--eal TEXT`.
pub(super) fn arguments(eal: Option<&str>) -> Vec<String> {
    eal.into_iter().flat_map(|text| text.split_whitespace()).map(str::to_owned).collect()
}

/// Starts it, and prints what the user ought to know of it.
pub(super) fn start(config: &EalConfig) -> Result<Arc<Eal>, SourceError> {
    let eal = Eal::init(config)?;
    eal.warnings().iter().for_each(|line| say(line));
    Ok(eal)
}
