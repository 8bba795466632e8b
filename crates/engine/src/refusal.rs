//! Reasons why a run is refused, as values: the program, which knows its options' names, words them for the user.

use crate::design::{Design, Split, StatePlacement};
use flow::Metric;
use std::fmt;

/// One reason why a run is not possible as requested.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunRefusal {
    /// The machine offers fewer cores.
    TooFewCores {
        /// Cores that were requested.
        asked: usize,
        /// Cores available to this process.
        allowed: usize,
    },
    /// The machine does not offer this core.
    NoSuchCore {
        /// The core's number.
        core: usize,
        /// The numbers of those available to this process.
        allowed: Vec<usize>,
    },
    /// The design has more threads than the cores that it is given.
    DesignNeedsCores {
        /// The design.
        design: Design,
        /// The least number of cores that the design needs.
        least: usize,
        /// The number of cores that the design is given.
        given: usize,
    },
    /// The design has a fixed number of threads, but is given another number of cores.
    DesignHasCores {
        /// The design.
        design: Design,
        /// The number of cores that the design has.
        cores: usize,
        /// The number of cores that the design is given.
        given: usize,
    },
    /// The source has fewer queues than the design has receivers.
    TooFewQueues {
        /// The design.
        design: Design,
        /// The number of receivers of the design.
        receivers: usize,
        /// Queues of the source.
        queues: usize,
    },
    /// Queues that replay independently need one receiver each.
    ReplaysApart {
        /// Queues of the source.
        queues: usize,
        /// Receivers of the plan.
        receivers: usize,
    },
    /// A request needs a flow's packets on one core and in their order, which the plan does not keep.
    NeedsOrder {
        /// The request.
        what: Ordered,
        /// The rule by which the plan splits packets.
        split: Split,
        /// The place where the plan keeps flows.
        state: StatePlacement,
    },
    /// The packets are sampled, and the core that receives them is not relieved by this design.
    SamplingNeedsWorkers {
        /// The plan's design.
        design: Design,
    },
    /// A request needs every packet, and the packets are sampled.
    NeedsEveryPacket {
        /// The request.
        what: EveryPacket,
    },
    /// A request needs all frames at one receiver, and the plan has several.
    NeedsOneReceiver {
        /// The request.
        what: OneReceiver,
        /// The plan's design.
        design: Design,
        /// The plan's receivers.
        receivers: usize,
    },
    /// TCP loss is followed by connection, and the flow key is not the 5-tuple.
    LossNeedsConnections,
    /// Both directions cannot be joined under this flow key.
    KeyNotSymmetric {
        /// The property that the key lacks.
        reason: &'static str,
    },
    /// Loss and biflows need both directions of a connection at one receiver, which is not the case.
    DirectionsApart {
        /// The receivers of the two directions, as far as they are known.
        directions: Directions,
    },
    /// Receivers wait for one another when a window ends, and a source that has ended reports nothing.
    FallsSilent {
        /// The split of packets and the place of flows, if flows are merged; otherwise tasks make receivers wait.
        merging: Option<(Split, StatePlacement)>,
    },
    /// A task cannot be counted in this run.
    Task {
        /// The task and why, in one line.
        reason: String,
    },
    /// A query that is to be counted in packets cannot be in this run.
    Query {
        /// The query and why, in one line.
        reason: String,
    },
    /// Less memory than any run needs.
    TooLittleMemory {
        /// Bytes that the run may have.
        allowed: usize,
        /// The bytes that the run needs at least.
        least: usize,
    },
    /// Rings take more than half of the memory.
    RingsTooLarge {
        /// Bytes of all rings.
        bytes: usize,
    },
    /// Tables of flows that are merged begin with more than half of the memory.
    MergingTooLarge {
        /// The bytes that the tables begin with.
        bytes: usize,
        /// The rule by which packets are split.
        split: Split,
        /// The place where flows are kept.
        state: StatePlacement,
        /// Workers that count.
        workers: usize,
    },
    /// Tasks take more than half of the memory.
    TasksTooLarge {
        /// The bytes of all structures of the tasks.
        bytes: usize,
        /// Workers that count.
        workers: usize,
    },
    /// Each part is within its half, but together they exceed the memory.
    MemoryExceeded {
        /// Bytes that the run may have.
        allowed: usize,
        /// Bytes of the structures of tasks.
        tasks: usize,
        /// Bytes of the frames that the source keeps.
        frames: usize,
        /// Bytes of rings and of tables of flows that are merged.
        between_cores: usize,
        /// Bytes that were taken before, such as for outputs.
        outputs: usize,
        /// Bytes with which the run would be admitted.
        enough: usize,
    },
}

/// A request that needs a flow's packets on one core and in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ordered {
    /// Following TCP loss.
    Loss,
    /// Joining both directions.
    Biflow,
    /// Statistics of this metric.
    Statistic(Metric),
    /// Ending records by a timeout.
    Timeouts,
    /// A table that knows flows by a hash: what several cores count of a flow is not put together.
    HashTable,
}

/// A request that needs every packet of a flow: nothing bounds what a sample tells of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EveryPacket {
    /// Following TCP loss by sequence numbers.
    Loss,
    /// Joining both directions: the first packet tells which is which.
    Biflow,
    /// Statistics of this metric, which is of two packets in sequence.
    Statistic(Metric),
}

/// A request that needs all frames at one receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OneReceiver {
    /// Windows of a number of frames: it counts all in their order.
    WindowsOfPackets,
    /// A limit of frames: it counts all in their order.
    PacketLimit,
    /// A limit of a replay's stream time, which begins with its first frame.
    DurationOfReplay,
    /// Gaps: it counts all frames between two of a flow.
    Gap,
    /// Keys of inner headers: queues are chosen by the outer one.
    InnerTunnel,
    /// A flow key that lacks this field by which queues are chosen, or has a part of it.
    Key(&'static str),
}

/// The receivers at which the two directions of a connection arrive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Directions {
    /// The directions arrive at one receiver.
    #[default]
    Together,
    /// The directions arrive at different receivers.
    Apart,
    /// The receivers are unknown: it is not known how frames are spread over queues.
    Unknown,
}

impl RunRefusal {
    /// Bytes of memory with which this reason would not apply, if the reason is memory.
    pub fn enough_memory(&self) -> Option<usize> {
        match *self {
            Self::TooLittleMemory { least, .. } => Some(least),
            Self::RingsTooLarge { bytes }
            | Self::MergingTooLarge { bytes, .. }
            | Self::TasksTooLarge { bytes, .. } => Some(bytes.saturating_mul(2)),
            Self::MemoryExceeded { enough, .. } => Some(enough),
            _ => None,
        }
    }
}

/// Bytes as whole MiB, rounded up.
fn mib(bytes: usize) -> usize {
    bytes.div_ceil(1 << 20)
}

impl fmt::Display for RunRefusal {
    // Long: one flat match with the message of each reason.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooFewCores { asked, allowed } => {
                write!(
                    f,
                    "{asked} cores were asked for, and there are {allowed}; clusters may have more threads than cores"
                )
            }
            Self::NoSuchCore { core, allowed } => {
                let there = allowed.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
                write!(f, "there is no core {core} for this process; there are {there}")
            }
            Self::DesignNeedsCores { design, least, given } => {
                write!(f, "the design {design} needs {least} cores at least, and is given {given}")
            }
            Self::DesignHasCores { design, cores, given } => {
                write!(f, "the design {design} has {cores} core(s), and is given {given}")
            }
            Self::TooFewQueues { design, receivers, queues } => {
                write!(
                    f,
                    "the design {design} has {receivers} receivers, but the source has {queues} queue(s)"
                )
            }
            Self::ReplaysApart { queues, receivers } => {
                write!(
                    f,
                    "each of {queues} queues replays by itself, and {receivers} receiver(s) cannot read them at once"
                )
            }
            Self::NeedsOrder { what: Ordered::Timeouts, split, state } => {
                let why = spreads(*state);
                write!(
                    f,
                    "timeouts end records by the order of a flow's packets, but {} {why}",
                    way(*split, *state)
                )
            }
            Self::NeedsOrder { what, split, state } => {
                let (way, why) = (way(*split, *state), spreads(*state));
                write!(f, "{what} needs a flow's packets on one core and in their order, but {way} {why}")
            }
            Self::SamplingNeedsWorkers { design } => write!(
                f,
                "a sample is measured on another core than the one that receives, and the design {design} {}",
                match design {
                    Design::Sync => "has the receiver wait for the others",
                    _ => "has no other one",
                }
            ),
            Self::NeedsEveryPacket { what } => write!(f, "{what}, and packets are sampled"),
            Self::NeedsOneReceiver { what, design, receivers } => {
                write!(f, "{what}, but the design {design} has {receivers} receivers")
            }
            Self::LossNeedsConnections => {
                f.write_str("TCP loss is followed by connection: the flow key must be the 5-tuple")
            }
            Self::KeyNotSymmetric { reason } => write!(f, "two directions cannot be joined: {reason}"),
            Self::DirectionsApart { directions } => {
                write!(
                    f,
                    "loss and biflows need both directions of a connection on one core, and {directions}"
                )
            }
            Self::FallsSilent { merging } => {
                let what = match merging {
                    Some((split, state)) => format!("to merge flows ({} state, split by {split})", state),
                    None => "to answer tasks".to_owned(),
                };
                write!(
                    f,
                    "{what}, receivers wait for one another at each window's end, but a replay by a port that has ended stays \
                     silent"
                )
            }
            Self::Task { reason } => write!(f, "task {reason}"),
            Self::Query { reason } => f.write_str(reason),
            Self::TooLittleMemory { allowed, least } => {
                write!(f, "{allowed} bytes of memory: the least is {} MiB", least >> 20)
            }
            Self::RingsTooLarge { bytes } => {
                write!(f, "the rings between cores take {} MiB, more than half of the memory", mib(*bytes))
            }
            Self::MergingTooLarge { bytes, split, state, workers } => write!(
                f,
                "{} state split by {split} begins with {} MiB for {workers} workers and merging, more than half of the memory",
                state,
                bytes >> 20
            ),
            Self::TasksTooLarge { bytes, workers } => write!(
                f,
                "the structures of tasks take {} MiB for {workers} worker(s), two windows each, and tables need half of the memory",
                mib(*bytes)
            ),
            Self::MemoryExceeded { allowed, tasks, frames, between_cores, outputs, enough } => write!(
                f,
                "{} MiB of memory: tasks take {} MiB, frames of the source {} MiB, rings and merging between cores {} MiB and \
                 outputs {} MiB; {} MiB are enough",
                allowed >> 20,
                mib(*tasks),
                mib(*frames),
                mib(*between_cores),
                mib(*outputs),
                mib(*enough)
            ),
        }
    }
}

impl std::error::Error for RunRefusal {}

/// Returns what spreads a flow over several cores.
fn way(split: Split, state: StatePlacement) -> String {
    match state {
        StatePlacement::Separate => format!("splitting by {split}"),
        StatePlacement::Shared => "shared state".to_owned(),
    }
}

/// Returns why the order of packets is not preserved.
fn spreads(state: StatePlacement) -> &'static str {
    match state {
        StatePlacement::Separate => "spreads them over cores",
        StatePlacement::Shared => "keeps what has no order only",
    }
}

impl fmt::Display for Ordered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Loss => f.write_str("TCP loss"),
            Self::Biflow => f.write_str("joining both directions"),
            Self::Statistic(metric) => write!(f, "the statistic {}", metric.name()),
            Self::Timeouts => f.write_str("a timeout"),
            Self::HashTable => f.write_str("a table that knows flows by a hash"),
        }
    }
}

impl fmt::Display for EveryPacket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Loss => {
                f.write_str("TCP loss is found in the sequence numbers of all packets of a connection")
            }
            Self::Biflow => f.write_str("a connection's first packet tells its two directions apart"),
            Self::Statistic(metric) => {
                write!(f, "the statistic {} is of two packets of a flow in sequence", metric.name())
            }
        }
    }
}

impl fmt::Display for OneReceiver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            Self::WindowsOfPackets => "a window of packets counts all frames in their order",
            Self::PacketLimit => "a limit of packets counts all frames in their order",
            Self::DurationOfReplay => {
                "the duration of a replay begins with its first frame, which one receiver sees"
            }
            Self::Gap => "a gap counts all frames between two of a flow",
            Self::InnerTunnel => {
                "measuring inner headers needs inner flows on one core, and queues are chosen by the outer header"
            }
            Self::Key(field) => {
                return write!(
                    f,
                    "the flow key needs a flow on one core, and queues are chosen by {field}, which it lacks or has a part of"
                );
            }
        };
        f.write_str(text)
    }
}

impl fmt::Display for Directions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Together => "both directions of a connection come to one queue",
            Self::Apart => {
                "the hash that chooses a queue brings both directions of a connection to different queues"
            }
            Self::Unknown => "the port does not say how it spreads frames over its queues",
        })
    }
}
