//! Files with a row in each line, whatever separates the values of a line.

use super::assemble::Assembler;
use super::gather::{Gatherer, Untimed, untimed_words};
use super::schema::Schema;
use super::source::ByteReader;
use super::text_column::{TextColumn, TextColumnKind};
use super::{BlockSink, ReadError, ReadProjection};
use std::borrow::Cow;
use std::io::Seek;
use std::path::{Path, PathBuf};

/// The longest line, as the splitter keeps it.
pub(crate) const LONGEST: usize = 1 << 20;
/// The most columns.
pub(crate) const MOST_COLUMNS: usize = 4096;
/// The bytes whose lines tell whether rows have addresses.
const SCANNED: usize = 16 << 20;
/// The ends of a flow, as members of keys.
const ENDS: [&str; 2] = ["src_addr", "dst_addr"];

/// Splits a file into lines, and each into values.
pub(crate) trait LineSplitter: Default {
    /// True if the first line has the names of the columns.
    const HAS_HEADER: bool;

    /// Goes to the next line that is not empty; false at the end.
    ///
    /// # Errors
    /// The damage of the line.
    fn next(&mut self, bytes: &mut ByteReader) -> Result<bool, String>;

    /// Returns the number of the line in the file, where it begins.
    fn number(&self) -> u64;

    /// Returns the number of bytes of the line.
    fn length(&self) -> usize;

    /// Returns the value of a column, `None` where the line has none.
    fn value<'l>(&'l self, schema: &Schema<TextColumnKind>, column: &TextColumn) -> Option<Cow<'l, [u8]>>;
}

/// The consequence of a line for those behind it.
pub(crate) enum AfterLine {
    /// The next line is read.
    Next,
    /// The lines behind it have no rows.
    End,
    /// No more rows are wanted.
    Enough,
}

impl AfterLine {
    /// Returns the consequence of a row that was added, after which more are wanted or not.
    pub(crate) fn of_row(continues: bool) -> Self {
        if continues { Self::Next } else { Self::Enough }
    }
}

/// The lines of a file, which are read from its start as often as they are asked for.
pub(crate) struct LineSource {
    path: PathBuf,
    bytes: ByteReader,
    untimed: Untimed,
    /// Flags for sources and for destinations: true if rows with one are known. `None` until that matters.
    ends: Option<[bool; 2]>,
}

impl LineSource {
    pub(crate) fn new(path: &Path, bytes: ByteReader) -> Self {
        Self { path: path.to_owned(), bytes, untimed: None, ends: None }
    }

    /// Reads all rows; `take` adds that of a line.
    ///
    /// # Errors
    /// The file is damaged: in which line, and how.
    pub(crate) fn read<L: LineSplitter>(
        &mut self,
        schema: &Schema<TextColumnKind>,
        wanted: &ReadProjection,
        sink: &mut BlockSink<'_>,
        mut take: impl FnMut(&L, &mut Gatherer<'_, '_>) -> Result<AfterLine, String>,
    ) -> Result<(), ReadError> {
        if needs_ends(wanted) && self.ends.is_none() {
            self.ends = Some(self.ends::<L>(schema)?);
        }
        let Self { path, bytes, untimed, ends } = self;
        bytes.rewind().map_err(|error| ReadError::damaged(path, error))?;
        let mut gatherer = Gatherer::new(Assembler::new(ends.unwrap_or_default()), wanted, sink);
        let mut lines = L::default();
        let mut read = || {
            if L::HAS_HEADER && !lines.next(bytes)? {
                return Ok(true);
            }
            while lines.next(bytes)? {
                match take(&lines, &mut gatherer)? {
                    AfterLine::Next => {}
                    AfterLine::End => break,
                    AfterLine::Enough => return Ok(false),
                }
            }
            Ok(true)
        };
        let read = read();
        let line = lines.number();
        *untimed = gatherer.untimed();
        gatherer.finish(read).map_err(|error| ReadError::damaged(path, format!("line {line}: {error}")))
    }

    /// Says how many rows were passed over for want of a time; `None` if none was.
    pub(crate) fn passed_over(&self) -> Option<String> {
        untimed_words(self.untimed, "line")
    }

    /// Returns for sources, and for destinations, whether the file is known to have rows with one before all are read: by its first lines, of
    /// which no more are read than tell it. A line that is wrong is found when it is read again.
    fn ends<L: LineSplitter>(&mut self, schema: &Schema<TextColumnKind>) -> Result<[bool; 2], ReadError> {
        let Self { path, bytes, .. } = self;
        bytes.rewind().map_err(|error| ReadError::damaged(path, error))?;
        let mut lines = L::default();
        let is_line = |lines: &mut L, bytes: &mut ByteReader| lines.next(bytes).is_ok_and(|is_line| is_line);
        if L::HAS_HEADER && !is_line(&mut lines, bytes) {
            return Ok([false; 2]);
        }
        let column = |name: &str| {
            let mut known = TextColumn::known(schema).into_iter().zip(&schema.columns);
            known.find(|(_, of)| of.name.is_field(name)).map(|(column, _)| column)
        };
        let columns = ENDS.map(column);
        // What no line had so far.
        let mut lacks = columns.each_ref().map(Option::is_some);
        let mut scanned = 0;
        while lacks.contains(&true) && scanned < SCANNED && is_line(&mut lines, bytes) {
            scanned += lines.length();
            for (column, lacks) in columns.iter().zip(&mut lacks) {
                let is_address = |column: &TextColumn| {
                    let value = lines.value(schema, column);
                    value.is_some_and(|value| !value.is_empty() && column.check(&value).is_ok())
                };
                *lacks = *lacks && !column.as_ref().is_some_and(is_address);
            }
        }
        Ok([0, 1].map(|end| columns[end].is_some() && !lacks[end]))
    }
}

/// Returns true if it matters to a question which addresses a file has.
fn needs_ends(wanted: &ReadProjection) -> bool {
    ENDS.iter().any(|end| wanted.members.contains(end))
}
