//! The one trait of all writers.

use crate::{MeasurementTotals, Shortfall};
use flow::FlowRecord;
use std::io;

/// A destination of flow records.
///
/// An error names the place and says how many records were written whole ([`crate::records_written`]): these can be read. After one,
/// nothing more is taken.
pub trait RecordWriter: Send {
    /// Takes a batch. Larger batches cost less per record; a hundred are sufficient.
    fn write(&mut self, records: &[FlowRecord]) -> io::Result<()>;

    /// Writes what is buffered, as far as the format allows that before the end: when no records arrive for a
    /// while, readers must see the last ones.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }

    /// Takes what is known of the measurement in addition to its records, at the end of each window. Most
    /// formats have no place for it.
    fn account(&mut self, _account: &MeasurementTotals) -> io::Result<()> {
        Ok(())
    }

    /// Takes what the records of a window lack. Text formats have no place for it.
    fn add_shortfall(&mut self, _shortfall: &Shortfall) {}

    /// The place that it writes to, as the user calls it.
    fn name(&self) -> String;

    /// Ends the file and begins another with the next record, where the writer has several.
    fn rotate(&mut self) -> io::Result<()> {
        Ok(())
    }

    /// Records taken so far that will reach no reader.
    fn dropped(&self) -> u64 {
        0
    }

    /// Warnings for the user, one line each; every line is returned once.
    fn warnings(&mut self) -> Vec<String> {
        Vec::new()
    }

    /// The size of the file in bytes, including an estimate for what is buffered; 0 if it is no file.
    fn size(&self) -> u64 {
        0
    }

    /// Writes what is still buffered and ends the file, which gets its name only now.
    fn finish(self: Box<Self>) -> io::Result<WriterReport>;
}

/// The report of a writer at its end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WriterReport {
    /// The number of records taken from the writer's beginning on that reached no reader.
    pub dropped: u64,
    /// The warnings, as of [`RecordWriter::warnings`].
    pub warnings: Vec<String>,
}
