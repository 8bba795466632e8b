//! Columns of the formats that are text.

use super::columns::{Cell, Columns, Place};
use super::name::Name;
use super::schema::{Known, Schema};
use super::{Wanted, text};
use flow::{NULL, Value};
use std::borrow::Cow;

/// The bytes whose lines tell whether rows have addresses.
const SCANNED: usize = 16 << 20;
/// The ends of a flow, as members of keys.
const ENDS: [&str; 2] = ["src_addr", "dst_addr"];

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

/// Returns for sources, and for destinations, whether a file is known to have rows with one: by its first lines, of which no more are read than
/// tell it.
///
/// `next` goes to the next line and returns its bytes, `None` where there is none or it is wrong, which is found when it is read again.
/// `value` is the value of a column there, `None` where the line has none.
pub(crate) fn ends<L>(
    schema: &Schema<Kind>,
    lines: &mut L,
    next: impl Fn(&mut L) -> Option<usize>,
    value: impl for<'l> Fn(&'l L, &TextColumn) -> Option<Cow<'l, [u8]>>,
) -> [bool; 2] {
    let column = |name: &str| {
        let mut known = TextColumn::known(schema).into_iter().zip(&schema.columns);
        known.find(|(_, of)| of.name.is_field(name)).map(|(column, _)| column)
    };
    let columns = ENDS.map(column);
    // What no line had so far.
    let mut lacks = columns.each_ref().map(Option::is_some);
    let mut scanned = 0;
    while lacks.contains(&true) && scanned < SCANNED {
        let Some(length) = next(lines) else { break };
        scanned += length;
        for (column, lacks) in columns.iter().zip(&mut lacks) {
            let is_address = |column: &TextColumn| {
                let value = value(lines, column);
                value.is_some_and(|value| !value.is_empty() && column.check(&value).is_ok())
            };
            *lacks = *lacks && !column.as_ref().is_some_and(is_address);
        }
    }
    [0, 1].map(|end| columns[end].is_some() && !lacks[end])
}

/// Returns true if it matters to a question which addresses a file has.
pub(crate) fn needs_ends(wanted: &Wanted) -> bool {
    ENDS.iter().any(|end| wanted.members.contains(end))
}
