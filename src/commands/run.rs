//! `edison run`: measures captures, interfaces or ports.

use clap::ArgAction;
use clap::Args;
use runtime::spec::{LIMITS, RunSpec};

pub(super) const RUN_USAGE: &str = "edison run [OPTIONS] SOURCE… [FILTER]
       edison [OPTIONS] SOURCE… [FILTER]";

pub(super) const RUN_SHORT_EXAMPLES: &str = "\
Examples:
  edison trace.pcap                              measure a capture
  edison a.pcap b.pcapng.gz 'tcp port 443'       two captures as one, what the filter matches
  edison -i eth0 --every 5s                      an interface, until Ctrl-C
  edison trace.pcap -w flows.parquet             flow records to a file
  edison trace.pcap --by src_addr,dst_port       rank by any fields
  edison trace.pcap -q 'select count(*) where dst_port = 53'

--help lists all options and exit codes.";

pub(super) const RUN_EXAMPLES: &str = "\
Examples:
  edison trace.pcap                                  measure a capture, as edison run trace.pcap
  edison run a.pcap b.pcapng.gz 'tcp port 443'       two captures as one, what the filter matches
  tcpdump -w - | edison run -                        a capture from standard input
  edison run -i eth0 --every 5s                      an interface, until Ctrl-C
  edison run --port 0000:01:00.0 --flows f.parquet   a DPDK port, flow records to a file
  edison run --port 0000:01:00.0 --cores 4           the same on four cores, a receive queue each
  edison run --synthetic packets=10M,flows=1M,zipf=1.0
  edison run trace.pcap --every 1min                 also each window of a minute
  edison run trace.pcap --json --every 1Mp           one line of JSON per million packets
  edison run trace.pcap --by src_addr/24 --sort packets --top 5
  edison run trace.pcap --per 1min                   a row of figures per minute
  edison run trace.pcap -q 'select dst_port, count(*) groupby dst_port having count(*) > 100'
  edison run -i eth0 -f questions.eq --set K1=10K    a file of queries
  edison run Node1=a.pcap Node2=b.pcap -f chain.eq   two nodes, and queries that start others
  edison run tx=eth0 rx=eth1 --every 1s              two interfaces as two nodes
  edison run tx=eth0 rx=eth1 -f examples/device.eq   what a device between them does to each flow
  edison run trace.pcap --report - --json            the answers of each window, then the report
  edison run trace.pcap --task heavy-hitters:key=src_addr,share=0.2% --task entropy:memory=256KiB
  edison run trace.pcap --cores 2                    two cores: one reads, one counts
  edison run trace.pcap --design 1x2 --split position --idle-timeout off --active-timeout off
  edison run -i eth0 --tee 15%                       estimates: another core measures a sample
  edison run trace.pcap --wire rate=10Gbps,queues=2 --cores 2    what two cores would have lost

Every option can also be set in the environment (EDISON_EVERY=5s) or in a file (--config, the same
names); the command line wins over the environment, and that over the file. Fields have the names of
`edison fields`; bytes, packets, srcip, dstip, sport, dport and proto are understood too.
Exit codes: 0 well, 1 a fault while running, 2 wrong usage, 3 ended early with what was measured
written, or an output that lost everything.";

/// Options of `edison run`.
#[derive(Clone, Debug, Args)]
#[command(disable_help_flag = true, override_usage = RUN_USAGE, after_help = RUN_SHORT_EXAMPLES, after_long_help = RUN_EXAMPLES)]
pub(crate) struct RunOptions {
    #[command(flatten)]
    pub(crate) spec: RunSpec,
    /// Print the usual options, or all of them
    #[arg(help_heading = LIMITS, display_order = 2000, short, long, action = ArgAction::Help)]
    pub(crate) help: Option<bool>,
}
