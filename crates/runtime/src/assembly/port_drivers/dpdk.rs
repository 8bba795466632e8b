//! DPDK ports: where they are listed, opened as sources, and sent from.

mod eal;
mod sources;

pub(crate) use sources::{open, share};

use crate::assembly::port_drivers::OpenTestPorts;
use crate::exit::Failure;
use crate::spec::RunSpec;
use port::dpdk::{DpdkPorts, DpdkSink, EalConfig, PortOptions};
use port::wire::{Trace, Wire, WireQueue, WireSpec};
use port::{PacketSink, PacketSource, SourceError};
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

/// Opens ports on both sides of a device under test: one to send from, and one to receive from that can send too.
pub(crate) fn test_ports(
    eal: Option<&str>,
    tx: Option<&str>,
    rx: Option<&str>,
    longest: usize,
) -> Result<OpenTestPorts, Failure> {
    let arguments = eal::arguments(eal);
    let names = |port: Option<&str>| port.map(str::to_owned).into_iter().collect::<Vec<_>>();
    let receiving = PortOptions::default();
    let mut config = EalConfig::for_ports(&names(rx), &receiving, &arguments);
    let sending = EalConfig::for_ports(&names(tx), &DpdkSink::port_options(), &arguments);
    config.devices.extend(sending.devices);
    config.memory_bytes +=
        sending.memory_bytes + config.devices.len() as u64 * DpdkSink::memory_bytes(longest);
    let opened = eal::with(&config, |eal| {
        let sink = tx.map(|port| DpdkSink::open(eal, port, longest)).transpose()?;
        let both = rx.map(|port| DpdkSink::open_both_ways(eal, port, longest, &receiving)).transpose()?;
        Ok((sink, both))
    });
    let (sink, both) = opened?;
    Ok(OpenTestPorts {
        tx: sink.map(|sink| Box::new(sink) as Box<dyn PacketSink>),
        rx: both.map(|(sink, source)| {
            (Box::new(sink) as Box<dyn PacketSink>, Box::new(source) as Box<dyn PacketSource>)
        }),
    })
}
