//! Sources of frames, and each source's own counters: capture files, interfaces by libpcap, DPDK ports,
//! synthetic traffic, and a wire in software that replays frames as a card would deliver them.
//!
//! Everything is a [`PacketSource`]; generated frames are sent by a [`PacketSink`]. The crate does not know
//! flows or threads.
//!
//! ```
//! use port::{PacketSource, Poll, SyntheticSource};
//!
//! let mut source = SyntheticSource::open("packets=100,flows=10", 32)?;
//! let mut frames = 0;
//! loop {
//!     match source.rx_burst()? {
//!         Poll::Burst(burst) => frames += burst.len(),
//!         Poll::Idle => source.wait(),
//!         Poll::Ended => break,
//!     }
//! }
//! assert_eq!(frames, 100);
//! # Ok::<(), port::SourceError>(())
//! ```

mod capture;
#[cfg(feature = "dpdk")]
pub mod dpdk;
mod filter;
mod frame;
mod interface;
mod kernel_link;
mod libpcap;
mod merged;
mod prefetch;
mod send;
mod source;
mod synthetic;
pub mod wire;

pub use capture::{CaptureSource, CaptureWriter, PcapngWriter, capture_span};
pub use filter::Filter;
pub use frame::{Burst, FrameDescriptor, HeldFrame};
pub use interface::{InterfaceInfo, InterfaceOptions, InterfaceSource, interfaces};
pub use merged::MergedSource;
pub use packet::Frame;
pub use send::{
    FrameFeed, InterfaceSink, Pacing, PacketSink, SendClock, SendSchedule, SystemSendClock, TransmitReport,
    transmit,
};
pub use source::{PacketSource, Poll, SourceCounter, SourceError, SourceProgress, SourceSetting, TimeBase};
pub use synthetic::SyntheticSource;
