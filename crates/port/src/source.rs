//! The interface of every source of frames.

use crate::Burst;
use std::fmt;

/// The result of one call of [`PacketSource::rx_burst`].
#[derive(Debug)]
pub enum Poll<'a> {
    /// Frames, at least one, valid until the next call.
    Burst(Burst<'a>),
    /// The source has no frames now; more may follow.
    Idle,
    /// The source has ended.
    Ended,
}

/// The clock that turns the windows of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeBase {
    /// The packets' own times: a replay. It can wait for a slow reader without loss.
    Packets,
    /// The machine's clock: a live source. It never waits for its reader.
    Clock,
}

/// The progress of a source with a known end, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SourceProgress {
    /// Bytes read so far.
    pub done: u64,
    /// Total bytes; `None` if unknown (standard input).
    pub total: Option<u64>,
}

/// A counter of what the source lost, by its name in the source's documentation (`imissed`, `rx_nombuf`, `ps_drop`, …).
pub type SourceCounter = (&'static str, u64);

/// Frames, burst by burst. A source may move to the thread that polls it.
pub trait PacketSource: Send {
    /// The next frames, at most the burst size that the source was opened with. Does not block for longer than
    /// some milliseconds, allocates nothing.
    ///
    /// # Errors
    /// Returns, after the last good frame, what is wrong with the source. No further call is made then.
    fn rx_burst(&mut self) -> Result<Poll<'_>, SourceError>;

    /// Releases what the last burst held, such as mbufs. Otherwise the next poll does so; a bench that
    /// measures the cost does it separately.
    fn release(&mut self) {}

    /// Tells the source that the reader prefetches the frames that it reads itself: the source touches none.
    fn leave_prefetching(&mut self) {}

    /// Waits some milliseconds at most for frames, after a poll was `Idle`. A source that is polled by a
    /// dedicated core does not wait.
    fn wait(&mut self) {}

    /// Returns which clock turns the windows of the source.
    fn time_base(&self) -> TimeBase;

    /// Returns whether frames that waited to be polled have the times at which they arrived, in order. The frames of other sources may have the time of
    /// the poll.
    fn tells_arrivals(&self) -> bool {
        false
    }

    /// Returns the name that the user gave the source.
    fn name(&self) -> &str;

    /// Returns what the source itself lost so far, each loss in one counter only; `None` if it cannot know.
    fn lost(&mut self) -> Option<Vec<SourceCounter>>;

    /// Returns true if [`PacketSource::lost`] returns more than before, where a recording tells it between its frames: the frames before it
    /// are in bursts that were returned.
    fn has_new_loss(&self) -> bool {
        false
    }

    /// Returns how much of its losses the source had while its receiver was off the core, as far as it can tell: no receiver could have
    /// taken it.
    fn lost_off_core(&self) -> u64 {
        0
    }

    /// Returns how often the source's link was found to have gone down since it was opened; `None` if it has no link. Measurement continues
    /// on a link that comes back. Of the sources that are queues of one port, one reports.
    fn link_downs(&self) -> Option<u64> {
        None
    }

    /// Returns the progress of the source, if it has a known end.
    fn progress(&self) -> Option<SourceProgress> {
        None
    }

    /// Warnings for the user since the last call, each on one line.
    fn warnings(&mut self) -> Vec<String> {
        Vec::new()
    }
}

/// The reason why a source cannot be opened or cannot continue. `Display` gives one line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SourceError {
    /// The source does not exist or cannot be opened (exit code 2).
    Open(String),
    /// The request exceeds what the source can do (exit code 2): the setting to change, and why. The program explains how users change it.
    Refused(SourceSetting, String),
    /// The source failed while running: an interface that vanished, a read error (exit code 1).
    Fault(String),
    /// The capture is damaged, truncated, empty or foreign: what was read remains valid (exit code 3).
    Damaged(String),
}

/// A setting that decides how a source is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SourceSetting {
    /// The name of a capture; what has this name may be an interface or a DPDK port.
    CaptureName,
    /// Standard input, on which a capture is piped into the program.
    StandardInput,
    /// The specification of synthetic traffic.
    Synthetic,
    /// The specification of a software wire.
    Wire,
    /// The hash that chooses the receive queue of a DPDK port.
    Rss,
    /// The devargs of DPDK ports.
    Devargs,
    /// Mbufs for each receive queue of a DPDK port.
    Mbufs,
    /// Pools of mbufs that the receive queues of a DPDK port share.
    Pools,
    /// The arguments of DPDK's environment.
    Eal,
    /// The amount that DPDK's environment logs, which would show the reason.
    EalLog,
}

impl fmt::Display for SourceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Open(text) | Self::Refused(_, text) | Self::Fault(text) | Self::Damaged(text) => {
                f.write_str(text)
            }
        }
    }
}

impl std::error::Error for SourceError {}
