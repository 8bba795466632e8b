//! Rows of an answer as JSON: objects with a member for each column.

use crate::{Column, Value};
use serde::ser::{Error, SerializeMap, SerializeSeq};
use serde::{Serialize, Serializer};
use serde_json::{Map, Value as Json};
use std::collections::HashSet;

/// Rows to be written. Writing fails if a row does not fit the columns.
pub(crate) struct Rows<'a> {
    pub(crate) columns: &'a [Column],
    pub(crate) rows: &'a [Vec<Value>],
}

impl Serialize for Rows<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        check_names(self.columns).map_err(S::Error::custom)?;
        let mut list = serializer.serialize_seq(Some(self.rows.len()))?;
        for row in self.rows {
            list.serialize_element(&Row { columns: self.columns, row })?;
        }
        list.end()
    }
}

struct Row<'a> {
    columns: &'a [Column],
    row: &'a [Value],
}

impl Serialize for Row<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.row.len() != self.columns.len() {
            let (values, columns) = (self.row.len(), self.columns.len());
            return Err(S::Error::custom(format!("a row has {values} values for {columns} columns")));
        }
        let mut map = serializer.serialize_map(Some(self.row.len()))?;
        for (column, value) in self.columns.iter().zip(self.row) {
            if !value.fits(column.kind) {
                let (name, kind) = (&column.name, column.kind);
                return Err(S::Error::custom(format!("{value:?} is in the column {name} of kind {kind:?}")));
            }
            map.serialize_entry(&column.name, value)?;
        }
        map.end()
    }
}

/// Two columns of one name would be one member.
pub(crate) fn check_names(columns: &[Column]) -> Result<(), String> {
    let mut seen = HashSet::new();
    match columns.iter().find(|column| !seen.insert(&column.name)) {
        Some(column) => Err(format!("two columns have the name {}", column.name)),
        None => Ok(()),
    }
}

/// Reads a row. Each column must have its member.
pub(crate) fn read(columns: &[Column], members: &Map<String, Json>) -> Result<Vec<Value>, String> {
    if members.len() != columns.len() {
        return Err(format!("a row has {} members for {} columns", members.len(), columns.len()));
    }
    let value = |column: &Column| {
        let json =
            members.get(&column.name).ok_or_else(|| format!("a row lacks the column {}", column.name))?;
        Value::from_json(json, column.kind).map_err(|error| format!("{}: {error}", column.name))
    };
    columns.iter().map(value).collect()
}
