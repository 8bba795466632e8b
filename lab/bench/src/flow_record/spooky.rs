//! SpookyHash V2 for short messages (Jenkins, 2012, public domain), from its definition: `Hash32`.

/// A number without any pattern, odd and not zero.
const CONSTANT: u64 = 0xdead_beef_dead_beef;
/// Messages of this many bytes and more are hashed by another algorithm, which is not implemented.
const LONG: usize = 192;

/// The rotation of each step of the two mixers.
const MIX: [u32; 12] = [50, 52, 30, 41, 54, 48, 38, 37, 62, 34, 5, 36];
const END: [u32; 11] = [15, 52, 26, 51, 28, 9, 47, 54, 32, 25, 63];

/// Mixes four words, a step for each rotation; it alternates over the words, from the third on.
#[inline(always)]
fn mix(h: &mut [u64; 4]) {
    for (step, turn) in MIX.into_iter().enumerate() {
        let (word, next, other) = ((step + 2) % 4, (step + 3) % 4, step % 4);
        h[word] = h[word].rotate_left(turn).wrapping_add(h[next]);
        h[other] ^= h[word];
    }
}

/// Mixes four words as [`mix`] does, from the fourth on.
#[inline(always)]
fn end(h: &mut [u64; 4]) {
    for (step, turn) in END.into_iter().enumerate() {
        let (word, before) = ((step + 3) % 4, (step + 2) % 4);
        h[word] ^= h[before];
        h[before] = h[before].rotate_left(turn);
        h[word] = h[word].wrapping_add(h[before]);
    }
}

/// Reads up to eight bytes as a number, little-endian.
#[inline(always)]
fn number(bytes: &[u8]) -> u64 {
    let mut padded = [0; 8];
    padded[..bytes.len()].copy_from_slice(bytes);
    u64::from_le_bytes(padded)
}

/// The hash of fewer than 192 bytes.
#[inline(always)]
pub(super) fn spooky(bytes: &[u8], seed: u32) -> u32 {
    debug_assert!(bytes.len() < LONG);
    let seed = u64::from(seed);
    let mut h = [seed, seed, CONSTANT, CONSTANT];
    let (blocks, rest) = bytes.as_chunks::<16>();
    for (at, block) in blocks.iter().enumerate() {
        let words = [number(&block[..8]), number(&block[8..])];
        // Blocks of 32 bytes, of which the second half is added to the first two words.
        let to = if at % 2 == 0 { 2 } else { 0 };
        h[to] = h[to].wrapping_add(words[0]);
        h[to + 1] = h[to + 1].wrapping_add(words[1]);
        if to == 2 {
            mix(&mut h);
        }
    }
    h[3] = h[3].wrapping_add((bytes.len() as u64) << 56);
    let words = if rest.is_empty() {
        [CONSTANT; 2]
    } else {
        let (low, high) = rest.split_at(rest.len().min(8));
        [number(low), number(high)]
    };
    h[2] = h[2].wrapping_add(words[0]);
    h[3] = h[3].wrapping_add(words[1]);
    end(&mut h);
    h[0] as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From the test program that comes with SpookyHash V2: the hash of the first 0, 1, 2, … 63 bytes of those
    /// that count up from 128.
    const PUBLISHED: [u32; 64] = [
        0x6bf50919, 0x70de1d26, 0xa2b37298, 0x35bc5fbf, 0x8223b279, 0x5bcb315e, 0x53fe88a1, 0xf9f1a233,
        0xee193982, 0x54f86f29, 0xc8772d36, 0x9ed60886, 0x5f23d1da, 0x1ed9f474, 0xf2ef0c89, 0x83ec01f9,
        0xf274736c, 0x7e9ac0df, 0xc7aed250, 0xb1015811, 0xe23470f5, 0x48ac20c4, 0xe2ab3cd5, 0x608f8363,
        0xd0639e68, 0xc4e8e7ab, 0x863c7c5b, 0x4ea63579, 0x99ae8622, 0x170c658b, 0x149ba493, 0x027bca7c,
        0xe5cfc8b6, 0xce01d9d7, 0x11103330, 0x5d1f5ed4, 0xca720ecb, 0xef408aec, 0x733b90ec, 0x855737a6,
        0x9856c65f, 0x647411f7, 0x50777c74, 0xf0f1a8b7, 0x9d7e55a5, 0xc68dd371, 0xfc1af2cc, 0x75728d0a,
        0x390e5fdc, 0xf389b84c, 0xfb0ccf23, 0xc95bad0e, 0x5b1cb85a, 0x6bdae14f, 0x6deb4626, 0x93047034,
        0x6f3266c6, 0xf529c3bd, 0x396322e7, 0x3777d042, 0x1cd6a5a2, 0x197b402e, 0xc28d0d2b, 0x09c1afb4,
    ];

    #[test]
    fn published_vectors() {
        let bytes: Vec<u8> = (128..192).collect();
        for (length, hash) in PUBLISHED.into_iter().enumerate() {
            assert_eq!(spooky(&bytes[..length], 0), hash, "{length} bytes");
        }
    }
}
