//! The memory that structures report is what the allocator gave them.

use crate::sketch_support::{Random, skewed, updates};
use packet::{KeyV4, Seed};
use sketch::{
    CocoSketch, Configuration, Conservative, CountMin, CountSketch, CounterArray, DyadicArray, EntropySample,
    ExactCounts, FlowSample, HyperLogLog, KAry, LinearBitmap, MultiResolutionBitmap, MvSketch, PacketSample,
    ReversibleSets, ReversibleSketch, SampleAndHold, SimpleHashTable, SizeArray, SpaceSavingHeap,
    SpaceSavingSummary, Tracked, Turnstile, Update, UpdateBurst, ValueReservoir,
};
use testbed::allocation::{self, CountingAllocator};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

fn takes_what_it_says<S: UpdateBurst<K>, K>(packets: &[Update<K>]) {
    for bytes in [64 << 10, 1 << 20, 3 << 20] {
        let configuration = S::Configuration::with_bytes(bytes, Seed::new(1)).expect("enough memory");
        let name = std::any::type_name::<S>();
        let make = || {
            let mut summary = S::new(&configuration).expect("memory");
            packets.chunks(64).for_each(|burst| summary.update_burst(burst));
            summary
        };
        assert_eq!(allocation::check_memory(name, bytes, make, S::bytes), configuration.bytes(), "{name}");
    }
}

#[test]
fn structures_take_what_they_say() {
    let seed = Seed::new(1);
    let packets = updates(&skewed(20_000, 5_000, &mut Random::new(1)), &seed);
    takes_what_it_says::<CounterArray<CountMin>, KeyV4>(&packets);
    takes_what_it_says::<CounterArray<CountMin<u64>>, KeyV4>(&packets);
    takes_what_it_says::<CounterArray<Conservative>, KeyV4>(&packets);
    takes_what_it_says::<CounterArray<CountSketch>, KeyV4>(&packets);
    takes_what_it_says::<CounterArray<KAry>, KeyV4>(&packets);
    takes_what_it_says::<CounterArray<Turnstile>, KeyV4>(&packets);
    takes_what_it_says::<Tracked<KeyV4, CountMin>, KeyV4>(&packets);
    takes_what_it_says::<SimpleHashTable<KeyV4>, KeyV4>(&packets);
    takes_what_it_says::<SpaceSavingHeap<KeyV4>, KeyV4>(&packets);
    takes_what_it_says::<SpaceSavingSummary<KeyV4>, KeyV4>(&packets);
    takes_what_it_says::<ReversibleSets<KeyV4>, KeyV4>(&packets);
    takes_what_it_says::<MvSketch<KeyV4>, KeyV4>(&packets);
    takes_what_it_says::<CocoSketch<KeyV4>, KeyV4>(&packets);
    takes_what_it_says::<ExactCounts<KeyV4>, KeyV4>(&packets);
    takes_what_it_says::<HyperLogLog, KeyV4>(&packets);
    takes_what_it_says::<LinearBitmap, KeyV4>(&packets);
    takes_what_it_says::<MultiResolutionBitmap, KeyV4>(&packets);
    takes_what_it_says::<PacketSample<KeyV4>, KeyV4>(&packets);
    takes_what_it_says::<FlowSample<KeyV4>, KeyV4>(&packets);
    takes_what_it_says::<SampleAndHold<KeyV4>, KeyV4>(&packets);
    takes_what_it_says::<SizeArray, KeyV4>(&packets);
    takes_what_it_says::<EntropySample<KeyV4>, KeyV4>(&packets);
    let numbers: Vec<_> =
        packets.iter().map(|update| Update { key: update.hash as u32, hash: 0, weight: 1 }).collect();
    takes_what_it_says::<ReversibleSketch, u32>(&numbers);
    let numbers: Vec<_> =
        numbers.iter().map(|update| Update { key: update.key.into(), hash: 0, weight: 1 }).collect();
    takes_what_it_says::<DyadicArray, u64>(&numbers);
    takes_what_it_says::<ValueReservoir, u64>(&numbers);
}
