//! `edison generate`: makes traffic, and the truth about it.

use clap::Args;
use port::Pacing;
use std::path::PathBuf;

pub(super) const GENERATE_EXAMPLES: &str = "\
Examples:
  edison generate t.pcap packets=2M,flows=300k,zipf=1.0
  edison generate t.pcap packets=2M,flows=300k,zipf=1.0,plant=flood/scan/elephant,snap=96
  edison generate t.pcap packets=2M,tcp=handshake,plant=loss    whole connections, some with losses
  edison generate t.pcap --path hops=3,lossy=2,loss=1%          t.tap0.pcap to t.tap3.pcap, by hop
  edison generate -i eth0 packets=10M,flows=1M --rate 100kpps --truth sent.json
  edison generate --port 0000:01:00.0 packets=1G,size=64/1518 --rate 10Gbps

The truth is written to t.pcap.truth.json: totals, the planted events, the largest flows; of a
path, what each tap must find. Out of an interface or a port it is that of what was sent, also after
Ctrl-C.
Exit codes: 0 well, 1 a fault while running, 2 wrong usage, 3 ended by Ctrl-C.";

/// Options of `edison generate`.
#[derive(Debug, Args)]
#[command(after_help = GENERATE_EXAMPLES)]
pub(crate) struct GenerateOptions {
    /// The capture file to write (not with -i and --port), then what to generate
    #[arg(value_name = "FILE] [SPEC", num_args = 0..=2)]
    pub(crate) words: Vec<String>,
    /// Send out of a kernel interface
    #[arg(short, long, value_name = "NAME", conflicts_with_all = ["port", "path_of"])]
    pub(crate) interface: Option<String>,
    /// Send out of a DPDK port: a PCI address, or a virtual device such as net_af_packet0,iface=eth0
    #[arg(long, value_name = "DEVARGS", conflicts_with = "path_of")]
    pub(crate) port: Option<String>,
    /// Arguments for DPDK's EAL, in one string
    #[arg(long, value_name = "ARGS", allow_hyphen_values = true, requires = "port")]
    pub(crate) eal: Option<String>,
    /// How fast to send: 100kpps, 1Gbps (with preamble, check sequence and gap), times (as the time stamps say), or max
    #[arg(long, value_name = "RATE", default_value = "max")]
    pub(crate) rate: Pacing,
    /// Where the truth goes [default: next to the capture; of what was sent, nowhere]
    #[arg(long, value_name = "PATH")]
    pub(crate) truth: Option<PathBuf>,
    /// Print the truth as one line of JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Instead, TCP connections along a path of hops, at most one of which loses packets, as taps between the hops see them
    #[arg(long = "path", value_name = "SPEC")]
    pub(crate) path_of: Option<String>,
}
