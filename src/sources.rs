//! From options to sources of frames.

use crate::cli::RunOptions;
use crate::exit::{Failure, say};
use crate::positional::{self, Words};
use port::wire::{Trace, Wire, WireQueue, WireSpec};
use port::{
    CaptureSource, Filter, InterfaceOptions, InterfaceSource, PacketSource, SourceError, SyntheticSource,
    TimeBase,
};
use std::sync::Arc;

/// What is to be measured.
pub(crate) struct Sources {
    pub(crate) sources: Vec<Box<dyn PacketSource>>,
    pub(crate) filter: Option<Filter>,
    pub(crate) time_base: TimeBase,
    /// True where all are capture files: ending one early is exit code 3.
    pub(crate) are_captures: bool,
    /// The wire that the sources are queues of, and what its frames take in memory.
    pub(crate) wire: Option<(Wire, u64)>,
}

/// Opens everything that the options name. `memory`: bytes that the run may take.
pub(crate) fn open(options: &RunOptions, memory: u64) -> Result<Sources, Failure> {
    let has_other = !options.interface.is_empty() || !options.port.is_empty() || options.synthetic.is_some();
    let Words { files, filter } = positional::split(&options.words, has_other)?;
    let kinds = [
        !files.is_empty(),
        !options.interface.is_empty(),
        !options.port.is_empty(),
        options.synthetic.is_some(),
    ];
    match kinds.iter().filter(|&&given| given).count() {
        0 => {
            return Err(Failure::usage(
                "nothing to measure: name a capture file, '-', -i NAME, --port DEVARGS or --synthetic SPEC",
            ));
        }
        1 => {}
        _ => {
            return Err(Failure::usage(
                "one run measures one kind of source: capture files, -i, --port or --synthetic",
            ));
        }
    }
    // Before anything is opened, let alone a port started.
    if options.wire.is_some() && !(options.interface.is_empty() && options.port.is_empty()) {
        return Err(Failure::usage(WIRE_AROUND));
    }
    // The filter first: a mistake in it must not start a port.
    let filter = filter.map(|expression| Filter::new(&expression)).transpose()?;
    filter.iter().flat_map(Filter::warnings).for_each(|line| say(&line));
    let burst = usize::from(options.burst);
    let mut sources: Vec<Box<dyn PacketSource>> = Vec::new();
    for file in &files {
        sources.push(Box::new(CaptureSource::open(file, burst)?));
    }
    for name in &options.interface {
        let interface =
            InterfaceOptions { promiscuous: !options.no_promiscuous, burst, ..InterfaceOptions::default() };
        sources.push(Box::new(InterfaceSource::open(name, &interface)?));
    }
    if let Some(spec) = &options.synthetic {
        sources.push(Box::new(SyntheticSource::open(spec, burst)?));
    }
    if !options.port.is_empty() {
        sources.push(dpdk_source(options)?);
    }
    let mut wire = None;
    if let Some(spec) = &options.wire {
        let (queues, opened) = wire_around(options, *spec, sources, memory)?;
        (sources, wire) = (queues, Some(opened));
    }
    let time_base = sources.first().map_or(TimeBase::Packets, |source| source.time_base());
    Ok(Sources { sources, filter, time_base, are_captures: !files.is_empty() && wire.is_none(), wire })
}

const WIRE_AROUND: &str = "--wire goes around one capture file or --synthetic";

type Queues = Vec<Box<dyn PacketSource>>;

/// The queues of a wire on which the frames of the one source arrive.
fn wire_around(
    options: &RunOptions,
    spec: WireSpec,
    mut sources: Queues,
    memory: u64,
) -> Result<(Queues, (Wire, u64)), Failure> {
    let [source] = &mut sources[..] else { return Err(Failure::usage(WIRE_AROUND)) };
    // Half for the frames, half for the tables.
    let trace = Arc::new(Trace::load(source.as_mut(), spec.queues, memory / 2)?);
    source.warnings().iter().for_each(|line| say(line));
    let name = format!("{} --wire {spec}", source.name());
    let queues = open_wire(options, &name, &spec, &trace)?;
    let Some(wire) = queues.first().map(WireQueue::wire) else {
        return Err(Failure::usage("--wire needs a queue at least"));
    };
    let queues = queues.into_iter().map(|queue| Box::new(queue) as Box<dyn PacketSource>).collect();
    Ok((queues, (wire, trace.memory_bytes())))
}

#[cfg(feature = "dpdk")]
fn open_wire(
    options: &RunOptions,
    name: &str,
    spec: &WireSpec,
    trace: &Arc<Trace>,
) -> Result<Vec<WireQueue>, SourceError> {
    use crate::eal;
    let burst = usize::from(options.burst);
    if spec.mbufs.is_none() {
        return Wire::open(name, spec, trace, burst);
    }
    let config = port::dpdk::EalConfig {
        devices: Vec::new(),
        memory_bytes: Wire::mbuf_bytes(spec),
        arguments: eal::arguments(options.eal.as_deref()),
    };
    Wire::open_mbufs(&eal::start(&config)?, name, spec, trace, burst)
}

#[cfg(not(feature = "dpdk"))]
fn open_wire(
    options: &RunOptions,
    name: &str,
    spec: &WireSpec,
    trace: &Arc<Trace>,
) -> Result<Vec<WireQueue>, SourceError> {
    Wire::open(name, spec, trace, usize::from(options.burst))
}

#[cfg(feature = "dpdk")]
fn dpdk_source(options: &RunOptions) -> Result<Box<dyn PacketSource>, Failure> {
    use crate::eal;
    use port::dpdk::{DpdkSource, EalConfig, PortOptions};
    let port = PortOptions {
        burst: options.burst,
        descriptors: options.ring,
        mbufs: u32::try_from(options.mempool)
            .map_err(|_| Failure::usage(format!("--mempool {}: too many mbufs", options.mempool)))?,
        promiscuous: !options.no_promiscuous,
    };
    let config = EalConfig::for_ports(&options.port, &port, &eal::arguments(options.eal.as_deref()));
    Ok(Box::new(DpdkSource::open(&eal::start(&config)?, &options.port, &port)?))
}

#[cfg(not(feature = "dpdk"))]
fn dpdk_source(_: &RunOptions) -> Result<Box<dyn PacketSource>, Failure> {
    Err(Failure::usage(
        "--port: this build has no DPDK; build it with the feature dpdk (Debian's package libdpdk-dev)",
    ))
}
