//! Every order of events of two or three threads on the shared structures, as far as loom can distinguish
//! them.

use super::{AtomicCounter, Section, Slots};
use loom::sync::Arc;
use loom::thread;

/// Runs `deed` with each number on its own thread, all at the same time.
fn at_once<T: Send + Sync + 'static>(
    shared: &Arc<T>,
    numbers: &[u64],
    deed: impl Fn(&T, u64) + Copy + Send + 'static,
) {
    let threads: Vec<_> = numbers
        .iter()
        .map(|&number| {
            let shared = Arc::clone(shared);
            thread::spawn(move || deed(&shared, number))
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().expect("no thread fails"));
}

/// All keys with their counts.
fn drained(slots: Arc<Slots<u64, AtomicCounter>>) -> Vec<(u64, u64)> {
    let Ok(mut slots) = Arc::try_unwrap(slots) else { panic!("the threads are gone") };
    let mut found = Vec::new();
    slots.drain(|&key, count| found.push((key, count.take())));
    let first = found.len();
    slots.drain(|_, _| panic!("it is empty"));
    found.sort_unstable();
    assert_eq!(found.len(), first);
    found
}

/// Slots for this many keys.
fn slots(keys: usize) -> Arc<Slots<u64, AtomicCounter>> {
    Arc::new(Slots::new(keys, 0, AtomicCounter::new))
}

fn put(slots: &Slots<u64, AtomicCounter>, key: u64, hash: u64) -> bool {
    slots.get_or_put(&key, hash).inspect(|count| _ = count.add(1)).is_some()
}

#[test]
fn a_counter_loses_nothing() {
    loom::model(|| {
        let counter = Arc::new(AtomicCounter::new());
        at_once(&counter, &[1, 10], |counter, amount| {
            counter.add(amount);
            counter.add(100 * amount);
        });
        assert_eq!(counter.get(), 1111);
    });
}

#[test]
fn fields_of_a_section_change_together() {
    loom::model(|| {
        let section = Arc::new(Section::new((0, 0)));
        at_once(&section, &[1, 10], |section, amount| {
            section.enter(|(a, b)| {
                assert_eq!(2 * *a, *b);
                *a += amount;
                *b += 2 * amount;
            });
        });
        section.enter(|fields| assert_eq!(*fields, (11, 22)));
    });
}

#[test]
fn the_same_key_is_put_in_once() {
    loom::model(|| {
        let slots = slots(1);
        at_once(&slots, &[7, 7], |slots, key| assert!(put(slots, key, 0)));
        assert_eq!(drained(slots), [(7, 2)]);
    });
}

#[test]
fn keys_with_one_home_and_one_tag_have_a_slot_each() {
    loom::model(|| {
        let slots = slots(1);
        at_once(&slots, &[7, 8], |slots, key| {
            assert!(put(slots, key, 0));
            assert!(put(slots, key, 0));
        });
        assert_eq!(drained(slots), [(7, 2), (8, 2)]);
    });
}

#[test]
fn keys_with_one_home_and_other_tags() {
    loom::model(|| {
        let slots = slots(1);
        at_once(&slots, &[7, 8], |slots, key| {
            assert!(put(slots, key, 4 * key));
            assert!(put(slots, 7, 28));
        });
        assert_eq!(drained(slots), [(7, 3), (8, 1)]);
    });
}

#[test]
fn what_finds_no_slot_is_told_so() {
    loom::model(|| {
        // Two slots for three keys.
        let slots = slots(1);
        assert_eq!(slots.capacity(), 2);
        let refused = Arc::new(AtomicCounter::new());
        let both = Arc::new((slots, refused));
        at_once(&both, &[1, 2], |(slots, refused), key| {
            for key in [key, 3] {
                refused.add(u64::from(!put(slots, key, 0)));
            }
        });
        let Ok((slots, refused)) = Arc::try_unwrap(both) else { panic!("the threads are gone") };
        let found = drained(slots);
        assert_eq!(found.len(), 2);
        assert_eq!(found.iter().map(|(_, count)| count).sum::<u64>() + refused.get(), 4);
    });
}
