//! MurmurHash3 for 32 bits (Appleby, SMHasher: `MurmurHash3_x86_32`, public domain), from its definition.

use std::hint::black_box;

/// The hash of some bytes.
#[inline(always)]
pub(crate) fn murmur3(bytes: &[u8], seed: u32) -> u32 {
    let scrambled = |word: u32| word.wrapping_mul(0xcc9e_2d51).rotate_left(15).wrapping_mul(0x1b87_3593);
    let (blocks, rest) = bytes.as_chunks::<4>();
    let mut hash = blocks.iter().fold(seed, |hash, &block| {
        let mixed = (hash ^ scrambled(u32::from_le_bytes(block))).rotate_left(13);
        mixed.wrapping_mul(5).wrapping_add(0xe654_6b64)
    });
    // Up to three bytes are left; of none, zero is added.
    let rest = rest.iter().rev().fold(0, |word, &byte| word << 8 | u32::from(byte));
    hash ^= scrambled(rest) ^ bytes.len() as u32;
    hash = (hash ^ hash >> 16).wrapping_mul(0x85eb_ca6b);
    hash = (hash ^ hash >> 13).wrapping_mul(0xc2b2_ae35);
    hash ^ hash >> 16
}

/// Hashes as [`murmur3`] does, as a program calls it: a function of a library, for bytes of any number.
#[inline(never)]
pub(crate) fn library_murmur3(bytes: &[u8], seed: u32) -> u32 {
    murmur3(black_box(bytes), seed)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// SMHasher's verification value: the hash of the hashes of 0, 1, 2, … 255 bytes that count up, with
    /// falling seeds.
    #[test]
    fn smhashers_verification_value() {
        let bytes: Vec<u8> = (0..=255).collect();
        let hashes: Vec<u8> =
            (0..256_usize).flat_map(|n| murmur3(&bytes[..n], 256 - n as u32).to_le_bytes()).collect();
        assert_eq!(murmur3(&hashes, 0), 0xb0f5_7ee3);
    }

    #[test]
    fn published_vectors() {
        for (text, seed, hash) in [
            ("", 0, 0),
            ("", 1, 0x514e_28b7),
            ("", 0xffff_ffff, 0x81f1_6f39),
            ("\0\0\0\0", 0, 0x2362_f9de),
            ("aaaa", 0x9747_b28c, 0x5a97_808a),
            ("abc", 0x9747_b28c, 0xc84a_62dd),
            ("Hello, world!", 0x9747_b28c, 0x2488_4cba),
        ] {
            assert_eq!(murmur3(text.as_bytes(), seed), hash, "{text:?}");
        }
    }
}
