//! JSON lines: one object a line.

use super::line_source::{AfterLine, LONGEST, LineSource, LineSplitter, MOST_COLUMNS};
use super::schema::{Schema, told_key};
use super::source::{ByteReader, size};
use super::text_column::{TextColumn, TextColumnKind};
use super::{BlockSink, Contents, FilePart, FormatReader, ReadError, ReadProjection};
use crate::{KEY_COLUMN, SHARE_COLUMN};
use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::io::{BufRead, Read};
use std::path::Path;

/// The bytes whose lines tell the columns.
const SCANNED: usize = 64 << 10;

/// A file of JSON lines.
pub(crate) struct JsonLinesReader {
    source: LineSource,
    schema: Schema<TextColumnKind>,
    contents: Contents,
}

impl JsonLinesReader {
    pub(crate) fn open(path: &Path, mut bytes: ByteReader) -> Result<Self, ReadError> {
        let refused = |reason: &dyn fmt::Display| ReadError::not_flows(path, reason);
        let size = size(&mut bytes).map_err(|error| refused(&error))?;
        let JsonLinesHeader { names, shares, key } = names(&mut bytes).map_err(|error| refused(&error))?;
        let key = key.and_then(|key| told_key(&key));
        let (schema, mut contents) =
            Schema::from_names(names.iter().map(String::as_str), TextColumnKind::from_name, key);
        if schema.columns.is_empty() && !names.is_empty() {
            return Err(refused(&"no member of its objects is a field; `edison fields` lists them"));
        }
        contents.parts = vec![FilePart { bytes: size, ..FilePart::default() }];
        if names.is_empty() {
            // Without an object it tells no columns: it has the rows of any question, which are none.
            contents.rows = Some(0);
        }
        shares.iter().for_each(|share| contents.sampled_by(share));
        Ok(Self { source: LineSource::new(path, bytes), schema, contents })
    }
}

/// The names, the shares and the key that the first lines of a file tell.
struct JsonLinesHeader {
    /// The names of members, in their order.
    names: Vec<String>,
    /// The shares by which packets were sampled: each that differs from the one before.
    shares: Vec<String>,
    /// The key of flows, by the first line that names one.
    key: Option<String>,
}

fn names(bytes: &mut ByteReader) -> Result<JsonLinesHeader, String> {
    let mut shares: Vec<String> = Vec::new();
    let mut told = Vec::new();
    let mut key = None;
    let mut names: Vec<String> = Vec::new();
    let mut known = HashMap::new();
    let mut lines = JsonTexts::default();
    let mut scanned = 0;
    while scanned < SCANNED {
        let read = lines.next(bytes).and_then(|is_line| {
            let mut result = Ok(());
            if is_line {
                lines.object(
                    |name| {
                        if !known.contains_key(name) {
                            known.insert(name.to_owned(), names.len());
                            names.push(name.to_owned());
                        }
                        [SHARE_COLUMN, KEY_COLUMN].iter().position(|known| *known == name)
                    },
                    |number, value| {
                        // What is no number or string is no share, which its own text says.
                        let text = match take(value, &mut told) {
                            Ok(()) => String::from_utf8_lossy(&told),
                            Err(_) => value.get().into(),
                        };
                        if number == 1 {
                            key.get_or_insert_with(|| text.into_owned());
                        } else if shares.last().is_none_or(|last| *last != text) {
                            shares.push(text.into_owned());
                        }
                    },
                )?;
                if names.len() > MOST_COLUMNS {
                    result = Err(format!("its objects have more than {MOST_COLUMNS} names"));
                }
            }
            result.map(|()| is_line)
        });
        match read {
            Ok(true) => scanned += lines.text.len(),
            Ok(false) => break,
            // Damage behind the first lines is found when their rows are read.
            Err(error) if names.is_empty() => return Err(format!("line {}: {error}", lines.line)),
            Err(_) => break,
        }
    }
    Ok(JsonLinesHeader { names, shares, key })
}

impl FormatReader for JsonLinesReader {
    fn contents(&self) -> &Contents {
        &self.contents
    }

    fn read_part(
        &mut self,
        _part: usize,
        wanted: &ReadProjection,
        sink: &mut BlockSink<'_>,
    ) -> Result<(), ReadError> {
        let Self { source, schema, .. } = self;
        let columns = TextColumn::all(schema, wanted);
        // Of the names that are wanted, the number of the value in `values`.
        let mut slots: HashMap<&str, usize> = HashMap::new();
        let mut slot_of = Vec::new();
        for column in &columns {
            let next = slots.len();
            slot_of.push(*slots.entry(schema.column(column.number)).or_insert(next));
        }
        let mut values: Vec<Vec<u8>> = vec![Vec::new(); slots.len()];
        source.read(schema, wanted, sink, |lines: &JsonTexts, gatherer| {
            values.iter_mut().for_each(Vec::clear);
            let mut refused = None;
            lines.object(
                |name| slots.get(name).copied(),
                |slot, value| {
                    if let Err(error) = take(value, &mut values[slot]) {
                        refused.get_or_insert((slot, error));
                    }
                },
            )?;
            if let Some((slot, error)) = refused {
                let name = slots.iter().find(|(_, of)| **of == slot).map_or("", |(name, _)| name);
                return Err(format!("member {name}: {error}"));
            }
            let fill = |rows: &mut _| {
                let mut all = columns.iter().zip(&slot_of);
                all.try_for_each(|(column, slot)| column.put(&values[*slot], rows))
            };
            gatherer.add_line(lines.line, fill).map(AfterLine::of_row)
        })
    }

    fn passed_over(&self) -> Option<String> {
        self.source.passed_over()
    }
}

/// Takes the text of a value: of a string its contents, none of `null`.
fn take(value: &RawValue, text: &mut Vec<u8>) -> Result<(), String> {
    text.clear();
    let raw = value.get();
    match raw.as_bytes().first() {
        Some(b'"') => {
            let inner = &raw.as_bytes()[1..raw.len() - 1];
            if inner.contains(&b'\\') {
                let unescaped: String = serde_json::from_str(raw).map_err(|error| error.to_string())?;
                text.extend_from_slice(unescaped.as_bytes());
            } else {
                text.extend_from_slice(inner);
            }
        }
        Some(b'-' | b'0'..=b'9') => text.extend_from_slice(raw.as_bytes()),
        Some(b'n') => {}
        Some(b'[' | b'{') => return Err("a nested value is not read".to_owned()),
        _ => return Err("true and false are not read".to_owned()),
    }
    Ok(())
}

/// The lines of a file.
#[derive(Default)]
struct JsonTexts {
    text: Vec<u8>,
    /// The number of the line.
    line: u64,
}

impl LineSplitter for JsonTexts {
    const HAS_HEADER: bool = false;

    fn next(&mut self, bytes: &mut ByteReader) -> Result<bool, String> {
        loop {
            self.text.clear();
            self.line += 1;
            let mut bytes = bytes.by_ref().take(LONGEST as u64 + 1);
            bytes.read_until(b'\n', &mut self.text).map_err(|error| error.to_string())?;
            if self.text.len() > LONGEST {
                return Err(format!("it is longer than {LONGEST} bytes"));
            }
            if self.text.is_empty() {
                return Ok(false);
            }
            if !self.text.trim_ascii().is_empty() {
                return Ok(true);
            }
        }
    }

    fn number(&self) -> u64 {
        self.line
    }

    fn length(&self) -> usize {
        self.text.len()
    }

    fn value<'l>(&'l self, schema: &Schema<TextColumnKind>, column: &TextColumn) -> Option<Cow<'l, [u8]>> {
        let name = schema.column(column.number);
        let (mut text, mut is_text) = (Vec::new(), false);
        let of_name = |name_here: &str| (name_here == name).then_some(0);
        let read = self.object(of_name, |_, value| is_text = take(value, &mut text).is_ok());
        (read.is_ok() && is_text).then(|| text.into())
    }
}

impl JsonTexts {
    /// Reads the line's object: `choose` tells which number the value of a name has, `take` takes it.
    fn object<'t>(
        &'t self,
        choose: impl FnMut(&str) -> Option<usize>,
        take: impl FnMut(usize, &'t RawValue),
    ) -> Result<(), String> {
        let mut deserializer = serde_json::Deserializer::from_slice(&self.text);
        let read = deserializer.deserialize_map(Members { choose, take });
        read.and_then(|()| deserializer.end()).map_err(reason)
    }
}

/// Returns the message about a line that is no object; the parser's own place is its column alone.
fn reason(error: serde_json::Error) -> String {
    let text = error.to_string();
    let what = text.rsplit_once(" at line ").map_or(text.as_str(), |(what, _)| what);
    format!("no complete JSON object: {what}, at byte {}", error.column())
}

/// Visits the members of an object.
struct Members<C, T> {
    choose: C,
    take: T,
}

impl<'de, C, T> Visitor<'de> for Members<C, T>
where
    C: FnMut(&str) -> Option<usize>,
    T: FnMut(usize, &'de RawValue),
{
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<(), A::Error> {
        while let Some(MemberName(name)) = map.next_key::<MemberName<'de>>()? {
            match (self.choose)(&name) {
                Some(number) => (self.take)(number, map.next_value()?),
                None => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(())
    }
}

/// A name, which is copied only if it has escapes.
#[derive(serde::Deserialize)]
struct MemberName<'a>(#[serde(borrow)] Cow<'a, str>);
