//! Opening a port as `edison run --port` does, and collecting what it receives.

use port::dpdk::{DpdkSource, Eal, EalConfig, PortOptions};
use port::{PacketSource, Poll, SourceError};
use std::time::{Duration, Instant};

/// A received frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Received {
    pub(crate) data: Vec<u8>,
    pub(crate) wire_len: u32,
    pub(crate) time_ns: u64,
}

/// Opens these ports in a new EAL.
pub(crate) fn open(devargs: &[&str]) -> Result<DpdkSource, SourceError> {
    let devargs: Vec<String> = devargs.iter().map(|text| (*text).into()).collect();
    let options = PortOptions::default();
    let eal = Eal::init(&EalConfig::for_ports(&devargs, &options, &[]))?;
    DpdkSource::open(&eal, &devargs, &options)
}

/// Collects until a poll finds nothing when nothing has arrived for `quiet`.
pub(crate) fn receive(source: &mut DpdkSource, quiet: Duration) -> Vec<Received> {
    let mut received = Vec::new();
    let mut last = Instant::now();
    loop {
        match source.rx_burst().expect("the port works") {
            Poll::Burst(burst) => {
                received.extend(burst.frames().map(|frame| Received {
                    data: frame.data.to_vec(),
                    wire_len: frame.wire_len,
                    time_ns: frame.time_ns,
                }));
                last = Instant::now();
            }
            Poll::Idle if last.elapsed() >= quiet => return received,
            Poll::Idle => std::thread::yield_now(),
            Poll::Ended => panic!("a port does not end"),
        }
    }
}
