//! Ranges and quantiles against sorted numbers.

use crate::sketch_support::{Random, assert_as_promised, fails, seeds, skewed};
use packet::Seed;
use sketch::{Configuration, DyadicArray, DyadicConfig, Merge, Summary, Update, UpdateBurst};

fn count(array: &mut DyadicArray, numbers: &[u64]) {
    let updates: Vec<_> = numbers.iter().map(|&key| Update { key, hash: 0, weight: 1 }).collect();
    updates.chunks(100).for_each(|burst| array.update_burst(burst));
}

fn array(bits: u32, width: usize, seed: Seed, numbers: &[u64]) -> DyadicArray {
    let configuration = DyadicConfig::new(bits, 3, width, seed).expect("a configuration");
    let mut array = DyadicArray::new(&configuration).expect("an array");
    count(&mut array, numbers);
    array
}

/// Numbers of `bits` bits, crowded below and around one place.
fn numbers(count: usize, bits: u32) -> Vec<u64> {
    let mut random = Random::new(7);
    let mut numbers = skewed(count / 2, (1 << bits) - 1, &mut random);
    numbers.extend((0..count / 2).map(|_| (1 << (bits - 1)) + random.below(1000)));
    numbers
}

fn true_range(numbers: &[u64], first: u64, last: u64) -> f64 {
    numbers.iter().filter(|number| (first..=last).contains(*number)).count() as f64
}

#[test]
fn ranges_hold_their_bound() {
    let numbers = numbers(4000, 20);
    let half = 1 << 19;
    for (first, last) in
        [(0, 0), (0, 1000), (17, 99_999), (half, half + 500), (half - 1, half + 7), (3, 1 << 20)]
    {
        let truth = true_range(&numbers, first, last);
        let mut failures = 0;
        for seed in seeds(200) {
            let estimate = array(20, 2000, seed, &numbers).range(first, last);
            let bounds = estimate.bounds.expect("a bound");
            assert!(truth <= bounds.upper, "{first} to {last}: {truth}, {estimate:?}");
            assert!((0.9..0.96).contains(&bounds.confidence));
            failures += u32::from(fails(&estimate, truth));
        }
        assert_as_promised(&format!("{first} to {last}"), failures, 200, 1.0 - (-3f64).exp());
    }
}

/// Powers of 16, of which the rows' digits would meet together if the numbers were not hashed.
#[test]
fn numbers_of_a_pattern_hold_their_bound_too() {
    let numbers: Vec<u64> = [1, 16, 256, 4096, 65_536].into_iter().flat_map(|number| [number; 100]).collect();
    let mut failures = 0;
    for seed in seeds(1000) {
        let configuration = DyadicConfig::new(64, 4, 16, seed).expect("a configuration");
        let mut array = DyadicArray::new(&configuration).expect("an array");
        count(&mut array, &numbers);
        failures += u32::from(fails(&array.range(0, 0), 0.0));
    }
    assert_as_promised("powers of 16", failures, 1000, 1.0 - (-4f64).exp());
}

#[test]
fn quantiles_hold_their_bound() {
    let mut numbers = numbers(4000, 20);
    let arrays: Vec<DyadicArray> = seeds(200).map(|seed| array(20, 4000, seed, &numbers)).collect();
    numbers.sort_unstable();
    for share in [0.0, 0.01, 0.25, 0.5, 0.75, 0.99, 1.0] {
        let rank = (share * numbers.len() as f64).ceil().max(1.0) as usize;
        let truth = numbers[rank - 1] as f64;
        let (mut failures, mut finite) = (0, 0);
        for array in &arrays {
            let estimate = array.quantile(share).expect("numbers");
            assert!(estimate.value <= truth, "{share}: {truth}, {estimate:?}");
            failures += u32::from(fails(&estimate, truth));
            finite += u32::from(estimate.bounds.expect("a bound").upper < f64::from(1 << 20) - 1.0);
        }
        assert!(finite > 190 || share > 0.9, "{share}: a bound that says nothing");
        assert_as_promised(&format!("quantile {share}"), failures, 200, 0.95);
    }
}

#[test]
fn where_all_levels_are_exact_every_answer_is() {
    let mut numbers = numbers(3000, 10);
    numbers.iter_mut().for_each(|number| *number &= 1023);
    let array = array(10, 500, Seed::new(1), &numbers);
    for first in (0..1024).step_by(37) {
        for last in (0..1100).step_by(53) {
            let truth = true_range(&numbers, first, last);
            let bounds = array.range(first, last).bounds.expect("a bound");
            assert_eq!(
                (bounds.lower, bounds.upper, bounds.confidence),
                (truth, truth, 1.0),
                "{first} {last}"
            );
        }
    }
    numbers.sort_unstable();
    for rank in 1..=numbers.len() {
        let estimate = array.quantile((rank as f64 - 0.5) / numbers.len() as f64).expect("numbers");
        assert!(!fails(&estimate, numbers[rank - 1] as f64), "{rank}: {estimate:?}");
        assert_eq!(estimate.value, numbers[rank - 1] as f64);
    }
}

#[test]
fn all_64_bits_are_taken_and_what_is_beyond_is_counted() {
    let mut wide = array(64, 100, Seed::new(2), &[0, 5, u64::MAX, u64::MAX - 1]);
    assert_eq!((wide.range(0, u64::MAX).value, wide.beyond()), (4.0, 0));
    assert_eq!(wide.range(u64::MAX, u64::MAX).value, 1.0);
    assert_eq!(wide.range(1, u64::MAX).value, 3.0);
    assert_eq!(wide.range(7, 6).value, 0.0);
    assert_eq!(wide.quantile(0.5).expect("numbers").value, 5.0);
    wide.reset();
    assert_eq!((wide.total(), wide.quantile(0.5)), (0, None));

    let narrow = array(8, 4, Seed::new(2), &[255, 256, 1 << 40, 3]);
    assert_eq!((narrow.total(), narrow.beyond()), (2, 2));
}

#[test]
fn merging_gives_what_one_pass_gives() {
    let numbers = numbers(3000, 16);
    let (left, right) = numbers.split_at(1234);
    let whole = array(16, 200, Seed::new(3), &numbers);
    let mut parts = array(16, 200, Seed::new(3), left);
    parts.merge(&array(16, 200, Seed::new(3), right)).expect("the same configuration");
    for first in (0..65_536).step_by(997) {
        assert_eq!(parts.range(first, first + 5000), whole.range(first, first + 5000));
    }
    assert_eq!(parts.quantile(0.9), whole.quantile(0.9));
    let refused = parts.merge(&array(16, 201, Seed::new(3), &[])).expect_err("other widths").to_string();
    assert!(refused.contains("width=200") && refused.contains("width=201"), "{refused}");
    parts.reset();
    count(&mut parts, &numbers);
    assert_eq!(parts.quantile(0.3), whole.quantile(0.3));
}

#[test]
fn counters_at_their_limit_leave_no_bound() {
    let mut array = array(20, 100, Seed::new(4), &[1, 2, 3]);
    array.update_burst(&[Update { key: 77, hash: 0, weight: 1 << 40 }]);
    assert_eq!(array.range(70, 80).bounds, None);
    assert_eq!(array.quantile(0.5).expect("numbers").bounds, None);
}

/// More than 4 GB of one number: counters of 64 bits have them on every level, those of 32 on the exact levels alone.
#[test]
fn wide_counters_hold_bytes_beyond_32_bits() {
    let narrow = DyadicConfig::new(20, 3, 4000, Seed::new(4)).expect("a configuration");
    let of = |configuration: &DyadicConfig| {
        let mut array = DyadicArray::new(configuration).expect("an array");
        let update = |key, weight| Update { key, hash: 0, weight };
        array.update_burst(&[update(77, 5 << 32), update(9, 3), update(1 << 19, 1)]);
        assert_eq!(array.bytes(), configuration.bytes());
        array
    };
    let truth = f64::from(5_u32) * 2_f64.powi(32);
    // Half of all numbers are one interval of an exact level.
    assert_eq!(of(&narrow).range(0, (1 << 19) - 1).value, truth + 3.0);
    assert_eq!(
        (of(&narrow).range(77, 77).bounds, of(&narrow).quantile(0.5).expect("numbers").bounds),
        (None, None)
    );
    let mut wide = of(&narrow.wide());
    wide.merge(&of(&narrow.wide())).expect("equal configurations");
    assert!(wide.range(70, 80).bounds.expect("bounds").contain(2.0 * truth));
    assert_eq!(
        wide.quantile(0.5).map(|estimate| (estimate.value, estimate.bounds.is_some())),
        Some((77.0, true))
    );
    let refused = wide.merge(&of(&narrow)).expect_err("other counters").to_string();
    assert!(refused.contains("counter=u64") && refused.contains("counter=u32"), "{refused}");
    wide.reset();
    assert_eq!((wide.total(), wide.range(77, 77).value), (0, 0.0));
}

#[test]
fn memory_is_kept_to() {
    for bytes in [20_000, 1 << 20, 100 << 20] {
        let configuration = DyadicConfig::with_bytes(bytes, Seed::new(1)).expect("memory");
        assert!(configuration.bytes() <= bytes && configuration.bytes() > bytes * 9 / 10, "{configuration}");
    }
    let refused = DyadicConfig::with_bytes(100, Seed::new(1)).expect_err("too little").to_string();
    let least = refused.rsplit(' ').next().and_then(|least| least.parse().ok()).expect("the least");
    assert!(DyadicConfig::with_bytes(least, Seed::new(1)).is_ok(), "{refused}");
    assert!(DyadicConfig::with_bytes(least - 1, Seed::new(1)).is_err(), "{refused}");
    assert!(
        DyadicConfig::new(0, 3, 10, Seed::new(1)).is_err()
            && DyadicConfig::new(65, 3, 10, Seed::new(1)).is_err()
            && DyadicConfig::new(32, 3, 0, Seed::new(1)).is_err()
            && DyadicConfig::new(32, 0, 10, Seed::new(1)).is_err()
    );
}
