//! The seeded hash of keys: repeatable, not to be steered, even.

use packet::{Key, KeyV4, KeyV6, Seed};
use std::collections::{HashMap, HashSet};

fn v4(number: u64) -> KeyV4 {
    let [a, b, c, d, e, f, g, h] = number.to_be_bytes();
    KeyV4::new([10, 0, a, b, 10, 1, c, d], [e, f, g, h], 6)
}

fn v6(number: u64) -> KeyV6 {
    let mut src = [0; 16];
    src[..4].copy_from_slice(&[0x20, 1, 0xd, 0xb8]);
    src[8..].copy_from_slice(&number.to_be_bytes());
    KeyV6::new(&src, &[7; 16], [0, 80, 0, 81], 17)
}

#[test]
fn equal_seeds_give_equal_hashes_and_others_do_not() {
    let seeds: Vec<Seed> = (0..200).map(Seed::new).collect();
    let mut hashes = HashSet::new();
    for (number, seed) in seeds.iter().enumerate() {
        assert_eq!(v4(1).hash(seed), v4(1).hash(&Seed::new(number as u64)));
        assert_eq!(v6(1).hash(seed), v6(1).hash(&Seed::new(number as u64)));
        assert!(hashes.insert(v4(1).hash(seed)) && hashes.insert(v6(1).hash(seed)), "seed {number}");
    }
}

#[test]
fn secrets_are_repeatable_and_differ_by_seed_and_purpose() {
    let mut drawn = HashSet::new();
    for seed in 0..50 {
        for purpose in 0..50 {
            let secrets: [u64; 4] = Seed::new(seed).secrets(purpose);
            assert_eq!(secrets, Seed::new(seed).secrets(purpose));
            assert!(secrets.into_iter().all(|secret| drawn.insert(secret)), "seed {seed}, purpose {purpose}");
        }
    }
}

#[test]
fn a_seed_is_not_printed() {
    assert_eq!(format!("{:?}", Seed::new(0x5eed)), "Seed(…)");
}

/// Keys that one seed sends to one bucket of 4,096.
fn colliding<K: Key>(key: impl Fn(u64) -> K, seed: &Seed) -> Vec<K> {
    (0..2_000_000).map(key).filter(|key| key.hash(seed) & 0xfff == 0).collect()
}

fn spread_out<K: Key>(keys: &[K], seed: &Seed) {
    assert!((300..700).contains(&keys.len()), "{} keys of 2,000,000 in one of 4,096 buckets", keys.len());
    let mut buckets = HashMap::<u64, u32>::new();
    keys.iter().for_each(|key| *buckets.entry(key.hash(seed) & 0xfff).or_default() += 1);
    let fullest = buckets.values().max().expect("keys");
    // 500 balls in 4,096 bins: six in one have a probability of some 10⁻⁵.
    assert!(*fullest <= 6, "{fullest} of {} chosen keys are in one bucket again", keys.len());
}

#[test]
fn keys_chosen_for_one_seed_do_not_collide_under_another() {
    let (known, secret) = (Seed::new(1), Seed::new(2));
    spread_out(&colliding(v4, &known), &secret);
    spread_out(&colliding(v6, &known), &secret);
}

/// How often each output bit changes with each of the input bits that a key has, over many keys and seeds.
fn check_avalanche<K: Key>(bits: usize, key: impl Fn(&[u8]) -> K) {
    const ROUNDS: u64 = 2000;
    let mut state = 0x1234_5678_9abc_def0_u64;
    let mut random = || {
        // Marsaglia's xorshift.
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let mut changed = vec![[0_u32; 64]; bits];
    for round in 0..ROUNDS {
        let seed = Seed::new(round);
        let mut bytes: Vec<u8> = (0..bits / 8).map(|_| random() as u8).collect();
        let before = key(&bytes).hash(&seed);
        for (bit, changed) in changed.iter_mut().enumerate() {
            bytes[bit / 8] ^= 1 << (bit % 8);
            let difference = before ^ key(&bytes).hash(&seed);
            bytes[bit / 8] ^= 1 << (bit % 8);
            changed.iter_mut().enumerate().for_each(|(out, count)| *count += (difference >> out & 1) as u32);
        }
    }
    for (bit, changed) in changed.iter().enumerate() {
        for (out, count) in changed.iter().enumerate() {
            let share = f64::from(*count) / ROUNDS as f64;
            // Half, give or take nine standard deviations of a fair coin.
            assert!(
                (0.40..0.60).contains(&share),
                "input bit {bit} changes output bit {out} in {share} of the cases"
            );
        }
    }
}

#[test]
fn every_input_bit_changes_every_output_bit_half_of_the_time() {
    let four = |b: &[u8], at: usize| std::array::from_fn::<u8, 4, _>(|i| b[at + i]);
    check_avalanche(13 * 8, |b| KeyV4::new(std::array::from_fn(|i| b[i]), four(b, 8), b[12]));
    check_avalanche(37 * 8, |b| {
        let address = |at: usize| std::array::from_fn::<u8, 16, _>(|i| b[at + i]);
        KeyV6::new(&address(0), &address(16), four(b, 32), b[36])
    });
}

#[test]
fn neighbouring_keys_fill_buckets_evenly() {
    const BUCKETS: usize = 1024;
    const KEYS: u64 = 1024 * 200;
    for seed in [Seed::new(7), Seed::new(8)] {
        for shift in [0, 32, 54] {
            let mut counts = [0_u32; BUCKETS];
            (0..KEYS).for_each(|number| counts[(v4(number).hash(&seed) >> shift) as usize % BUCKETS] += 1);
            let expected = KEYS as f64 / BUCKETS as f64;
            let chi: f64 = counts.iter().map(|&count| (f64::from(count) - expected).powi(2) / expected).sum();
            // 1,023 degrees of freedom: mean 1,023, standard deviation 45.
            assert!((700.0..1350.0).contains(&chi), "chi-squared {chi} with bits from {shift}");
        }
    }
}
