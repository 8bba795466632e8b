//! Values of Parquet columns that are made of bytes, and how columns of stored files are encoded.

use crate::FileColumn;
use crate::parquet_file::{BATCH, CREATED_BY, DICTIONARY};
use flow::FlowRecord;
use parquet::basic::{Compression, Encoding, LogicalType, Repetition, Type as Physical};
use parquet::column::writer::ColumnWriterImpl;
use parquet::data_type::{ByteArray, DataType};
use parquet::errors::Result;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::schema::types::{ColumnPath, Type};
use std::net::IpAddr;

/// The relevant bits of an address as 16 bytes, of IPv4 and of IPv6.
#[derive(Clone, Copy)]
pub(crate) struct Masks {
    v4: u128,
    v6: u128,
}

impl Masks {
    /// Returns the masks of a column.
    pub(crate) fn from_column(column: &FileColumn) -> Self {
        Self::new(column.prefix_lengths().unwrap_or([32, 128]))
    }

    /// Returns the masks of prefixes of these lengths.
    fn new([v4, v6]: [u8; 2]) -> Self {
        let prefix = |length: u8| u128::MAX.checked_shl(128 - u32::from(length)).unwrap_or(0);
        Self { v4: prefix(96 + v4), v6: prefix(v6) }
    }

    /// The relevant bits of an address.
    #[inline]
    pub(crate) fn apply(self, address: IpAddr) -> u128 {
        match address {
            IpAddr::V4(address) => address.to_ipv6_mapped().to_bits() & self.v4,
            IpAddr::V6(address) => address.to_bits() & self.v6,
        }
    }
}

/// Writes values of `N` bytes, which `format` returns.
pub(crate) fn write_bytes<T, V, const N: usize>(
    writer: &mut ColumnWriterImpl<'_, T>,
    levels: &[i16],
    values: &[V],
    format: impl Fn(V) -> [u8; N],
) -> Result<()>
where
    T: DataType,
    T::T: From<ByteArray>,
    V: Copy,
{
    let mut rest = values;
    let mut batch = Vec::with_capacity(BATCH);
    for levels in levels.chunks(BATCH) {
        let (now, later) = rest.split_at(levels.iter().filter(|level| **level != 0).count());
        rest = later;
        // The values share it, and free it with the last of them.
        let mut bytes = Vec::with_capacity(now.len() * N);
        now.iter().for_each(|value| bytes.extend_from_slice(&format(*value)));
        let bytes = ByteArray::from(bytes);
        batch.clear();
        batch.extend((0..now.len()).map(|at| T::T::from(bytes.slice(at * N, N))));
        writer.write_batch(&batch, Some(levels), None)?;
    }
    Ok(())
}

/// Returns 4 or 6, the IP version of the record; `None` if the key has no address.
pub(crate) fn ip_version(record: &FlowRecord) -> Option<u64> {
    let key = record.key?;
    key.src_addr.or(key.dst_addr).map(|address| if address.is_ipv4() { 4 } else { 6 })
}

/// Returns the properties of files that many queries read: their columns are written with ranges, by which readers skip row groups and files.
pub(crate) fn ranged_properties(schema: &Type, metadata: Vec<KeyValue>) -> WriterProperties {
    let mut properties = WriterProperties::builder()
        .set_created_by(CREATED_BY.to_owned())
        .set_key_value_metadata(Some(metadata))
        .set_compression(Compression::SNAPPY)
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_dictionary_page_size_limit(DICTIONARY)
        .set_offset_index_disabled(true);
    for column in schema.get_fields() {
        let path = ColumnPath::from(column.name());
        let basic = column.get_basic_info();
        let is_required = basic.repetition() == Repetition::REQUIRED;
        match (column.get_physical_type(), basic.logical_type_ref()) {
            // Times: nearly all distinct, and close to one another.
            (Physical::INT64, None) => {
                properties = properties
                    .set_column_dictionary_enabled(path.clone(), false)
                    .set_column_encoding(path, Encoding::DELTA_BINARY_PACKED);
            }
            (Physical::FIXED_LEN_BYTE_ARRAY, _) => {
                properties = properties.set_column_dictionary_enabled(path, false);
            }
            // Sequence numbers, whose range is meaningless.
            (Physical::INT32, Some(LogicalType::Integer(integer)))
                if is_required && integer.bit_width == 32 =>
            {
                properties = properties
                    .set_column_dictionary_enabled(path.clone(), false)
                    .set_column_statistics_enabled(path, EnabledStatistics::None);
            }
            // MAC addresses; the node's name is there in each row.
            (Physical::BYTE_ARRAY, _) if !is_required => {
                properties = properties.set_column_statistics_enabled(path, EnabledStatistics::None);
            }
            _ => {}
        }
    }
    properties.build()
}
