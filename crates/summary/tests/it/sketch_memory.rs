//! The memory that structures report is what the allocator gave them.

use crate::sketch_support::{Random, skewed, updates};
use packet::{KeyV4, Seed};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use summary::sketch::{
    CheckedHashTable, CocoSketch, Configuration, Conservative, CountMin, CountSketch, CounterArray,
    DyadicArray, EntropySample, ExactCounts, FlowSample, HyperLogLog, Iblt, KAry, LinearBitmap,
    MultiResolutionBitmap, MvSketch, PacketSample, ReversibleSets, ReversibleSketch, SampleAndHold,
    SimpleHashTable, SizeArray, SpaceSavingHeap, SpaceSavingSummary, Tracked, Turnstile, Update, UpdateBurst,
    ValueReservoir,
};

/// The system's allocator, counted.
struct Counting;

thread_local! {
    /// Bytes that this thread has taken. The harness's thread allocates while a test runs, so each counts its own.
    static TAKEN: Cell<usize> = const { Cell::new(0) };
}

fn taken() -> usize {
    TAKEN.with(Cell::get)
}

// SAFETY: every call is passed on to the system's allocator unchanged; counting allocates nothing and touches no allocated memory.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // A thread that ends has no count any more.
        let _ = TAKEN.try_with(|taken| taken.set(taken.get().wrapping_add(layout.size())));
        // SAFETY: the caller's guarantees are the required ones.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        let _ = TAKEN.try_with(|taken| taken.set(taken.get().wrapping_sub(layout.size())));
        // SAFETY: `place` came from `alloc` above, which got it from the system's allocator.
        unsafe { System.dealloc(place, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// In addition to the arrays: boxes of fixed size, such as tables of hash functions.
const BESIDE: usize = 256;

fn takes_what_it_says<S: UpdateBurst<K>, K>(packets: &[Update<K>]) {
    for bytes in [64 << 10, 1 << 20, 3 << 20] {
        let configuration = S::Configuration::with_bytes(bytes, Seed::new(1)).expect("enough memory");
        let before = taken();
        let mut summary = S::new(&configuration).expect("memory");
        packets.chunks(64).for_each(|burst| summary.update_burst(burst));
        let taken = taken().wrapping_sub(before);
        let said = summary.bytes();
        let name = std::any::type_name::<S>();
        assert!(said <= bytes && said == configuration.bytes(), "{name}: {said} of {bytes}");
        assert!(taken <= said + BESIDE, "{name} takes {taken} bytes and says {said}");
        assert!(taken + BESIDE >= said, "{name} takes only {taken} bytes and says {said}");
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
    takes_what_it_says::<CheckedHashTable<KeyV4>, KeyV4>(&packets);
    takes_what_it_says::<SpaceSavingHeap<KeyV4>, KeyV4>(&packets);
    takes_what_it_says::<SpaceSavingSummary<KeyV4>, KeyV4>(&packets);
    takes_what_it_says::<ReversibleSets<KeyV4>, KeyV4>(&packets);
    takes_what_it_says::<MvSketch<KeyV4>, KeyV4>(&packets);
    takes_what_it_says::<CocoSketch<KeyV4>, KeyV4>(&packets);
    takes_what_it_says::<Iblt<KeyV4>, KeyV4>(&packets);
    takes_what_it_says::<ExactCounts<KeyV4>, KeyV4>(&packets);
    takes_what_it_says::<LinearBitmap, KeyV4>(&packets);
    takes_what_it_says::<MultiResolutionBitmap, KeyV4>(&packets);
    takes_what_it_says::<HyperLogLog, KeyV4>(&packets);
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
