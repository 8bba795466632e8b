//! Count-Min as published: a hash function for each row, packet by packet.

use super::contender::Contender;
use super::stream::SketchStream;
use crate::murmur3::{library_murmur3, murmur3};
use crate::tuple::Tuple;
use packet::KeyV4;

/// Rows.
const DEPTH: usize = 3;

/// Three rows by three murmur3 with other seeds. As a program calls it: a function for bytes of any number, and the hash modulo the
/// width; or `TUNED`: compiled for 13 bytes into the loop, for widths that are a power of two.
pub(super) struct PlainCountMin<const TUNED: bool> {
    rows: [Vec<u32>; DEPTH],
}

impl<const TUNED: bool> PlainCountMin<TUNED> {
    pub(super) fn new(width: usize) -> Self {
        assert!(width.is_power_of_two());
        Self { rows: std::array::from_fn(|_| vec![0; width]) }
    }

    #[inline(always)]
    fn places(&self, tuple: &Tuple) -> [usize; DEPTH] {
        std::array::from_fn(|row| {
            let (width, seed) = (self.rows[row].len(), row as u32 + 1);
            if TUNED {
                murmur3(tuple.bytes(), seed) as usize & (width - 1)
            } else {
                (library_murmur3(tuple.bytes(), seed) % width as u32) as usize
            }
        })
    }
}

impl<const TUNED: bool> Contender for PlainCountMin<TUNED> {
    fn name(&self) -> &'static str {
        if TUNED { "tuned_three_murmur3" } else { "plain_three_murmur3" }
    }

    fn is_baseline(&self) -> bool {
        true
    }

    fn reset(&mut self) {
        self.rows.iter_mut().for_each(|row| row.fill(0));
    }

    fn count(&mut self, stream: &SketchStream) {
        for tuple in &stream.tuples {
            let places = self.places(tuple);
            for (row, place) in self.rows.iter_mut().zip(places) {
                row[place] += 1;
            }
        }
    }

    fn bytes(&self) -> usize {
        self.rows.iter().map(|row| size_of_val(&**row)).sum()
    }

    fn estimate(&self, key: &KeyV4) -> Option<f64> {
        let places = self.places(&Tuple::from_v4(key));
        self.rows.iter().zip(places).map(|(row, place)| row[place]).min().map(f64::from)
    }

    fn listed(&self, _: u64) -> Option<Vec<KeyV4>> {
        None
    }
}
