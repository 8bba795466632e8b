//! Rows that are read one by one, gathered to blocks.

use super::BlockSink;
use super::assemble::Assembler;
use super::block::ReadProjection;
use super::columns::{InputColumns, ROWS};
use flow::{NULL, RowValue};

/// Gathers rows and gives them block by block.
pub(crate) struct Gatherer<'a, 's> {
    columns: InputColumns,
    assembler: Assembler,
    wanted: &'a ReadProjection,
    sink: &'a mut BlockSink<'s>,
    /// The number of the column without which a row is of no use.
    time: Option<usize>,
    untimed: Untimed,
}

/// Rows without a time that were passed over: their number, and the number of the line or of the message that has the first.
pub(crate) type Untimed = Option<(u64, u64)>;

/// Says what was passed over. `place`: what rows are counted in, such as lines.
pub(crate) fn untimed_words(untimed: Untimed, place: &str) -> Option<String> {
    let (rows, number) = untimed?;
    let words = ["has no time at which it counts (ltime)", "have no time at which they count (ltime)"];
    Some(format!(
        "{}: {place} {number}{}",
        notation::counted_as(rows, "row", words),
        if rows == 1 { "" } else { " is the first" }
    ))
}

impl<'a, 's> Gatherer<'a, 's> {
    /// Gathers rows for this assembler, which may know of the file already.
    pub(crate) fn new(assembler: Assembler, wanted: &'a ReadProjection, sink: &'a mut BlockSink<'s>) -> Self {
        let time = wanted.columns.iter().position(|column| *column == RowValue::Time);
        let time = time.filter(|_| wanted.needs_time);
        Self { columns: InputColumns::new(wanted), assembler, wanted, sink, time, untimed: None }
    }

    /// Adds the row of a line, or of a message, as [`Gatherer::add`] does. One without a time is passed over where that is needed.
    ///
    /// # Errors
    /// The errors of `fill`, whose row is not added.
    pub(crate) fn add_line(
        &mut self,
        line: u64,
        fill: impl FnOnce(&mut InputColumns) -> Result<(), String>,
    ) -> Result<bool, String> {
        let Some(time) = self.time else { return self.add(fill) };
        let mut is_untimed = false;
        let added = self.add(|columns| {
            fill(columns)?;
            let told = columns.values[time].get(columns.rows);
            is_untimed = told.is_none_or(|time| *time == NULL);
            // A row with an error is not added.
            if is_untimed { Err(String::new()) } else { Ok(()) }
        });
        match added {
            Err(_) if is_untimed => {
                self.untimed.get_or_insert((0, line)).0 += 1;
                Ok(true)
            }
            added => added,
        }
    }

    /// The rows that were passed over.
    pub(crate) fn untimed(&self) -> Untimed {
        self.untimed
    }

    /// Adds the row that `fill` fills; false once no more are wanted.
    ///
    /// # Errors
    /// Returns the errors of `fill`, whose row is not added.
    pub(crate) fn add(
        &mut self,
        fill: impl FnOnce(&mut InputColumns) -> Result<(), String>,
    ) -> Result<bool, String> {
        if let Err(error) = fill(&mut self.columns) {
            self.columns.remove_unfinished();
            return Err(error);
        }
        self.columns.rows += 1;
        Ok(self.columns.rows < ROWS || self.give())
    }

    /// Gives the rows that wait; false once no more are wanted.
    pub(crate) fn give(&mut self) -> bool {
        if self.columns.rows == 0 {
            return true;
        }
        let continues = self.assembler.give(&mut self.columns, self.wanted, self.sink);
        self.columns.clear();
        continues
    }

    /// Gives the rest, unless reading ended because no more are wanted. The rows before damage are right.
    ///
    /// # Errors
    /// Returns the error of reading.
    pub(crate) fn finish(&mut self, read: Result<bool, String>) -> Result<(), String> {
        if read != Ok(false) {
            self.give();
        }
        read.map(|_| ())
    }
}
