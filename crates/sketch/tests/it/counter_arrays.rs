//! Counter arrays against exact counts.

use crate::sketch_support;
use crate::sketch_support::{
    Random, assert_as_promised, counts, fails, feed, hash, key, seeds, skewed, summarise,
};
use packet::{KeyV4, Seed};
use sketch::{
    ArrayConfig, Configuration, Conservative, CountMin, CountSketch, CounterArray, Estimate, Frequency,
    InnerProduct, KAry, Linear, Merge, Policy, Signed, SignedCell, SketchError, Summary, Turnstile, Update,
    UpdateBurst,
};
use std::collections::HashMap;

const SEEDS: u64 = 400;

fn config<P: Policy>(depth: usize, width: usize, seed: Seed) -> ArrayConfig<P> {
    ArrayConfig::new(depth, width, seed).expect("a configuration")
}

fn stream(packets: usize, flows: u64) -> Vec<u64> {
    skewed(packets, flows, &mut Random::new(42))
}

/// Queries each of many arrays for one flow: a frequent, a rare or an absent one.
fn bound_holds<P: Policy>(depth: usize, width: usize) {
    let packets = stream(3000, 500);
    let truth = counts(&packets);
    for flow in [0, 3, 400, 501] {
        let truth = truth.get(&flow).copied().unwrap_or(0) as f64;
        let (mut failures, mut confidence, mut finite) = (0, 1.0, 0);
        for seed in seeds(SEEDS) {
            let array: CounterArray<P> = summarise(&config(depth, width, seed), &packets);
            let estimate = Frequency::<KeyV4>::estimate(&array, &key(flow));
            let bounds = estimate.bounds.expect("a bound");
            assert!(bounds.contain(estimate.value), "{estimate:?} is outside of its own bound");
            failures += u32::from(fails(&estimate, truth));
            finite += u32::from(bounds.upper - bounds.lower < 3000.0);
            confidence = bounds.confidence;
        }
        assert_eq!(u64::from(finite), SEEDS, "a bound that says nothing");
        assert!((0.3..1.0).contains(&confidence), "{confidence}");
        assert_as_promised(&format!("{} flow {flow}", P::KIND), failures, SEEDS as u32, confidence);
    }
}

#[test]
fn bounds_hold_as_often_as_promised() {
    for (depth, width) in [(1, 40), (3, 64), (4, 100), (5, 50)] {
        bound_holds::<CountMin>(depth, width);
        bound_holds::<Conservative>(depth, width);
        bound_holds::<CountSketch>(depth, 2 * width);
        bound_holds::<KAry>(depth, 2 * width);
        bound_holds::<Turnstile>(depth, width);
    }
}

#[test]
fn the_least_row_is_never_too_small_and_conservative_update_never_worse() {
    let packets = stream(20_000, 4000);
    let truth = counts(&packets);
    let (mut better, mut noise) = (0, 0.0);
    for seed in seeds(20) {
        let plain: CounterArray<CountMin> = summarise(&config(3, 500, seed), &packets);
        let careful: CounterArray<Conservative> = summarise(&config(3, 500, seed), &packets);
        for (flow, count) in &truth {
            let of = |estimate: Estimate| estimate.value;
            let (plain, careful) =
                (of(plain.estimate_hash(hash(*flow, &seed))), of(careful.estimate_hash(hash(*flow, &seed))));
            assert!(*count as f64 <= careful && careful <= plain, "{count} {careful} {plain}");
            better += u32::from(careful < plain);
            noise += plain - *count as f64;
        }
    }
    assert!(better > 0 && noise > 0.0, "too wide to tell");
}

/// The mean error over seeds, which these policies promise to be 0.
fn is_unbiased<P: Signed>()
where
    P::Cell: SignedCell,
{
    let packets = stream(3000, 500);
    let truth = counts(&packets);
    for flow in [0, 400] {
        let truth = truth.get(&flow).copied().unwrap_or(0) as f64;
        let errors: Vec<f64> = seeds(2000)
            .map(|seed| {
                let mut array: CounterArray<P> = summarise(&config(1, 128, seed), &packets);
                // What never shrank is not negative, which is a better answer and has a mean error.
                assert!(array.estimate_hash(hash(flow, &seed)).value >= 0.0);
                let other = [Update::new(key(9999), 1, &seed)];
                array.update_burst(&other);
                array.remove_burst(&other);
                array.estimate_hash(hash(flow, &seed)).value - truth
            })
            .collect();
        let count = errors.len() as f64;
        let mean = errors.iter().sum::<f64>() / count;
        let deviation = (errors.iter().map(|error| error * error).sum::<f64>() / count).sqrt();
        assert!(mean.abs() < 5.0 * deviation / count.sqrt(), "{}: mean error {mean}, {deviation}", P::KIND);
    }
}

#[test]
fn one_row_has_no_mean_error() {
    is_unbiased::<CountSketch>();
    is_unbiased::<KAry>();
}

fn same<P: Policy>(left: &CounterArray<P>, right: &CounterArray<P>, seed: &Seed) {
    for flow in 0..700 {
        assert_eq!(
            left.estimate_hash(hash(flow, seed)),
            right.estimate_hash(hash(flow, seed)),
            "{}",
            P::KIND
        );
    }
    assert_eq!(left.total(), right.total());
}

fn merges<P: Linear>() {
    let packets = stream(5000, 600);
    let configuration = config::<P>(3, 90, Seed::new(5));
    let whole: CounterArray<P> = summarise(&configuration, &packets);
    let mut parts: CounterArray<P> = summarise(&configuration, &packets[..1234]);
    let rest: CounterArray<P> = summarise(&configuration, &packets[1234..]);
    // Results of earlier queries must not persist.
    let _ = parts.estimate_hash(hash(0, configuration.seed()));
    parts.merge(&rest).expect("the same configuration");
    same(&parts, &whole, configuration.seed());
}

#[test]
fn merging_gives_what_one_pass_gives() {
    merges::<CountMin>();
    merges::<CountMin<u64>>();
    merges::<CountSketch>();
    merges::<CountSketch<i64>>();
    merges::<KAry>();
    merges::<Turnstile>();
}

fn resets<P: Policy>() {
    let packets = stream(4000, 600);
    let configuration = config::<P>(4, 90, Seed::new(6));
    let mut array: CounterArray<P> = summarise(&configuration, &stream(999, 77));
    let _ = array.estimate_hash(hash(0, configuration.seed()));
    array.reset();
    same(&array, &CounterArray::new(&configuration).expect("an array"), configuration.seed());
    feed(&mut array, &packets);
    same(&array, &summarise(&configuration, &packets), configuration.seed());
    assert_eq!(array.bytes(), configuration.bytes());
}

#[test]
fn after_a_reset_it_is_as_new() {
    resets::<CountMin>();
    resets::<Conservative>();
    resets::<CountSketch>();
    resets::<KAry>();
    resets::<Turnstile>();
}

/// Arrays that are large go through in two steps. With few flows in many counters every answer is the truth.
fn large_and_small_count_alike<P: Policy>() {
    for depth in 1..=8 {
        for width in [200_000, 300] {
            // The first flow has more than a byte holds.
            let packets = stream(3000, 40);
            assert!(counts(&packets)[&0] > 2 * 256);
            let seed = Seed::new(depth as u64);
            let array: CounterArray<P> = summarise(&config(depth, width, seed), &packets);
            assert_eq!(array.total(), 3000.0);
            let mut of_keys = CounterArray::<P>::new(&config(depth, width, seed)).expect("an array");
            let keys: Vec<KeyV4> = packets.iter().map(|flow| key(*flow)).collect();
            keys.chunks(70).for_each(|keys| of_keys.count_keys(keys));
            same(&of_keys, &array, &seed);
            if width < 1000 {
                continue;
            }
            for (flow, count) in counts(&packets) {
                let value = array.estimate_hash(hash(flow, &seed)).value;
                assert_eq!(value.round(), count as f64, "{} depth {depth} width {width}", P::KIND);
            }
        }
    }
}

#[test]
fn few_flows_are_counted_exactly_at_every_depth() {
    large_and_small_count_alike::<CountMin>();
    large_and_small_count_alike::<Conservative>();
    large_and_small_count_alike::<CountSketch>();
    large_and_small_count_alike::<KAry>();
    large_and_small_count_alike::<Turnstile>();
}

/// Single packets and weights, in any order, into enough counters that they are split.
fn weights_and_packets_add_up<P: Linear>() {
    let seed = Seed::new(12);
    let packets = stream(3000, 40);
    let mut truth = HashMap::<u64, u64>::new();
    let mut array = CounterArray::<P>::new(&config(3, 200_000, seed)).expect("an array");
    let mut other = array.clone();
    for (number, flows) in packets.chunks(50).enumerate() {
        let weight = if number % 3 == 0 { 40 + number as u64 } else { 1 };
        flows.iter().for_each(|flow| *truth.entry(*flow).or_default() += weight);
        let burst: Vec<_> = flows.iter().map(|flow| Update::new(key(*flow), weight, &seed)).collect();
        if number % 2 == 0 { &mut array } else { &mut other }.update_burst(&burst);
    }
    array.merge(&other).expect("the same configuration");
    for (flow, count) in truth {
        assert_eq!(array.estimate_hash(hash(flow, &seed)).value.round(), count as f64, "{}", P::KIND);
    }
}

#[test]
fn weights_and_packets_add_up_where_counters_are_split() {
    weights_and_packets_add_up::<CountMin>();
    weights_and_packets_add_up::<CountMin<u64>>();
    weights_and_packets_add_up::<CountSketch>();
    weights_and_packets_add_up::<KAry>();
    weights_and_packets_add_up::<Turnstile>();
}

#[test]
fn split_counters_stop_at_their_limit_too() {
    let seed = Seed::new(13);
    let mut array = CounterArray::<CountMin>::new(&config(3, 200_000, seed)).expect("an array");
    let value = |array: &CounterArray<CountMin>, flow| array.estimate_hash(hash(flow, &seed)).value;
    let ones = |array: &mut CounterArray<CountMin>, flow, packets| {
        (0..packets).for_each(|_| array.count_keys(&[key(flow)]));
    };
    ones(&mut array, 1, 300);
    ones(&mut array, 2, 300);
    // From here on some counter may end.
    weigh(&mut array, 1, u64::from(u32::MAX) - 600);
    ones(&mut array, 2, 300);
    ones(&mut array, 1, 299);
    assert_eq!((value(&array, 1), value(&array, 2)), (f64::from(u32::MAX - 1), 600.0));
    assert_eq!(array.saturated_counters(), 0);
    ones(&mut array, 1, 9);
    assert_eq!(array.estimate_hash(hash(1, &seed)), Estimate::unbounded(f64::from(u32::MAX)));
    assert_eq!((array.saturated_counters(), value(&array, 2)), (3, 600.0));
}

fn weigh<P: Policy>(array: &mut CounterArray<P>, flow: u64, weight: u64) {
    let seed = *array.configuration().seed();
    array.update_burst(&[Update::new(key(flow), weight, &seed)]);
}

#[test]
fn counters_stop_at_their_limit_and_say_so() {
    let seed = Seed::new(9);
    let mut narrow = CounterArray::<CountMin>::new(&config(3, 1000, seed)).expect("an array");
    let mut wide = CounterArray::<CountMin<u64>>::new(&config(3, 1000, seed)).expect("an array");
    for _ in 0..5 {
        weigh(&mut narrow, 1, 1 << 30);
        weigh(&mut wide, 1, 1 << 30);
    }
    weigh(&mut narrow, 2, 77);
    assert_eq!(narrow.estimate_hash(hash(1, &seed)), Estimate::unbounded(f64::from(u32::MAX)));
    assert_eq!(narrow.saturated_counters(), 3);
    assert_eq!(wide.estimate_hash(hash(1, &seed)).value, 5.0 * 2f64.powi(30));
    assert_eq!((wide.saturated_counters(), narrow.total()), (0, 5.0 * 2f64.powi(30) + 77.0));
    // Other flows keep their answers.
    assert_eq!(narrow.estimate_hash(hash(2, &seed)).value, 77.0);
    // Adding two halves stops there too.
    let half: CounterArray<CountMin> = {
        let mut half = CounterArray::new(&config(3, 1000, seed)).expect("an array");
        weigh(&mut half, 1, 3 << 30);
        half
    };
    let mut both = half.clone();
    both.merge(&half).expect("the same configuration");
    assert_eq!(both.estimate_hash(hash(1, &seed)), Estimate::unbounded(f64::from(u32::MAX)));

    let mut careful = CounterArray::<Conservative>::new(&config(2, 100, seed)).expect("an array");
    weigh(&mut careful, 1, u64::MAX);
    weigh(&mut careful, 1, 5);
    assert_eq!(careful.estimate_hash(hash(1, &seed)), Estimate::unbounded(f64::from(u32::MAX)));
}

fn signed_stays_at_its_limit<P: Signed>()
where
    P::Cell: SignedCell,
{
    let seed = Seed::new(10);
    let mut array = CounterArray::<P>::new(&config(3, 1000, seed)).expect("an array");
    weigh(&mut array, 1, 1 << 40);
    array.remove_burst(&[Update::new(key(1), 1 << 40, &seed)]);
    // What was lost at the limit cannot be taken away: no counter goes back to where it would look right.
    assert_eq!(array.saturated_counters(), 3, "{}", P::KIND);
    assert_eq!(array.estimate_hash(hash(1, &seed)).bounds, None, "{}", P::KIND);
}

#[test]
fn signed_counters_stay_at_their_limit() {
    signed_stays_at_its_limit::<CountSketch>();
    signed_stays_at_its_limit::<KAry>();
    signed_stays_at_its_limit::<Turnstile>();
}

fn removes<P: Signed>(width: usize)
where
    P::Cell: SignedCell,
{
    let seed = Seed::new(11);
    let packets = stream(4000, 300);
    let mut array: CounterArray<P> = summarise(&config(5, width, seed), &packets);
    let removed = sketch_support::updates(&packets[..3000], &seed);
    array.remove_burst(&removed);
    assert_eq!(array.underflows(), 0, "{}", P::KIND);
    let mut rest: CounterArray<P> = summarise(&config(5, width, seed), &packets[3000..]);
    let other = [Update::new(key(9999), 1, &seed)];
    rest.update_burst(&other);
    rest.remove_burst(&other);
    for flow in 0..300 {
        let (left, right) =
            (array.estimate_hash(hash(flow, &seed)).value, rest.estimate_hash(hash(flow, &seed)).value);
        assert!((left - right).abs() < 1e-6, "{}: {left} {right}", P::KIND);
    }
    // One packet more than there is, of a flow that is not there.
    array.remove_burst(&sketch_support::updates(&packets[3000..], &seed));
    assert_eq!((array.underflows(), array.total()), (0, 0.0));
    array.remove_burst(&[Update::new(key(9999), 1, &seed)]);
    assert_eq!(array.underflows(), 1, "{}", P::KIND);
}

#[test]
fn what_is_removed_is_gone_and_removing_too_much_is_counted() {
    for width in [128, 200_000] {
        removes::<CountSketch>(width);
        removes::<KAry>(width);
        removes::<Turnstile>(width);
    }
}

fn differs<P: Signed>(depth: usize, width: usize)
where
    P::Cell: SignedCell,
{
    // Flow 3 has fewer packets than before, flow 400 more; the rest changes a little.
    let before = skewed(3000, 500, &mut Random::new(1));
    let mut after = skewed(3000, 500, &mut Random::new(2));
    after.retain(|flow| *flow != 3);
    after.extend([400; 300]);
    let mut truth = HashMap::<u64, f64>::new();
    after.iter().for_each(|flow| *truth.entry(*flow).or_default() += 1.0);
    before.iter().for_each(|flow| *truth.entry(*flow).or_default() -= 1.0);
    assert!(truth[&3] < -50.0 && truth[&400] > 250.0, "{} {}", truth[&3], truth[&400]);
    for flow in [0, 3, 400] {
        let (mut failures, mut confidence) = (0, 1.0);
        for seed in seeds(SEEDS) {
            let earlier: CounterArray<P> = summarise(&config(depth, width, seed), &before);
            let mut array: CounterArray<P> = summarise(&config(depth, width, seed), &after);
            array.subtract(&earlier).expect("the same configuration");
            let estimate = array.estimate_hash(hash(flow, &seed));
            failures += u32::from(fails(&estimate, truth[&flow]));
            confidence = estimate.bounds.expect("a bound").confidence;
        }
        assert_as_promised(&format!("{} flow {flow}", P::KIND), failures, SEEDS as u32, confidence);
    }
}

#[test]
fn differences_hold_their_bounds_with_negative_totals() {
    differs::<CountSketch>(5, 200);
    differs::<KAry>(5, 200);
    differs::<Turnstile>(3, 200);
}

fn products<P: InnerProduct>(depth: usize, width: usize) {
    let (left, right) = (skewed(3000, 300, &mut Random::new(3)), skewed(2000, 300, &mut Random::new(4)));
    let (left_counts, right_counts) = (counts(&left), counts(&right));
    let truth: u64 =
        left_counts.iter().map(|(flow, count)| count * right_counts.get(flow).unwrap_or(&0)).sum();
    let (mut failures, mut confidence, mut error) = (0, 1.0, 0.0);
    for seed in seeds(SEEDS) {
        let left: CounterArray<P> = summarise(&config(depth, width, seed), &left);
        let right: CounterArray<P> = summarise(&config(depth, width, seed), &right);
        let estimate = left.inner_product(&right).expect("the same configuration");
        failures += u32::from(fails(&estimate, truth as f64));
        confidence = estimate.bounds.expect("a bound").confidence;
        error += (estimate.value / truth as f64 - 1.0).abs() / SEEDS as f64;
    }
    assert!(error < 0.3, "{}: mean relative error {error}", P::KIND);
    assert_as_promised(P::KIND, failures, SEEDS as u32, confidence);
}

#[test]
fn inner_products_hold_their_bounds() {
    products::<CountMin>(3, 300);
    products::<CountSketch>(5, 300);
    products::<KAry>(5, 300);
}

#[test]
fn a_stream_made_against_one_seed_does_not_hurt_another() {
    let (known, secret, width) = (Seed::new(1), Seed::new(2), 16);
    let victim = |seed: Seed, flows: &[u64]| {
        let array: CounterArray<CountMin> = summarise(&config(3, width, seed), flows);
        array.estimate_hash(hash(0, &seed)).value
    };
    // Flows that meet the victim in every row under the known seed, found by trying, as an attacker would.
    let chosen: Vec<u64> = (1..40_000).filter(|flow| victim(known, &[*flow]) > 0.0).collect();
    assert!(chosen.len() >= 5, "{} flows are no attack", chosen.len());
    let packets: Vec<u64> = chosen.iter().copied().cycle().take(10_000).collect();
    assert_eq!(victim(known, &packets), 10_000.0);
    let honest = std::f64::consts::E * packets.len() as f64 / width as f64;
    assert!(victim(secret, &packets) <= honest, "{} under another seed", victim(secret, &packets));
}

/// One flow loses more than it had while the total stays above zero; merging adds such removals up.
fn counts_underflows<P: Signed>()
where
    P::Cell: SignedCell,
{
    let seed = Seed::new(14);
    let mut array: CounterArray<P> = summarise(&config(3, 500, seed), &[1, 2, 2, 2]);
    array.remove_burst(&sketch_support::updates(&[1], &seed));
    assert_eq!(array.underflows(), 0, "{}", P::KIND);
    array.remove_burst(&sketch_support::updates(&[1], &seed));
    assert_eq!((array.underflows(), array.total()), (1, 2.0), "{}", P::KIND);
    let other = array.clone();
    array.merge(&other).expect("the same configuration");
    assert_eq!((array.underflows(), array.total()), (2, 4.0), "{}", P::KIND);
    // A reset forgets them, and what was removed.
    array.reset();
    assert_eq!((array.underflows(), array.total()), (0, 0.0), "{}", P::KIND);
    same(&array, &CounterArray::new(&config(3, 500, seed)).expect("an array"), &seed);
}

#[test]
fn removing_more_than_a_flow_has_is_counted_where_counters_tell() {
    counts_underflows::<KAry>();
    counts_underflows::<Turnstile>();
}

#[test]
fn a_total_at_its_end_bounds_nothing() {
    let seed = Seed::new(15);
    let mut array = CounterArray::<CountMin<u64>>::new(&config(1, 1000, seed)).expect("an array");
    (1..=3).for_each(|flow| weigh(&mut array, flow, u64::MAX / 2));
    let bounds = array.estimate_hash(hash(1, &seed)).bounds.expect("bounds");
    assert_eq!((bounds.lower, bounds.upper), (0.0, (u64::MAX / 2) as f64));
    let mut signed = CounterArray::<Turnstile<i64>>::new(&config(1, 1000, seed)).expect("an array");
    (1..=3).for_each(|flow| weigh(&mut signed, flow, i64::MAX as u64 - 1));
    assert_eq!(signed.estimate_hash(hash(1, &seed)).bounds, None);
}

/// Split or not, a configuration is the same, and arrays merge.
#[test]
fn whole_counters_merge_with_split_ones() {
    let configuration = config::<CountMin>(3, 200_000, Seed::new(16));
    let (first, second) = (stream(3000, 40), stream(2000, 60));
    let mut split: CounterArray<CountMin> = summarise(&configuration, &first);
    let mut whole: CounterArray<CountMin> = summarise(&configuration.whole(), &second);
    assert!(split.bytes() > whole.bytes() && configuration == configuration.whole());
    let product = split.inner_product(&whole).expect("the same configuration");
    assert_eq!(product, whole.inner_product(&split).expect("the same configuration"));
    let (a, b) = (counts(&first), counts(&second));
    let truth: u64 = a.iter().map(|(flow, count)| count * b.get(flow).unwrap_or(&0)).sum();
    assert_eq!(product.value, truth as f64);
    let before = split.clone();
    split.merge(&whole).expect("the same configuration");
    whole.merge(&before).expect("the same configuration");
    let together: Vec<u64> = first.into_iter().chain(second).collect();
    same(&split, &whole, configuration.seed());
    same(&split, &summarise(&configuration, &together), configuration.seed());
    split.reset();
    same(&split, &CounterArray::new(&configuration).expect("an array"), configuration.seed());
}

/// As with cores that have their own flows: no answer is too small, and none is beyond Count-Min's.
#[test]
fn conservative_arrays_of_different_flows_are_put_together() {
    for seed in seeds(20) {
        let packets = stream(20_000, 4000);
        let truth = counts(&packets);
        let plain: CounterArray<CountMin> = summarise(&config(3, 500, seed), &packets);
        let (even, odd): (Vec<u64>, Vec<u64>) = packets.iter().partition(|flow| **flow % 2 == 0);
        let mut careful: CounterArray<Conservative> = summarise(&config(3, 500, seed), &even);
        let other = summarise(&config(3, 500, seed), &odd);
        careful.merge_disjoint(&other).expect("the same configuration");
        assert_eq!(careful.total(), plain.total());
        for (flow, count) in &truth {
            let [careful, plain] =
                [&careful.estimate_hash(hash(*flow, &seed)), &plain.estimate_hash(hash(*flow, &seed))];
            assert!((*count as f64..=plain.value).contains(&careful.value), "{flow}: {careful:?} {plain:?}");
        }
    }
}

#[test]
fn sizes_that_cannot_be_are_refused_with_the_least() {
    let seed = Seed::new(1);
    let text = |error: Result<ArrayConfig<CountMin>, SketchError>| error.expect_err("an error").to_string();
    assert_eq!(
        text(ArrayConfig::new(3, 0, seed)),
        "count_min: a width of 0 cannot be; it goes from 1 to 715827882"
    );
    assert_eq!(text(ArrayConfig::new(0, 9, seed)), "count_min: a depth of 0 cannot be; it goes from 1 to 8");
    assert_eq!(text(ArrayConfig::new(9, 9, seed)), "count_min: a depth of 9 cannot be; it goes from 1 to 8");
    assert_eq!(
        ArrayConfig::<KAry>::new(5, 1, seed).expect_err("an error").to_string(),
        "k_ary: a width of 1 cannot be; it goes from 2 to 429496729"
    );
    assert_eq!(
        text(ArrayConfig::with_bytes(11, seed)),
        "count_min: 11 bytes are too little memory; it needs at least 12"
    );
    let config = ArrayConfig::<CountMin>::with_bytes(131_072, seed).expect("memory");
    assert_eq!((config.depth(), config.width(), config.bytes()), (3, 10_922, 131_064));
    // Split, where they are many.
    let config = ArrayConfig::<CountMin>::with_bytes(1_000_003, seed).expect("memory");
    assert_eq!((config.width(), config.bytes()), (66_666, 999_990));
    let largest = ArrayConfig::<CountMin>::with_bytes(usize::MAX, seed).expect("memory that is never taken");
    assert!(largest.bytes() < 5 << 31);
    assert!(largest.bytes() > 4 << 31);
    assert_eq!(ArrayConfig::<KAry>::with_bytes(40, seed).expect("the least").width(), 2);
}

#[test]
fn what_cannot_be_merged_is_refused_and_both_are_named() {
    let make =
        |width, seed| CounterArray::<CountMin>::new(&config(3, width, Seed::new(seed))).expect("an array");
    let mut array = make(10, 1);
    weigh(&mut array, 1, 5);
    assert_eq!(
        array.merge(&make(11, 1)).expect_err("other widths").to_string(),
        "cannot merge count_min depth=3 width=10 counter=u32 with count_min depth=3 width=11 counter=u32; \
         give both one configuration"
    );
    assert_eq!(
        array.merge(&make(10, 2)).expect_err("other seeds").to_string(),
        "cannot merge count_min depth=3 width=10 counter=u32 with another count_min depth=3 width=10 counter=u32: \
         their seeds differ; give both one seed"
    );
    assert!(array.inner_product(&make(10, 2)).is_err());
    assert_eq!(array.total(), 5.0, "nothing was changed");
}
