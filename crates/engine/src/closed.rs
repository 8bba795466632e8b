//! A window that all workers have completed: its frames and sums, before queries are answered.

use crate::ids::WindowId;
use crate::refused::{RING_FULL, WORKER_FAILED};
use crate::work::ThreadLoad;
use flow::{LossCounts, Sampled, Untold};
use model::{Answer, Counters, PacketCounts, Span, WindowEnd};
use packet::{NotMeasured, Remark};
use task::rows::{Overflow, Unplaced};
use task::{ReportedFacts, SplitWindow};

/// The reason of [`unread`] where the user stopped the run.
pub(crate) const STOPPED: &str = "the run was stopped";

/// Returns the remark on a window or a run whose source was not read to its end, for this reason.
pub(crate) fn unread(why: &str) -> String {
    format!("its source was not read to the end: {why}")
}

/// Sums over measured packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PacketTotals {
    /// Packets.
    pub packets: u64,
    /// Layer-3 bytes.
    pub bytes: u64,
    /// Bytes of the frames on the wire; [`flow::NULL`] where they are not known of all packets, which routers may leave open.
    pub wire_bytes: u64,
    /// Flows: of a window, keys with packets in it; of a run, records.
    pub flows: u64,
    /// Times of the first and of the last packet, nanoseconds since the epoch; `None` without packets.
    pub times: Option<[u64; 2]>,
}

impl PacketTotals {
    /// Extends the times of the totals by those of more packets.
    #[inline]
    pub fn reach(&mut self, first_ns: u64, last_ns: u64) {
        let (first, last) = (first_ns.min(last_ns), first_ns.max(last_ns));
        self.times = Some(match self.times {
            None => [first, last],
            Some([earliest, latest]) => [earliest.min(first), latest.max(last)],
        });
    }

    /// The time from the first packet to the last.
    pub fn span(&self) -> Option<Span> {
        self.times.map(|[start_ns, end_ns]| Span { start_ns, end_ns })
    }

    /// Adds others.
    pub fn add(&mut self, more: &Self) {
        self.packets = self.packets.saturating_add(more.packets);
        self.bytes = self.bytes.saturating_add(more.bytes);
        self.wire_bytes = self.wire_bytes.saturating_add(more.wire_bytes);
        self.flows = self.flows.saturating_add(more.flows);
        more.times.iter().for_each(|[first, last]| self.reach(*first, *last));
    }
}

/// The state of a window when all workers have completed it.
#[derive(Clone, Debug, PartialEq)]
pub struct ClosedWindow {
    /// The window.
    pub window: WindowId,
    /// The number of the window in this run, from 0 on.
    pub index: u64,
    /// The time of the window.
    pub span: Span,
    /// The part of the window that was observed.
    pub watched: Span,
    /// The reason why the window was closed.
    pub ended_by: WindowEnd,
    /// Windows of time without a frame between the previous window and this one.
    pub empty_before: u64,
    /// The begin of the next window with a frame, where that is known.
    pub next_ns: Option<u64>,
    /// The numbers of frames of the window.
    pub packets: PacketCounts,
    /// The losses of the source in the window; `None` if the source cannot know.
    pub loss: Option<Counters>,
    /// The way in which the packets of the window were sampled; `None`: all are measured.
    pub sampled: Option<Sampled>,
    /// Sums of the tables, including packets without a place.
    pub totals: PacketTotals,
    /// Packets without a place in the table: they are in no row.
    pub unplaced: Unplaced,
    /// The groups of the packets without a place, as far as they are known; `None` where nothing is.
    pub overflow: Option<Overflow>,
    /// Rows that were not taken.
    pub refused_rows: u64,
    /// A remark on missing data of the window: records of routers that did not arrive or were not read, or the rest of a source that was not
    /// read to its end. `None` if nothing is known to be missing.
    pub lacks: Option<String>,
    /// Numbers of records of routers or of a file that did not tell a value. Those of captured packets are in the counters of `packets`.
    pub untold: Untold,
    /// A remark that records of routers are samples, and how good estimates of them are, in words.
    pub estimates: Option<String>,
    /// Packets of pinned flows that there was no memory to follow.
    pub unfollowed: u64,
    /// TCP losses over all flows; `None` if they are not tracked.
    pub tcp_loss: Option<LossCounts>,
    /// The load of the threads of the run.
    pub work: ThreadLoad,
    /// The answers of tasks that count packets.
    pub answers: Vec<Answer>,
    /// Rows for queries by packets; `None` where its set has none.
    pub split: Option<SplitWindow>,
}

impl ClosedWindow {
    /// A window that was watched from begin to end, and in which nothing was received or lost.
    pub fn without_packets(window: WindowId, span: Span) -> Self {
        Self {
            window,
            index: 0,
            span,
            watched: span,
            ended_by: WindowEnd::Full,
            empty_before: 0,
            next_ns: None,
            packets: PacketCounts::default(),
            loss: None,
            sampled: None,
            totals: PacketTotals::default(),
            unplaced: Unplaced::default(),
            overflow: None,
            refused_rows: 0,
            lacks: None,
            untold: Untold::default(),
            estimates: None,
            unfollowed: 0,
            tcp_loss: None,
            work: ThreadLoad::default(),
            answers: Vec::new(),
            split: None,
        }
    }

    /// Returns true if the window was watched only in part.
    pub fn is_cut(&self) -> bool {
        self.watched != self.span || self.ended_by == WindowEnd::RunEnd
    }

    /// Packets that nothing could count: what sources lost, and what a ring or a worker that failed did. `None` where a source
    /// cannot know.
    pub(crate) fn lost(&self) -> Option<u64> {
        self.loss.as_ref().map(|loss| loss.total() + self.refused())
    }

    /// Returns the numbers of its packets and records that did not tell a value.
    pub fn all_untold(&self) -> Untold {
        let mut untold = self.untold_of_packets();
        untold.add(&self.untold);
        untold
    }

    /// Returns the numbers of captured packets that did not tell a value.
    pub fn untold_of_packets(&self) -> Untold {
        let remark = |remark: Remark| self.packets.remarks.get(remark.name());
        let not_measured = |reason: NotMeasured| self.packets.not_measured.get(reason.name());
        let mut untold = Untold::default();
        untold.cut_addresses = not_measured(NotMeasured::Truncated);
        untold.cut_filter = not_measured(NotMeasured::FilterUndecided);
        untold.cut_protocol = remark(Remark::ProtocolTruncated);
        untold.cut_ports = remark(Remark::PortsTruncated);
        untold.cut_tcp = remark(Remark::TcpTruncated);
        untold.cut_inner = remark(Remark::InnerTruncated);
        untold.unparsed_segments = remark(Remark::SegmentUnparsed);
        untold
    }

    /// Returns what answers of tasks are to know of the window.
    pub(crate) fn reported(&self) -> ReportedFacts {
        ReportedFacts {
            lost: self.lost(),
            is_cut: self.is_cut(),
            sampled: self.sampled,
            untold: self.all_untold(),
        }
    }

    /// Returns the number of packets that were received and came to no table.
    pub(crate) fn refused(&self) -> u64 {
        self.packets.not_measured.get(RING_FULL) + self.packets.not_measured.get(WORKER_FAILED)
    }
}
