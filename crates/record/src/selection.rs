//! Which fields a file gets, and in which order (`--fields`).

use crate::{FIELDS, Field};
use std::fmt;

/// A non-empty list of different fields.
#[derive(Clone, Debug)]
pub struct Selection(Vec<&'static Field>);

impl Selection {
    /// Every field in the table's order.
    pub fn all() -> Self {
        Self(FIELDS.iter().collect())
    }

    /// Reads `a,b,c`; blanks around the names and their case do not matter.
    pub fn parse(list: &str) -> Result<Self, SelectionError> {
        let mut fields: Vec<&'static Field> = Vec::new();
        for name in list.split(',').map(str::trim) {
            if name.is_empty() {
                return Err(SelectionError::Empty);
            }
            let field = Field::named(name)
                .ok_or_else(|| SelectionError::Unknown { name: name.to_owned(), nearest: nearest(name) })?;
            if fields.iter().any(|chosen| chosen.name == field.name) {
                return Err(SelectionError::Twice(field.name));
            }
            fields.push(field);
        }
        Ok(Self(fields))
    }

    /// The fields in their order.
    pub fn fields(&self) -> &[&'static Field] {
        &self.0
    }
}

impl Default for Selection {
    fn default() -> Self {
        Self::all()
    }
}

/// The field whose name is closest, unless none is close.
fn nearest(name: &str) -> Option<&'static str> {
    let name = name.to_ascii_lowercase();
    FIELDS
        .iter()
        .map(|field| (strsim::normalized_damerau_levenshtein(&name, field.name), field.name))
        .filter(|(likeness, _)| *likeness >= 0.4)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, name)| name)
}

/// Why a list of fields was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SelectionError {
    /// A name is missing: an empty list, or a comma too many.
    Empty,
    /// No field has this name.
    Unknown {
        /// What was written.
        name: String,
        /// The closest field name, if one is close.
        nearest: Option<&'static str>,
    },
    /// A field stands in the list more than once.
    Twice(&'static str),
}

impl fmt::Display for SelectionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => {
                f.write_str("a field name is missing; write them as `src_addr,dst_addr,total_byte`")
            }
            Self::Unknown { name, nearest: Some(nearest) } => {
                write!(f, "unknown field `{name}`: did you mean `{nearest}`? `edison fields` lists all")
            }
            Self::Unknown { name, nearest: None } => {
                write!(f, "unknown field `{name}`: `edison fields` lists all")
            }
            Self::Twice(name) => write!(f, "field `{name}` is named twice"),
        }
    }
}

impl std::error::Error for SelectionError {}
