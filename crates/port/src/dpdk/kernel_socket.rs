//! The kernel's own loss counters of the sockets under net_af_packet and net_af_xdp.
//!
//! DPDK 22.11 does not report what the kernel drops when these sockets' rings are full. The sockets belong to
//! this process, so they can be queried directly.

use crate::SourceCounter;
use std::collections::BTreeSet;
use std::os::fd::RawFd;

/// The sockets of one driver, by the address family that it uses.
#[derive(Clone, Debug)]
pub(super) struct KernelSockets {
    family: i32,
    sockets: Vec<RawFd>,
    /// The kernel clears a packet socket's counter when it is read.
    dropped: u64,
}

impl KernelSockets {
    /// The family that the driver of a virtual device opens sockets of.
    pub(super) fn family_of(device: &super::device::Device) -> Option<i32> {
        if device.is_virtual("net_af_packet") {
            Some(libc::AF_PACKET)
        } else if device.is_virtual("net_af_xdp") {
            Some(libc::AF_XDP)
        } else {
            None
        }
    }

    /// Returns this process's sockets of a family.
    pub(super) fn open_now(family: i32) -> BTreeSet<RawFd> {
        std::fs::read_dir("/proc/self/fd")
            .into_iter()
            .flatten()
            .flatten()
            .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
            .filter(|&fd| {
                let mut domain: i32 = 0;
                get_option(fd, libc::SOL_SOCKET, libc::SO_DOMAIN, &mut domain).is_some() && domain == family
            })
            .collect()
    }

    /// The sockets opened since `before`.
    pub(super) fn opened_since(family: i32, before: &BTreeSet<RawFd>) -> Self {
        let mut sockets = Self { family, sockets: Vec::new(), dropped: 0 };
        sockets.add_since(before);
        sockets
    }

    /// Returns this process's sockets of the same family.
    pub(super) fn list_open(&self) -> BTreeSet<RawFd> {
        Self::open_now(self.family)
    }

    /// Adds the sockets opened since `before`.
    pub(super) fn add_since(&mut self, before: &BTreeSet<RawFd>) {
        self.sockets.extend(self.list_open().difference(before));
    }

    /// True if the driver has opened none that could be queried.
    pub(super) fn is_empty(&self) -> bool {
        self.sockets.is_empty()
    }

    /// Returns what the kernel dropped since the sockets were made and the driver does not count; `None` when it cannot be queried.
    pub(super) fn lost(&mut self) -> Option<SourceCounter> {
        if self.family == libc::AF_PACKET {
            for &fd in &self.sockets {
                let mut statistics = TpacketStats::default();
                get_option(fd, libc::SOL_PACKET, libc::PACKET_STATISTICS, &mut statistics)?;
                self.dropped += u64::from(statistics.drops);
            }
            Some(("tp_drops", self.dropped))
        } else {
            // `rx_dropped` is in the driver's `imissed`; kernels since 5.9 count a full ring separately.
            let mut full = 0;
            for &fd in &self.sockets {
                let mut statistics = XdpStatistics::default();
                get_option(fd, libc::SOL_XDP, libc::XDP_STATISTICS, &mut statistics)?;
                full += statistics.rx_ring_full;
            }
            Some(("rx_ring_full", full))
        }
    }
}

/// `struct tpacket_stats` of linux/if_packet.h.
#[repr(C)]
#[derive(Default)]
struct TpacketStats {
    packets: u32,
    drops: u32,
}

/// `struct xdp_statistics` of linux/if_xdp.h.
#[repr(C)]
#[derive(Default)]
struct XdpStatistics {
    rx_dropped: u64,
    rx_invalid_descs: u64,
    tx_invalid_descs: u64,
    rx_ring_full: u64,
    rx_fill_ring_empty_descs: u64,
    tx_ring_empty_descs: u64,
}

/// Reads a socket option into a plain structure of integers.
fn get_option<T>(fd: RawFd, level: i32, name: i32, value: &mut T) -> Option<()> {
    let mut length = size_of::<T>() as libc::socklen_t;
    // SAFETY: `value` has `length` writable bytes, and every `T` here is made of integers, for which any bytes do.
    let result = unsafe { libc::getsockopt(fd, level, name, (value as *mut T).cast(), &mut length) };
    (result == 0).then_some(())
}
