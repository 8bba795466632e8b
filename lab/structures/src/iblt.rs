//! Invertible Bloom lookup table (Goodrich, Mitzenmacher, Allerton 2011): every flow of a small window, and
//! the difference between two observation points.

use packet::Seed;
use sketch::parts::{BURST, CellIndices, GridRows, MAX_ROWS, filled, prefetch};
use sketch::{
    ByteKey, Configuration, Grid, GridConfig, Merge, SketchError, Summary, Unmergeable, Update, UpdateBurst,
};
use std::fmt;
use std::marker::PhantomData;

/// Cells of sums: of weights, of keys and of check sums, the last two times the weight. A cell with a single
/// flow yields its key by division; removing that flow from its other cells leaves further cells with a
/// single flow, until nothing is left.
///
/// All flows are recovered, exactly, while there are about 1.23 cells (three rows) or more for each, and
/// nearly none beyond (Goodrich and Mitzenmacher, theorem 1): the answer states which case applies. As all
/// sums are linear, a second table of the same configuration can be subtracted, and only the flows that
/// differ need the room.
#[derive(Clone, Debug)]
pub struct Iblt<K: ByteKey> {
    config: GridConfig<Self>,
    rows: GridRows,
    /// Cells of `stride` words: weight, check sum, then two words for the sum of each eight bytes of the key.
    words: Box<[u64]>,
    check: KeyChecksum,
    /// The sum of the sizes of all weights.
    total: u64,
    key: PhantomData<fn() -> K>,
}

/// 64 bits of a key's hash that are independent of its places.
#[derive(Clone, Copy, Debug)]
struct KeyChecksum([u64; 2]);

impl KeyChecksum {
    fn new(seed: &Seed) -> Self {
        let [add, multiply] = seed.secrets(0x1b17_c4ec);
        Self([add, multiply | 1])
    }

    #[inline(always)]
    fn compute(&self, hash: u64) -> u64 {
        let wide = u128::from(hash ^ self.0[0]) * u128::from(self.0[1]);
        (wide as u64) ^ ((wide >> 64) as u64)
    }
}

/// The error that some flows could not be recovered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotRecovered<K> {
    /// The flows that could be recovered, which are usually few.
    pub flows: Vec<(K, i64)>,
    /// Cells with more than one flow.
    pub cells_left: usize,
    /// The number of all cells.
    pub cells: usize,
    /// True if all weights together had more than 63 bits. No recovery was attempted then.
    pub is_too_heavy: bool,
}

impl<K> fmt::Display for NotRecovered<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { flows, cells_left, cells, is_too_heavy } = self;
        if *is_too_heavy {
            return write!(f, "all weights together have more than 63 bits: take shorter windows");
        }
        let recovered = flows.len();
        write!(
            f,
            "{cells_left} of {cells} cells hold more than one flow; {recovered} flows were recovered, others were not: \
             the table needs some 1.3 cells a flow"
        )
    }
}

impl<K: fmt::Debug> std::error::Error for NotRecovered<K> {}

/// Words of a cell.
const fn stride(key_bytes: usize) -> usize {
    2 + 2 * key_bytes.div_ceil(8)
}

/// The most bytes of a key.
const MOST_KEY: usize = 40;

impl<K: ByteKey> Grid for Iblt<K> {
    const KIND: &'static str = "Invertible Bloom lookup table";
    const ROWS: std::ops::RangeInclusive<usize> = 2..=MAX_ROWS;
    const DEFAULT_ROWS: usize = 3;
    const WIDTH: std::ops::RangeInclusive<usize> = 1..=u32::MAX as usize / MAX_ROWS;

    fn bytes(rows: usize, width: usize) -> usize {
        rows * width * stride(K::BYTES) * size_of::<u64>()
    }
}

/// The summands of one key.
struct KeySummands {
    words: [u64; MOST_KEY / 8],
    check: u64,
}

impl<K: ByteKey> Iblt<K> {
    #[inline(always)]
    fn parts(&self, key: &K, hash: u64) -> KeySummands {
        const { assert!(K::BYTES <= MOST_KEY) };
        let mut bytes = [0; MOST_KEY];
        key.to_bytes(&mut bytes);
        let word = |at: usize| u64::from_le_bytes(std::array::from_fn(|i| bytes[8 * at + i]));
        KeySummands { words: std::array::from_fn(word), check: self.check.compute(hash) }
    }

    /// Adds `weight` times a key to the cell that begins at `cell`. Sums wrap, and their differences are
    /// exact nevertheless.
    #[inline(always)]
    fn add(words: &mut [u64], cell: usize, parts: &KeySummands, weight: i64) {
        let cell = &mut words[cell..cell + stride(K::BYTES)];
        cell[0] = cell[0].wrapping_add(weight as u64);
        cell[1] = cell[1].wrapping_add(parts.check.wrapping_mul(weight as u64));
        for (sum, word) in cell[2..].chunks_exact_mut(2).zip(parts.words) {
            let old = u128::from(sum[0]) | u128::from(sum[1]) << 64;
            let new = old.wrapping_add((i128::from(weight) * i128::from(word)) as u128);
            (sum[0], sum[1]) = (new as u64, (new >> 64) as u64);
        }
    }

    /// The flow of a cell with a single flow.
    fn only(&self, words: &[u64], number: usize) -> Option<(K, i64)> {
        let cell = &words[number * stride(K::BYTES)..][..stride(K::BYTES)];
        let weight = cell[0] as i64;
        if weight == 0 {
            return None;
        }
        let mut bytes = [0; MOST_KEY];
        for (sum, bytes) in cell[2..].chunks_exact(2).zip(bytes.chunks_exact_mut(8)) {
            let sum = (u128::from(sum[0]) | u128::from(sum[1]) << 64) as i128;
            if sum % i128::from(weight) != 0 {
                return None;
            }
            bytes.copy_from_slice(&u64::try_from(sum / i128::from(weight)).ok()?.to_le_bytes());
        }
        if bytes[K::BYTES..].iter().any(|byte| *byte != 0) {
            return None;
        }
        let key = K::from_bytes(&bytes[..K::BYTES]);
        let hash = key.hash(&self.config.seed);
        let is_it = cell[1] == self.check.compute(hash).wrapping_mul(cell[0])
            && self.rows.places(hash).any(|place| place == number);
        is_it.then_some((key, weight))
    }

    /// Returns all flows with their weights (of a difference: how much more they had here), by key.
    ///
    /// # Errors
    /// If there were too many flows, with those that could be recovered, or if all weights together exceed 63
    /// bits.
    pub fn flows(&self) -> Result<Vec<(K, i64)>, NotRecovered<K>> {
        let stride = stride(K::BYTES);
        let mut words = self.words.to_vec();
        let cells = self.config.cells();
        let mut waiting: Vec<usize> = (0..cells).collect();
        let mut flows = Vec::new();
        // A weight of more than 63 bits would not be one, and sums of such may even be zero.
        let is_too_heavy = self.total > i64::MAX as u64;
        // A flow empties a cell, so there are never more.
        while let Some(number) = waiting.pop().filter(|_| flows.len() < cells && !is_too_heavy) {
            let Some((key, weight)) = self.only(&words, number) else { continue };
            flows.push((key, weight));
            let hash = key.hash(&self.config.seed);
            let parts = self.parts(&key, hash);
            for place in self.rows.places(hash) {
                Self::add(&mut words, place * stride, &parts, weight.wrapping_neg());
                waiting.push(place);
            }
        }
        flows.sort();
        let cells_left = words.chunks_exact(stride).filter(|cell| cell.iter().any(|word| *word != 0)).count();
        if cells_left > 0 || is_too_heavy {
            return Err(NotRecovered { flows, cells_left, cells, is_too_heavy });
        }
        Ok(flows)
    }

    /// Subtracts what another observation point counted: the flows that differ are left.
    ///
    /// # Errors
    /// If the configurations differ, with both; nothing is changed then.
    pub fn subtract(&mut self, other: &Self) -> Result<(), Unmergeable> {
        self.combine(other, |ours, theirs| ours.wrapping_sub(theirs))
    }

    fn combine(&mut self, other: &Self, with: impl Fn(u128, u128) -> u128) -> Result<(), Unmergeable> {
        Unmergeable::check(&self.config, &other.config)?;
        self.total = self.total.saturating_add(other.total);
        let stride = stride(K::BYTES);
        let cells = self.words.chunks_exact_mut(stride).zip(other.words.chunks_exact(stride));
        for (ours, theirs) in cells {
            for (ours, theirs) in ours[..2].iter_mut().zip(&theirs[..2]) {
                *ours = with((*ours).into(), (*theirs).into()) as u64;
            }
            for (ours, theirs) in ours[2..].chunks_exact_mut(2).zip(theirs[2..].chunks_exact(2)) {
                let [a, b] = [&*ours, theirs].map(|sum| u128::from(sum[0]) | u128::from(sum[1]) << 64);
                let sum = with(a, b);
                (ours[0], ours[1]) = (sum as u64, (sum >> 64) as u64);
            }
        }
        Ok(())
    }
}

impl<K: ByteKey> Summary for Iblt<K> {
    type Configuration = GridConfig<Self>;

    fn new(config: &GridConfig<Self>) -> Result<Self, SketchError> {
        config.check()?;
        Ok(Self {
            config: config.clone(),
            rows: GridRows::new(config, 0x1b17),
            words: filled(config.cells() * stride(K::BYTES), 0)?,
            check: KeyChecksum::new(&config.seed),
            total: 0,
            key: PhantomData,
        })
    }

    fn configuration(&self) -> &GridConfig<Self> {
        &self.config
    }

    fn reset(&mut self) {
        self.words.fill(0);
        self.total = 0;
    }

    fn bytes(&self) -> usize {
        self.config.bytes()
    }
}

impl<K: ByteKey> UpdateBurst<K> for Iblt<K> {
    fn update_burst(&mut self, burst: &[Update<K>]) {
        let stride = stride(K::BYTES);
        let mut places: CellIndices = [[0; MAX_ROWS]; BURST];
        for burst in burst.chunks(BURST) {
            self.rows.locate(burst, &mut places, |place| {
                prefetch(&self.words, place * stride);
                prefetch(&self.words, place * stride + stride - 1);
            });
            for (places, update) in places.iter().zip(burst) {
                let parts = self.parts(&update.key, update.hash);
                self.total = self.total.saturating_add(update.weight);
                for &place in &places[..self.config.rows] {
                    Self::add(&mut self.words, place as usize * stride, &parts, update.weight as i64);
                }
            }
        }
    }
}

/// Merged tables equal one that saw both streams in one pass.
impl<K: ByteKey> Merge for Iblt<K> {
    fn merge(&mut self, other: &Self) -> Result<(), Unmergeable> {
        self.combine(other, u128::wrapping_add)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oracle::{self, OracleStream};
    use packet::KeyV4;
    use std::collections::HashMap;

    type Table = Iblt<KeyV4>;

    fn config(rows: usize, width: usize, number: u64) -> GridConfig<Table> {
        GridConfig::new(rows, width, Seed::new(number))
    }

    fn sorted(counts: &HashMap<KeyV4, u64>) -> Vec<(KeyV4, i64)> {
        let mut counts: Vec<_> = counts.iter().map(|(key, count)| (*key, *count as i64)).collect();
        counts.sort();
        counts
    }

    /// With 1.4 cells a flow all flows are recovered, exactly; with 1.1 the answer states that it is not.
    #[test]
    fn recovers_all_or_says_that_it_did_not() {
        for number in 0..20 {
            let stream = OracleStream::bytes(10_000, 3_000, number);
            let flows = stream.counts.len();
            let table: Table = oracle::summary_of(&config(3, flows * 14 / 30, number), &stream.updates);
            assert_eq!(table.flows().expect("room enough"), sorted(&stream.counts));

            let table: Table = oracle::summary_of(&config(3, flows * 11 / 30, number), &stream.updates);
            let error = table.flows().expect_err("too many flows");
            assert!(error.cells_left > 0 && error.flows.len() < flows, "{error}");
            // The flows it returns are correct even so.
            assert!(error.flows.iter().all(|(key, weight)| stream.counts[key] as i64 == *weight));
        }
    }

    /// A table for a hundred flows finds what forty of thousands lost.
    #[test]
    fn the_difference_of_two_points_is_what_was_lost() {
        for number in 0..20 {
            let stream = OracleStream::zipf(20_000, 5_000, number);
            let config = config(4, 30, number);
            let mut lost = HashMap::<KeyV4, u64>::new();
            let second: Vec<_> = stream
                .updates
                .iter()
                .enumerate()
                .filter_map(|(i, update)| {
                    let is_lost = i % 500 == 7;
                    if is_lost {
                        *lost.entry(update.key).or_default() += 1;
                    }
                    (!is_lost).then_some(*update)
                })
                .collect();
            let mut difference: Table = oracle::summary_of(&config, &stream.updates);
            let after: Table = oracle::summary_of(&config, &second);
            assert!(difference.flows().is_err());
            difference.subtract(&after).expect("equal configurations");
            assert_eq!(difference.flows().expect("room enough"), sorted(&lost));
            // The other way around the flows are short of it.
            let mut difference = after;
            difference.subtract(&oracle::summary_of(&config, &stream.updates)).expect("equal configurations");
            let short: Vec<_> = sorted(&lost).into_iter().map(|(key, count)| (key, -count)).collect();
            assert_eq!(difference.flows().expect("room enough"), short);
        }
    }

    #[test]
    fn merges_resets_and_sizes() {
        let (stream, second) = (OracleStream::zipf(3_000, 500, 1), OracleStream::bytes(1_000, 300, 2));
        let config = config(3, 300, 1);
        oracle::merge_equals_one_pass(&config, &stream.updates, Table::flows);
        oracle::reset_equals_new(&config, &stream.updates, &second.updates, Table::flows);
        oracle::do_not_merge::<Table>(&config, &self::config(4, 300, 1));
        oracle::do_not_merge::<Table>(&config, &self::config(3, 300, 2));
        oracle::check_sizes::<Table>();
        assert!(Table::new(&self::config(1, 5, 1)).is_err() && Table::new(&self::config(3, 0, 1)).is_err());
    }

    #[test]
    fn more_than_63_bits_of_weight_are_not_taken_for_an_answer() {
        let config = config(3, 50, 1);
        let update = Update::new(KeyV4::default(), u64::MAX / 2 + 1, &config.seed);
        // Of two all sums are zero again.
        for updates in [&[update][..], &[update, update]] {
            let error = oracle::summary_of::<Table, _>(&config, updates).flows().expect_err("too much");
            assert!(error.is_too_heavy && error.to_string().contains("63 bits"), "{error}");
        }
    }
}
