//! The controller of a deployment, whose probes a broker connects, and certificates for both: `edison controller` and `edison authority`.

pub(crate) mod authority;
pub(crate) mod controller;
mod file_name;
