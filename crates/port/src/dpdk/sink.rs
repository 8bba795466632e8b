//! Sending from a DPDK port.

use super::eal::Eal;
use super::pool::{Pool, mbuf_bytes};
use super::port::{Port, PortOptions};
use super::queue::{RxQueue, TxQueue};
use super::source::DpdkSource;
use crate::{PacketSink, SourceCounter, SourceError};
use dpdk_sys::rte_mbuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Frames of one call.
const BATCH: usize = 64;
/// Mbufs: those that the driver keeps in its ring until they are sent, and some more.
const MBUFS: u32 = 4095;
const ETHERNET_HEADER: usize = 14;
/// Room for data in an mbuf, at the least.
const LEAST_ROOM: u16 = 2048;
/// The longest time that `finish` waits.
const LINGER: Duration = Duration::from_secs(1);

/// Sends frames, copied into mbufs, from a DPDK port.
#[derive(Debug)]
pub struct DpdkSink {
    name: String,
    queue: TxQueue,
    longest: usize,
    /// Frames that the driver took.
    taken: u64,
    before: (u64, u64),
    /// True if the link was found to be down since that was asked.
    was_down: bool,
}

impl DpdkSink {
    /// The options that [`EalConfig::for_ports`](super::EalConfig::for_ports) and [`DpdkSink::open`] take:
    /// the receive queue, which some drivers require, as small as possible.
    pub fn port_options() -> PortOptions {
        PortOptions {
            burst: BATCH as u16,
            descriptors: 512,
            mbufs: 2047,
            queues: 1,
            promiscuous: false,
            ..PortOptions::default()
        }
    }

    /// Returns the memory that a sink takes in addition to the port's own, for [`EalConfig::memory_bytes`](super::EalConfig).
    pub fn memory_bytes(longest: usize) -> u64 {
        u64::from(MBUFS) * mbuf_bytes(room(longest))
    }

    /// Opens a port for sending frames of up to `longest` bytes, as far as it can.
    ///
    /// # Errors
    /// Returns `Open` with the driver's reason, and where the device cannot send.
    pub fn open(eal: &Arc<Eal>, devargs: &str, longest: usize) -> Result<Self, SourceError> {
        let (sink, _) = Self::open_with(eal, devargs, longest, &Self::port_options(), &mut Vec::new())?;
        Ok(sink)
    }

    /// Opens a port for sending frames of up to `longest` bytes, as far as it can, and for receiving.
    ///
    /// # Errors
    /// Returns `Open` with the driver's reason, and where the device cannot send.
    pub fn open_both_ways(
        eal: &Arc<Eal>,
        devargs: &str,
        longest: usize,
        options: &PortOptions,
    ) -> Result<(Self, DpdkSource), SourceError> {
        let mut warnings = Vec::new();
        let (sink, queues) = Self::open_with(eal, devargs, longest, options, &mut warnings)?;
        let source = DpdkSource::polling(eal, queues, devargs.to_owned(), options.burst, None, warnings);
        Ok((sink, source))
    }

    fn open_with(
        eal: &Arc<Eal>,
        devargs: &str,
        longest: usize,
        options: &PortOptions,
        warnings: &mut Vec<String>,
    ) -> Result<(Self, Vec<RxQueue>), SourceError> {
        let mtu = u16::try_from(longest.saturating_sub(ETHERNET_HEADER)).unwrap_or(u16::MAX);
        let room = room(longest);
        let pool = |port: &Port| Pool::new(eal, MBUFS, 0, room, port.socket_id());
        let port = Port::open_for_sending(eal, devargs, options, mtu, pool, warnings)?;
        let (queue, receiving) = port.into_both_queues();
        let longest = (usize::from(queue.port().mtu()) + ETHERNET_HEADER).min(usize::from(room));
        let before = queue.port().transmitted().unwrap_or_default();
        Ok((Self { name: devargs.to_owned(), queue, longest, taken: 0, before, was_down: false }, receiving))
    }

    /// Frames sent, and frames that were taken and could not be sent.
    fn transmitted(&self) -> Option<(u64, u64)> {
        let (sent, failed) = self.queue.port().transmitted()?;
        Some((sent.saturating_sub(self.before.0), failed.saturating_sub(self.before.1)))
    }
}

fn room(longest: usize) -> u16 {
    let most = u16::MAX - dpdk_sys::RTE_PKTMBUF_HEADROOM;
    u16::try_from(longest).unwrap_or(most).clamp(LEAST_ROOM, most)
}

impl PacketSink for DpdkSink {
    fn name(&self) -> &str {
        &self.name
    }

    fn longest(&self) -> usize {
        self.longest
    }

    fn link_speed(&self) -> Option<u64> {
        self.queue.port().link_speed()
    }

    fn link_was_down(&mut self) -> bool {
        std::mem::take(&mut self.was_down) || self.link_is_down()
    }

    fn tx_burst(&mut self, frames: &[&[u8]]) -> Result<usize, SourceError> {
        let mut mbufs: [*mut rte_mbuf; BATCH] = [std::ptr::null_mut(); BATCH];
        let frames = &frames[..frames.len().min(BATCH)];
        let mbufs = &mut mbufs[..frames.len()];
        if frames.iter().any(|frame| frame.len() > self.longest) {
            return Err(SourceError::Fault(format!("port {}: a frame is too long for it", self.name)));
        }
        // SAFETY: the port was opened with a pool to send from, and there is room for the requested number of pointers.
        let got = unsafe {
            dpdk_sys::shim_mbuf_alloc_bulk(
                self.queue.port().sending_pool(),
                mbufs.as_mut_ptr(),
                mbufs.len() as u32,
            )
        };
        if got != 0 {
            // All of them are in the driver's ring.
            self.was_down |= self.link_is_down();
            return if self.queue.port().vanished() { Err(self.gone()) } else { Ok(0) };
        }
        for (&mut mbuf, frame) in mbufs.iter_mut().zip(frames) {
            // SAFETY: freshly allocated and not shared; the buffer has room for `longest` bytes after
            // `data_off`, and no frame is longer.
            unsafe {
                let data = (*mbuf).buf_addr.cast::<u8>().add(usize::from((*mbuf).data_off));
                std::ptr::copy_nonoverlapping(frame.as_ptr(), data, frame.len());
                (*mbuf).data_len = frame.len() as u16;
                (*mbuf).pkt_len = frame.len() as u32;
            }
        }
        let taken = self.queue.transmit(mbufs).min(mbufs.len());
        self.taken += taken as u64;
        let rest = &mut mbufs[taken..];
        // SAFETY: the driver did not take these: they are still ours, each given back once.
        unsafe { dpdk_sys::shim_mbuf_free_burst(rest.as_mut_ptr(), rest.len() as u32) };
        if taken == 0 {
            self.was_down |= self.link_is_down();
            if self.queue.port().vanished() {
                return Err(self.gone());
            }
        }
        Ok(taken)
    }

    fn finish(&mut self) {
        let began = Instant::now();
        while self.transmitted().is_some_and(|(sent, failed)| sent + failed < self.taken)
            && began.elapsed() < LINGER
        {
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    fn lost(&mut self) -> Vec<SourceCounter> {
        match self.transmitted() {
            Some((sent, failed)) => {
                vec![("oerrors", failed), ("tx_unconfirmed", self.taken.saturating_sub(sent + failed))]
            }
            None => vec![("tx_unconfirmed", self.taken)],
        }
    }
}

impl DpdkSink {
    fn link_is_down(&self) -> bool {
        self.queue.port().link_is_up() == Some(false)
    }

    fn gone(&self) -> SourceError {
        SourceError::Fault(format!("port {} is gone: its device was removed", self.name))
    }
}
