//! The drivers of ports that this build has.

use crate::cli::{GenerateOptions, RunOptions};
use crate::exit::Failure;
use crate::lacking::{DPDK, lacks};
use crate::parallel::OpenPorts;
use engine::Config;
use port::wire::{Trace, WireQueue, WireSpec};
use port::{PacketSink, SourceError};
use std::sync::Arc;
use task::TaskSpec;

type Open = fn(&RunOptions, &Config, &[TaskSpec]) -> Result<OpenPorts, Failure>;
type OpenWire = fn(&RunOptions, &str, &WireSpec, &Arc<Trace>) -> Result<Vec<WireQueue>, SourceError>;
type OpenSink = fn(&GenerateOptions, &str, usize) -> Result<Box<dyn PacketSink>, Failure>;

/// What a driver does.
pub(crate) struct PortDriver {
    /// Describes the ports of this machine, and what is missing for more.
    pub(crate) list: fn() -> String,
    /// Opens the ports that the options name.
    pub(crate) open: Open,
    /// Opens a software wire whose frames are in mbufs.
    pub(crate) wire: OpenWire,
    /// Opens a port to send from; the number is the length of the longest frame.
    pub(crate) sink: OpenSink,
}

/// The feature `dpdk` adds one.
const PORT_DRIVERS: &[PortDriver] = &[
    #[cfg(feature = "dpdk")]
    PortDriver {
        list: crate::dpdk::list,
        open: crate::dpdk::open,
        wire: crate::dpdk::wire,
        sink: crate::dpdk::sink,
    },
];

/// Returns the driver, which `asked` needs.
pub(crate) fn find(asked: &str) -> Result<&'static PortDriver, Failure> {
    PORT_DRIVERS.first().ok_or_else(|| lacks(asked, &DPDK))
}
