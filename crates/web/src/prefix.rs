//! Where the API is.

/// The addresses begin with this.
pub(crate) const PREFIX: &str = "/api/v1";
