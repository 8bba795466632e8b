//! The rows of a batch that an aggregate adds to the states of their groups.

use crate::rows::input::AggregateInput;
use crate::rows::owners::Owners;
use crate::rows::update::Collections;
use arrow_buffer::NullBuffer;
use flow::RowBatch;

/// Rows, the values that an aggregate reads of them, and their groups.
pub(crate) struct AddedRows<'a, K, O> {
    /// The first word of the aggregate's state.
    pub(crate) at: usize,
    pub(crate) batch: &'a RowBatch<K>,
    /// The numbers of the rows.
    pub(crate) rows: &'a [u32],
    /// The values of the nodes that the aggregate reads.
    pub(crate) inputs: &'a [Option<AggregateInput>; 2],
    pub(crate) owners: &'a mut O,
    /// The collections of values that states do not hold; `None` where each row is a group of its own, which needs none.
    pub(crate) collections: Option<&'a mut Collections>,
}

/// Works on the places and numbers of the rows that have values. A closure that both loops call would be called for each row, which takes 11
/// instructions.
macro_rules! each_with_value {
    ($rows:expr, $nulls:expr, |$place:ident, $row:ident| $work:expr) => {
        match $nulls {
            None => {
                for ($place, $row) in places($rows) {
                    $work;
                }
            }
            Some(nulls) => {
                for ($place, $row) in places($rows).filter(|(_, row)| nulls.is_valid(*row)) {
                    $work;
                }
            }
        }
    };
}

/// Methods that take the rows by value, so that a loop finds what it reads in registers.
impl<K, O: Owners> AddedRows<'_, K, O> {
    /// Calls `work` with the group's first word and the number of each row.
    #[inline(always)]
    pub(crate) fn each_word(self, mut work: impl FnMut(&mut u64, usize)) {
        let Self { at, rows, owners, .. } = self;
        places(rows).for_each(move |(place, row)| work(&mut owners.owner(place).0[at], row));
    }

    /// Calls `work` with the group's first word and the number of each row that has a value.
    #[inline(always)]
    pub(crate) fn each_word_of(self, nulls: Option<&NullBuffer>, mut work: impl FnMut(&mut u64, usize)) {
        let Self { at, rows, owners, .. } = self;
        each_with_value!(rows, nulls, |place, row| work(&mut owners.owner(place).0[at], row));
    }

    /// Calls `work` with the group's words and the number of each row.
    #[inline(always)]
    pub(crate) fn each_state(self, mut work: impl FnMut(&mut [u64], usize)) {
        let Self { at, rows, owners, .. } = self;
        places(rows).for_each(move |(place, row)| work(&mut owners.owner(place).0[at..], row));
    }

    /// Calls `work` with the group's words and the number of each row that has a value.
    #[inline(always)]
    pub(crate) fn each_state_of(self, nulls: Option<&NullBuffer>, mut work: impl FnMut(&mut [u64], usize)) {
        let Self { at, rows, owners, .. } = self;
        each_with_value!(rows, nulls, |place, row| work(&mut owners.owner(place).0[at..], row));
    }
}

/// Returns the places and numbers of all rows.
#[inline(always)]
pub(crate) fn places(rows: &[u32]) -> impl Iterator<Item = (usize, usize)> + '_ {
    rows.iter().map(|row| *row as usize).enumerate()
}
