//! Options of sources of packets.

use super::SOURCE;
use clap::Args;
use clap::builder::BoolishValueParser;
use port::wire::WireSpec;

/// What is measured.
#[derive(Clone, Debug, Default, Args)]
pub struct SourceOptions {
    /// Capture files ('-' is standard input; NAME=SOURCE is a node), then a filter as tcpdump takes it
    ///
    /// Files are pcap or pcapng, also in gzip or zstd. NAME=SOURCE is the node of this name, whose source is a capture, an interface, a DPDK port or
    /// routers (ipfix://:4739); several are measured at once. Words that are no sources begin the filter.
    #[arg(help_heading = SOURCE, display_order = 0, value_name = "SOURCE")]
    pub(crate) words: Vec<String>,
    /// Measure this capture file, as tcpdump names it; may be given several times
    #[arg(help_heading = SOURCE, hide_short_help = true, short, long, value_name = "FILE", env = "EDISON_READ", hide_env = true)]
    pub(crate) read: Vec<String>,
    /// Measure a kernel interface
    ///
    /// May be given several times; NAME=eth0 is the node of this name.
    #[arg(help_heading = SOURCE, short, long, value_name = "NAME", env = "EDISON_INTERFACE", hide_env = true)]
    pub(crate) interface: Vec<String>,
    /// Measure a DPDK port (edison ports lists them)
    ///
    /// NAME=PORT is the node of this name. A PCI address, or a virtual device such as net_af_packet0,iface=eth0. May be given several times.
    #[arg(help_heading = SOURCE, long, value_name = "DEVARGS", env = "EDISON_PORT", hide_env = true, value_delimiter = ' ')]
    pub(crate) port: Vec<String>,
    /// Measure generated traffic: packets=10M,flows=1M,zipf=1.0,size=64,seed=1
    #[arg(help_heading = SOURCE, hide_short_help = true, long, value_name = "SPEC", env = "EDISON_SYNTHETIC", hide_env = true)]
    pub(crate) synthetic: Option<String>,
    /// Let the file's or the generated frames arrive as on a wire: rate=25Mpps or 100Gbps, queues=2, ring=4096,
    /// arrivals=poisson, packets=N or seconds=S, mbufs=N; without a rate nothing is lost
    #[arg(help_heading = SOURCE, hide_short_help = true, long, value_name = "SPEC", env = "EDISON_WIRE", hide_env = true)]
    pub(crate) wire: Option<WireSpec>,
    /// Take only what is addressed to this machine
    #[arg(help_heading = SOURCE, hide_short_help = true, long, env = "EDISON_NO_PROMISCUOUS", hide_env = true, value_parser = BoolishValueParser::new())]
    pub(crate) no_promiscuous: bool,
    /// Arguments for DPDK's EAL, in one string
    #[arg(help_heading = SOURCE, hide_short_help = true, long, value_name = "ARGS", env = "EDISON_EAL", hide_env = true, allow_hyphen_values = true)]
    pub(crate) eal: Option<String>,
}
