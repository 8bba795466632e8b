//! The configuration of a run.

use crate::control::Control;
use crate::idle_timeout::IdleTimeout;
use crate::sampling::SamplingControl;
use crate::steps::StepTiming;
use crate::thread_setup::ThreadSetup;
use crate::tuning::Adaption;
use crate::worker_use::WorkerUse;
use arena::Limits;
use flowtable::by_hash::HashTableKind;
use flowtable::{MeasuredParts, Timeouts};
use packet::{KeySpec, Seed, Tunnel};
use std::time::Duration;

/// Packets that may usually wait between a receiver and each of its workers: what a link of 10 Mpps delivers
/// while a core is preempted for 1.6 ms. Also more than fits an L2 cache (a mebibyte): written while still in
/// the receiver's own and the worker's, as after 4,096, each line has to be fetched back, so that parsing
/// took 15 ns a packet instead of 10.6 (EPYC, Zen 4).
pub const HAND_OVER_PACKETS: usize = 16_384;

/// The number of packets that may usually wait between a receiver and each of its workers in a run that tunes itself: what 16 Mpps send in
/// the 16 ms that a worker is away for a window of 300,000 flows. With a quarter of that, each window of 8 Mpps lost some thousand packets,
/// whatever else was set.
pub const TUNED_HAND_OVER_PACKETS: usize = 1 << 18;

/// The length of windows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Every {
    /// A length of this much stream time, in nanoseconds; windows begin at multiples of it since the epoch, so that those of several probes
    /// coincide.
    Time(u64),
    /// A number of received frames.
    Packets(u64),
}

/// The configuration of a measurement.
#[derive(Clone, Debug)]
pub struct MeasurementConfig {
    /// Length of a window.
    pub every: Every,
    /// The timeouts by which flow records end.
    pub timeouts: Timeouts,
    /// Memory and flows of all tables and queues together.
    pub limits: Limits,
    /// The choice of the IP header of a tunnelled packet that is measured.
    pub tunnel: Tunnel,
    /// The fields of flow keys.
    pub key: KeySpec,
    /// The parts of records beyond the plain ones.
    pub parts: MeasuredParts,
    /// Count flows in a table that knows them by a hash, from the first packet to the last: packets and bytes alone, without windows, timeouts and
    /// `parts`. `None`: the exact table.
    pub table: Option<HashTableKind>,
    /// Seed of the tables' hash.
    pub seed: Seed,
    /// Determines which task set answers which window, and which tasks are counted in addition to flows.
    /// Tasks are planned for the same seed, key and design ([`crate::admission::admit`]).
    pub control: Option<Control>,
    /// Measure a sample of the packets; `None`: all of them.
    pub sampling: Option<SamplingControl>,
    /// Give packets to some of the workers only; `None`: all are in use. Packets are split by hash then.
    pub worker_use: Option<WorkerUse>,
    /// Changes the idle timeout, which is finite, of workers that keep the flows they count; `None`: that of `timeouts` holds.
    pub idle_timeout: Option<IdleTimeout>,
    /// Chooses settings by what windows tell.
    pub adaption: Option<Adaption>,
    /// The most frames in a burst.
    pub burst: usize,
    /// Bursts that may wait between a receiver and each of its workers.
    pub hand_over_batches: usize,
    /// The bursts by which it is measured where the time of each thread goes ([`crate::StepTimes`]).
    pub timed: StepTiming,
    /// The function that each measuring thread calls before any of them receives; `None`: none.
    pub thread_setup: Option<ThreadSetup>,
    /// End after this much stream time.
    pub duration: Option<Duration>,
    /// End after this many received frames.
    pub packets: Option<u64>,
    /// End a source that delivers nothing for this long.
    pub idle_exit: Option<Duration>,
}

/// Frames that a source usually delivers at once.
const BURST: usize = 256;

/// Windows of ten seconds, 5-tuples and the plain record, within a gibibyte. Seed 0: set a random one for
/// untrusted traffic, which could otherwise choose keys of one bucket.
impl Default for MeasurementConfig {
    fn default() -> Self {
        Self {
            every: Every::Time(10_000_000_000),
            timeouts: Timeouts::default(),
            limits: Limits::new(1 << 30, usize::MAX),
            tunnel: Tunnel::default(),
            key: KeySpec::default(),
            parts: MeasuredParts::default(),
            table: None,
            seed: Seed::new(0),
            control: None,
            sampling: None,
            worker_use: None,
            idle_timeout: None,
            adaption: None,
            burst: BURST,
            hand_over_batches: HAND_OVER_PACKETS / BURST,
            timed: StepTiming::Off,
            thread_setup: None,
            duration: None,
            packets: None,
            idle_exit: None,
        }
    }
}
