//! Configurations that papers measured with.

use super::{ArrayConfig, Policy, SketchError, TrackedConfig};
use packet::{Key, KeySpec, Seed};

/// Makwana, "Software based measurement sketch using DPDK pipeline": three hash functions, 1,024 counters
/// each, the pair of addresses as key, and the heaviest pair kept. Returns the key's definition, and the
/// structure.
///
/// As published with [`super::CountMin`]. His report names two improved estimates and defines neither: we
/// take [`super::Conservative`] for the one of the cash-register model, and [`super::KAry`] for that of the
/// turnstile model. His hash functions are the address as a decimal number modulo 1,024; ours are seeded.
///
/// # Errors
/// Returns no error with these sizes.
pub fn makwana<K: Key, P: Policy>(seed: Seed) -> Result<(KeySpec, TrackedConfig<K, P>), SketchError> {
    let key = KeySpec::parse("src_addr,dst_addr").expect("both are fields");
    Ok((key, TrackedConfig::new(ArrayConfig::new(3, 1024, seed)?, 1)?))
}
