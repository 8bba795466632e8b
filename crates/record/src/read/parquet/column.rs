//! A column as a Parquet file stores it.

use super::super::schema;

/// A column of the file that has a meaning.
pub(crate) type ParquetColumn = schema::MappedColumn<ColumnStorage>;

/// The form in which a column is stored.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ColumnStorage {
    pub(crate) encoding: Encoding,
    pub(crate) is_optional: bool,
}

/// The way in which values are made of what is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Encoding {
    /// An integer; a negative one is refused.
    Integer,
    /// An integer, all of whose bits are the number.
    Unsigned,
    /// A time: nanoseconds in a unit.
    Time(u64),
    /// A floating point number.
    Float,
    /// Text.
    Text,
    /// An address of 4 or 16 bytes.
    Address,
}
