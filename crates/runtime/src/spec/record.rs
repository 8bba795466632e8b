//! Options of flow records.

use super::LIMITS;
use super::RECORDS;
use crate::choices;
use crate::choices::completed;
use clap::Args;
use clap::builder::BoolishValueParser;
use flow::Metric;
use flowtable::StatisticSpec;

/// What flow records are.
#[derive(Clone, Debug, Default, Args)]
pub struct RecordOptions {
    /// The most flows at a time; packets of more are counted in the record "other" [default: as memory allows]
    #[arg(help_heading = LIMITS, hide_short_help = true, long, value_name = "N", env = "EDISON_MAX_FLOWS", hide_env = true, value_parser = notation::count)]
    pub(crate) max_flows: Option<u64>,
    /// End a record when no packet came for longer than this, or off
    #[arg(help_heading = RECORDS, hide_short_help = true, long, value_name = "TIME", env = "EDISON_IDLE_TIMEOUT", hide_env = true, default_value = "30s", value_parser = notation::timeout_ns)]
    pub(crate) idle_timeout: u64,
    /// Begin a new record for a flow that is this old, or off
    #[arg(help_heading = RECORDS, hide_short_help = true, long, value_name = "TIME", env = "EDISON_ACTIVE_TIMEOUT", hide_env = true, default_value = "30min", value_parser = notation::timeout_ns)]
    pub(crate) active_timeout: u64,
    /// Put both directions of a flow into one record (RFC 5103), and show both of each conversation
    #[arg(help_heading = RECORDS, hide_short_help = true, long, env = "EDISON_BIFLOW", hide_env = true, value_parser = BoolishValueParser::new())]
    pub(crate) biflow: bool,
    /// Statistics of the interleaving gap, the frames received between two packets of a flow: mean,stddev,p50,p99.9
    ///
    /// Flow records have them, and windows of queries that read them (gap_p99).
    #[arg(help_heading = RECORDS, hide_short_help = true, long, value_name = "LIST", env = "EDISON_GAP", hide_env = true, value_parser = completed(str::parse::<StatisticSpec>, choices::statistics), hide_possible_values = true)]
    pub(crate) gap: Option<StatisticSpec>,
    /// Statistics of packet sizes (layer-3 bytes), as --gap
    #[arg(help_heading = RECORDS, hide_short_help = true, long, value_name = "LIST", env = "EDISON_PACKET_SIZE", hide_env = true, value_parser = completed(str::parse::<StatisticSpec>, choices::statistics), hide_possible_values = true)]
    pub(crate) packet_size: Option<StatisticSpec>,
    /// Statistics of the time between two packets of a flow (nanoseconds), as --gap
    #[arg(help_heading = RECORDS, hide_short_help = true, long, value_name = "LIST", env = "EDISON_INTER_ARRIVAL", hide_env = true, value_parser = completed(str::parse::<StatisticSpec>, choices::statistics), hide_possible_values = true)]
    pub(crate) inter_arrival: Option<StatisticSpec>,
}

impl RecordOptions {
    /// Returns the statistics of packets that are asked for, by metric.
    pub(crate) fn statistics(&self) -> [(Metric, Option<StatisticSpec>); 3] {
        [
            (Metric::Gap, self.gap),
            (Metric::Size, self.packet_size),
            (Metric::InterArrival, self.inter_arrival),
        ]
    }
}
