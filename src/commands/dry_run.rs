//! `edison dry-run`: lists the events that queries would have caused.

pub(super) const DRY_RUN_USAGE: &str = "edison dry-run [OPTIONS] QUERIES.eq {[NAME=]FILE… | --store DIR}";

pub(super) const DRY_RUN_EXAMPLES: &str = "\
Examples:
  edison run trace.pcap --rows rows.parquet            records window rows
  edison dry-run chain.eq rows.parquet                 the stories that chain.eq would have told
  edison dry-run chain.eq rows.parquet --set K1=10K --json      the events, a line of JSON for each
  edison dry-run chain.eq Node1=a.parquet Node2=b.parquet       two nodes, by these names
  edison dry-run rules.eq 'flows-*.parquet' --every 1min        over flow records: approximate
  edison dry-run rules.eq --store store --from -2h --to -1h     over what a probe remembers
  edison dry-run r.parquet -q 'a: select rate(total_byte) as r; b: select count(*) when a.r > 1Gbps'

Over window rows (edison run --rows) the events are those of a live run over the same windows. A
flow record counts whole in the window in which it ends: events over records are approximate, and
say so. Patterns are expanded.
Exit codes: 0 well; 1 a fault while running; 2 wrong usage, errors in the queries, or no file can
be read; 3 a file is damaged or cannot be read, and the rest is answered, or Ctrl-C.";
