//! Compressed bodies as a spool keeps them.

use crate::MessageRefusal;
use crate::envelope::{MOST_JSON_BYTES, PackedBody, expand, read};
use serde::de::DeserializeOwned;

impl PackedBody {
    /// Takes bytes that were packed before.
    pub(super) fn from_bytes(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }

    /// Reads the body again.
    pub(super) fn open<B: DeserializeOwned>(&self) -> Result<B, MessageRefusal> {
        read(&expand(&self.0, MOST_JSON_BYTES)?)
    }

    /// Returns the compressed bytes.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// Returns the number of compressed bytes.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }
}
