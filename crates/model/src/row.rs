//! Rows of an answer as JSON: objects with a member for each column.

use crate::{Column, Value};
use serde::de::{DeserializeSeed, MapAccess, SeqAccess, Visitor};
use serde::ser::{Error, SerializeMap, SerializeSeq};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value as Json;
use std::collections::{HashMap, HashSet};
use std::fmt;

/// Rows to be written. Writing fails if a row does not fit the columns.
pub(crate) struct JsonRows<'a> {
    pub(crate) columns: &'a [Column],
    pub(crate) rows: &'a [Vec<Value>],
}

impl Serialize for JsonRows<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        check_names(self.columns).map_err(S::Error::custom)?;
        let mut list = serializer.serialize_seq(Some(self.rows.len()))?;
        for row in self.rows {
            list.serialize_element(&JsonRow { columns: self.columns, row })?;
        }
        list.end()
    }
}

struct JsonRow<'a> {
    columns: &'a [Column],
    row: &'a [Value],
}

impl Serialize for JsonRow<'_> {
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

/// Rows as they are read, before their columns are known. A map for each would take ten times the room: names are kept once, and values in one list.
#[derive(Debug, Default)]
pub(crate) struct ReadRows {
    names: HashMap<String, usize>,
    /// The values of all rows, each with the number of its name.
    values: Vec<(usize, Json)>,
    /// The end of each row in `values`.
    ends: Vec<usize>,
}

impl ReadRows {
    /// The rows in the order of these columns. Each must have its member, and no other.
    pub(crate) fn arrange(self, columns: &[Column]) -> Result<Vec<Vec<Value>>, String> {
        let numbers: Vec<_> = columns.iter().map(|column| self.names.get(&column.name).copied()).collect();
        let mut rows = Vec::with_capacity(self.ends.len());
        // By the numbers of names, where each is in the row.
        let mut places = vec![None; self.names.len()];
        let mut begin = 0;
        for end in self.ends {
            let members = &self.values[begin..end];
            begin = end;
            if members.len() != columns.len() {
                return Err(format!("a row has {} members for {} columns", members.len(), columns.len()));
            }
            members.iter().enumerate().for_each(|(place, (number, _))| places[*number] = Some(place));
            let value = |(column, number): (&Column, &Option<usize>)| {
                let place = number.and_then(|number| places[number]);
                let place = place.ok_or_else(|| format!("a row lacks the column {}", column.name))?;
                let json = &members[place].1;
                Value::from_json(json, column.kind).map_err(|error| format!("{}: {error}", column.name))
            };
            rows.push(columns.iter().zip(&numbers).map(value).collect::<Result<_, String>>()?);
            members.iter().for_each(|(number, _)| places[*number] = None);
        }
        Ok(rows)
    }
}

impl<'de> Deserialize<'de> for ReadRows {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(RowsVisitor)
    }
}

struct RowsVisitor;

impl<'de> Visitor<'de> for RowsVisitor {
    type Value = ReadRows;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of rows")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<ReadRows, A::Error> {
        let mut rows = ReadRows::default();
        while list.next_element_seed(RowSeed(&mut rows))?.is_some() {}
        Ok(rows)
    }
}

/// Adds a row.
struct RowSeed<'a>(&'a mut ReadRows);

impl<'de> DeserializeSeed<'de> for RowSeed<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for RowSeed<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a row: an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        let ReadRows { names, values, ends } = self.0;
        while let Some(number) = members.next_key_seed(NameSeed(names))? {
            values.push((number, members.next_value()?));
        }
        ends.push(values.len());
        Ok(())
    }
}

/// Reads the number of a name.
struct NameSeed<'a>(&'a mut HashMap<String, usize>);

impl<'de> DeserializeSeed<'de> for NameSeed<'_> {
    type Value = usize;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<usize, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for NameSeed<'_> {
    type Value = usize;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of a column")
    }

    fn visit_str<E>(self, name: &str) -> Result<usize, E> {
        if let Some(number) = self.0.get(name) {
            return Ok(*number);
        }
        let number = self.0.len();
        self.0.insert(name.to_owned(), number);
        Ok(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ColumnKind;

    #[test]
    fn rows_are_read_in_the_order_of_their_columns() {
        let columns = ["a", "b"].map(|name| Column::new(name, ColumnKind::Unsigned, ""));
        let read = |text: &str| serde_json::from_str::<ReadRows>(text).expect("rows").arrange(&columns);
        let row = |a, b| [a, b].map(Value::Unsigned).to_vec();
        assert_eq!(read("[]"), Ok(Vec::new()));
        assert_eq!(
            read(r#"[{"a":1,"b":2},{"b":4,"a":3},{"\u0061":5,"b":6}]"#),
            Ok(vec![row(1, 2), row(3, 4), row(5, 6)])
        );
        for (text, reason) in [
            (r#"[{"a":1}]"#, "a row has 1 members for 2 columns"),
            (r#"[{"a":1,"b":2,"c":3}]"#, "a row has 3 members for 2 columns"),
            (r#"[{"a":1,"c":2}]"#, "a row lacks the column b"),
            (r#"[{"a":1,"a":2}]"#, "a row lacks the column b"),
            (r#"[{"a":1,"b":[]}]"#, "b: "),
        ] {
            let error = read(text).expect_err("no rows");
            assert!(error.starts_with(reason), "{error}");
        }
        assert!(serde_json::from_str::<ReadRows>("[5]").is_err());
    }
}
