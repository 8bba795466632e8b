//! The schemas of types of the standard library, as they are written here.

use schemars::JsonSchema;

/// A place in a text, bytes.
#[derive(JsonSchema)]
#[allow(dead_code)]
pub(crate) struct Place {
    /// The first byte.
    start: usize,
    /// The byte behind the last one.
    end: usize,
}
