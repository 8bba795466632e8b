//! Count-Min as it is written down: a hash function for each row, one packet after the other.

use super::contender::Contender;
use super::stream::Stream;
use crate::murmur3::murmur3;
use crate::tuple::Tuple;
use packet::KeyV4;

/// Rows.
const DEPTH: usize = 3;

/// Three rows by three murmur3 with other seeds, of a width that is a power of two (no division).
pub(super) struct PlainCountMin {
    rows: [Vec<u32>; DEPTH],
}

impl PlainCountMin {
    pub(super) fn new(width: usize) -> Self {
        assert!(width.is_power_of_two());
        Self { rows: std::array::from_fn(|_| vec![0; width]) }
    }

    #[inline(always)]
    fn places(&self, tuple: &Tuple) -> [usize; DEPTH] {
        std::array::from_fn(|row| {
            murmur3(tuple.bytes(), row as u32 + 1) as usize & (self.rows[row].len() - 1)
        })
    }
}

impl Contender for PlainCountMin {
    fn name(&self) -> &'static str {
        "plain_three_murmur3"
    }

    fn reset(&mut self) {
        self.rows.iter_mut().for_each(|row| row.fill(0));
    }

    fn count(&mut self, stream: &Stream) {
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
        let places = self.places(&Tuple::of(key));
        self.rows.iter().zip(places).map(|(row, place)| row[place]).min().map(f64::from)
    }

    fn listed(&self, _: u64) -> Option<Vec<KeyV4>> {
        None
    }
}
