//! A window of recorded rows, as a measurement would have closed it.

use engine::{ClosedWindow, PacketTotals, WindowId};
use history::replay::FinishedWindow;
use model::{Counters, PacketCounts, Span, WindowEnd};

/// The window, number `index` of its run. `refused_now`: rows that could not be handed over this time.
pub fn closed(window: FinishedWindow, window_ns: u64, index: u64, refused_now: u64) -> ClosedWindow {
    let FinishedWindow { start_ns, watched, ended, empty_before, next_ns, received, lost, .. } = window;
    let FinishedWindow { refused_rows, unplaced, sums, untold, recorded_lacks, estimates, sampled, .. } =
        window;
    let span = Span { start_ns, end_ns: start_ns.saturating_add(window_ns) };
    let [packets, bytes, wire_bytes, flows] = sums;
    let ended_by = match (ended, next_ns) {
        (true, _) => WindowEnd::RunEnd,
        (false, Some(next_ns)) if next_ns > span.end_ns => WindowEnd::Jump,
        _ => WindowEnd::Full,
    };
    // Times of single packets are in the rows alone.
    let mut totals = PacketTotals { packets, bytes, wire_bytes, flows, times: None };
    totals.packets = totals.packets.saturating_add(unplaced.packets);
    totals.bytes = totals.bytes.saturating_add(unplaced.bytes);
    totals.wire_bytes = totals.wire_bytes.saturating_add(unplaced.wire_bytes);
    ClosedWindow {
        index,
        watched: watched.unwrap_or(span),
        ended_by,
        empty_before,
        next_ns,
        packets: PacketCounts { received, measured: totals.packets, ..PacketCounts::default() },
        sampled,
        loss: lost.map(|lost| Counters(vec![("recorded".to_owned(), lost)])),
        totals,
        unplaced,
        refused_rows: refused_rows.saturating_add(refused_now),
        untold,
        lacks: recorded_lacks,
        estimates,
        ..ClosedWindow::without_packets(WindowId::new(start_ns / window_ns.max(1)), span)
    }
}
