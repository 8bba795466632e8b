//! Arenas with the thread that populates them.

use super::populate::Populate;
use super::*;
use std::thread;
use std::time::{Duration, Instant};

type Value = [u64; 4];
const PER_STEP: usize = STEP / size_of::<Value>();

fn value(seed: usize, n: usize) -> Value {
    let n = n as u64;
    [seed as u64, n, n.wrapping_mul(0x9e37_79b9_7f4a_7c15), !n]
}

fn fill(arena: &mut Arena<Value>, seed: usize, values: usize) {
    for n in arena.len()..values {
        assert!(arena.make_room());
        arena.push(value(seed, n));
    }
}

/// Fills an arena until it is refused.
fn fill_up(arena: &mut Arena<Value>) {
    while arena.make_room() {
        arena.push(value(0, arena.len()));
    }
}

/// Page faults of this thread so far.
fn faults() -> i64 {
    // SAFETY: numbers, of which zero is valid; written by the call.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: the place is valid.
    unsafe { libc::getrusage(libc::RUSAGE_THREAD, &mut usage) };
    usage.ru_minflt + usage.ru_majflt
}

#[test]
fn what_was_pushed_is_there() {
    let limits = Limits::new(1 << 30, 0);
    let mut arena = Arena::reserve(12 * PER_STEP, &limits).expect("address space");
    for round in 0..2 {
        let mut expected: Vec<_> = (0..12 * PER_STEP).map(|n| value(round, n)).collect();
        fill(&mut arena, round, expected.len());
        for n in (0..expected.len()).step_by(7) {
            arena[n][3] = n as u64;
            expected[n][3] = n as u64;
        }
        assert!(*arena == *expected);
        arena.clear();
        assert!(arena.is_empty());
    }
    assert_eq!(limits.bytes_used(), arena.bytes());
    drop(arena);
    assert_eq!(limits.bytes_used(), 0);
}

/// With enough time for the other thread, growing costs this one no page fault.
#[test]
fn steps_ahead_cost_no_page_faults() {
    const STEPS: usize = 16;
    let limits = Limits::new(1 << 30, 0);
    let mut arena = Arena::reserve(STEPS * PER_STEP, &limits).expect("address space");
    let mut taken = 0;
    for step in 1..=STEPS {
        let deadline = Instant::now() + Duration::from_secs(20);
        while arena.region.urgency().is_some() {
            assert!(Instant::now() < deadline, "nobody populates: {:?}", arena.region);
            thread::sleep(Duration::from_millis(1));
        }
        let before = faults();
        fill(&mut arena, 1, step * PER_STEP);
        taken += faults() - before;
    }
    // Without the thread each step has one at least, or 512 where pages are small. Some may be the kernel's doing.
    assert!(taken < STEPS as i64 / 2, "{taken} page faults in {STEPS} steps");
}

/// Two arenas share the memory to the last step, in any order: a step ahead of one is not lost to the other.
#[test]
fn limits_hold_to_the_byte() {
    // No other test has the same, so that no other arena's steps ahead are taken for these.
    let bytes = 23 * STEP + 12_345;
    let limits = Limits::new(bytes, 0);
    let mut one = Arena::reserve(100 * PER_STEP, &limits).expect("address space");
    let mut two = Arena::reserve(100 * PER_STEP, &limits).expect("address space");
    fill(&mut one, 1, 9 * PER_STEP);
    assert!(limits.bytes_used() > 9 * STEP, "nothing was taken ahead");
    assert_eq!(limits.bytes_used(), one.bytes() + two.bytes());
    fill_up(&mut two);
    assert_eq!((one.len(), two.len()), (9 * PER_STEP, 14 * PER_STEP));
    assert_eq!(limits.bytes_used(), 23 * STEP);
    fill_up(&mut one);
    assert_eq!(one.len(), 9 * PER_STEP);
    assert!(two.iter().enumerate().all(|(n, found)| *found == value(0, n)));
    drop(two);
    assert_eq!(limits.bytes_used(), 9 * STEP);
    fill_up(&mut one);
    assert_eq!((one.len(), limits.bytes_used()), (23 * PER_STEP, 23 * STEP));
    assert_eq!(one.bytes(), 23 * STEP);
    drop(one);
    assert_eq!(limits.bytes_used(), 0);
}

#[test]
fn without_memory_nothing_is_taken() {
    let limits = Limits::new(STEP - 1, 0);
    let mut arena = Arena::<Value>::reserve(PER_STEP, &limits).expect("address space");
    assert!(!arena.make_room() && !arena.make_room());
    assert_eq!((arena.len(), arena.bytes(), limits.bytes_used()), (0, 0, 0));
}

/// A small table does not pay for more than it needs.
#[test]
fn the_first_step_is_enough_for_a_while() {
    let limits = Limits::new(1 << 30, 0);
    let mut arena = Arena::reserve(4 * PER_STEP, &limits).expect("address space");
    fill(&mut arena, 1, PER_STEP / 8);
    assert_eq!(limits.bytes_used(), STEP);
    fill(&mut arena, 1, PER_STEP / 8 + 1);
    assert_eq!(limits.bytes_used(), 2 * STEP);
}

/// Arenas that are dropped while their steps are populated, concurrently with threads whose mappings fall
/// into the places that become free: only their own memory is touched.
#[test]
fn dropped_while_it_is_populated() {
    thread::scope(|scope| {
        for seed in 0..3 {
            scope.spawn(move || {
                let limits = Limits::new(1 << 30, 0);
                for round in 0..30 {
                    let mut arena = Arena::reserve(64 * PER_STEP, &limits).expect("address space");
                    fill(&mut arena, seed, round % 20 * PER_STEP + PER_STEP / 4);
                    assert!(arena.iter().enumerate().all(|(n, found)| *found == value(seed, n)));
                    drop(arena);
                    assert_eq!(limits.bytes_used(), 0);
                }
            });
        }
        for seed in 0..2u8 {
            scope.spawn(move || {
                for round in 0..60usize {
                    let bytes = (round % 7 + 1) * STEP;
                    let access = libc::PROT_READ | libc::PROT_WRITE;
                    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
                    // SAFETY: a new mapping, unmapped below, that is not shared.
                    unsafe {
                        let start = libc::mmap(std::ptr::null_mut(), bytes, access, flags, -1, 0);
                        assert_ne!(start, libc::MAP_FAILED);
                        let memory = slice::from_raw_parts_mut(start.cast::<u8>(), bytes);
                        for page in memory.chunks_mut(4096).step_by(16) {
                            assert!(page.iter().all(|&byte| byte == 0));
                            page.fill(seed + 1);
                        }
                        for page in memory.chunks(4096).step_by(16) {
                            assert!(page.iter().all(|&byte| byte == seed + 1));
                        }
                        libc::munmap(start, bytes);
                    }
                }
            });
        }
    });
}

/// Many arenas that grow at a time, within limits that are too small for all of them.
#[test]
fn many_at_a_time() {
    const ARENAS: usize = 24;
    let bytes = 150 * STEP + 777;
    let limits = Limits::new(bytes, 0);
    let arenas: Vec<_> = thread::scope(|scope| {
        let grow = |seed: usize| {
            let limits = &limits;
            move || {
                let mut arena = Arena::reserve(12 * PER_STEP, limits).expect("address space");
                while arena.len() < 12 * PER_STEP && arena.make_room() {
                    arena.push(value(seed, arena.len()));
                    assert!(arena.len() % 1000 != 0 || limits.bytes_used() <= bytes);
                }
                arena
            }
        };
        let threads: Vec<_> = (0..ARENAS).map(|seed| scope.spawn(grow(seed))).collect();
        threads.into_iter().map(|thread| thread.join().expect("no panic")).collect()
    });
    for (seed, arena) in arenas.iter().enumerate() {
        assert!(arena.iter().enumerate().all(|(n, found)| *found == value(seed, n)));
    }
    assert_eq!(limits.bytes_used(), arenas.iter().map(Arena::bytes).sum::<usize>());
    drop(arenas);
    assert_eq!(limits.bytes_used(), 0);
}
