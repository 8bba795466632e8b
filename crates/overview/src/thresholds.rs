//! The thresholds of the rules. `docs/unusual.md` says why they are these.

/// The destinations of a source within a minute from which on it is a scan.
pub const SCAN_DESTINATIONS: u64 = 200;
/// The share of these destinations that sent nothing back.
pub const SCAN_SILENT: f64 = 0.5;
/// The ports of one destination within a minute from which on a source scans it.
pub const SCAN_PORTS: u64 = 50;
/// The sources of a destination within a minute from which on they are many.
pub const MANY_SOURCES: u64 = 500;
/// The number of times that a group must exceed its own greatest value of the last hour.
pub const TIMES_OWN_PAST: f64 = 4.0;
/// The share of packets that a node loses before it reads them.
pub const NODE_LOSS: f64 = 0.001;
/// The packets that a node loses in a step.
pub const NODE_LOST_PACKETS: u64 = 100;
/// The share of its bytes that a flow loses or sends again.
pub const FLOW_LOSS: f64 = 0.05;
/// The bytes that a flow loses or sends again in a minute; of shorter steps as much less, down to [`FLOW_LOST_LEAST`].
pub const FLOW_LOST_BYTES: u64 = 100_000;
/// The least bytes that a flow loses or sends again in a step.
pub const FLOW_LOST_LEAST: u64 = 10_000;
/// The share of all bytes of a step that is a heavy group's.
pub const HEAVY_SHARE: f64 = 0.2;
/// The bytes of a heavy group in a minute; of shorter steps as much less.
pub const HEAVY_BYTES: u64 = 1_000_000;
/// The share of a group's bytes that its peer must account for, so that the group is not listed as well.
pub const EXPLAINED: f64 = 0.8;
/// The share of all bytes that a source has steadily.
pub const STEADY_SHARE: f64 = 0.05;
/// The share of the steps of the last hour in which it has it.
pub const STEADY_STEPS: f64 = 0.9;
/// The part of its own mean below which a steady source is silent.
pub const SILENT_PART: f64 = 0.1;
/// The mean packets of a step from which on a node without packets is silent.
pub const NODE_PACKETS: u64 = 60;
/// The earlier steps, or minutes, that a rule needs to know.
pub const PAST_STEPS: usize = 10;
/// The steps before one of less than a minute in which a group must be heavy, or silent, too.
pub const SHORT_STEPS: usize = 2;
/// The time that is the past of a group, nanoseconds.
pub const PAST_NS: u64 = 3_600_000_000_000;
