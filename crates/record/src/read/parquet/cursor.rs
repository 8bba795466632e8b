//! Reads a column of a row group, some rows at a time.

use super::super::columns::{ColumnSlot, InputColumns, NO_NODE};
use super::super::name::ColumnContent;
use super::super::{AddressColumn, text};
use super::column::{Encoding, ParquetColumn};
use flow::{NULL, float_bits};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{ByteArray, DataType, FixedLenByteArray};

/// A column, from its first row on.
pub(crate) struct Cursor<'a> {
    place: ColumnSlot,
    known: &'a ParquetColumn,
    /// The greatest number that the field can be.
    most: u64,
    reader: ColumnReader,
    /// The levels of the rows, which tell whether each has a value; empty if all have.
    levels: Vec<i16>,
    stored: StoredValues,
}

/// Values as they are stored.
#[derive(Default)]
struct StoredValues {
    i32: Vec<i32>,
    i64: Vec<i64>,
    f32: Vec<f32>,
    f64: Vec<f64>,
    bytes: Vec<ByteArray>,
    fixed: Vec<FixedLenByteArray>,
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(place: ColumnSlot, known: &'a ParquetColumn, reader: ColumnReader) -> Self {
        Self {
            place,
            known,
            most: known.name.most(),
            reader,
            levels: Vec::new(),
            stored: StoredValues::default(),
        }
    }

    /// Reads the next rows, as many as the columns are to have.
    pub(crate) fn read(&mut self, columns: &mut InputColumns) -> Result<(), String> {
        let named = |error: String| format!("column {}: {error}", self.known.column);
        let Self { place, known, reader, levels, stored, most } = self;
        let rows = columns.rows;
        levels.clear();
        let StoredValues { i32, i64, f32, f64, bytes, fixed } = stored;
        let read = match reader {
            ColumnReader::Int32ColumnReader(reader) => next(reader, rows, levels, i32),
            ColumnReader::Int64ColumnReader(reader) => next(reader, rows, levels, i64),
            ColumnReader::FloatColumnReader(reader) => next(reader, rows, levels, f32),
            ColumnReader::DoubleColumnReader(reader) => next(reader, rows, levels, f64),
            ColumnReader::ByteArrayColumnReader(reader) => next(reader, rows, levels, bytes),
            ColumnReader::FixedLenByteArrayColumnReader(reader) => next(reader, rows, levels, fixed),
            _ => Err("its type is none that is read".to_owned()),
        };
        read.map_err(named)?;
        let levels = if known.stored.is_optional { levels.as_slice() } else { &[] };
        let spread = ValueSpread { rows, levels };
        let filled = match place {
            ColumnSlot::Source | ColumnSlot::Destination => match columns.addresses_mut(place) {
                Some(addresses) => fill_addresses(addresses, known.stored.encoding, stored, spread),
                None => Ok(()),
            },
            ColumnSlot::Node => {
                let mut last: Option<(ByteArray, u32)> = None;
                let mut numbers = std::mem::take(&mut columns.node);
                let filled = spread.each(&stored.bytes, |name| {
                    let Some(name) = name else {
                        numbers.push(NO_NODE);
                        return Ok(());
                    };
                    if let Some((known, number)) = &last
                        && known.data() == name.data()
                    {
                        numbers.push(*number);
                        return Ok(());
                    }
                    let text = std::str::from_utf8(name.data()).map_err(|error| error.to_string())?;
                    let number = columns.node_number(text)?;
                    last = Some((name.clone(), number));
                    numbers.push(number);
                    Ok(())
                });
                columns.node = numbers;
                filled
            }
            place => match columns.numbers_mut(place) {
                Some(numbers) => fill_numbers(numbers, known, *most, stored, spread),
                None => Ok(()),
            },
        };
        filled.map_err(|error| format!("column {}: {error}", known.column))
    }
}

/// Reads values, and for each row whether it has one.
fn next<T: DataType>(
    reader: &mut ColumnReaderImpl<T>,
    rows: usize,
    levels: &mut Vec<i16>,
    values: &mut Vec<T::T>,
) -> Result<(), String> {
    values.clear();
    let mut read = 0;
    while read < rows {
        let records = reader.read_records(rows - read, Some(levels), None, values);
        match records.map_err(|error| error.to_string())? {
            (0, ..) => return Err("it has fewer values than the others".to_owned()),
            (records, ..) => read += records,
        }
    }
    Ok(())
}

/// The way in which values are spread over rows, some of which have none.
#[derive(Clone, Copy)]
struct ValueSpread<'a> {
    rows: usize,
    /// The levels of the rows; empty if all rows have values.
    levels: &'a [i16],
}

impl ValueSpread<'_> {
    /// Calls `take` with the value of each row.
    fn each<T>(
        self,
        values: &[T],
        mut take: impl FnMut(Option<&T>) -> Result<(), String>,
    ) -> Result<(), String> {
        const FEWER: &str = "it has fewer values than rows";
        if self.levels.is_empty() {
            let values = values.get(..self.rows).ok_or(FEWER)?;
            return values.iter().try_for_each(|value| take(Some(value)));
        }
        let mut values = values.iter();
        for level in self.levels {
            match level {
                0 => take(None)?,
                _ => take(Some(values.next().ok_or(FEWER)?))?,
            }
        }
        Ok(())
    }
}

fn fill_numbers(
    numbers: &mut Vec<u64>,
    known: &ParquetColumn,
    most: u64,
    stored: &StoredValues,
    spread: ValueSpread<'_>,
) -> Result<(), String> {
    numbers.reserve(spread.rows);
    let StoredValues { i32, i64, f32, f64, bytes, fixed } = stored;
    // Numbers that fill all bits have the form of none; all checks are of the whole column, so that the loops stay short.
    let mut greatest = 0;
    let mut is_negative = false;
    let mut put = |number: Option<u64>| {
        let number = number.unwrap_or(NULL);
        greatest = greatest.max(number.wrapping_add(1));
        numbers.push(number);
        Ok(())
    };
    match (known.stored.encoding, !i32.is_empty()) {
        (Encoding::Unsigned, true) => {
            spread.each(i32, |value| put(value.map(|value| u64::from(*value as u32))))?
        }
        (Encoding::Unsigned, false) => {
            spread.each(i64, |value| put(value.map(|value| value.cast_unsigned())))?
        }
        (Encoding::Integer, true) => spread.each(i32, |value| {
            is_negative |= value.is_some_and(|value| *value < 0);
            put(value.map(|value| u64::from(value.cast_unsigned())))
        })?,
        (Encoding::Integer, false) => spread.each(i64, |value| {
            is_negative |= value.is_some_and(|value| *value < 0);
            put(value.map(|value| value.cast_unsigned()))
        })?,
        (Encoding::Time(unit), _) => {
            let time = |value: i64| u64::try_from(value).ok().and_then(|value| value.checked_mul(unit));
            let mut put_time = |value: Option<i64>| match value.map(time) {
                None => put(None),
                Some(Some(time)) => put(Some(time)),
                Some(None) => Err("a time is before 1970 or after 2554".to_owned()),
            };
            match i32.is_empty() {
                true => spread.each(i64, |value| put_time(value.copied()))?,
                false => spread.each(i32, |value| put_time(value.map(|value| (*value).into())))?,
            }
        }
        (Encoding::Float, _) => {
            let mut put_float = |value: Option<f64>| {
                numbers.push(float_bits(value));
                Ok(())
            };
            return match f32.is_empty() {
                true => spread.each(f64, |value| put_float(value.copied())),
                false => spread.each(f32, |value| put_float(value.map(|value| (*value).into()))),
            };
        }
        (Encoding::Text | Encoding::Address, _) => {
            let is_mac = matches!(&known.name, ColumnContent::Field { field, .. } if matches!(field.value, flow::FieldAccessor::Mac(_)));
            let parse = if is_mac { text::mac } else { text::protocol };
            let put_text = |numbers: &mut Vec<u64>, text: Option<&[u8]>| {
                numbers.push(text.map_or(Ok(NULL), parse)?);
                Ok(())
            };
            return match bytes.is_empty() {
                false => spread.each(bytes, |text| put_text(numbers, text.map(ByteArray::data))),
                true => spread.each(fixed, |text| put_text(numbers, text.map(|text| text.data()))),
            };
        }
    }
    match (is_negative, greatest > most.saturating_add(1)) {
        (true, _) => Err("a number is negative".to_owned()),
        (_, true) => Err(format!("the number {} is greater than {most}", greatest - 1)),
        _ => Ok(()),
    }
}

fn fill_addresses(
    addresses: &mut AddressColumn,
    encoding: Encoding,
    stored: &StoredValues,
    spread: ValueSpread<'_>,
) -> Result<(), String> {
    let mut put = |bytes: Option<&[u8]>| {
        match (encoding, bytes) {
            (_, None) => addresses.push(None),
            (Encoding::Text, Some(text)) => addresses.push(text::address(text)?),
            (_, Some(bytes)) => match (<[u8; 16]>::try_from(bytes), <[u8; 4]>::try_from(bytes)) {
                (Ok(bytes), _) => addresses.push_mapped(u128::from_be_bytes(bytes)),
                (_, Ok(bytes)) => addresses.push_v4(u32::from_be_bytes(bytes)),
                _ => return Err(format!("an address has {} bytes, not 4 or 16", bytes.len())),
            },
        }
        Ok(())
    };
    let StoredValues { i32, i64, bytes, fixed, .. } = stored;
    match encoding {
        Encoding::Integer | Encoding::Unsigned if !i32.is_empty() => spread
            .each(i32, |value| put(value.map(|value| value.to_be_bytes()).as_ref().map(|bytes| &bytes[..]))),
        Encoding::Integer | Encoding::Unsigned => spread.each(i64, |value| {
            let address = value.map(|value| u32::try_from(*value).map(u32::to_be_bytes)).transpose();
            let address = address.map_err(|_| "a number is no IPv4 address".to_owned())?;
            put(address.as_ref().map(|bytes| &bytes[..]))
        }),
        _ if !fixed.is_empty() => spread.each(fixed, |value| put(value.map(|value| value.data()))),
        _ => spread.each(bytes, |value| put(value.map(ByteArray::data))),
    }
}
