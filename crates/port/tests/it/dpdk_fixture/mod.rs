//! What the tests of DPDK ports share: files and interfaces to receive from, and what was received.

pub(crate) mod live;
pub(crate) mod pcap_file;
pub(crate) mod receive;
