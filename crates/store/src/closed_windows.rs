//! The windows of a file of rows that are closed, which its metadata tells.

use record::{RecordedWindows, RowWriter, WindowFacts};
use std::io;

/// Windows that are closed and in no file.
pub(crate) struct ClosedWindows {
    pub(crate) windows: RecordedWindows,
    /// Packets that found no place in a table, their layer-3 bytes and their bytes on the wire.
    without_place: [u64; 3],
}

impl ClosedWindows {
    pub(crate) fn new(window_ns: u64, usual_ns: u64) -> Self {
        Self { windows: RecordedWindows::new(window_ns, usual_ns), without_place: [0; 3] }
    }

    /// Adds a window, which follows all before it.
    pub(crate) fn push(&mut self, start_ns: u64, facts: WindowFacts) {
        for (sum, more) in self.without_place.iter_mut().zip(facts.without_place) {
            *sum = sum.saturating_add(more);
        }
        self.windows.push(start_ns, facts);
    }

    /// Writes the windows into the metadata of a file.
    pub(crate) fn describe(&self, writer: &mut RowWriter) -> io::Result<()> {
        let [packets, bytes, wire_bytes] = self.without_place;
        writer.describe_without_place(packets, bytes, wire_bytes);
        writer.describe_windows(&self.windows)
    }
}
