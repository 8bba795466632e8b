//! From options to sources of frames.

use crate::cli::RunOptions;
use crate::exit::{Failure, say};
use crate::positional::{self, Words};
use port::{
    CaptureSource, Filter, InterfaceOptions, InterfaceSource, PacketSource, SyntheticSource, TimeBase,
};

/// What is to be measured.
pub(crate) struct Sources {
    pub(crate) sources: Vec<Box<dyn PacketSource>>,
    pub(crate) filter: Option<Filter>,
    pub(crate) time_base: TimeBase,
    /// True where all are capture files: ending one early is exit code 3.
    pub(crate) are_captures: bool,
}

/// Opens everything that the options name.
pub(crate) fn open(options: &RunOptions) -> Result<Sources, Failure> {
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
    let time_base = sources.first().map_or(TimeBase::Packets, |source| source.time_base());
    Ok(Sources { sources, filter, time_base, are_captures: !files.is_empty() })
}

#[cfg(feature = "dpdk")]
fn dpdk_source(options: &RunOptions) -> Result<Box<dyn PacketSource>, Failure> {
    use port::dpdk::{DpdkSource, Eal, EalConfig, PortOptions};
    let port = PortOptions {
        burst: options.burst,
        descriptors: options.ring,
        mbufs: u32::try_from(options.mempool)
            .map_err(|_| Failure::usage(format!("--mempool {}: too many mbufs", options.mempool)))?,
        promiscuous: !options.no_promiscuous,
    };
    let arguments: Vec<String> =
        options.eal.iter().flat_map(|text| text.split_whitespace()).map(str::to_owned).collect();
    let eal = Eal::init(&EalConfig::for_ports(&options.port, &port, &arguments))?;
    for line in eal.warnings() {
        say(&line);
    }
    Ok(Box::new(DpdkSource::open(&eal, &options.port, &port)?))
}

#[cfg(not(feature = "dpdk"))]
fn dpdk_source(_: &RunOptions) -> Result<Box<dyn PacketSource>, Failure> {
    Err(Failure::usage(
        "--port: this build has no DPDK; build it with the feature dpdk (Debian's package libdpdk-dev)",
    ))
}
