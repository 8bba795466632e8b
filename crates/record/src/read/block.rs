//! Blocks of rows, and what is wanted of them.

use flow::{NULL, OpenFields, RowBatch, RowValue};
use packet::{KeyV4, KeyV6};
use std::sync::Arc;

/// The part of a file's rows that a reader wants.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReadProjection {
    /// The members of the key, by their names; the others are zero.
    pub members: Vec<&'static str>,
    /// The columns. [`RowValue::Time`] is the time at which a row counts.
    pub columns: Vec<RowValue>,
    /// True to list in blocks the fields that each row leaves open. Such a counter is 0 then, such a begin the end of the row, and other values stay null.
    pub open_fields: bool,
    /// True to list rows of samples among these, as rows that leave their sampling rate open, whether they tell it or not.
    pub samples: bool,
    /// True if a row that leaves an address open has a key. Otherwise it has none where other rows of the file tell that address.
    pub keeps_open: bool,
    /// True if rows without a time are of no use, and are passed over but in Parquet.
    pub needs_time: bool,
    /// The names of the statistics that [`RowValue::Statistic`] numbers.
    pub statistics: Vec<String>,
}

/// A row that is of no flow: of the record `other`, whose packets found no place in a table, or of a file of another program one that does not tell
/// its key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WithoutKey {
    /// The time at which the row counts, nanoseconds since the epoch, where that is wanted and the row has it.
    pub time_ns: Option<u64>,
    /// The number of packets of the row.
    pub packets: u64,
    /// The number of layer-3 bytes.
    pub bytes: u64,
    /// Bytes of the frames on the wire; [`NULL`] where they are wanted and the row does not tell them.
    pub wire_bytes: u64,
    /// The times of its first and its last packet, nanoseconds since the epoch, where they are wanted and the row has them.
    pub times: [Option<u64>; 2],
}

impl WithoutKey {
    /// Returns the values of a row without a key; `value` gives its number in a column, `None` where that is not wanted.
    pub fn from_values(value: impl Fn(RowValue) -> Option<u64>) -> Self {
        let told = |column| value(column).filter(|number| *number != NULL);
        Self {
            time_ns: told(RowValue::Time),
            packets: told(RowValue::Packets).unwrap_or(0),
            bytes: told(RowValue::Bytes).unwrap_or(0),
            wire_bytes: value(RowValue::WireBytes).unwrap_or(0),
            times: [told(RowValue::First), told(RowValue::Last)],
        }
    }
}

/// A block: rows of one observation point.
#[derive(Clone, Debug, Default)]
pub struct RowBlock {
    /// The observation point, where the file names it.
    pub node: Option<Arc<str>>,
    /// Rows of IPv4, and of both families where no address is wanted.
    pub v4: RowBatch<KeyV4>,
    /// Rows of IPv6.
    pub v6: RowBatch<KeyV6>,
    /// Rows that are in neither; what is not wanted of them is zero.
    pub without_key: Vec<WithoutKey>,
    /// The fields that each row of IPv4, and each of IPv6, leaves open, where that is wanted. Empty if none leaves any open.
    pub open: [Vec<OpenFields>; 2],
}

impl RowBlock {
    /// Returns the fields that a row of IPv4 leaves open.
    pub fn open_v4(&self, at: usize) -> OpenFields {
        self.open[0].get(at).copied().unwrap_or_default()
    }

    /// Returns the fields that a row of IPv6 leaves open.
    pub fn open_v6(&self, at: usize) -> OpenFields {
        self.open[1].get(at).copied().unwrap_or_default()
    }
}
