use super::*;
use crate::oracle::{self, BoundTally, OracleStream};
use crate::{Cardinality, Estimate, Frequency, HeavyHitters, Merge, Summary, Update, UpdateBurst};
use packet::KeyV4;

type Packets = PacketSample<KeyV4>;
type Flows = FlowSample<KeyV4>;
type Hold = SampleAndHold<KeyV4>;

const SEEDS: u64 = 300;

fn config<T: SamplingMethod>(one_in: u32, capacity: usize, number: u64) -> SampleConfig<T> {
    SampleConfig::new(one_in, capacity, Seed::new(number))
}

fn seeded(stream: &OracleStream, seed: &Seed) -> Vec<Update<KeyV4>> {
    stream.updates.iter().map(|update| Update::new(update.key, update.weight, seed)).collect()
}

/// Of one stream by many seeds: the mean of a flow's estimates is its weight, of one pass and of three
/// merged, and the bounds hold as often as promised. `deviation` is that of one estimate at most.
fn unbiased_and_bounded<S>(stream: &OracleStream, one_in: u32, deviation: impl Fn(f64) -> f64)
where
    S: Summary<Configuration = SampleConfig<S>>
        + UpdateBurst<KeyV4>
        + Merge
        + Frequency<KeyV4>
        + SamplingMethod,
{
    let largest = *stream.counts.iter().max_by_key(|(_, count)| **count).expect("flows").0;
    let flows = [largest, stream.updates[100].key, stream.updates[stream.updates.len() / 2].key];
    let mut sums = [[0.0; 3]; 2];
    let mut promise = BoundTally::default();
    for number in 0..SEEDS {
        let config = config::<S>(one_in, 10_000, number);
        let updates = seeded(stream, &config.seed);
        let one: S = oracle::summary_of(&config, &updates);
        let third = updates.len() / 3;
        let mut merged: S = oracle::summary_of(&config, &updates[..third]);
        merged.merge(&oracle::summary_of(&config, &updates[third..2 * third])).expect("equal");
        merged.merge(&oracle::summary_of(&config, &updates[2 * third..])).expect("equal");
        for (sample, sums) in [&one, &merged].into_iter().zip(&mut sums) {
            for (key, sum) in flows.iter().zip(sums) {
                *sum += sample.estimate(key).value / SEEDS as f64;
            }
            let key = flows[number as usize % 3];
            let estimate = sample.estimate(&key);
            if estimate.bounds.is_some() {
                promise.count(estimate, stream.counts[&key] as f64);
            }
        }
    }
    promise.must_hold();
    for means in sums {
        for (key, mean) in flows.iter().zip(means) {
            let truth = stream.counts[key] as f64;
            let off = deviation(truth) / (SEEDS as f64).sqrt();
            assert!((mean - truth).abs() < 5.0 * off, "{}: {mean} for {truth}, deviation {off}", S::KIND);
        }
    }
}

#[test]
fn packet_samples_are_unbiased_and_bounded() {
    let (packets, bytes) = (OracleStream::zipf(6_000, 300, 1), OracleStream::bytes(6_000, 300, 2));
    for one_in in [2, 20] {
        // n packets: n (1 − p) / p, each up to 1,500 bytes. Merged samples of one seed draw alike: three times that.
        let variance = |n: f64| 3.0 * n * f64::from(one_in);
        unbiased_and_bounded::<Packets>(&packets, one_in, |n| variance(n).sqrt());
        unbiased_and_bounded::<Packets>(&bytes, one_in, |n| (variance(n / 40.0) * 2.25e6).sqrt());
    }
}

#[test]
fn sample_and_hold_is_unbiased_and_bounded() {
    let (packets, bytes) = (OracleStream::zipf(6_000, 300, 1), OracleStream::bytes(6_000, 300, 2));
    // What was missed has a deviation of no more than 1 / p in each of three.
    unbiased_and_bounded::<Hold>(&packets, 2, |_| 6.0);
    unbiased_and_bounded::<Hold>(&packets, 20, |_| 60.0);
    unbiased_and_bounded::<Hold>(&bytes, 5_000, |_| 15_000.0);
}

#[test]
fn flow_samples_are_unbiased_and_bounded() {
    let stream = OracleStream::bytes(6_000, 300, 2);
    let flows = stream.counts.len() as f64;
    let (mut total, mut distinct, mut number_of_flows) = (0.0, 0.0, BoundTally::default());
    for number in 0..SEEDS {
        let config = config(4, 1_000, number);
        let sample: Flows = oracle::summary_of(&config, &seeded(&stream, &config.seed));
        total += sample.total_of(|_, weight| weight as f64).value / SEEDS as f64;
        distinct += sample.distinct().value / SEEDS as f64;
        number_of_flows.count(sample.distinct(), flows);
        for (key, estimate) in sample.heavy_hitters(0).keys {
            assert_eq!(estimate, Estimate::exact(stream.counts[&key] as f64));
        }
    }
    number_of_flows.must_hold();
    let off = (3.0 * flows / SEEDS as f64).sqrt();
    assert!((distinct - flows).abs() < 5.0 * off, "{distinct} for {flows}, deviation {off}");
    let squares: f64 = stream.counts.values().map(|count| (*count as f64).powi(2)).sum();
    let off = (3.0 * squares / SEEDS as f64).sqrt();
    assert!((total - stream.total as f64).abs() < 5.0 * off, "{total} for {}, deviation {off}", stream.total);
}

#[test]
fn one_in_one_is_exact() {
    let stream = OracleStream::bytes(3_000, 500, 1);
    let packets: Packets = oracle::summary_of(&config(1, 500, 1), &stream.updates);
    let hold: Hold = oracle::summary_of(&config(1, 500, 1), &stream.updates);
    let flows: Flows = oracle::summary_of(&config(1, 500, 1), &stream.updates);
    for (key, count) in &stream.counts {
        for estimate in [packets.estimate(key), hold.estimate(key), flows.estimate(key)] {
            assert_eq!(estimate, Estimate::exact(*count as f64));
        }
    }
    assert_eq!(flows.distinct(), Estimate::exact(stream.counts.len() as f64));
}

/// Every unit that was taken is in a flow or counted as without room.
#[test]
fn what_finds_no_room_is_counted_and_takes_the_bounds_away() {
    let stream = OracleStream::zipf(3_000, 500, 1);
    let strange = stream.strangers().next().expect("keys");
    let packets: Packets = oracle::summary_of(&config(1, 50, 1), &stream.updates);
    let hold: Hold = oracle::summary_of(&config(1, 50, 1), &stream.updates);
    let flows: Flows = oracle::summary_of(&config(1, 50, 1), &stream.updates);
    let sum = |list: crate::HeavyKeys<KeyV4>| {
        assert!(list.is_cut_short && list.keys.len() == 50);
        list.keys.iter().map(|(_, estimate)| estimate.value).sum::<f64>() as u64
    };
    for (kept, not_kept) in [
        (sum(packets.heavy_hitters(0)), packets.not_kept()),
        (sum(hold.heavy_hitters(0)), hold.not_kept()),
        (sum(flows.heavy_hitters(0)), flows.not_kept()),
    ] {
        assert!(not_kept > 0);
        assert_eq!(kept + not_kept, stream.total);
    }
    assert_eq!((packets.estimate(&strange).bounds, hold.estimate(&strange).bounds), (None, None));
    assert_eq!(flows.estimate(&strange).bounds.expect("bounds").upper, flows.not_kept() as f64);
    assert_eq!(flows.distinct().bounds.expect("bounds").upper, f64::INFINITY);
}

/// Samples of equal seeds take the same positions of what each core was dealt.
#[test]
fn one_flow_dealt_to_three_cores_is_within_the_bounds() {
    let key = KeyV4::default();
    let mut promise = BoundTally::default();
    for number in 0..1_000 {
        let config = config::<Packets>(20, 10, number);
        let core = vec![Update::new(key, 1, &config.seed); 1_000];
        let [mut merged, second, third]: [Packets; 3] =
            std::array::from_fn(|_| oracle::summary_of(&config, &core));
        merged.merge(&second).expect("equal configurations");
        merged.merge(&third).expect("equal configurations");
        promise.count(merged.estimate(&key), 3_000.0);
    }
    promise.must_hold();
}

/// One core's table is full and refuses the flow that the other one's keeps.
#[test]
fn a_full_table_that_was_merged_leaves_no_upper_bound() {
    fn of<S>(one_in: u32)
    where
        S: Summary<Configuration = SampleConfig<S>>
            + UpdateBurst<KeyV4>
            + Merge
            + Frequency<KeyV4>
            + SamplingMethod,
    {
        let config = config::<S>(one_in, 1, 1);
        let key = |port| KeyV4::new([10, 0, 0, 1, 10, 0, 0, 2], [1, 2, 3, port], 17);
        let stream = |port, packets| vec![Update::new(key(port), 1, &config.seed); packets];
        let full = [stream(1, 3_000), stream(2, 3_000)].concat();
        for is_full_first in [false, true] {
            let mut merged: S =
                oracle::summary_of(&config, &if is_full_first { full.clone() } else { stream(2, 50) });
            merged
                .merge(&oracle::summary_of(
                    &config,
                    &if is_full_first { stream(2, 50) } else { full.clone() },
                ))
                .expect("equal configurations");
            let kept = if is_full_first { key(1) } else { key(2) };
            let bounds = merged.estimate(&kept).bounds.expect("bounds");
            assert!(bounds.lower <= 3_000.0 && bounds.upper == f64::INFINITY, "{}: {bounds:?}", S::KIND);
        }
    }
    for one_in in [1, 10] {
        of::<Packets>(one_in);
        of::<Hold>(one_in);
    }
}

#[test]
fn sums_at_their_end_stay_are_counted_and_leave_no_upper_bound() {
    let key = KeyV4::default();
    fn of<S>(update: &[Update<KeyV4>], saturated: impl Fn(&S) -> usize)
    where
        S: Summary<Configuration = SampleConfig<S>>
            + UpdateBurst<KeyV4>
            + Merge
            + Frequency<KeyV4>
            + SamplingMethod,
    {
        let config = config::<S>(1, 1, 1);
        let mut sample: S = oracle::summary_of(&config, update);
        assert!(
            saturated(&sample) == 0 && sample.estimate(&update[0].key).bounds.expect("bounds").upper < 2e19
        );
        sample.merge(&oracle::summary_of(&config, update)).expect("equal configurations");
        let bounds = sample.estimate(&update[0].key).bounds.expect("bounds");
        assert!(saturated(&sample) == 1 && bounds.upper == f64::INFINITY, "{}: {bounds:?}", S::KIND);
    }
    let update = [Update::new(key, 3 << 62, &Seed::new(1))];
    of::<Packets>(&update, Packets::saturated);
    of::<Flows>(&update, Flows::saturated);
    of::<Hold>(&update, Hold::saturated);
    // What found no room is added to what is kept.
    let other = KeyV4::new([10, 0, 0, 1, 10, 0, 0, 2], [1, 2, 3, 4], 17);
    let updates = [update[0], Update::new(other, 3 << 62, &Seed::new(1))];
    let flows: Flows = oracle::summary_of(&config(1, 1, 1), &updates);
    assert_eq!(flows.estimate(&key).bounds.expect("bounds").upper, f64::INFINITY);
}

#[test]
fn merges_resets_and_sizes() {
    let (stream, second) = (OracleStream::zipf(9_000, 3_000, 1), OracleStream::bytes(5_000, 900, 2));
    let (first, second) = (&stream.updates[..], &second.updates[..]);
    fn all<S: Summary<Configuration = SampleConfig<S>> + Merge + SamplingMethod>() {
        oracle::do_not_merge::<S>(&config(5, 900, 1), &config(6, 900, 1));
        oracle::check_sizes::<S>();
        assert!(S::new(&config(0, 5, 1)).is_err() && S::new(&config(5, 0, 1)).is_err());
    }
    all::<Packets>();
    all::<Flows>();
    all::<Hold>();
    oracle::reset_equals_new(&config(5, 900, 1), first, second, |s: &Packets| {
        oracle::all_answers(s, &stream)
    });
    oracle::reset_equals_new(&config(5, 900, 1), first, second, |s: &Flows| oracle::all_answers(s, &stream));
    oracle::reset_equals_new(&config(5, 900, 1), first, second, |s: &Hold| oracle::all_answers(s, &stream));
    oracle::merge_equals_one_pass(&config(5, 900, 1), first, |s: &Flows| oracle::all_answers(s, &stream));
}

/// Of the flows that an answer names, whose choice the sample itself makes, as many have their truth within the bounds as are
/// promised: by packets and by bytes, of one pass and merged, with room and in a full table.
fn named_flows_are_within<S>(stream: &OracleStream, one_in: u32, capacity: usize, thresholds: &[u64])
where
    S: Summary<Configuration = SampleConfig<S>>
        + UpdateBurst<KeyV4>
        + Merge
        + HeavyHitters<KeyV4>
        + SamplingMethod,
{
    for &threshold in thresholds {
        let mut promises = [BoundTally::default(), BoundTally::default()];
        for number in 0..SEEDS {
            let config = config::<S>(one_in, capacity, number);
            let updates = seeded(stream, &config.seed);
            let half = updates.len() / 2;
            let one: S = oracle::summary_of(&config, &updates);
            let mut merged: S = oracle::summary_of(&config, &updates[..half]);
            merged.merge(&oracle::summary_of(&config, &updates[half..])).expect("equal");
            for (sample, promise) in [&one, &merged].into_iter().zip(&mut promises) {
                for (key, estimate) in sample.heavy_hitters(threshold).keys {
                    promise.count(estimate, stream.counts[&key] as f64);
                }
            }
        }
        promises.iter().for_each(BoundTally::must_hold);
    }
}

#[test]
fn bounds_hold_for_the_flows_that_an_answer_names() {
    let (packets, bytes) = (OracleStream::zipf(20_000, 3_000, 1), OracleStream::bytes(20_000, 3_000, 2));
    // Many small flows, among which chance chooses.
    let mice = OracleStream::drawn(20_000, 15_000, 0.0, 3, |_| 1);
    let mice_of_bytes =
        OracleStream::drawn(20_000, 15_000, 0.0, 4, |at| if at % 4 == 0 { 1_500 } else { 40 });
    named_flows_are_within::<Packets>(&mice, 50, 1_000, &[50, 100, 150]);
    named_flows_are_within::<Packets>(&mice_of_bytes, 50, 1_000, &[1, 75_000, 100_000]);
    named_flows_are_within::<Hold>(&mice, 50, 1_000, &[1, 51, 52]);
    named_flows_are_within::<Hold>(&mice_of_bytes, 20_000, 1_000, &[1, 20_000, 21_000]);
    named_flows_are_within::<Packets>(&packets, 50, 1_000, &[1, 100, 200]);
    named_flows_are_within::<Packets>(&bytes, 50, 1_000, &[1, 100_000, 200_000]);
    named_flows_are_within::<Packets>(&bytes, 50, 100, &[1, 100_000]);
    named_flows_are_within::<Hold>(&packets, 50, 1_000, &[1, 100, 200]);
    named_flows_are_within::<Hold>(&bytes, 40_000, 1_000, &[1, 100_000, 200_000]);
    named_flows_are_within::<Hold>(&bytes, 40_000, 100, &[1, 100_000]);
}
