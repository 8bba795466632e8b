//! The drivers of ports that this build has.

#[cfg(feature = "dpdk")]
mod dpdk;

use crate::assembly::parallel::OpenPorts;
use crate::exit::Failure;
use crate::lacking::{DPDK, lacks};
use crate::spec::Spec;
use engine::Config;
use port::wire::{Trace, WireQueue, WireSpec};
use port::{PacketSink, SourceError};
use std::any::Any;
use std::sync::Arc;
use task::TaskSpec;

type Open = fn(&Spec, &Config, &[TaskSpec]) -> Result<OpenPorts, Failure>;
type Share = fn(&[(Spec, Config)]) -> Result<Box<dyn Any>, Failure>;
type OpenWire = fn(&Spec, &str, &WireSpec, &Arc<Trace>) -> Result<Vec<WireQueue>, SourceError>;
type OpenSink = fn(Option<&str>, &str, usize) -> Result<Box<dyn PacketSink>, Failure>;

/// A driver of ports, as a table of functions.
pub struct PortDriver {
    /// Describes the ports of this machine, and what is missing for more.
    pub list: fn() -> String,
    /// Makes ready for the ports of several nodes, which are opened while the returned value lives.
    pub(crate) share: Share,
    /// Opens the ports that the options name.
    pub(crate) open: Open,
    /// Opens a software wire whose frames are in mbufs.
    pub(crate) wire: OpenWire,
    /// Opens a port to send from, with these arguments for DPDK's EAL; the number is the length of the longest frame.
    pub sink: OpenSink,
}

/// The drivers of ports; the feature `dpdk` adds one.
const PORT_DRIVERS: &[PortDriver] = &[
    #[cfg(feature = "dpdk")]
    PortDriver { list: dpdk::list, share: dpdk::share, open: dpdk::open, wire: dpdk::wire, sink: dpdk::sink },
];

/// Returns the driver, which `asked` needs.
pub fn find(asked: &str) -> Result<&'static PortDriver, Failure> {
    PORT_DRIVERS.first().ok_or_else(|| lacks(asked, &DPDK))
}
