//! Interfaces, files, DPDK ports and the software wire as sources of packets.

#[cfg(feature = "dpdk")]
mod dpdk_fixture;
mod wire_fixture;

#[cfg(feature = "dpdk")]
mod dpdk_af_packet;
#[cfg(feature = "dpdk")]
mod dpdk_af_xdp;
#[cfg(feature = "dpdk")]
mod dpdk_eal_argument;
#[cfg(feature = "dpdk")]
mod dpdk_errors;
#[cfg(feature = "dpdk")]
mod dpdk_hash;
#[cfg(feature = "dpdk")]
mod dpdk_null;
#[cfg(feature = "dpdk")]
mod dpdk_pcap;
#[cfg(feature = "dpdk")]
mod dpdk_queues;
#[cfg(feature = "dpdk")]
mod dpdk_ring;
#[cfg(feature = "dpdk")]
mod dpdk_segments;
#[cfg(feature = "dpdk")]
mod dpdk_threads;
#[cfg(feature = "dpdk")]
mod dpdk_vanish;
mod interface;
mod snap_length;
mod tshark;
mod wire;
#[cfg(feature = "dpdk")]
mod wire_cost;
#[cfg(feature = "dpdk")]
mod wire_mbufs;
mod wire_model;
