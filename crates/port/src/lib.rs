//! Getting frames, and each source's own counters: capture files, interfaces by libpcap, DPDK ports,
//! synthetic traffic.
//!
//! Everything is a [`PacketSource`]. The crate knows nothing of flows and threads.

mod frame;
mod source;

pub use frame::{Burst, Frame, FrameDescriptor};
pub use source::{PacketSource, Poll, Progress, SourceCounter, SourceError, TimeBase};
