//! The requirements of structures for a key that they recover without storing it.

use packet::{Key, KeyV4, KeyV6};

/// A key that can be reconstructed from its bytes.
pub trait ByteKey: Key {
    /// Bytes of a key.
    const BYTES: usize;

    /// Writes the key's bytes into the first [`ByteKey::BYTES`] of `bytes`.
    fn to_bytes(&self, bytes: &mut [u8]);

    /// The key that has these bytes; any [`ByteKey::BYTES`] bytes are a key.
    fn from_bytes(bytes: &[u8]) -> Self;
}

macro_rules! byte_key {
    ($key:ty) => {
        impl ByteKey for $key {
            const BYTES: usize = size_of::<$key>();

            #[inline(always)]
            fn to_bytes(&self, bytes: &mut [u8]) {
                bytes[..Self::BYTES].copy_from_slice(&<$key>::to_bytes(self));
            }

            #[inline(always)]
            fn from_bytes(bytes: &[u8]) -> Self {
                <$key>::from_bytes(std::array::from_fn(|i| bytes[i]))
            }
        }
    };
}

byte_key!(KeyV4);
byte_key!(KeyV6);
