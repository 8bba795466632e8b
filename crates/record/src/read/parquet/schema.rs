//! The way in which a Parquet file stores its columns.

use super::super::contents::{Contents, FilePart};
use super::super::name::ColumnContent;
use super::super::schema::{self, SAMPLING_RATE};
use super::super::{ValueRange, WithoutKey};
use super::column::{ColumnStorage, Encoding};
use super::statistics;
use crate::{RecordedWindows, Shortfall};
use packet::KeySpec;
use parquet::basic::{ConvertedType, LogicalType, TimeUnit, Type as Physical};
use parquet::file::metadata::{FileMetaData, RowGroupMetaData};
use parquet::schema::types::ColumnDescriptor;

/// The columns that are known.
pub(crate) type ParquetSchema = schema::Schema<ColumnStorage>;
/// Returns the columns that are known, and what the file contains.
pub(crate) fn read(metadata: &FileMetaData) -> (ParquetSchema, Contents) {
    let entry = |name: &str| {
        let entries = metadata.key_value_metadata()?;
        entries.iter().find(|entry| entry.key == name)?.value.clone()
    };
    let columns = metadata.schema_descr().columns();
    let names: Vec<String> = columns.iter().map(|column| column.path().string()).collect();
    let stored = |number: usize, name: &ColumnContent| {
        let descriptor = &columns[number];
        let is_optional = descriptor.max_def_level() != 0;
        Ok(ColumnStorage { encoding: encoding(name, descriptor)?, is_optional })
    };
    let key = entry("edison.key").and_then(|key| KeySpec::parse(&key).ok());
    let (mut schema, mut contents) = ParquetSchema::from_names(names.iter().map(String::as_str), stored, key);
    contents.window_ns = entry("edison.window_ns").and_then(|length| length.parse().ok());
    contents.windows = entry("edison.windows")
        .and_then(|text| RecordedWindows::from_json(&text))
        .filter(|windows| contents.has_windows && contents.window_ns == Some(windows.length_ns));
    contents.without_place = entry("edison.without_place").and_then(|text| {
        let mut numbers = text.split(',').map(str::parse);
        let mut next = || numbers.next()?.ok();
        let [packets, bytes, wire_bytes] = [next()?, next()?, next()?];
        Some(WithoutKey { packets, bytes, wire_bytes, ..WithoutKey::default() })
    });
    contents.node =
        entry("edison.node").filter(|_| schema.columns.iter().any(|known| known.name.is_field("node_id")));
    contents.shortfall = Shortfall::from_entries(|name| entry(&format!("edison.{name}")));
    if let Some(share) = entry("edison.sampling_share") {
        contents.sampled_by(&share);
    }
    if contents.shortfall.estimates.is_some() {
        // It says more of the same.
        schema.columns.retain(|known| !known.name.is_field(SAMPLING_RATE));
    }
    (schema, contents)
}

/// Returns what is known of a row group.
pub(crate) fn part(schema: &ParquetSchema, group: &RowGroupMetaData) -> FilePart {
    let mut part = FilePart {
        rows: u64::try_from(group.num_rows()).ok(),
        bytes: u64::try_from(group.compressed_size()).unwrap_or(0),
        ..FilePart::default()
    };
    // Of two directions in one record, the statistics are of one.
    if schema.has_reverse() {
        return part;
    }
    for known in &schema.columns {
        let Some(range) =
            group.columns().get(known.number).and_then(|column| statistics::range(column, known))
        else {
            continue;
        };
        if let (true, ValueRange::Numbers(first, last)) = (known.name.is_time(schema.has_windows), range) {
            part.times = Some([first, last]);
        }
        if let ColumnContent::Field { field, .. } = &known.name {
            part.ranges.push((field.name, range));
        }
    }
    part
}

/// Returns true if statistics tell that rows of a group have a value of this field.
pub(crate) fn tells(schema: &ParquetSchema, group: &RowGroupMetaData, name: &str) -> bool {
    let mut columns = schema.columns.iter().filter(|known| known.name.is_field(name));
    columns.any(|known| {
        group.columns().get(known.number).is_some_and(|column| statistics::tells_values(column, known))
    })
}

/// Returns how a column's values are read, or the type that cannot be.
fn encoding(name: &ColumnContent, column: &ColumnDescriptor) -> Result<Encoding, String> {
    let kind = || match column.logical_type_ref() {
        Some(logical) => format!("{:?}", logical),
        None => format!("{:?}", column.physical_type()),
    };
    if column.max_rep_level() != 0 || column.path().parts().len() != 1 {
        return Err("nested".to_owned());
    }
    let is_text = matches!(column.logical_type_ref(), Some(LogicalType::String))
        || column.converted_type() == ConvertedType::UTF8;
    let integer = match column.physical_type() {
        Physical::INT32 | Physical::INT64 => {
            Some(match (column.logical_type_ref(), column.converted_type()) {
                (Some(LogicalType::Timestamp(timestamp)), _) => Encoding::Time(match timestamp.unit {
                    TimeUnit::MILLIS => 1_000_000,
                    TimeUnit::MICROS => 1_000,
                    TimeUnit::NANOS => 1,
                }),
                (_, ConvertedType::TIMESTAMP_MILLIS) => Encoding::Time(1_000_000),
                (_, ConvertedType::TIMESTAMP_MICROS) => Encoding::Time(1_000),
                (
                    _,
                    ConvertedType::UINT_8
                    | ConvertedType::UINT_16
                    | ConvertedType::UINT_32
                    | ConvertedType::UINT_64,
                ) => Encoding::Unsigned,
                (Some(LogicalType::Integer(integer)), _) if !integer.is_signed => Encoding::Unsigned,
                (None | Some(LogicalType::Integer(_)), _) => Encoding::Integer,
                _ => return Err(kind()),
            })
        }
        _ => None,
    };
    let is_bytes = matches!(column.physical_type(), Physical::BYTE_ARRAY | Physical::FIXED_LEN_BYTE_ARRAY);
    let is_float = matches!(column.physical_type(), Physical::FLOAT | Physical::DOUBLE);
    let fits = |encoding: Option<Encoding>| encoding.ok_or_else(kind);
    match name {
        ColumnContent::WindowStart => fits(integer.map(as_time)),
        ColumnContent::Field { field, .. } => match field.value {
            flow::FieldAccessor::Address(_) if is_text => Ok(Encoding::Text),
            flow::FieldAccessor::Address(_) if is_bytes => Ok(Encoding::Address),
            // IPv4 as a number.
            flow::FieldAccessor::Address(_) => {
                fits(integer.filter(|of| matches!(of, Encoding::Integer | Encoding::Unsigned)))
            }
            flow::FieldAccessor::Mac(_) => fits(is_bytes.then_some(Encoding::Text)),
            flow::FieldAccessor::Node => {
                fits((column.physical_type() == Physical::BYTE_ARRAY).then_some(Encoding::Text))
            }
            flow::FieldAccessor::Time(_) => fits(integer.map(as_time)),
            _ if field.name == "protocol" && is_bytes => Ok(Encoding::Text),
            _ => fits(integer.filter(|of| matches!(of, Encoding::Integer | Encoding::Unsigned))),
        },
        ColumnContent::Statistic { .. } => fits(is_float.then_some(Encoding::Float)),
        ColumnContent::IpVersion => {
            fits(integer.filter(|of| matches!(of, Encoding::Integer | Encoding::Unsigned)))
        }
        ColumnContent::NoRowValue | ColumnContent::Unknown => Ok(Encoding::Integer),
    }
}

/// A number without a unit is of nanoseconds.
fn as_time(integer: Encoding) -> Encoding {
    if matches!(integer, Encoding::Time(_)) { integer } else { Encoding::Time(1) }
}
