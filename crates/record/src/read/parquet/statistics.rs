//! The range of a column in a row group, by the statistics of the file.

use super::super::ValueRange;
use super::column::{Encoding, ParquetColumn};
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::statistics::Statistics;

/// The values from the least to the greatest; `None` where the file does not tell them, or tells nonsense.
pub(crate) fn range(column: &ColumnChunkMetaData, known: &ParquetColumn) -> Option<ValueRange> {
    let number = |signed: i64, bits: u32| match known.stored.encoding {
        Encoding::Unsigned if bits == 32 => Some(u64::from(signed as u32)),
        Encoding::Unsigned => Some(signed.cast_unsigned()),
        Encoding::Integer => u64::try_from(signed).ok(),
        Encoding::Time(unit) => u64::try_from(signed).ok()?.checked_mul(unit),
        _ => None,
    };
    let is_address = known.stored.encoding == Encoding::Address;
    let statistics = column.statistics()?;
    // A null is in no range, though in keys it is a 0.
    if known.stored.is_optional && statistics.null_count_opt() != Some(0) {
        return None;
    }
    match statistics {
        Statistics::Int32(values) if !is_v4_number(known) => {
            let of = |value: &i32| number(i64::from(*value), 32);
            ordered(of(values.min_opt()?)?, of(values.max_opt()?)?)
        }
        Statistics::Int64(values) if !is_v4_number(known) => {
            ordered(number(*values.min_opt()?, 64)?, number(*values.max_opt()?, 64)?)
        }
        Statistics::FixedLenByteArray(values)
            if is_address && values.min_is_exact() && values.max_is_exact() =>
        {
            let of = |bytes: &[u8]| bytes.try_into().ok().map(u128::from_be_bytes);
            let (least, greatest) = (of(values.min_opt()?.data())?, of(values.max_opt()?.data())?);
            (least <= greatest).then_some(ValueRange::Addresses(least, greatest))
        }
        _ => None,
    }
}

/// Returns true if some row has a value, as far as it is known. An empty text is none.
pub(crate) fn tells_values(column: &ColumnChunkMetaData, known: &ParquetColumn) -> bool {
    // Where all are null there is no greatest one. That of texts may be cut off, and is empty only where all are.
    let greatest = column.statistics().and_then(|statistics| statistics.max_bytes_opt());
    let is_text = known.stored.encoding == Encoding::Text;
    let is_required = !known.stored.is_optional && !is_text && column.num_values() > 0;
    is_required || greatest.is_some_and(|greatest| !is_text || !greatest.is_empty())
}

fn is_v4_number(known: &ParquetColumn) -> bool {
    matches!(&known.name, super::super::name::ColumnContent::Field { field, .. } if matches!(field.value, flow::FieldAccessor::Address(_)))
        && known.stored.encoding != Encoding::Address
}

fn ordered(least: u64, greatest: u64) -> Option<ValueRange> {
    (least <= greatest).then_some(ValueRange::Numbers(least, greatest))
}
