//! Rows that are read one by one, gathered to blocks.

use super::Sink;
use super::assemble::Assembler;
use super::block::Wanted;
use super::columns::{Columns, ROWS};

/// Gathers rows and gives them block by block.
pub(crate) struct Gatherer<'a, 's> {
    columns: Columns,
    assembler: Assembler,
    wanted: &'a Wanted,
    sink: &'a mut Sink<'s>,
}

impl<'a, 's> Gatherer<'a, 's> {
    /// Gathers rows for this assembler, which may know of the file already.
    pub(crate) fn new(assembler: Assembler, wanted: &'a Wanted, sink: &'a mut Sink<'s>) -> Self {
        Self { columns: Columns::new(wanted), assembler, wanted, sink }
    }

    /// Adds the row that `fill` fills; false once no more are wanted.
    ///
    /// # Errors
    /// Those of `fill`, whose row is not added.
    pub(crate) fn add(
        &mut self,
        fill: impl FnOnce(&mut Columns) -> Result<(), String>,
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
    /// That of reading.
    pub(crate) fn finish(&mut self, read: Result<bool, String>) -> Result<(), String> {
        if read != Ok(false) {
            self.give();
        }
        read.map(|_| ())
    }
}
