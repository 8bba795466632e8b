//! The partition of a key.

const MULTIPLIER: u32 = 0x5bd1_e995;
const SEED: u32 = 0x9747_b28c;

/// The partition of a key, by the number of partitions: the one that Kafka's own producers choose, so that topics can be joined with theirs.
pub fn partition(key: &[u8], partitions: usize) -> usize {
    (murmur2(key) & 0x7fff_ffff) as usize % partitions.max(1)
}

/// MurmurHash2 of 32 bits, with Kafka's seed.
fn murmur2(bytes: &[u8]) -> u32 {
    let mix = |word: u32| {
        let word = word.wrapping_mul(MULTIPLIER);
        (word ^ (word >> 24)).wrapping_mul(MULTIPLIER)
    };
    // Only keys of less than 4 GiB are hashed: the length is part of the hash as a word.
    let mut hash = SEED ^ bytes.len() as u32;
    let mut words = bytes.chunks_exact(4);
    for word in &mut words {
        let word = word.iter().rev().fold(0, |word, byte| word << 8 | u32::from(*byte));
        hash = hash.wrapping_mul(MULTIPLIER) ^ mix(word);
    }
    let rest = words.remainder();
    if !rest.is_empty() {
        let rest = rest.iter().rev().fold(0, |word, byte| word << 8 | u32::from(*byte));
        hash = (hash ^ rest).wrapping_mul(MULTIPLIER);
    }
    hash = (hash ^ (hash >> 13)).wrapping_mul(MULTIPLIER);
    hash ^ (hash >> 15)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What `org.apache.kafka.common.utils.Utils.murmur2` gives.
    #[test]
    fn it_is_kafkas_hash() {
        for (key, hash) in [
            ("21", -973_932_308),
            ("foobar", -790_332_482),
            ("a-little-bit-long-string", -985_981_536),
            ("a-little-bit-longer-string", -1_486_304_829),
            ("lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58_897_971),
            ("abc", 479_470_107),
        ] {
            assert_eq!(murmur2(key.as_bytes()).cast_signed(), hash, "{key}");
        }
        assert_eq!(partition(b"foobar", 1), 0);
        assert!(partition(b"foobar", 7) < 7 && partition(b"", 0) == 0);
    }
}
