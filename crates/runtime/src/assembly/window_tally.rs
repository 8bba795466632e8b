//! The facts about a window besides its rows, for what records them.

use engine::ClosedWindow;
use flow::Rows;
use model::{Counters, WindowEnd};
use record::{WindowFacts, WindowSample};
use std::collections::BTreeMap;
use task::rows::Unplaced;

/// Packets in rows of windows that are not closed yet, by the windows' begins.
#[derive(Debug, Default)]
pub(crate) struct WindowTally(BTreeMap<u64, u64>);

impl WindowTally {
    /// Adds rows of a window that are recorded.
    pub(crate) fn add<K>(&mut self, start_ns: u64, rows: &Rows<K>) {
        let sum = self.0.entry(start_ns).or_default();
        *sum = rows.rows.iter().fold(*sum, |sum, row| sum.saturating_add(row.packets));
    }

    /// Returns what is known of a window whose rows have all come.
    pub(crate) fn facts(&mut self, closed: &ClosedWindow) -> WindowFacts {
        let start_ns = closed.span.start_ns;
        let in_rows = self.0.remove(&start_ns).unwrap_or(0);
        // Rows of windows that were never closed are not awaited.
        self.0 = self.0.split_off(&start_ns);
        let Unplaced { packets, bytes, wire_bytes, .. } = closed.unplaced;
        let lost = closed.loss.as_ref().map(Counters::total);
        let unmeasured = closed.packets.received.saturating_sub(in_rows).saturating_sub(packets);
        let share = lost.map_or(0.0, |lost| 1.0 - model::coverage(closed.packets.received, lost));
        let sample = closed.sampled.map(WindowSample::from);
        WindowFacts {
            lost,
            uncovered_ns: (share * closed.watched.length_ns() as f64).ceil() as u64,
            // Without losses there is no coverage that depends on it. A window without rows is told from one without frames by it.
            unmeasured: if lost.is_some() || in_rows == 0 { unmeasured } else { 0 },
            refused_rows: closed.refused_rows,
            without_place: [packets, bytes, wire_bytes],
            untold: closed.all_untold(),
            watched: (closed.watched != closed.span)
                .then_some([closed.watched.start_ns, closed.watched.end_ns]),
            ended: closed.ended_by == WindowEnd::RunEnd,
            incomplete: false,
            of_records: false,
            lacks: closed.lacks.clone(),
            estimates: closed.estimates.clone(),
            sample: match closed.packets.received {
                0 => sample.map(WindowSample::without_frames),
                _ => sample,
            },
        }
    }
}
