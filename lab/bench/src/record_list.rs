//! The records of a run, kept to be compared.

use engine::RecordSink;
use flow::FlowRecord;

/// Records of the whole run.
#[derive(Default)]
pub(crate) struct RecordList(pub(crate) Vec<FlowRecord>);

impl RecordSink for RecordList {
    fn record(&mut self, record: FlowRecord) {
        self.0.push(record);
    }
    fn sibling(&self) -> Self {
        Self::default()
    }
    fn absorb(&mut self, sibling: Self) {
        self.0.extend(sibling.0);
    }
}
