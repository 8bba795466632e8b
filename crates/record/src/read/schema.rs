//! The meaning of the columns of a file, and the places where their values go.

use super::block::ReadProjection;
use super::columns::ColumnSlot;
use super::contents::Contents;
use super::name::ColumnContent;
use flow::{Aggregation, Field, FieldAccessor, RowValue};
use packet::KeySpec;

/// The field that tells whether a record is a sample.
pub(crate) const SAMPLING_RATE: &str = "sampling_rate";

/// The columns of a file that are known. `S` tells how the format stores the values of one.
#[derive(Debug)]
pub(crate) struct Schema<S> {
    pub(crate) columns: Vec<MappedColumn<S>>,
    pub(crate) has_windows: bool,
    key: KeySpec,
}

/// A column of the file that has a meaning.
#[derive(Clone, Debug)]
pub(crate) struct MappedColumn<S> {
    /// The number of the column in the file.
    pub(crate) number: usize,
    pub(crate) column: String,
    pub(crate) name: ColumnContent,
    pub(crate) stored: S,
}

impl<S> Schema<S> {
    /// Returns the schema of the columns of a file in their order, and the contents of the file; `stored` tells how the values of one are
    /// stored, or the type that cannot be read. `key` is what the file itself tells of its keys.
    pub(crate) fn from_names<'a>(
        names: impl IntoIterator<Item = &'a str>,
        stored: impl Fn(usize, &ColumnContent) -> Result<S, String>,
        key: Option<KeySpec>,
    ) -> (Self, Contents) {
        let mut contents = Contents::default();
        let mut columns: Vec<MappedColumn<S>> = Vec::new();
        let mut tells_end = false;
        for (number, column) in names.into_iter().enumerate() {
            let name = ColumnContent::parse(column);
            tells_end |= column.eq_ignore_ascii_case("end_reason");
            let column = column.to_owned();
            let is_known = |known: &MappedColumn<S>| known.name == name;
            match (&name, stored(number, &name)) {
                (ColumnContent::NoRowValue, _) | (ColumnContent::IpVersion, Err(_)) => {}
                (ColumnContent::Unknown, _) => contents.unread.push((column, "it is no field".to_owned())),
                (_, Err(kind)) => contents.unread.push((column, format!("its type is {kind}"))),
                _ if columns.iter().any(is_known) => {
                    contents.unread.push((column, "another column is the same field".to_owned()));
                }
                (_, Ok(stored)) => columns.push(MappedColumn { number, column, name, stored }),
            }
        }
        let members: Vec<&str> = columns.iter().filter_map(|known| known.name.member()).collect();
        let has = |key: &KeySpec| {
            key.columns().all(|member| columns.iter().any(|known| known.name.is_field(member)))
        };
        contents.key = match key.filter(has) {
            Some(key) => key,
            None if members.is_empty() => KeySpec::NOTHING,
            None => KeySpec::parse(&members.join(",")).unwrap_or(KeySpec::NOTHING),
        };
        contents.has_windows = columns.iter().any(|known| known.name == ColumnContent::WindowStart);
        for known in &columns {
            match &known.name {
                ColumnContent::Field { field, is_reverse: false } => {
                    if !contents.key.columns().any(|member| member == field.name) {
                        contents.fields.insert(field.name);
                    }
                    contents.tracked.add(field.part);
                }
                ColumnContent::Statistic { statistic, is_reverse: false } => {
                    contents.statistics.push(statistic.to_string())
                }
                _ => {}
            }
        }
        // Other programs have neither of them.
        contents.is_measured = tells_end && contents.fields.contains("node_id");
        let (has_windows, key) = (contents.has_windows, contents.key);
        (Self { columns, has_windows, key }, contents)
    }

    /// The columns that are wanted, and where their values go.
    pub(crate) fn places(
        &self,
        wanted: &ReadProjection,
        reads_node: bool,
    ) -> Vec<(ColumnSlot, &MappedColumn<S>)> {
        let has_reverse = self.columns.iter().any(|known| known.name.marks_reverse());
        let is_wanted = |place: &ColumnSlot| match place {
            ColumnSlot::Reverse(_) | ColumnSlot::HasReverse => has_reverse,
            ColumnSlot::Node => reads_node,
            _ => true,
        };
        let mut found = Vec::new();
        for known in &self.columns {
            let places = known.name.places(wanted, self.has_windows).into_iter().filter(is_wanted);
            found.extend(places.map(|place| (place, known)));
            // A member of the key, which both directions share.
            if let ColumnContent::Field { field, is_reverse: false } = &known.name
                && has_reverse
                && self.key.columns().any(|member| member == field.name)
            {
                let shared = wanted.columns.iter().enumerate();
                let shared =
                    shared.filter(|(_, column)| **column == field.row && !matches!(column, RowValue::Key));
                found.extend(shared.map(|(at, _)| (ColumnSlot::Reverse(at), known)));
            }
        }
        // Where records have no times of the other direction, it counts when the record does.
        let time = wanted.columns.iter().position(|column| *column == RowValue::Time).filter(|_| has_reverse);
        if let Some(at) = time
            && !found.iter().any(|(place, _)| *place == ColumnSlot::Reverse(at))
            && let Some(known) =
                found.iter().find_map(|(place, known)| (*place == ColumnSlot::Value(at)).then_some(*known))
        {
            found.push((ColumnSlot::Reverse(at), known));
        }
        found
    }

    /// The name in the file of a known column of this number.
    pub(crate) fn column(&self, number: usize) -> &str {
        self.columns.iter().find(|known| known.number == number).map_or("", |known| &known.column)
    }

    /// Returns true if records have another direction.
    pub(crate) fn has_reverse(&self) -> bool {
        self.columns.iter().any(|known| known.name.is_reverse())
    }
}

/// The key that a text names, its members with blanks or commas between them; `None` if it is none.
pub(crate) fn told_key(text: &str) -> Option<KeySpec> {
    let members: Vec<&str> = text.split([' ', ',']).filter(|member| !member.is_empty()).collect();
    KeySpec::parse(&members.join(",")).ok()
}

impl ColumnContent {
    /// The member of a key that a column is in any file.
    fn member(&self) -> Option<&'static str> {
        match self {
            Self::Field { field, is_reverse: false } if field.aggregation == Aggregation::Key => {
                Some(field.name)
            }
            _ => None,
        }
    }

    pub(crate) fn is_field(&self, wanted: &str) -> bool {
        matches!(self, Self::Field { field, is_reverse: false } if field.name == wanted)
    }

    fn is_reverse(&self) -> bool {
        matches!(self, Self::Field { is_reverse: true, .. } | Self::Statistic { is_reverse: true, .. })
    }

    /// Returns the place where the values of a member of the key go.
    pub(crate) fn member_place(&self) -> Option<ColumnSlot> {
        match self {
            Self::Field { field, is_reverse: false } => {
                place_of(field.name).filter(|place| *place != ColumnSlot::Node)
            }
            _ => None,
        }
    }

    /// Returns true if the column tells which records have another direction.
    fn marks_reverse(&self) -> bool {
        matches!(self, Self::Field { field, is_reverse: true } if field.row == RowValue::Packets)
    }

    /// Returns true if a row counts at the time that the column has.
    pub(crate) fn is_time(&self, has_windows: bool) -> bool {
        match self {
            Self::WindowStart => true,
            Self::Field { field, .. } => field.row == RowValue::Last && !has_windows,
            _ => false,
        }
    }

    /// Returns the places where the values of a column of this name go.
    pub(crate) fn places(&self, wanted: &ReadProjection, has_windows: bool) -> Vec<ColumnSlot> {
        let mut places = Vec::new();
        if let Self::Field { field, is_reverse: false } = self {
            let is_wanted = wanted.members.contains(&field.name);
            places.extend(place_of(field.name).filter(|place| is_wanted || *place == ColumnSlot::Node));
        }
        if wanted.samples && self.is_field(SAMPLING_RATE) {
            places.push(ColumnSlot::SamplingRate);
        }
        let has_address = || wanted.members.iter().any(|member| ["src_addr", "dst_addr"].contains(member));
        if *self == Self::IpVersion && has_address() {
            places.push(ColumnSlot::IpVersion);
        }
        for (at, column) in wanted.columns.iter().enumerate() {
            let is_this = match (self, column) {
                (_, RowValue::Time) => self.is_time(has_windows),
                (Self::Field { field, .. }, column) => {
                    field.row == *column && !matches!(column, RowValue::Key | RowValue::Absent)
                }
                (Self::Statistic { statistic, .. }, RowValue::Statistic(number)) => {
                    let name = wanted.statistics.get(usize::from(*number));
                    name.is_some_and(|name| *name == statistic.to_string())
                }
                _ => false,
            };
            if is_this {
                places.push(if self.is_reverse() { ColumnSlot::Reverse(at) } else { ColumnSlot::Value(at) });
            }
        }
        if self.marks_reverse() {
            places.push(ColumnSlot::HasReverse);
        }
        places
    }

    /// The greatest number that the column can have.
    pub(crate) fn most(&self) -> u64 {
        match self {
            Self::Field {
                field:
                    Field { value: FieldAccessor::Unsigned(bits, _) | FieldAccessor::Optional(bits, _), .. },
                ..
            } if *bits < 64 => (1 << bits) - 1,
            _ => u64::MAX - 1,
        }
    }
}

fn place_of(member: &str) -> Option<ColumnSlot> {
    Some(match member {
        "src_addr" => ColumnSlot::Source,
        "dst_addr" => ColumnSlot::Destination,
        "src_port" => ColumnSlot::SourcePort,
        "dst_port" => ColumnSlot::DestinationPort,
        "protocol" => ColumnSlot::Protocol,
        "vlan" => ColumnSlot::Vlan,
        "ip_tos" => ColumnSlot::Tos,
        "node_id" => ColumnSlot::Node,
        _ => return None,
    })
}
