//! DPDK ports: where they are listed, opened as sources, and sent from.

mod eal;
mod sources;

pub(crate) use sources::{open, share};

use crate::exit::Failure;
use crate::spec::RunSpec;
use port::dpdk::{DpdkPorts, DpdkSink, EalConfig};
use port::wire::{Trace, Wire, WireQueue, WireSpec};
use port::{PacketSink, SourceError};
use std::sync::Arc;

/// Returns the ports of this machine, and what is missing for more.
pub(crate) fn list() -> String {
    DpdkPorts::detect().to_string()
}

/// Opens a wire whose frames are in mbufs.
pub(crate) fn wire(
    options: &RunSpec,
    name: &str,
    spec: &WireSpec,
    trace: &Arc<Trace>,
) -> Result<Vec<WireQueue>, SourceError> {
    let config = EalConfig {
        devices: Vec::new(),
        memory_bytes: Wire::mbuf_bytes(spec),
        arguments: eal::arguments(options.source.eal.as_deref()),
    };
    eal::with(&config, |eal| Wire::open_mbufs(eal, name, spec, trace, usize::from(options.machine.burst)))
}

/// Opens a port to send from; `longest` is the length of the longest frame.
pub(crate) fn sink(eal: Option<&str>, devargs: &str, longest: usize) -> Result<Box<dyn PacketSink>, Failure> {
    let arguments = eal::arguments(eal);
    let mut config = EalConfig::for_ports(&[devargs.to_owned()], &DpdkSink::port_options(), &arguments);
    config.memory_bytes += DpdkSink::memory_bytes(longest);
    Ok(Box::new(eal::with(&config, |eal| DpdkSink::open(eal, devargs, longest))?))
}
