//! Tests of merging, as cores count: a stream in parts, by flow or by position, each into its own structure. If nothing is left out, the merged
//! structures answer as one that saw everything.

use crate::oracle::{OracleStream, check_merged_flows, check_merged_parts};
use crate::{CheckedHashTable, Iblt};
use packet::{KeyV4, Seed};
use sketch::GridConfig;

/// 400 flows at most.
fn stream() -> OracleStream {
    OracleStream::zipf(5_000, 400, 1)
}

fn seed() -> Seed {
    Seed::new(1)
}

#[test]
fn a_table_with_room_for_all_flows_has_them_whoever_counted() {
    let config = GridConfig::with_width(1 << 20, seed());
    check_merged_flows::<CheckedHashTable<KeyV4>>(&config, &stream());
}

#[test]
fn the_iblt_gives_all_flows_whoever_counted() {
    let stream = stream();
    check_merged_parts(&GridConfig::with_width(400, seed()), &stream.updates, |table: &Iblt<KeyV4>| {
        let mut flows = table.flows().expect("room for all");
        flows.sort();
        assert_eq!(flows.len(), stream.counts.len());
        flows
    });
}
