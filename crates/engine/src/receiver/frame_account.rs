//! The account of a receiver's frames: each is measured, not measured for a reason, or lost.

use crate::refused::{NOT_SAMPLED, RING_FULL, UncountedPackets, WORKER_FAILED};
use model::{Counters, PacketCounts};
use packet::{BurstParser, NotMeasured, Remark};

/// The frames that one receiver has received, and those that it knows to be missing.
#[derive(Debug, Default)]
pub(super) struct FrameAccount {
    /// Frames received, without one that is held.
    pub(super) received: u64,
    /// Frames that are earlier than one before them.
    pub(super) backwards: u64,
    /// Frames so far ahead that stream time did not follow.
    pub(super) ahead: u64,
    /// Parsed packets that could not be passed on.
    pub(super) refused: UncountedPackets,
    /// The counts when the open window began.
    before: PacketCounts,
    /// The last known losses of the source before the open window began.
    loss_before: Option<Counters>,
    /// The losses of the source so far, as the caller has told them; `None` if they are unknown.
    pub(super) loss: Option<Counters>,
    /// A remark on missing data of the open window; `None` if nothing is known to be missing.
    pub(super) lacks: Option<String>,
}

impl FrameAccount {
    /// Returns what was lost so far before it could be measured.
    pub(super) fn losses(&self) -> Option<Counters> {
        let mut loss = self.loss.clone()?;
        if self.refused.ring_full != 0 {
            loss.0.push((RING_FULL.to_owned(), self.refused.ring_full));
        }
        Some(loss)
    }

    /// Returns the counts of what was received so far and not measured; the tables provide `measured`.
    pub(super) fn counts(&self, parser: &BurstParser, not_sampled: u64) -> PacketCounts {
        let reasons = NotMeasured::ALL.iter().map(|&r| (r.name(), parser.not_measured[r as usize]));
        // Packets refused by a ring count as lost, as if the port had missed them; if the port's losses are
        // unknown, they are a named counter among the frames that were not measured.
        let (lost, not_measured) = match self.loss {
            Some(_) => (self.refused.ring_full, 0),
            None => (0, self.refused.ring_full),
        };
        let refused = [
            (RING_FULL, not_measured),
            (WORKER_FAILED, self.refused.worker_failed),
            (NOT_SAMPLED, not_sampled),
        ];
        let remarks = Remark::ALL.iter().map(|&r| (r.name(), parser.remarks[r as usize]));
        PacketCounts {
            received: self.received - lost,
            measured: 0,
            not_measured: reasons.chain(refused).collect(),
            remarks: remarks
                .chain([("time_backwards", self.backwards), ("time_ahead", self.ahead)])
                .collect(),
        }
    }

    /// Closes the account of the open window at these counts and losses. Returns those of the window.
    pub(super) fn close(
        &mut self,
        counts: PacketCounts,
        loss: Option<Counters>,
    ) -> (PacketCounts, Option<Counters>) {
        let packets = counts.since(&self.before);
        let lost = loss.as_ref().map(|loss| match &self.loss_before {
            Some(before) => loss.since(before),
            None => loss.clone(),
        });
        self.before = counts;
        // What is told after it was unknown for some windows is more than what was known before them.
        self.loss_before = loss.or_else(|| self.loss_before.take());
        (packets, lost)
    }
}
