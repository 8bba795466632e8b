//! Addresses of the API.

/// The prefix of all addresses of the API.
pub(crate) const PREFIX: &str = "/api/v1";
