//! `edison check` and `edison explain`: what is known of queries without traffic.

use crate::engine_options;
use clap::Args;
use runtime::questions::query_text::QueryTextOptions;

pub(super) const CHECK_EXAMPLES: &str = "\
Examples:
  edison check rules.eq other.eq
  edison check -q 'select src_addr, sum(total_byte) groupby src_addr limit 10'
  edison check chain.eq --set K1=10K --json

Errors go to standard error, --json to standard output.
Exit codes: 0 no errors, warnings at most; 2 errors, or a file that cannot be read.";

pub(super) const EXPLAIN_EXAMPLES: &str = "\
Examples:
  edison explain rules.eq
  edison explain chain.eq --set K1=10K --every 1s
  edison explain -q 'select service, rate(total_byte) groupby service every 1min' --json
  edison explain rules.eq --sql spark
  edison explain -q 'select src_addr/24, sum(total_byte) groupby src_addr/24' --sql clickhouse

The SQL is over the table 'rows' that edison run --rows writes, for DuckDB where --sql names no
other engine. With --sql the text is that SQL alone, a statement for each query.
Exit codes: 0 well; 2 errors in the queries, or a file that cannot be read.";

/// Options of `edison explain`.
#[derive(Debug, Args)]
pub(crate) struct ExplainOptions {
    #[command(flatten)]
    pub(crate) texts: QueryTextOptions,
    /// Print the queries as SQL of this engine
    #[arg(long, value_name = "ENGINE", value_parser = engine_options::dialect())]
    pub(crate) sql: Option<equery::Dialect>,
}
