//! The Reversible sketch of source addresses, and a plain version as published: for each row a table for each
//! byte.

use super::contender::Contender;
use super::stream::SketchStream;
use crate::murmur3::{library_murmur3, murmur3};
use crate::tuple::Tuple;
use packet::{KeyV4, Seed};
use sketch::{Frequency, GridConfig, HeavyHitters, ReversibleSketch, Summary};

/// Packets of a burst.
const BURST: usize = 64;

#[inline(always)]
fn source(tuple: &Tuple) -> u32 {
    let [a, b, c, d, ..] = *tuple.addresses();
    u32::from_be_bytes([a, b, c, d])
}

/// A key that has this source address and nothing else.
fn key_of(address: u32) -> KeyV4 {
    let mut addresses = [0; 8];
    addresses[..4].copy_from_slice(&address.to_be_bytes());
    KeyV4::new(addresses, [0; 4], 0)
}

/// Edison's.
pub(super) struct Reversible(ReversibleSketch);

impl Reversible {
    pub(super) fn new(rows: usize, width: usize) -> Result<Self, String> {
        let config = GridConfig::new(rows, width, Seed::new(7));
        Ok(Self(ReversibleSketch::new(&config).map_err(|error| error.to_string())?))
    }
}

impl Contender for Reversible {
    fn name(&self) -> &'static str {
        "reversible"
    }

    fn reset(&mut self) {
        Summary::reset(&mut self.0);
    }

    fn count(&mut self, stream: &SketchStream) {
        let mut burst = [0; BURST];
        for tuples in stream.tuples.chunks(BURST) {
            let burst = &mut burst[..tuples.len()];
            burst.iter_mut().zip(tuples).for_each(|(address, tuple)| *address = source(tuple));
            self.0.count_burst(burst);
        }
    }

    fn bytes(&self) -> usize {
        Summary::bytes(&self.0)
    }

    fn estimate(&self, key: &KeyV4) -> Option<f64> {
        Some(self.0.estimate(&source(&Tuple::from_v4(key))).value)
    }

    fn listed(&self, threshold: u64) -> Option<Vec<KeyV4>> {
        let list = self.0.heavy_hitters(threshold);
        (!list.is_cut_short).then(|| list.keys.into_iter().map(|(address, _)| key_of(address)).collect())
    }
}

/// Rows of the second sketch, by murmur3.
const VERIFYING: usize = 2;

/// A table for each row and byte of the mangled address; then the rows that candidates are verified by, as in the other plain
/// versions. `TUNED`: not mangled, murmur3 compiled into the loop.
pub(super) struct PlainReversible<const TUNED: bool> {
    /// The part of the index that a byte gives, by row and byte.
    tables: Vec<[[u16; 256]; 4]>,
    rows: Vec<Vec<u32>>,
    /// Bits that a byte contributes.
    bits: u32,
}

impl<const TUNED: bool> PlainReversible<TUNED> {
    pub(super) fn new(rows: usize, width: usize) -> Self {
        let bits = width.ilog2() / 4;
        let tables = (0..rows as u64).map(|row| {
            let secrets: [[u64; 256]; 4] =
                std::array::from_fn(|byte| Seed::new(7).secrets(4 * row + byte as u64));
            secrets.map(|table| table.map(|secret| secret as u16 & ((1 << bits) - 1)))
        });
        let tables = tables.collect();
        Self { tables, rows: vec![vec![0; width]; rows + VERIFYING], bits }
    }

    /// The form of an address that rows use.
    #[inline(always)]
    fn known_as(address: u32) -> u32 {
        if TUNED { address } else { mangled(address) }
    }

    #[inline(always)]
    fn place(&self, row: usize, address: u32) -> usize {
        match self.tables.get(row) {
            Some(tables) => {
                let bytes = address.to_be_bytes();
                (0..4).fold(0, |index, i| index << self.bits | usize::from(tables[i][usize::from(bytes[i])]))
            }
            None if TUNED => {
                murmur3(&address.to_be_bytes(), row as u32) as usize & (self.rows[row].len() - 1)
            }
            None => {
                (library_murmur3(&address.to_be_bytes(), row as u32) % self.rows[row].len() as u32) as usize
            }
        }
    }
}

/// A bijection: multiplying carries low bits to high ones, shifting high bits to low ones.
#[inline(always)]
fn mangled(address: u32) -> u32 {
    let mixed = (address ^ address >> 16).wrapping_mul(0x9e37_79b1);
    let mixed = (mixed ^ mixed >> 15).wrapping_mul(0xb529_7a4d);
    mixed ^ mixed >> 16
}

impl<const TUNED: bool> Contender for PlainReversible<TUNED> {
    fn name(&self) -> &'static str {
        if TUNED { "tuned_table_a_row_and_byte" } else { "plain_table_a_row_and_byte" }
    }

    fn is_baseline(&self) -> bool {
        true
    }

    fn reset(&mut self) {
        self.rows.iter_mut().for_each(|row| row.fill(0));
    }

    fn count(&mut self, stream: &SketchStream) {
        for tuple in &stream.tuples {
            let address = Self::known_as(source(tuple));
            for row in 0..self.rows.len() {
                let place = self.place(row, address);
                self.rows[row][place] += 1;
            }
        }
    }

    fn bytes(&self) -> usize {
        self.rows.iter().map(|row| size_of_val(&**row)).sum::<usize>() + size_of_val(&*self.tables)
    }

    fn estimate(&self, key: &KeyV4) -> Option<f64> {
        let address = Self::known_as(source(&Tuple::from_v4(key)));
        (0..self.rows.len()).map(|row| self.rows[row][self.place(row, address)]).min().map(f64::from)
    }

    fn listed(&self, _: u64) -> Option<Vec<KeyV4>> {
        None
    }
}
