//! The file of `--rows`: window rows, and what else is known of their windows.

use engine::{ClosedWindow, RowOutput};
use flow::Rows;
use packet::{KeyV4, KeyV6};
use record::{RecordedWindows, RowWindow, RowWriter, WindowFacts};
use report::{Counters, WindowEnd};
use std::collections::BTreeMap;
use std::io;
use task::rows::Unplaced;

/// See the module's documentation.
pub(crate) struct RowFile {
    writer: RowWriter,
    windows: RecordedWindows,
    /// Packets in rows of windows that are not closed yet, by the windows' begins.
    in_rows: BTreeMap<u64, u64>,
}

impl RowFile {
    /// `windows`: none as yet.
    pub(crate) fn new(writer: RowWriter, windows: RecordedWindows) -> Self {
        Self { writer, windows, in_rows: BTreeMap::new() }
    }

    fn write<K: packet::Key>(&mut self, start_ns: u64, rows: &Rows<K>) -> io::Result<()> {
        *self.in_rows.entry(start_ns).or_default() += rows.rows.iter().map(|row| row.packets).sum::<u64>();
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
        let start_ns = closed.span.start_ns;
        let in_rows = self.in_rows.remove(&start_ns).unwrap_or(0);
        // Rows of windows that nothing closed any more are not waited for.
        self.in_rows = self.in_rows.split_off(&start_ns);
        let Unplaced { packets, bytes, wire_bytes } = closed.unplaced;
        let lost = closed.loss.as_ref().map(Counters::total);
        let unmeasured = closed.packets.received.saturating_sub(in_rows).saturating_sub(packets);
        self.windows.push(
            start_ns,
            WindowFacts {
                lost,
                // Without losses there is no coverage that depends on it.
                unmeasured: if lost.is_some() { unmeasured } else { 0 },
                refused_rows: closed.refused_rows,
                without_place: [packets, bytes, wire_bytes],
                watched: (closed.watched != closed.span)
                    .then_some([closed.watched.start_ns, closed.watched.end_ns]),
                ended: closed.ended_by == WindowEnd::RunEnd,
            },
        );
    }

    fn finish(mut self: Box<Self>, without_place: &Unplaced) -> io::Result<()> {
        let Unplaced { packets, bytes, wire_bytes } = *without_place;
        self.writer.describe_without_place(packets, bytes, wire_bytes);
        self.writer.describe_windows(&self.windows)?;
        self.writer.finish().map(|_| ())
    }
}
