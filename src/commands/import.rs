//! `edison import`: reads flow records into a store.

use clap::Args;
use std::path::PathBuf;
use std::time::Duration;
use store::StoreRetention;

pub(super) const IMPORT_EXAMPLES: &str = "\
Examples:
  TZ=UTC nfdump -r nfcapd.202611260000 -6 -o csv > day.csv
  edison import day.csv --store flows --node Router1
  edison import flows.ipfix --store flows --every 1min
  edison import 'Node1=a/*.parquet' 'Node2=b/*.parquet' --store flows
  edison query --store flows --by src_addr

A record counts in the window of its last packet. The times of nfdump's CSV are taken as UTC. The
same file twice counts twice. What cannot be taken is said with its file and line. Without
--store-keep nothing is dropped because of its age.
Exit codes: 0 well; 1 a fault while running; 2 wrong usage; 3 some of it could not be taken, or
Ctrl-C.";

/// Options of `edison import`.
#[derive(Clone, Debug, Args)]
pub(crate) struct ImportOptions {
    /// Files of flow records or window rows, or patterns of their names; NAME=FILE is of the node of this name
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<String>,
    /// The store, a folder; it is begun where there is none
    #[arg(long, value_name = "DIR")]
    pub(crate) store: PathBuf,
    /// The node of all files [default: what they tell, else 'unknown']
    #[arg(long, value_name = "NAME")]
    pub(crate) node: Option<String>,
    /// Length of the windows of flow records; window rows keep theirs [default: 10s]
    #[arg(long, value_name = "TIME", value_parser = notation::duration)]
    pub(crate) every: Option<Duration>,
    /// How long the store keeps what, as edison run has it [default: for ever]
    #[arg(long, value_name = "KEY=TIME,…")]
    pub(crate) store_keep: Option<StoreRetention>,
    /// The most memory for rows that wait for their windows [default: half of the machine's]
    #[arg(long, value_name = "SIZE", value_parser = notation::bytes)]
    pub(crate) memory: Option<u64>,
}
