//! Options of cores, tables and settings.

use super::LIMITS;
use super::MACHINE;
use crate::bound::LossBound;
use crate::choices;
use crate::choices::completed;
use crate::quantity;
use crate::scheduler::Scheduler;
use clap::Args;
use clap::builder::{BoolishValueParser, StringValueParser};
use engine::Cores;
use engine::Design;
use engine::Split;
use engine::StatePlacement;
use flow::Share;
use flowtable::by_hash::HashTableKind;
use packet::{RssFields, RssKey, RssSpec};
use std::path::PathBuf;

/// Cores, tables and settings.
#[derive(Clone, Debug, Default, Args)]
pub struct MachineOptions {
    /// Cores to measure on: how many (2) or which (0,2-3)
    #[arg(help_heading = LIMITS, long, value_name = "N|LIST", env = "EDISON_CORES", hide_env = true)]
    pub cores: Option<Cores>,
    /// How cores share the work: rss, sync, async, pipeline, cooperative, or NxM (N queues with M workers each)
    /// [default: rss where the source has a queue for each core, else async]
    #[arg(help_heading = MACHINE, hide_short_help = true, long, value_name = "DESIGN", env = "EDISON_DESIGN", hide_env = true, value_parser = completed(str::parse::<Design>, choices::designs), hide_possible_values = true)]
    pub design: Option<Design>,
    /// Measure a sample: the core that receives hands over each packet with this probability (15%, 0.15) to another one, and looks at
    /// no other packet; answers are estimates [default design: async]
    #[arg(help_heading = MACHINE, hide_short_help = true, long, value_name = "SHARE", env = "EDISON_TEE", hide_env = true, value_parser = quantity::share)]
    pub tee: Option<Share>,
    /// Keep loss below a bound, by changing the share of the packets that is measured, the memory of tasks and the workers in use
    /// from window to window: loss=0.001% [default design: async]
    #[arg(help_heading = MACHINE, hide_short_help = true, long, value_name = "loss=SHARE", env = "EDISON_ADAPT", hide_env = true, value_parser = clap::value_parser!(LossBound))]
    pub adapt: Option<LossBound>,
    /// How a receiver shares a burst out among its workers: hash (a flow stays on one core), or position (portions in turn;
    /// flows are merged when a window closes, and timeouts must be off)
    #[arg(help_heading = MACHINE, hide_short_help = true, long, value_name = "hash|position", env = "EDISON_SPLIT", hide_env = true, default_value_t, value_parser = completed(str::parse::<Split>, choices::splits), hide_possible_values = true)]
    pub split: Split,
    /// Where flows are kept: separate (each core for itself), or shared (in tables of a fixed size that all cores update;
    /// timeouts must be off)
    #[arg(help_heading = MACHINE, hide_short_help = true, long, value_name = "separate|shared", env = "EDISON_STATE", hide_env = true, default_value_t, value_parser = completed(str::parse::<StatePlacement>, choices::states), hide_possible_values = true)]
    pub state: StatePlacement,
    /// Count flows in a table of FloWatcher, to compare: double, list or combined. It knows flows by 32 bits of a hash, each over the whole run,
    /// and is approximate: each answer says so [default: Edison's cuckoo table, which compares keys]
    #[arg(help_heading = MACHINE, hide_short_help = true, long, value_name = "TABLE", env = "EDISON_TABLE", hide_env = true, value_parser = completed(str::parse::<HashTableKind>, choices::tables), hide_possible_values = true)]
    pub table: Option<HashTableKind>,
    /// Receive queues of each DPDK port [default: one for each receiver; what the port's arguments say where they do]
    #[arg(help_heading = MACHINE, hide_short_help = true, long, value_name = "N", env = "EDISON_QUEUES", hide_env = true, value_parser = clap::value_parser!(u16).range(1..=128))]
    pub queues: Option<u16>,
    /// Fields that choose a packet's receive queue, of a DPDK port's card or of --wire: some of src_addr, dst_addr, src_port, dst_port,
    /// joined by '+' [default: all four]
    #[arg(help_heading = MACHINE, hide_short_help = true, long, value_name = "FIELDS", env = "EDISON_RSS", hide_env = true)]
    pub rss: Option<RssFields>,
    /// Key of the Toeplitz hash over these fields, in hexadecimal; a short one repeats up to the card's length [default: 6d5a, by which
    /// both directions of a connection come to one queue]
    #[arg(help_heading = MACHINE, hide_short_help = true, long, value_name = "HEX", env = "EDISON_RSS_KEY", hide_env = true)]
    pub rss_key: Option<RssKey>,
    /// The most frames taken at once
    #[arg(help_heading = MACHINE, hide_short_help = true, long, value_name = "N", env = "EDISON_BURST", hide_env = true, default_value_t = 256, value_parser = clap::value_parser!(u16).range(1..=4096))]
    pub burst: u16,
    /// Receive descriptors of each queue of a DPDK port; packets that may wait between a receiver and each worker [default: 4096;
    /// 16384, with --adapt 262144]
    #[arg(help_heading = MACHINE, hide_short_help = true, long, value_name = "N", env = "EDISON_RING", hide_env = true)]
    pub ring: Option<u16>,
    /// Pools of mbufs that the receive queues of a DPDK port share (1: one for all), with --mempool mbufs for each queue [default: one for
    /// each queue]
    #[arg(help_heading = MACHINE, hide_short_help = true, long, value_name = "N", env = "EDISON_POOLS", hide_env = true, value_parser = clap::value_parser!(u16).range(1..=128))]
    pub pools: Option<u16>,
    /// Mbufs of the pool that each receive queue of a DPDK port has
    #[arg(help_heading = MACHINE, hide_short_help = true, long, value_name = "N", env = "EDISON_MEMPOOL", hide_env = true, default_value = "16383", value_parser = notation::count)]
    pub mempool: u64,
    /// Take a paper's settings of --cores, --design, --burst, --ring and --mempool: wu, ares, flowatcher. Design and cores are
    /// scaled down to the cores and queues that there are; what is given in addition wins
    #[arg(help_heading = MACHINE, hide_short_help = true, long, value_name = "NAME", env = "EDISON_PRESET", hide_env = true, value_parser = completed(StringValueParser::new(), choices::presets), hide_possible_values = true)]
    pub preset: Option<String>,
    /// How the kernel schedules the threads that measure: other, fifo, fifo:PRIORITY, or deadline:RUNTIME/DEADLINE/PERIOD
    /// (900us/1ms/1ms; not with --cores) [default: as the process]
    #[arg(help_heading = MACHINE, hide_short_help = true, long, value_name = "POLICY", env = "EDISON_SCHEDULER", hide_env = true, value_parser = completed(str::parse::<Scheduler>, choices::schedulers), hide_possible_values = true)]
    pub scheduler: Option<Scheduler>,
    /// Time the steps of a packet (receive, parse, hand over, process, free) by one burst in 64, for the report and the screen, with the
    /// packet drop rate and what the timing cost
    #[arg(help_heading = MACHINE, hide_short_help = true, long, env = "EDISON_STEPS", hide_env = true, value_parser = BoolishValueParser::new())]
    pub steps: bool,
    /// Seed of the tables' hash [default: random]
    #[arg(help_heading = MACHINE, hide_short_help = true, long, value_name = "N", env = "EDISON_SEED", hide_env = true)]
    pub seed: Option<u64>,
    /// Take options from a TOML file
    #[arg(help_heading = MACHINE, hide_short_help = true, long, value_name = "FILE", env = "EDISON_CONFIG", hide_env = true)]
    pub config: Option<PathBuf>,
}

impl MachineOptions {
    /// Returns the hash that chooses receive queues, if anything of it is set.
    pub(crate) fn rss_spec(&self) -> Option<RssSpec> {
        let usual = RssSpec::default();
        (self.rss.is_some() || self.rss_key.is_some()).then(|| RssSpec {
            fields: self.rss.unwrap_or(usual.fields),
            key: self.rss_key.unwrap_or(usual.key),
        })
    }
}
