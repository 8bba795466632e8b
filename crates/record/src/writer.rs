//! The one trait of all writers.

use crate::Account;
use flow::FlowRecord;
use std::io;

/// Takes flow records and puts them somewhere.
///
/// An error names the place and says how many records were written whole ([`crate::records_written`]): these can be read. After one,
/// nothing more is taken.
pub trait RecordWriter: Send {
    /// Takes a batch. Larger batches cost less each; a hundred are enough.
    fn write(&mut self, records: &[FlowRecord]) -> io::Result<()>;

    /// Writes what is held back, as far as the format allows that before the end: when no records come for a while,
    /// readers shall see the last ones.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }

    /// Takes what is known of the measurement beside its records, at the end of each window. Most formats have no place
    /// for it.
    fn account(&mut self, _account: &Account) -> io::Result<()> {
        Ok(())
    }

    /// The place that it writes to, as the user calls it.
    fn name(&self) -> String;

    /// Ends the file and begins another with the next record, where the writer has several.
    fn rotate(&mut self) -> io::Result<()> {
        Ok(())
    }

    /// Records that were taken but that will reach nobody, so far.
    fn dropped(&self) -> u64 {
        0
    }

    /// What people should know and what is no error, one line each; every line is given once.
    fn warnings(&mut self) -> Vec<String> {
        Vec::new()
    }

    /// Bytes that the file has or, of what is held back, about will have; 0 for what is no file.
    fn size(&self) -> u64 {
        0
    }

    /// Writes what is still held back and ends the file, which gets its name only now.
    fn finish(self: Box<Self>) -> io::Result<Delivery>;
}

/// What a writer has to say at its end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Delivery {
    /// Records that it took but that reached nobody, from its beginning on.
    pub dropped: u64,
    /// As [`RecordWriter::warnings`].
    pub warnings: Vec<String>,
}
