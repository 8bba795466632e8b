//! Ethernet ports.

use crate::{rte_mbuf, rte_mempool};
use core::ffi::{c_char, c_int, c_uint, c_void};

/// The used part of what `rte_eth_dev_info_get` returns.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[allow(non_camel_case_types)]
pub struct shim_port_info {
    /// The capabilities of the driver on receive (`RTE_ETH_RX_OFFLOAD_…`).
    pub rx_offload_capa: u64,
    /// The smallest buffer that the driver takes.
    pub min_rx_bufsize: u32,
    /// The kernel interface under a virtual device, or 0.
    pub if_index: u32,
    /// The NUMA node, or -1.
    pub socket_id: i32,
    /// The largest MTU.
    pub max_mtu: u16,
    /// The greatest number of receive queues.
    pub max_rx_queues: u16,
    /// The greatest number of transmit queues.
    pub max_tx_queues: u16,
    /// Bytes of the key that frames are hashed by, or 0 if the driver does not report it.
    pub hash_key_size: u16,
    /// The fields by which frames can be spread over queues (`RTE_ETH_RSS_…`).
    pub rss_types: u64,
}

/// Frames longer than a buffer arrive in several segments.
pub const RTE_ETH_RX_OFFLOAD_SCATTER: u64 = 1 << 13;
/// Spread over queues by IP addresses: IPv4 and IPv6, whole packets and fragments.
pub const RTE_ETH_RSS_IP: u64 = 0xa38c;
/// Spread over queues by addresses and ports of UDP.
pub const RTE_ETH_RSS_UDP: u64 = 0x20820;
/// Spread over queues by addresses and ports of TCP.
pub const RTE_ETH_RSS_TCP: u64 = 0x10410;
/// Spread over queues by addresses and ports of SCTP.
pub const RTE_ETH_RSS_SCTP: u64 = 0x1040;
/// Hash the source address and not the destination.
pub const RTE_ETH_RSS_L3_SRC_ONLY: u64 = 1 << 63;
/// Hash the destination address and not the source.
pub const RTE_ETH_RSS_L3_DST_ONLY: u64 = 1 << 62;
/// Hash the source port and not the destination.
pub const RTE_ETH_RSS_L4_SRC_ONLY: u64 = 1 << 61;
/// Hash the destination port and not the source.
pub const RTE_ETH_RSS_L4_DST_ONLY: u64 = 1 << 60;
/// The number that `shim_port_of_device` returns when there is no port.
pub const NO_PORT: u16 = u16::MAX;

unsafe extern "C" {
    /// Adds a device by its devargs and finds its driver.
    pub fn rte_dev_probe(devargs: *const c_char) -> c_int;
    /// Fills `out` for a port.
    pub fn shim_port_info(port: u16, out: *mut shim_port_info) -> c_int;
    /// The first port from `first` on that belongs to the device of this name, or `NO_PORT`.
    pub fn shim_port_of_device(device: *const c_char, first: u16) -> u16;
    /// `rte_eth_dev_configure`; an `mtu` of 0 leaves it to the driver, `rss_types` of 0 spreads nothing over queues.
    pub fn shim_port_configure(
        port: u16,
        rx_queues: u16,
        tx_queues: u16,
        rx_offloads: u64,
        mtu: u32,
        rss_types: u64,
        rss_key: *mut u8,
        rss_key_size: u8,
    ) -> c_int;
    /// Calls `rte_eth_dev_rss_hash_conf_get`: reads what frames are spread by, and the key.
    pub fn shim_port_rss(port: u16, rss_types: *mut u64, rss_key: *mut u8, rss_key_size: u8) -> c_int;
    /// `rte_eth_dev_rss_hash_update`.
    pub fn shim_port_set_rss(port: u16, rss_types: u64, rss_key: *mut u8, rss_key_size: u8) -> c_int;
    /// Returns 1 when the port's link is up, 0 when it is down, or an error.
    pub fn shim_port_link_is_up(port: u16) -> c_int;
    /// Returns the speed of the port's link in megabits per second; 0 when it is unknown, or while the link is down.
    pub fn shim_port_link_mbps(port: u16) -> u32;
    /// Adjusts the requested numbers of descriptors to the device's limits.
    pub fn rte_eth_dev_adjust_nb_rx_tx_desc(
        port: u16,
        rx_descriptors: *mut u16,
        tx_descriptors: *mut u16,
    ) -> c_int;
    /// Sets a receive queue up; a null configuration is the driver's default.
    pub fn rte_eth_rx_queue_setup(
        port: u16,
        queue: u16,
        descriptors: u16,
        socket_id: c_uint,
        configuration: *const c_void,
        pool: *mut rte_mempool,
    ) -> c_int;
    /// Sets a transmit queue up; a null configuration is the driver's default.
    pub fn rte_eth_tx_queue_setup(
        port: u16,
        queue: u16,
        descriptors: u16,
        socket_id: c_uint,
        configuration: *const c_void,
    ) -> c_int;
    /// Starts a configured port.
    pub fn rte_eth_dev_start(port: u16) -> c_int;
    /// Stops a port.
    pub fn rte_eth_dev_stop(port: u16) -> c_int;
    /// Closes a stopped port and removes its device.
    pub fn shim_port_close(port: u16) -> c_int;
    /// Receives every frame, whatever its destination.
    pub fn rte_eth_promiscuous_enable(port: u16) -> c_int;
    /// The three loss counters of `rte_eth_stats_get`.
    pub fn shim_port_losses(port: u16, imissed: *mut u64, ierrors: *mut u64, rx_nombuf: *mut u64) -> c_int;
    /// Listens for `RTE_ETH_EVENT_INTR_RMV`.
    pub fn shim_port_watch_removal(port: u16) -> c_int;
    /// Listens no more.
    pub fn shim_port_unwatch_removal(port: u16) -> c_int;
    /// Returns 1 when the device was pulled out.
    pub fn shim_port_removed(port: u16) -> c_int;
    /// Two counters of `rte_eth_stats_get`: frames sent, and frames that could not be.
    pub fn shim_port_sent(port: u16, opackets: *mut u64, oerrors: *mut u64) -> c_int;
    /// The port's MTU.
    pub fn rte_eth_dev_get_mtu(port: u16, mtu: *mut u16) -> c_int;
    /// Calls `rte_eth_tx_burst`: takes mbufs from the front and gives them back to their pools when they are sent.
    pub fn shim_tx_burst(port: u16, queue: u16, mbufs: *mut *mut rte_mbuf, count: u16) -> u16;
    /// `rte_eth_rx_burst`.
    pub fn shim_rx_burst(port: u16, queue: u16, mbufs: *mut *mut rte_mbuf, count: u16) -> u16;
}
