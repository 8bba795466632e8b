//! The file of `--rows`: window rows, and what else is known of their windows.

use crate::assembly::window_tally::WindowTally;
use engine::{ClosedWindow, RowOutput};
use flow::Rows;
use packet::{KeyV4, KeyV6};
use record::{RecordedWindows, RowWindow, RowWriter};
use std::io;
use task::rows::Unplaced;

/// The file of `--rows` of a node.
pub(crate) struct RowFile {
    writer: RowWriter,
    windows: RecordedWindows,
    tally: WindowTally,
}

impl RowFile {
    /// Creates an output to a file of rows. `windows`: none as yet.
    pub(crate) fn new(writer: RowWriter, windows: RecordedWindows) -> Self {
        Self { writer, windows, tally: WindowTally::default() }
    }

    fn write<K: packet::Key>(&mut self, start_ns: u64, rows: &Rows<K>) -> io::Result<()> {
        self.tally.add(start_ns, rows);
        let window = RowWindow { start_ns, end_ns: start_ns.saturating_add(self.windows.length_ns) };
        self.writer.write(window, rows)
    }
}

impl RowOutput for RowFile {
    fn write_v4(&mut self, start_ns: u64, rows: &Rows<KeyV4>) -> io::Result<()> {
        self.write(start_ns, rows)
    }

    fn write_v6(&mut self, start_ns: u64, rows: &Rows<KeyV6>) -> io::Result<()> {
        self.write(start_ns, rows)
    }

    fn window(&mut self, closed: &ClosedWindow) {
        self.windows.push(closed.span.start_ns, self.tally.facts(closed));
    }

    fn finish(mut self: Box<Self>, without_place: &Unplaced) -> io::Result<()> {
        let Unplaced { packets, bytes, wire_bytes, .. } = *without_place;
        self.writer.describe_without_place(packets, bytes, wire_bytes);
        self.writer.describe_windows(&self.windows)?;
        self.writer.finish().map(|_| ())
    }
}
