//! How a node fares: what it was last heard to say, and what its windows add up to.

use protocol::{Heartbeat, ListId, WindowResult};
use report::{Counters, PacketCounts, Span, Status};

/// Named counters of one kind that are kept of a node; a probe has a few dozen.
const MOST_COUNTERS: usize = 256;

/// What is known of a node beside its answers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Health {
    /// When a message of it came last, nanoseconds since the epoch, by the controller's clock.
    pub heard_ns: Option<u64>,
    /// The last window that it answered.
    pub window: Option<Span>,
    /// The account of that window: its frames, and what was lost before the measurement (`None` where the source cannot count it).
    pub last: Option<(PacketCounts, Option<Counters>)>,
    /// Frames of all windows that came.
    pub packets: PacketCounts,
    /// What was lost in them; `None` where the source cannot count it.
    pub loss: Option<Counters>,
    /// The coverage of the last window.
    pub coverage: Option<f64>,
    /// The last heartbeat.
    pub heartbeat: Option<Heartbeat>,
    /// Why it does not carry out its newest list.
    pub refused: Option<String>,
    /// It said that nothing follows, and has said nothing since.
    pub has_ended: bool,
    /// The last list that was sent to it.
    pub wanted: Option<ListId>,
    /// Windows that it answered.
    pub windows: Windows,
    /// Results that it dropped, since it started.
    dropped: u64,
}

/// The windows that came, by what they are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Windows {
    /// Watched from begin to end, with all rows counted.
    pub complete: u64,
    /// Watched only in part, or with rows that were refused.
    pub partial: u64,
    /// Came after their time was settled: shown, and judged by no condition.
    pub late: u64,
    /// Dropped by the probe because its spool was full.
    pub lost: u64,
}

impl Windows {
    /// Adds those of another node.
    pub fn add(&mut self, more: &Self) {
        self.complete += more.complete;
        self.partial += more.partial;
        self.late += more.late;
        self.lost += more.lost;
    }
}

impl Health {
    /// Takes a window that came.
    pub fn count(&mut self, result: &WindowResult) {
        self.has_ended = false;
        self.window = Some(result.window);
        // A probe that has started anew has dropped nothing yet.
        self.windows.lost += result.lost.checked_sub(self.dropped).unwrap_or(result.lost);
        self.dropped = result.lost;
        let Some(totals) = result.answers.iter().find(|answer| answer.query == "totals") else { return };
        let windows = result.empty.unwrap_or(1);
        match totals.status {
            Status::Complete => self.windows.complete += windows,
            Status::Partial | Status::Cut => self.windows.partial += windows,
        }
        self.coverage = totals.coverage;
        let Some(account) = &totals.account else { return };
        self.packets.add(&account.packets);
        match (&mut self.loss, &account.loss) {
            (Some(sum), Some(loss)) => sum.add(loss),
            (sum, loss) => sum.clone_from(loss),
        }
        let loss = self.loss.iter_mut().map(|loss| &mut loss.0);
        let named = [&mut self.packets.not_measured.0, &mut self.packets.remarks.0];
        named.into_iter().chain(loss).for_each(|counters| counters.truncate(MOST_COUNTERS));
        self.last = Some((account.packets.clone(), account.loss.clone()));
    }
}
