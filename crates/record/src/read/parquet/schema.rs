//! What the columns of a Parquet file mean.

use super::super::columns::Place;
use super::super::contents::{Contents, Part};
use super::super::name::Name;
use super::super::{Range, Wanted};
use super::statistics;
use flow::{Aggregation, Field, Part as RunPart, RowValue};
use packet::KeySpec;
use parquet::basic::{ConvertedType, LogicalType, TimeUnit, Type as Physical};
use parquet::file::metadata::{FileMetaData, RowGroupMetaData};
use parquet::schema::types::ColumnDescriptor;

/// The columns that are known.
#[derive(Debug)]
pub(crate) struct Schema {
    columns: Vec<Known>,
    has_windows: bool,
}

/// A column of the file that has a meaning.
#[derive(Clone, Debug)]
pub(crate) struct Known {
    /// Its number in the file.
    pub(crate) number: usize,
    pub(crate) column: String,
    pub(crate) name: Name,
    pub(crate) encoding: Encoding,
    pub(crate) is_optional: bool,
}

/// How values are made of what is stored.
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

impl Schema {
    pub(crate) fn of(metadata: &FileMetaData) -> (Self, Contents) {
        let entry = |name: &str| {
            let entries = metadata.key_value_metadata()?;
            entries.iter().find(|entry| entry.key == name)?.value.clone()
        };
        let mut contents = Contents::default();
        let mut columns: Vec<Known> = Vec::new();
        for (number, descriptor) in metadata.schema_descr().columns().iter().enumerate() {
            let column = descriptor.path().string();
            let name = Name::of(&column);
            let is_known = |known: &Known| known.name == name;
            match (&name, encoding(&name, descriptor)) {
                (Name::NoRowValue, _) => {}
                (Name::Unknown, _) => contents.unread.push((column, "it is no field".to_owned())),
                (_, Err(kind)) => contents.unread.push((column, format!("its type is {kind}"))),
                _ if columns.iter().any(is_known) => {
                    contents.unread.push((column, "another column is the same field".to_owned()));
                }
                (_, Ok(encoding)) => {
                    let is_optional = descriptor.max_def_level() != 0;
                    columns.push(Known { number, column, name, encoding, is_optional });
                }
            }
        }
        let members: Vec<&str> = columns.iter().filter_map(|known| member(&known.name)).collect();
        let named = entry("edison.key").and_then(|key| KeySpec::parse(&key).ok());
        let has = |key: &KeySpec| {
            key.columns().all(|member| columns.iter().any(|known| is_field(&known.name, member)))
        };
        contents.key = match named.filter(has) {
            Some(key) => key,
            None => KeySpec::parse(&members.join(",")).unwrap_or_default(),
        };
        contents.has_windows = columns.iter().any(|known| known.name == Name::WindowStart);
        contents.window_ns = entry("edison.window_ns").and_then(|length| length.parse().ok());
        contents.node =
            entry("edison.node").filter(|_| columns.iter().any(|known| is_field(&known.name, "node_id")));
        for known in &columns {
            match &known.name {
                Name::Field { field, is_reverse: false } => {
                    if member(&known.name).is_none_or(|member| !contents.key.columns().any(|of| of == member))
                    {
                        contents.fields.insert(field.name);
                    }
                    contents.tracks_loss |= field.part == RunPart::Loss;
                }
                Name::Statistic { statistic, is_reverse: false } => {
                    contents.statistics.push(statistic.to_string())
                }
                _ => {}
            }
        }
        let has_windows = contents.has_windows;
        (Self { columns, has_windows }, contents)
    }

    /// The columns of the file that are wanted, and where their values go.
    pub(crate) fn places<'a>(
        &'a self,
        wanted: &'a Wanted,
        reads_node: bool,
    ) -> impl Iterator<Item = (Place, &'a Known)> + 'a {
        let of = |name: &'a str| self.columns.iter().find(move |known| is_field(&known.name, name));
        let members = wanted.members.iter().filter_map(move |member| Some((place_of(member)?, of(member)?)));
        let value = move |column: &RowValue, is_reverse: bool| {
            self.columns.iter().find(|known| match &known.name {
                Name::WindowStart => *column == RowValue::Time && self.has_windows,
                Name::Field { field, is_reverse: of } => {
                    let is_time =
                        *column == RowValue::Time && !self.has_windows && field.row == RowValue::Last;
                    *of == is_reverse && (field.row == *column || is_time)
                }
                Name::Statistic { statistic, is_reverse: of } => match column {
                    RowValue::Statistic(at) => {
                        let name = wanted.statistics.get(usize::from(*at));
                        *of == is_reverse && name.is_some_and(|name| *name == statistic.to_string())
                    }
                    _ => false,
                },
                _ => false,
            })
        };
        let values = wanted.columns.iter().enumerate();
        let values = values.filter_map(move |(at, column)| Some((Place::Value(at), value(column, false)?)));
        let marks = self.columns.iter().find(|known| {
            matches!(&known.name, Name::Field { field, is_reverse: true } if field.row == RowValue::Packets)
        });
        let reverse = wanted.columns.iter().enumerate().filter(move |_| marks.is_some());
        let reverse =
            reverse.filter_map(move |(at, column)| Some((Place::Reverse(at), value(column, true)?)));
        let marks = marks.map(|known| (Place::HasReverse, known));
        let node = of("node_id").filter(|_| reads_node).map(|known| (Place::Node, known));
        members.chain(values).chain(reverse).chain(marks).chain(node)
    }

    /// What is known of a row group.
    pub(crate) fn part(&self, group: &RowGroupMetaData) -> Part {
        let mut part = Part {
            rows: u64::try_from(group.num_rows()).ok(),
            bytes: u64::try_from(group.compressed_size()).unwrap_or(0),
            ..Part::default()
        };
        for known in &self.columns {
            let Some(range) =
                group.columns().get(known.number).and_then(|column| statistics::range(column, known))
            else {
                continue;
            };
            let is_time = match &known.name {
                Name::WindowStart => true,
                Name::Field { field, is_reverse: false } => field.row == RowValue::Last && !self.has_windows,
                _ => false,
            };
            if let (true, Range::Numbers(first, last)) = (is_time, range) {
                part.times = Some([first, last]);
            }
            if let Name::Field { field, is_reverse: false } = &known.name {
                part.ranges.push((field.name, range));
            }
        }
        // Of two directions in one record, the statistics are of one.
        if self.columns.iter().any(|known| matches!(known.name, Name::Field { is_reverse: true, .. })) {
            part.ranges.clear();
            part.times = None;
        }
        part
    }
}

/// The member of a key that a column may be.
fn member(name: &Name) -> Option<&'static str> {
    match name {
        Name::Field { field, is_reverse: false } if field.aggregation == Aggregation::Key => Some(field.name),
        _ => None,
    }
}

fn is_field(name: &Name, wanted: &str) -> bool {
    matches!(name, Name::Field { field, is_reverse: false } if field.name == wanted)
}

fn place_of(member: &str) -> Option<Place> {
    Some(match member {
        "src_addr" => Place::Source,
        "dst_addr" => Place::Destination,
        "src_port" => Place::SourcePort,
        "dst_port" => Place::DestinationPort,
        "protocol" => Place::Protocol,
        "vlan" => Place::Vlan,
        "ip_tos" => Place::Tos,
        _ => return None,
    })
}

/// How a column's values are read, or the type that cannot be.
fn encoding(name: &Name, column: &ColumnDescriptor) -> Result<Encoding, String> {
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
        Name::WindowStart => fits(integer.map(as_time)),
        Name::Field { field, .. } => match field.value {
            flow::Value::Address(_) if is_text => Ok(Encoding::Text),
            flow::Value::Address(_) if is_bytes => Ok(Encoding::Address),
            // IPv4 as a number.
            flow::Value::Address(_) => {
                fits(integer.filter(|of| matches!(of, Encoding::Integer | Encoding::Unsigned)))
            }
            flow::Value::Mac(_) | flow::Value::Node => fits(is_bytes.then_some(Encoding::Text)),
            flow::Value::Time(_) => fits(integer.map(as_time)),
            _ if field.name == "protocol" && is_bytes => Ok(Encoding::Text),
            _ => fits(integer.filter(|of| matches!(of, Encoding::Integer | Encoding::Unsigned))),
        },
        Name::Statistic { .. } => fits(is_float.then_some(Encoding::Float)),
        Name::NoRowValue | Name::Unknown => Ok(Encoding::Integer),
    }
}

/// A number without a unit is of nanoseconds.
fn as_time(integer: Encoding) -> Encoding {
    if matches!(integer, Encoding::Time(_)) { integer } else { Encoding::Time(1) }
}

/// The field whose rows a column has, for what is said of its values.
pub(crate) fn most(field: Option<&Field>) -> u64 {
    match field.map(|field| field.value) {
        Some(flow::Value::Unsigned(bits, _) | flow::Value::Optional(bits, _)) if bits < 64 => (1 << bits) - 1,
        _ => u64::MAX - 1,
    }
}
