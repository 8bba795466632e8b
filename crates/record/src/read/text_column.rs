//! Columns of the formats that are text.

use super::columns::{Cell, Columns, Place};
use super::name::Name;
use super::schema::{Known, Schema};
use super::{Wanted, text};
use flow::{NULL, Value};

/// The way in which the texts of a column are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Number,
    Time,
    Float,
    Address,
    Mac,
    Protocol,
    Node,
}

impl Kind {
    /// Returns the kind of a column of this name. Any text may have the type, so nothing is refused before it is read.
    pub(crate) fn of(_column: usize, name: &Name) -> Result<Self, String> {
        Ok(match name {
            Name::WindowStart => Self::Time,
            Name::Statistic { .. } => Self::Float,
            Name::Field { field, .. } => match field.value {
                Value::Address(_) => Self::Address,
                Value::Mac(_) => Self::Mac,
                Value::Node => Self::Node,
                Value::Time(_) => Self::Time,
                _ if field.name == "protocol" => Self::Protocol,
                _ => Self::Number,
            },
            // Addresses as text tell it.
            Name::IpVersion => return Err("no number".to_owned()),
            Name::NoRowValue | Name::Unknown => Self::Number,
        })
    }
}

/// A column that is wanted.
pub(crate) struct TextColumn {
    /// The number of the column in the file.
    pub(crate) number: usize,
    place: Place,
    kind: Kind,
    most: u64,
    name: String,
}

impl TextColumn {
    /// The columns that are wanted.
    pub(crate) fn all(schema: &Schema<Kind>, wanted: &Wanted) -> Vec<Self> {
        let of = |(place, known): (Place, &Known<Kind>)| Self {
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
    pub(crate) fn known(schema: &Schema<Kind>) -> Vec<Self> {
        let of = |known: &Known<Kind>| Self {
            number: known.number,
            // Its values are put nowhere.
            place: Place::Node,
            kind: known.stored,
            most: known.name.most(),
            name: known.column.clone(),
        };
        schema.columns.iter().map(of).collect()
    }

    /// Puts the value of the next row, none for an empty text.
    pub(crate) fn put(&self, value: &[u8], columns: &mut Columns) -> Result<(), String> {
        let cell = self.cell(value).map_err(|error| format!("column {}: {error}", self.name))?;
        columns.put(&self.place, cell)
    }

    fn cell<'a>(&self, value: &'a [u8]) -> Result<Cell<'a>, String> {
        if value.is_empty() {
            return Ok(Cell::None);
        }
        let number = match self.kind {
            Kind::Address => return Ok(text::address(value)?.map_or(Cell::None, Cell::Address)),
            Kind::Node => {
                let name = std::str::from_utf8(value).map_err(|_| text::unreadable(value, "UTF-8"))?;
                return Ok(Cell::Node(name));
            }
            Kind::Number => text::number(value)?,
            Kind::Time => text::time(value)?,
            Kind::Float => text::float(value)?,
            Kind::Mac => text::mac(value)?,
            Kind::Protocol => text::protocol(value)?,
        };
        if number != NULL && number > self.most && self.kind != Kind::Float {
            return Err(format!("the number {number} is greater than {}", self.most));
        }
        Ok(Cell::Number(number))
    }
}
