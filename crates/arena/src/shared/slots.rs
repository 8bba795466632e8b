//! A set of keys into which several cores insert concurrently, with a value for each (Wu et al. 2016,
//! Algorithm 5).
//!
//! A key is inserted into the first free slot from its home on, by the core whose compare-and-swap takes it.
//! Slots are taken once, never moved and never released individually, so a search for a key from its home on
//! meets it before the first free slot, or finds the slot where it is just being written and waits for that.
//! (Wu et al. follow a linked list; here the next slot is the next element of the list. Where the tag of a
//! slot that is being written is another key's, the search does not wait.)

use crate::prefetch::{prefetch, prefetch_lines};
use crate::sync::{AtomicU32, Ordering, UnsafeCell, spin_loop};

/// A free slot.
const FREE: u32 = 0;
/// Low bits of a slot's word: taken, its key is being written (`filled_flag`); and written (`finish_flag`).
const FILLED: u32 = 1;
const FINISHED: u32 = 3;
/// The bits of a slot's word that are of the key's hash.
const TAG: u32 = !3;
/// Slots from a key's home on that it may lie in: the cost of a packet is bounded. At the load that
/// [`Slots::new`] is meant for, no key of millions is that far from home.
const REACH: usize = 512;

/// A key and its value.
#[derive(Debug)]
struct SharedSlot<K, V> {
    /// The key, written once by the core that took the slot, before the slot's word publishes it.
    key: UnsafeCell<K>,
    value: V,
}

/// A fixed number of slots. `V` must support changes by several cores.
#[derive(Debug)]
pub struct Slots<K, V> {
    /// A word per slot, stored separately: 16 lie in a cache line.
    words: Box<[AtomicU32]>,
    slots: Box<[SharedSlot<K, V>]>,
    /// Shift from a hash to its home.
    shift: u32,
}

// SAFETY: a key is written by the one thread whose compare-and-swap took its slot, before it stores
// `FINISHED` with release order; others read it only after a load of that with acquire order, and it does not
// change any more. Clearing takes `&mut`.
unsafe impl<K: Send + Sync, V: Sync> Sync for Slots<K, V> {}

impl<K: Copy + Eq, V> Slots<K, V> {
    /// Slots for `keys` keys, at least twice as many: then chains of taken slots stay short.
    pub fn new(keys: usize, key: K, mut value: impl FnMut() -> V) -> Self {
        let bits = Self::bits(keys);
        Self {
            words: filled(1 << bits, || AtomicU32::new(FREE)),
            slots: filled(1 << bits, || SharedSlot { key: UnsafeCell::new(key), value: value() }),
            shift: u64::BITS - bits,
        }
    }

    fn bits(keys: usize) -> u32 {
        keys.saturating_mul(2).max(2).next_power_of_two().trailing_zeros()
    }

    /// Bytes for `keys` keys.
    pub fn bytes_for(keys: usize) -> usize {
        (size_of::<AtomicU32>() + size_of::<SharedSlot<K, V>>()) << Self::bits(keys)
    }

    /// Slots in all.
    pub fn capacity(&self) -> usize {
        self.words.len()
    }

    fn home(&self, hash: u64) -> usize {
        (hash >> self.shift) as usize
    }

    fn tag(hash: u64) -> u32 {
        // From other bits than those of the home.
        (hash as u32) & TAG
    }

    /// Prefetches the words around a key's home.
    #[inline(always)]
    pub fn prefetch_word(&self, hash: u64) {
        prefetch(&raw const self.words[self.home(hash)]);
    }

    /// Prefetches the slot where a key probably lies; the word must be in the cache.
    #[inline(always)]
    pub fn prefetch_slot(&self, hash: u64) {
        let mask = self.capacity() - 1;
        let (home, tag) = (self.home(hash), Self::tag(hash));
        let is_its = |at: &usize| {
            let word = self.words[at & mask].load(Ordering::Relaxed);
            word == FREE || word & TAG == tag
        };
        let at = (home..home + 4).find(is_its).unwrap_or(home) & mask;
        prefetch_lines(&raw const self.slots[at]);
    }

    /// The value of `key`, which is inserted if it is missing; `None` if it is missing and has no place.
    #[inline]
    pub fn get_or_put(&self, key: &K, hash: u64) -> Option<&V> {
        let mask = self.capacity() - 1;
        let (home, tag) = (self.home(hash), Self::tag(hash));
        for at in (home..home + REACH.min(self.capacity())).map(|at| at & mask) {
            let mut word = self.words[at].load(Ordering::Acquire);
            if word == FREE {
                let taken =
                    self.words[at].compare_exchange(FREE, tag | FILLED, Ordering::Relaxed, Ordering::Acquire);
                match taken {
                    Ok(_) => {
                        // SAFETY: the slot is exclusively ours until the store below publishes it.
                        self.slots[at].key.with_mut(|place| unsafe { *place = *key });
                        self.words[at].store(tag | FINISHED, Ordering::Release);
                        return Some(&self.slots[at].value);
                    }
                    Err(now) => word = now,
                }
            }
            if word & TAG != tag {
                continue;
            }
            while word & FINISHED != FINISHED {
                spin_loop();
                #[cfg(loom)]
                loom::thread::yield_now();
                word = self.words[at].load(Ordering::Acquire);
            }
            // SAFETY: finished, by a load with acquire order: the key is written and does not change any more.
            if self.slots[at].key.with(|found| unsafe { *found == *key }) {
                return Some(&self.slots[at].value);
            }
        }
        None
    }

    /// Emits all keys with their values, which `take` must leave in their initial state, and is empty
    /// afterwards.
    pub fn drain(&mut self, mut take: impl FnMut(&K, &mut V)) {
        for (word, slot) in self.words.iter_mut().zip(&mut self.slots) {
            if word.load(Ordering::Relaxed) & FINISHED == FINISHED {
                // SAFETY: `&mut self` makes it the only reference.
                slot.key.with(|key| take(unsafe { &*key }, &mut slot.value));
                word.store(FREE, Ordering::Relaxed);
            }
        }
    }
}

/// Memory that is written once now, in large pages if available, so that there are no page faults while
/// measuring.
fn filled<T>(count: usize, mut value: impl FnMut() -> T) -> Box<[T]> {
    let mut values = Vec::with_capacity(count);
    #[cfg(not(loom))]
    {
        const PAGE: usize = 4096;
        let start = (values.as_mut_ptr() as usize).next_multiple_of(PAGE);
        let end = values.as_mut_ptr() as usize + count * size_of::<T>();
        if end > start + PAGE {
            // SAFETY: advice on whole pages within memory that `values` owns; it changes no byte. If the
            // kernel refuses it, pages are small.
            unsafe { libc::madvise(start as *mut libc::c_void, end - start, libc::MADV_HUGEPAGE) };
        }
    }
    values.extend((0..count).map(|_| value()));
    values.into_boxed_slice()
}
