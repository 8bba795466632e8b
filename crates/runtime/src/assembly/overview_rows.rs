//! The window rows of a node on their way to the overview that the page shows.

use engine::{ClosedWindow, RowOutput};
use flow::{LossCounts, Rows};
use model::PacketCounts;
use overview::{Recorder, WindowFacts};
use packet::{KeyV4, KeyV6};
use std::io;
use task::rows::Unplaced;

/// Takes window rows of a node.
pub(super) struct OverviewRows {
    recorder: Recorder,
    /// True if rows tell the window that they are of.
    takes_rows: bool,
}

impl OverviewRows {
    /// Gives the rows of a node to a recorder. `takes_rows`: they tell the window that they are of.
    pub(super) fn new(recorder: Recorder, takes_rows: bool) -> Self {
        Self { recorder, takes_rows }
    }
}

impl RowOutput for OverviewRows {
    fn write_v4(&mut self, start_ns: u64, rows: &Rows<KeyV4>) -> io::Result<()> {
        if self.takes_rows {
            self.recorder.rows(start_ns, rows);
        }
        Ok(())
    }

    fn write_v6(&mut self, start_ns: u64, rows: &Rows<KeyV6>) -> io::Result<()> {
        if self.takes_rows {
            self.recorder.rows(start_ns, rows);
        }
        Ok(())
    }

    fn window(&mut self, closed: &ClosedWindow) {
        self.recorder.window(&facts(closed));
    }

    fn finish(mut self: Box<Self>, _: &Unplaced) -> io::Result<()> {
        self.recorder.finish();
        Ok(())
    }
}

/// Returns what is known of a window besides its rows.
fn facts(closed: &ClosedWindow) -> WindowFacts {
    let totals = &closed.totals;
    let sampled = closed.sampled.filter(|sampled| !sampled.is_whole());
    let estimated = sampled.map(|sampled| {
        [sampled.bytes(totals.bytes as f64).value, sampled.packets(totals.packets as f64).value]
    });
    // Of records that routers sampled it is not known how good they are.
    let unsure = closed.estimates.as_ref().map(|_| [totals.bytes as f64, totals.packets as f64]);
    let refused = (closed.refused_rows != 0).then(|| format!("{} rows were refused", closed.refused_rows));
    let lost = |loss: &LossCounts| loss.ploss_byte + loss.retrans_byte + loss.unseen_byte;
    WindowFacts {
        span: closed.span,
        watched: closed.watched,
        empty_before: closed.empty_before,
        bytes: totals.bytes,
        packets: totals.packets,
        flows: totals.flows,
        frames: PacketCounts { remarks: Default::default(), ..closed.packets.clone() },
        loss: closed.loss.clone(),
        tcp_lost: closed.tcp_loss.as_ref().map(lost),
        estimated: estimated.or(unsure),
        lacks: refused.into_iter().chain(closed.lacks.clone()).chain(closed.estimates.clone()).collect(),
    }
}
