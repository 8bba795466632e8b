//! The drivers of ports that this build has.

#[cfg(feature = "dpdk")]
mod dpdk;

use crate::assembly::parallel::OpenPorts;
use crate::exit::Failure;
use crate::lacking::{DPDK, lacks};
use crate::spec::RunSpec;
use engine::MeasurementConfig;
use port::wire::{Trace, WireQueue, WireSpec};
use port::{PacketSink, PacketSource, SourceError};
use std::any::Any;
use std::sync::Arc;
use task::TaskSpec;

type PortOpener = fn(&RunSpec, &MeasurementConfig, &[TaskSpec]) -> Result<OpenPorts, Failure>;
type SharePorts = fn(&[(RunSpec, MeasurementConfig)]) -> Result<Box<dyn Any>, Failure>;
type WireOpener = fn(&RunSpec, &str, &WireSpec, &Arc<Trace>) -> Result<Vec<WireQueue>, SourceError>;
/// The ports on both sides of a device under test, as far as one driver opens them.
#[derive(Default)]
pub(crate) struct OpenTestPorts {
    /// The port that sends.
    pub(crate) tx: Option<Box<dyn PacketSink>>,
    /// The port that receives, and by which learning frames leave.
    pub(crate) rx: Option<(Box<dyn PacketSink>, Box<dyn PacketSource>)>,
}
/// Takes arguments for DPDK's EAL, the port that sends, the one that receives, and the length of the longest frame.
type TestPortOpener = fn(Option<&str>, Option<&str>, Option<&str>, usize) -> Result<OpenTestPorts, Failure>;
type OpenSink = fn(Option<&str>, &str, usize) -> Result<Box<dyn PacketSink>, Failure>;

/// A driver of ports, as a table of functions.
pub struct PortDriver {
    /// Describes the ports of this machine, and what is missing for more.
    pub list: fn() -> String,
    /// Makes ready for the ports of several nodes, which are opened while the returned value lives.
    pub(crate) share: SharePorts,
    /// Opens the ports that the options name.
    pub(crate) open: PortOpener,
    /// Opens a software wire whose frames are in mbufs.
    pub(crate) wire: WireOpener,
    /// Opens a port to send from, with these arguments for DPDK's EAL; the number is the length of the longest frame.
    pub sink: OpenSink,
    /// Opens the ports on both sides of a device under test, as far as they are of this driver.
    pub(crate) test_ports: TestPortOpener,
}

/// The drivers of ports; the feature `dpdk` adds one.
const PORT_DRIVERS: &[PortDriver] = &[
    #[cfg(feature = "dpdk")]
    PortDriver {
        list: dpdk::list,
        share: dpdk::share,
        open: dpdk::open,
        wire: dpdk::wire,
        sink: dpdk::sink,
        test_ports: dpdk::test_ports,
    },
];

/// Returns the driver, which `asked` needs.
pub fn find(asked: &str) -> Result<&'static PortDriver, Failure> {
    PORT_DRIVERS.first().ok_or_else(|| lacks(asked, &DPDK))
}
