//! Addresses of the API.

/// They begin with this.
pub(crate) const PREFIX: &str = "/api/v1";
