//! The index of the flow table: hash to entry number, by the Edison paper's "1.8" cuckoo table (Wu et al., IFIP
//! 2019, section II.B.3): one table, two buckets per key, eight slots per bucket.
//!
//! A bucket is one cache line: eight 16-bit tags, compared at once, and eight 32-bit entry numbers. So the
//! index of a million flows is some 12 MiB and stays in L3, which leaves one memory access per packet, for
//! the entry.
//!
//! The rest of the line holds 16 more bits per slot. With them a slot knows its whole position (26 bits) and
//! its tag, so that moving and growing never touch an entry, and never hash its key again. This allows the
//! table to grow in place, by linear hashing (Litwin, VLDB '80): bucket after bucket is split in two, a few
//! with every new flow, so that growth never takes longer than a few cache-line accesses at a time.

use arena::Limits;
use arena::ones;
use arena::tags;
use arena::{Arena, OutOfMemory};

const SLOTS: usize = 8;
/// Initial buckets, as a power of two: 128 KiB. A slot does not keep these low bits of its position: they are
/// the bucket's. A fuzzer has fewer, so that a short input makes a table grow.
const LEAST_BITS: u32 = if cfg!(fuzzing) { 5 } else { 11 };
/// Bits of a position: those, and the 15 that a slot keeps.
const POSITION_BITS: u32 = LEAST_BITS + 15;
const POSITION_MASK: u32 = (1 << POSITION_BITS) - 1;
/// The bit that is set in `CuckooBucket::upper` where the slot lies in the second bucket of its key.
const SECOND: u16 = 1 << 15;
/// Growth begins at this load: 12 of 16 slots. At higher loads, inserts spend more on moving slots than the
/// memory is worth.
const GROW_AT_SIXTEENTHS: usize = 12;
/// Buckets split with each new flow while the table grows. Doubling then ends after a quarter of a flow per bucket, long
/// before the load nears what two buckets of eight can hold (0.98).
const SPLITS_PER_INSERT: usize = 4;
/// Buckets that the search for a free slot examines before it fails.
const SEARCH: usize = 512;

/// The most entries that the index can distinguish with a bucket to spare.
pub(crate) const MAX_ENTRIES: usize = (1 << POSITION_BITS) * (SLOTS - 1);

/// The number that stands for no entry.
pub(crate) const NONE: u32 = u32::MAX;

/// A bucket of one cache line. A tag of zero is a free slot.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
struct CuckooBucket {
    tags: [u16; SLOTS],
    /// Bits 11 to 25 of the first position, and `SECOND`.
    upper: [u16; SLOTS],
    entries: [u32; SLOTS],
}

impl CuckooBucket {
    const EMPTY: Self = Self { tags: [0; SLOTS], upper: [0; SLOTS], entries: [0; SLOTS] };

    /// A bit for each slot with this tag.
    #[inline(always)]
    fn matches(&self, tag: u16) -> u32 {
        tags::matching(&self.tags, tag)
    }

    fn free_slot(&self) -> Option<usize> {
        let mask = self.matches(0);
        (mask != 0).then(|| mask.trailing_zeros() as usize)
    }
}

/// The places where a key may lie, derived from its hash.
#[derive(Clone, Copy, Debug)]
struct CuckooPosition {
    tag: u16,
    position: u32,
}

impl CuckooPosition {
    #[inline(always)]
    fn from_hash(hash: u64) -> Self {
        // The tag and the position use different bits, so that an accidental match has a probability of 2^-15
        // per slot.
        Self { tag: (hash >> 48) as u16 | 1, position: hash as u32 & POSITION_MASK }
    }

    /// The difference between both positions depends on the tag alone, so that it can be computed from the
    /// slot.
    #[inline(always)]
    fn difference(tag: u16) -> u32 {
        // An odd multiplier spreads the tag; the lowest bit keeps the buckets distinct.
        ((u32::from(tag).wrapping_mul(0x9e37_79b1) >> 6) | 1) & POSITION_MASK
    }

    #[inline(always)]
    fn second(self) -> u32 {
        self.position ^ Self::difference(self.tag)
    }
}

/// The complete content of a slot: sufficient to place it in either of its positions.
#[derive(Clone, Copy, Debug)]
struct CuckooSlot {
    place: CuckooPosition,
    second: bool,
    entry: u32,
}

impl CuckooSlot {
    /// The position that determines the slot's present bucket.
    fn position(&self) -> u32 {
        if self.second { self.place.second() } else { self.place.position }
    }

    /// Returns the same entry by its other position.
    fn moved(self) -> Self {
        Self { second: !self.second, ..self }
    }
}

/// Hash to entry number.
#[derive(Debug)]
pub(crate) struct CuckooIndex {
    buckets: Arena<CuckooBucket>,
    /// Buckets before the growth under way: a power of two.
    base: u32,
    /// Buckets `0..split` are split already: their positions have one bit more.
    split: u32,
    len: usize,
}

impl CuckooIndex {
    /// An index for up to `entries` entries.
    pub(crate) fn new(entries: usize, limits: &Limits) -> Result<Self, OutOfMemory> {
        // Up to a power of two: growth continues to its end.
        let most = (entries.div_ceil(4)).next_power_of_two().clamp(1 << LEAST_BITS, 1 << POSITION_BITS);
        let mut buckets = Arena::reserve(most, limits)?;
        for _ in 0..1 << LEAST_BITS {
            if !buckets.make_room() {
                break;
            }
            buckets.push(CuckooBucket::EMPTY);
        }
        // If even this is not allowed, the index cannot hold anything.
        let base = if buckets.len() == 1 << LEAST_BITS { 1 << LEAST_BITS } else { 0 };
        Ok(Self { buckets, base, split: 0, len: 0 })
    }

    pub(crate) fn bytes(&self) -> usize {
        self.buckets.bytes()
    }

    /// Number of the bucket of a position.
    #[inline(always)]
    fn bucket(&self, position: u32) -> u32 {
        let low = position & self.base.wrapping_sub(1);
        // A bucket that is split already uses one more bit.
        let bit = if low < self.split { position & self.base } else { 0 };
        low | bit
    }

    /// True while buckets are being split.
    pub(crate) fn is_splitting(&self) -> bool {
        self.split != 0
    }

    /// [`CuckooIndex::first_bucket`] for a caller that knows whether buckets are being split.
    #[inline(always)]
    pub(crate) fn first_bucket_of<const MAY_BE_SPLITTING: bool>(&self, hash: u64) -> u32 {
        match MAY_BE_SPLITTING {
            true => self.first_bucket(hash),
            false => CuckooPosition::from_hash(hash).position & self.base.wrapping_sub(1),
        }
    }

    /// The bucket to be searched first.
    #[inline(always)]
    pub(crate) fn first_bucket(&self, hash: u64) -> u32 {
        self.bucket(CuckooPosition::from_hash(hash).position)
    }

    /// The bucket to be searched next.
    #[inline(always)]
    pub(crate) fn second_bucket(&self, hash: u64) -> u32 {
        self.bucket(CuckooPosition::from_hash(hash).second())
    }

    #[inline(always)]
    pub(crate) fn prefetch(&self, bucket: u32) {
        self.buckets.prefetch(bucket as usize);
    }

    /// The first entry in `bucket` whose tag is that of `hash`, and true; its key is still to be compared. If
    /// there is none, any that is or was in the bucket, and false: prefetching its line costs less than
    /// skipping it.
    #[inline(always)]
    pub(crate) fn guess(&self, bucket: u32, hash: u64) -> (u32, bool) {
        let Some(bucket) = self.buckets.get(bucket as usize) else { return (0, false) };
        let at = tags::first_matching(&bucket.tags, CuckooPosition::from_hash(hash).tag);
        (bucket.entries[at % SLOTS], at < SLOTS)
    }

    /// Returns the entry of [`CuckooIndex::guess`] if its tag is that of `hash`, else [`NONE`].
    #[inline(always)]
    fn candidate(&self, bucket: u32, hash: u64) -> u32 {
        match self.guess(bucket, hash) {
            (entry, true) => entry,
            _ => NONE,
        }
    }

    /// [`CuckooIndex::candidate`] in the second bucket of `hash`. An entry found there while the first bucket
    /// has a free slot again, because that was split or its flows ended, is moved to the first bucket: the
    /// next packet finds it at once. Without that a quarter of a million flows lay in second buckets, each of
    /// whose packets costs one more line.
    #[inline(always)]
    pub(crate) fn second_candidate(&mut self, hash: u64) -> u32 {
        let (first, second) = (self.first_bucket(hash), self.second_bucket(hash));
        let entry = self.candidate(second, hash);
        if entry != NONE && self.buckets[first as usize].matches(0) != 0 {
            self.move_to_first_bucket(first, second, hash);
        }
        entry
    }

    /// Moves the first slot of bucket `second` with the tag of `hash` to the free slot of bucket `first`, if
    /// that is its first bucket.
    #[cold]
    fn move_to_first_bucket(&mut self, first: u32, second: u32, hash: u64) {
        let (first, second) = (first as usize, second as usize);
        let at = self.buckets[second].matches(CuckooPosition::from_hash(hash).tag).trailing_zeros() as usize;
        let slot = self.read(second, at);
        // Another key with the same tag may belong here, or elsewhere.
        if slot.second
            && self.bucket(slot.place.position) as usize == first
            && let Some(free) = self.buckets[first].free_slot()
        {
            self.write(first, free, slot.moved());
            self.buckets[second].tags[at] = 0;
        }
    }

    /// The entry among all candidates for which `is_it` holds.
    #[inline]
    pub(crate) fn find(&self, hash: u64, mut is_it: impl FnMut(u32) -> bool) -> Option<u32> {
        let tag = CuckooPosition::from_hash(hash).tag;
        for number in [self.first_bucket(hash), self.second_bucket(hash)] {
            let bucket = self.buckets.get(number as usize)?;
            let mut candidates = ones(bucket.matches(tag)).map(|slot| bucket.entries[slot]);
            if let Some(entry) = candidates.find(|&entry| is_it(entry)) {
                return Some(entry);
            }
        }
        None
    }

    /// Adds an entry that is not in the index yet; false if no place can be made for it.
    pub(crate) fn insert(&mut self, hash: u64, entry: u32) -> bool {
        self.grow();
        let slot = CuckooSlot { place: CuckooPosition::from_hash(hash), second: false, entry };
        let placed = self.base != 0 && (self.place(slot) || self.place(slot.moved()) || self.make_room(slot));
        self.len += usize::from(placed);
        placed
    }

    /// Removes an existing entry.
    pub(crate) fn remove(&mut self, hash: u64, entry: u32) {
        let tag = CuckooPosition::from_hash(hash).tag;
        for number in [self.first_bucket(hash), self.second_bucket(hash)] {
            let bucket = &mut self.buckets[number as usize];
            for slot in ones(bucket.matches(tag)) {
                if bucket.entries[slot] == entry {
                    bucket.tags[slot] = 0;
                    self.len -= 1;
                    return;
                }
            }
        }
        debug_assert!(false, "an entry that is to be removed is in the index");
    }

    /// Removes everything and keeps the memory.
    pub(crate) fn clear(&mut self) {
        self.buckets.fill(CuckooBucket::EMPTY);
        self.len = 0;
    }

    /// Puts a slot into a free one of its bucket.
    fn place(&mut self, slot: CuckooSlot) -> bool {
        let number = self.bucket(slot.position()) as usize;
        match self.buckets[number].free_slot() {
            Some(at) => {
                self.write(number, at, slot);
                true
            }
            None => false,
        }
    }

    fn write(&mut self, number: usize, at: usize, slot: CuckooSlot) {
        let bucket = &mut self.buckets[number];
        bucket.tags[at] = slot.place.tag;
        bucket.upper[at] = (slot.place.position >> LEAST_BITS) as u16 | if slot.second { SECOND } else { 0 };
        bucket.entries[at] = slot.entry;
    }

    fn read(&self, number: usize, at: usize) -> CuckooSlot {
        let bucket = &self.buckets[number];
        let (tag, upper) = (bucket.tags[at], bucket.upper[at]);
        let second = upper & SECOND != 0;
        let difference = if second { CuckooPosition::difference(tag) } else { 0 };
        let low = (number as u32 ^ difference) & ((1 << LEAST_BITS) - 1);
        let position = u32::from(upper & !SECOND) << LEAST_BITS | low;
        CuckooSlot { place: CuckooPosition { tag, position }, second, entry: bucket.entries[at] }
    }

    /// Frees a slot in one of `slot`'s buckets by moving others to their other bucket, nearest first
    /// (breadth-first, so that the fewest are moved), and puts `slot` there.
    #[cold]
    fn make_room(&mut self, slot: CuckooSlot) -> bool {
        /// A way to reach a bucket: by moving slot `slot` of bucket `path[parent]` here.
        #[derive(Clone, Copy)]
        struct PathStep {
            bucket: usize,
            parent: usize,
            slot: usize,
        }
        const ROOT: usize = usize::MAX;
        let mut path = [PathStep { bucket: 0, parent: ROOT, slot: 0 }; SEARCH];
        path[0].bucket = self.bucket(slot.position()) as usize;
        path[1].bucket = self.bucket(slot.moved().position()) as usize;
        let mut known = 2;
        let mut next = 0;
        while next < known {
            let here = path[next];
            if let Some(free) = self.buckets[here.bucket].free_slot() {
                // Back along the path: each move frees the slot for the previous one.
                let (mut to, mut at) = (here, free);
                while to.parent != ROOT {
                    let from = path[to.parent];
                    let moving = self.read(from.bucket, to.slot).moved();
                    self.write(to.bucket, at, moving);
                    (at, to) = (to.slot, from);
                }
                let by_second = to.bucket != path[0].bucket;
                self.write(to.bucket, at, if by_second { slot.moved() } else { slot });
                return true;
            }
            for at in 0..SLOTS {
                let bucket = self.bucket(self.read(here.bucket, at).moved().position()) as usize;
                // From a bucket that occurs twice on one path, two slots would be moved.
                if known < SEARCH && path[..known].iter().all(|step| step.bucket != bucket) {
                    path[known] = PathStep { bucket, parent: next, slot: at };
                    known += 1;
                }
            }
            next += 1;
        }
        false
    }

    /// Splits a few buckets if the table is growing or should grow.
    fn grow(&mut self) {
        let buckets = (self.base + self.split) as usize;
        if self.split == 0 && self.len * 16 < buckets * SLOTS * GROW_AT_SIXTEENTHS {
            return;
        }
        for _ in 0..SPLITS_PER_INSERT {
            if self.base == 0 || self.base >> POSITION_BITS != 0 || !self.buckets.make_room() {
                return;
            }
            self.split_bucket();
            self.split += 1;
            if self.split == self.base {
                (self.base, self.split) = (self.base * 2, 0);
                return;
            }
        }
    }

    /// Moves the slots of the next bucket to split whose position has the next bit set to a new bucket.
    fn split_bucket(&mut self) {
        let (lower, upper) = (self.split as usize, self.buckets.len());
        self.buckets.push(CuckooBucket::EMPTY);
        for at in 0..SLOTS {
            if self.buckets[lower].tags[at] == 0 {
                continue;
            }
            let slot = self.read(lower, at);
            if slot.position() & self.base != 0 {
                self.write(upper, at, slot);
                self.buckets[lower].tags[at] = 0;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use packet::{Key, KeyV4, Seed};

    fn hash(number: u32) -> u64 {
        KeyV4::new([0; 8], number.to_be_bytes(), 6).hash(&Seed::new(3))
    }

    /// The result of the table's stages for a key, without comparing it.
    fn staged(index: &mut CuckooIndex, hash: u64) -> u32 {
        match index.candidate(index.first_bucket(hash), hash) {
            NONE => index.second_candidate(hash),
            entry => entry,
        }
    }

    fn in_second(index: &CuckooIndex) -> usize {
        let slots = |bucket: &CuckooBucket| {
            (0..SLOTS).filter(|&at| bucket.tags[at] != 0 && bucket.upper[at] & SECOND != 0).count()
        };
        index.buckets.iter().map(slots).sum()
    }

    #[test]
    fn what_lies_in_a_second_bucket_comes_home_when_there_is_room() {
        // Just after a growth: many were put into second buckets while the first ones were full.
        const ENTRIES: u32 = 120_000;
        let mut index = CuckooIndex::new(1 << 20, &Limits::new(1 << 30, 1 << 20)).unwrap();
        assert!((0..ENTRIES).all(|entry| index.insert(hash(entry), entry)));
        let before = in_second(&index);
        let right = (0..ENTRIES).filter(|&entry| staged(&mut index, hash(entry)) == entry).count();
        // A tag of another key may match; the table compares keys and continues the search.
        assert!(right as f64 > 0.999 * f64::from(ENTRIES), "{right}");
        let after = in_second(&index);
        assert!(before > ENTRIES as usize / 20 && after < before / 4, "{before} before, {after} after");
        assert!((0..ENTRIES).all(|entry| index.find(hash(entry), |found| found == entry) == Some(entry)));
        // Removing makes room; moving and growing continue from there.
        (0..ENTRIES).step_by(2).for_each(|entry| index.remove(hash(entry), entry));
        for entry in (1..ENTRIES).step_by(2) {
            staged(&mut index, hash(entry));
        }
        assert!((ENTRIES..3 * ENTRIES).all(|entry| index.insert(hash(entry), entry)));
        let is_there = |entry: &u32| index.find(hash(*entry), |found| found == *entry) == Some(*entry);
        assert!((1..ENTRIES).step_by(2).chain(ENTRIES..3 * ENTRIES).all(|entry| is_there(&entry)));
        assert!((0..ENTRIES).step_by(2).all(|entry| !is_there(&entry)));
    }
}
