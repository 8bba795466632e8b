//! The fate of records at each output: the reader of standard output may leave, and what is sent may reach no collector.

use crate::sinks::standard_output::OutputReader;
use flow::FlowRecord;
use record::{MeasurementTotals, RecordWriter, Shortfall, WriterReport, records_written};
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

/// Outputs that lost every record, one line each.
#[derive(Clone, Debug, Default)]
pub(crate) struct FailedOutputs(Arc<Mutex<Vec<String>>>);

impl FailedOutputs {
    /// The lines, once the outputs are finished.
    pub(crate) fn lines(&self) -> Vec<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// A writer, and what becomes of its records.
pub(crate) struct WatchedWriter {
    writer: Box<dyn RecordWriter>,
    name: String,
    /// The reader of standard output; `None` for a writer that writes elsewhere.
    reader: Option<OutputReader>,
    taken: u64,
    /// The number of records of `taken` that the reader had got when it left.
    read: Option<u64>,
    lost: FailedOutputs,
}

impl WatchedWriter {
    /// Watches a writer that messages call `name`. `reader` is of standard output, where it writes there.
    pub(crate) fn new(
        writer: Box<dyn RecordWriter>,
        name: String,
        reader: Option<OutputReader>,
        lost: &FailedOutputs,
    ) -> Self {
        Self { writer, name, reader, taken: 0, read: None, lost: lost.clone() }
    }

    /// Returns true if the reader has left: nothing more is written.
    fn is_over(&self) -> bool {
        self.reader.as_ref().is_some_and(OutputReader::has_left)
    }

    /// Calls the writer, unless its reader has left.
    fn call(&mut self, call: impl FnOnce(&mut dyn RecordWriter) -> io::Result<()>) -> io::Result<()> {
        if self.is_over() {
            return Ok(());
        }
        match call(self.writer.as_mut()) {
            Err(error) if self.reader.as_ref().is_some_and(|reader| reader.takes(&error)) => {
                self.read = Some(records_written(&error).unwrap_or(0));
                Ok(())
            }
            called => called,
        }
    }
}

impl RecordWriter for WatchedWriter {
    fn name(&self) -> String {
        self.writer.name()
    }

    fn write(&mut self, records: &[FlowRecord]) -> io::Result<()> {
        self.taken += records.len() as u64;
        self.call(|writer| writer.write(records))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.call(|writer| writer.flush())
    }

    fn account(&mut self, account: &MeasurementTotals) -> io::Result<()> {
        self.call(|writer| writer.account(account))
    }

    fn add_shortfall(&mut self, shortfall: &Shortfall) {
        self.writer.add_shortfall(shortfall);
    }

    fn rotate(&mut self) -> io::Result<()> {
        self.call(|writer| writer.rotate())
    }

    fn dropped(&self) -> u64 {
        self.writer.dropped()
    }

    fn warnings(&mut self) -> Vec<String> {
        self.writer.warnings()
    }

    fn size(&self) -> u64 {
        self.writer.size()
    }

    /// Finishes the writer. What a reader that left did not get counts as dropped, and is no loss that is reported.
    fn finish(self: Box<Self>) -> io::Result<WriterReport> {
        let Self { writer, name, reader, taken, read, lost } = *self;
        let left_after =
            |read: u64| WriterReport { dropped: taken.saturating_sub(read), ..WriterReport::default() };
        if let Some(read) = read {
            return Ok(left_after(read));
        }
        let had_left = reader.as_ref().is_some_and(OutputReader::has_left);
        let finished = writer.finish();
        match &finished {
            Err(error) if reader.as_ref().is_some_and(|reader| reader.takes(error)) => {
                return Ok(left_after(records_written(error).unwrap_or(0)));
            }
            Ok(delivery) if !had_left && taken != 0 && delivery.dropped >= taken => {
                let line = format!("{name}: all of its {} records were lost", notation::grouped(taken));
                lost.0.lock().unwrap_or_else(PoisonError::into_inner).push(line);
            }
            _ => {}
        }
        finished
    }
}
