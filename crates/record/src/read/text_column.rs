//! Columns of the formats that are text.

use super::columns::{ColumnSlot, InputColumns, RowCell};
use super::name::ColumnContent;
use super::schema::{MappedColumn, Schema};
use super::{ReadProjection, text};
use flow::{FieldAccessor, NULL};

/// The way in which the texts of a column are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TextColumnKind {
    Number,
    Time,
    Float,
    Address,
    Mac,
    Protocol,
    Node,
}

impl TextColumnKind {
    /// Returns the kind of a column of this name. Any text may have the type, so nothing is refused before it is read.
    pub(crate) fn from_name(_column: usize, name: &ColumnContent) -> Result<Self, String> {
        Ok(match name {
            ColumnContent::WindowStart => Self::Time,
            ColumnContent::Statistic { .. } => Self::Float,
            ColumnContent::Field { field, .. } => match field.value {
                FieldAccessor::Address(_) => Self::Address,
                FieldAccessor::Mac(_) => Self::Mac,
                FieldAccessor::Node => Self::Node,
                FieldAccessor::Time(_) => Self::Time,
                _ if field.name == "protocol" => Self::Protocol,
                _ => Self::Number,
            },
            // Addresses as text tell it.
            ColumnContent::IpVersion => return Err("no number".to_owned()),
            ColumnContent::NoRowValue | ColumnContent::Unknown => Self::Number,
        })
    }
}

/// A column that is wanted.
pub(crate) struct TextColumn {
    /// The number of the column in the file.
    pub(crate) number: usize,
    place: ColumnSlot,
    kind: TextColumnKind,
    most: u64,
    name: String,
}

impl TextColumn {
    /// The columns that are wanted.
    pub(crate) fn all(schema: &Schema<TextColumnKind>, wanted: &ReadProjection) -> Vec<Self> {
        let of = |(place, known): (ColumnSlot, &MappedColumn<TextColumnKind>)| Self {
            number: known.number,
            place,
            kind: known.stored,
            most: known.name.most(),
            name: known.column.clone(),
        };
        schema.places(wanted, true).into_iter().map(of).collect()
    }

    /// Checks that this is a value of the column.
    pub(crate) fn check(&self, value: &[u8]) -> Result<(), String> {
        self.cell(value).map(|_| ()).map_err(|error| format!("column {}: {error}", self.name))
    }

    /// All columns that are known, wanted or not, to be checked.
    pub(crate) fn known(schema: &Schema<TextColumnKind>) -> Vec<Self> {
        let of = |known: &MappedColumn<TextColumnKind>| Self {
            number: known.number,
            // Its values are put nowhere.
            place: ColumnSlot::Node,
            kind: known.stored,
            most: known.name.most(),
            name: known.column.clone(),
        };
        schema.columns.iter().map(of).collect()
    }

    /// Puts the value of the next row, none for an empty text.
    pub(crate) fn put(&self, value: &[u8], columns: &mut InputColumns) -> Result<(), String> {
        let cell = self.cell(value).map_err(|error| format!("column {}: {error}", self.name))?;
        columns.put(&self.place, cell)
    }

    fn cell<'a>(&self, value: &'a [u8]) -> Result<RowCell<'a>, String> {
        if value.is_empty() {
            return Ok(RowCell::None);
        }
        let number = match self.kind {
            TextColumnKind::Address => {
                return Ok(text::address(value)?.map_or(RowCell::None, RowCell::Address));
            }
            TextColumnKind::Node => {
                let name = std::str::from_utf8(value).map_err(|_| text::unreadable(value, "UTF-8"))?;
                return Ok(RowCell::Node(name));
            }
            TextColumnKind::Number => text::number(value)?,
            TextColumnKind::Time => text::time(value)?,
            TextColumnKind::Float => text::float(value)?,
            TextColumnKind::Mac => text::mac(value)?,
            TextColumnKind::Protocol => text::protocol(value)?,
        };
        if number != NULL && number > self.most && self.kind != TextColumnKind::Float {
            return Err(format!("the number {number} is greater than {}", self.most));
        }
        Ok(RowCell::Number(number))
    }
}
