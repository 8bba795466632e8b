//! Options of limits.

use super::LIMITS;
use clap::Args;
use std::time::Duration;

/// When a run ends, and what it may take.
#[derive(Clone, Debug, Default, Args)]
pub struct LimitOptions {
    /// End after this many received packets (1M)
    #[arg(help_heading = LIMITS, short = 'c', long, value_name = "N", env = "EDISON_PACKETS", hide_env = true, value_parser = notation::count)]
    pub(crate) packets: Option<u64>,
    /// End after this much time of the stream (30s)
    #[arg(help_heading = LIMITS, long, value_name = "TIME", env = "EDISON_DURATION", hide_env = true, value_parser = notation::duration)]
    pub(crate) duration: Option<Duration>,
    /// The most memory for tables and queues
    ///
    /// The default is half of the machine's or of the control group's.
    #[arg(help_heading = LIMITS, long, value_name = "SIZE", env = "EDISON_MEMORY", hide_env = true, value_parser = notation::bytes)]
    pub(crate) memory: Option<u64>,
    /// End when nothing arrives for this long
    #[arg(help_heading = LIMITS, hide_short_help = true, long, value_name = "TIME", env = "EDISON_IDLE_EXIT", hide_env = true, value_parser = notation::duration)]
    pub(crate) idle_exit: Option<Duration>,
}
