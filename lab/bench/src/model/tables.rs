//! Tables 2 and 3, and Figure 2: the model's predictions for entries and flows that are not measured here.

use super::BENCH;
use super::equation::StructureCost;
use super::exact_table;
use super::hits::{by_line, most_entries, published};
use super::machine::{MachineModel, mib};
use super::points::{FittedHashTable, share};
use super::popularity::Popularity;
use crate::line::to_digits;
use crate::{BenchResult, Points};
use serde_json::{Value, json};

/// Table 2: bytes of an entry.
const ENTRIES: [(&str, f64); 5] = [
    ("counter", 4.0),
    ("5-tuple and counter", 17.0),
    ("counter and distinct counter", 20.0),
    ("source and 4 destinations", 20.0),
    ("NetFlow v5", 44.0),
];

/// Table 3: Gbit/s, millions of packets of 64 bytes a second, flows of 1 kB in a second.
const LINKS: [(u64, f64, u64); 3] = [(10, 14.8, 1_250_000), (40, 60.0, 5_000_000), (100, 148.0, 125_000_000)];

/// Figure 2: skews, shares of the accesses, and a core's part of L3 as in the paper (2 MB).
const SKEWS: [f64; 5] = [0.0, 0.5, 0.75, 1.0, 1.05];
const SHARES: [f64; 3] = [0.42, 0.7, 0.95];
const PAPERS_CACHE: f64 = 2e6;

/// Tables 2 and 3 together, and Edison's own table.
pub(super) fn entries_and_links(
    points: &Points,
    machine: &MachineModel,
    fitted: &FittedHashTable,
    exact: &StructureCost,
    out: &mut dyn FnMut(BenchResult),
) {
    let skew = points.zipf.unwrap_or(1.0);
    for (gbit_s, mpps, flows) in LINKS {
        let popularity = Popularity::zipf(flows, skew);
        let params = |entry: &str, bytes: f64| {
            let table = mib(bytes * flows as f64);
            vec![
                ("entry", json!(entry)),
                ("entry_bytes", json!(bytes)),
                ("gbit_s", json!(gbit_s)),
                ("flows", json!(flows)),
                ("zipf", json!(skew)),
                ("table_mib", table),
            ]
        };
        for (entry, bytes) in ENTRIES {
            let latencies = machine.latencies(bytes * flows as f64);
            let waits = latencies.waits(machine.hits(&popularity, bytes, fitted.felt_l3));
            let p = published(&popularity, bytes, fitted.felt_l3);
            let mut more = capacity(fitted.in_bursts.predicted(waits), mpps);
            more.extend([
                ("one_at_a_time_ns", ns(fitted.one_at_a_time.predicted(waits))),
                ("published_ns", ns(latencies.published(fitted.process, p))),
                ("p", share(p)),
                ("least_p", share(latencies.least_p(fitted.process, 1e3 / mpps))),
            ]);
            out(BenchResult::predicted(BENCH, "table_2_and_3", params(entry, bytes), more));
        }
        let waits = exact_table::waits(machine, flows, &popularity, fitted.felt_l3);
        let more = capacity(exact.predicted(waits), mpps);
        out(BenchResult::predicted(
            BENCH,
            "table_2_and_3",
            params("Edison's flow table", exact_table::FLOW),
            more,
        ));
    }
}

/// Returns whether one core keeps up, and how many would, as members of a line.
fn capacity(per_packet: f64, mpps: f64) -> Vec<(&'static str, Value)> {
    let cores = cores(per_packet, mpps);
    vec![("bursts_ns", ns(per_packet)), ("keeps_up", json!(cores <= 1)), ("cores", json!(cores))]
}

/// Cores for this many millions of packets a second, each core with its own part of the traffic.
fn cores(ns_per_packet: f64, mpps: f64) -> u64 {
    (ns_per_packet * mpps / 1e3).ceil().max(1.0) as u64
}

fn ns(value: f64) -> Value {
    json!(to_digits(value, 1))
}

/// Figure 2: the most entries of which a cache serves a share of the accesses, for the paper's part of L3 and
/// for what this core has.
pub(super) fn cached_entries(points: &Points, fitted: &FittedHashTable, out: &mut dyn FnMut(BenchResult)) {
    let skews = points.zipf.map_or(SKEWS.to_vec(), |skew| vec![skew]);
    for cache in [PAPERS_CACHE, fitted.felt_l3] {
        for &skew in &skews {
            for wanted in SHARES {
                let most = |hits: fn(&Popularity, f64, f64) -> f64, bytes: f64| {
                    json!(most_entries(wanted, |entries| hits(
                        &Popularity::zipf(entries, skew),
                        bytes,
                        cache
                    )))
                };
                out(BenchResult::predicted(
                    BENCH,
                    "figure_2",
                    vec![("cache_mib", mib(cache)), ("zipf", json!(skew)), ("share", json!(wanted))],
                    vec![
                        ("entries_of_4", most(published, 4.0)),
                        ("entries_of_17", most(published, 17.0)),
                        ("entries_of_44", most(published, 44.0)),
                        ("entries_of_4_by_line", most(by_line, 4.0)),
                        ("entries_of_17_by_line", most(by_line, 17.0)),
                        ("entries_of_44_by_line", most(by_line, 44.0)),
                    ],
                ));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cores_are_as_many_as_the_packets_take() {
        // 1000 / 14.8 = 67.6 ns.
        assert_eq!(cores(67.0, 14.8), 1);
        assert_eq!(cores(68.0, 14.8), 2);
        assert_eq!(cores(10.0, 148.0), 2);
        assert_eq!(cores(0.1, 148.0), 1);
    }

    #[test]
    fn a_prediction_is_not_a_wrong_answer() {
        let line = BenchResult::predicted(
            BENCH,
            "figure_2",
            vec![("zipf", json!(1.0))],
            vec![("entries_of_4", json!(7))],
        );
        assert!(!line.is_wrong());
        assert_eq!(line.json()["checked"], Value::Null);
        assert!(!line.is_wrong() && line.json()["entries_of_4"] == 7);
        assert!(BenchResult { rounds_ns: vec![1.0], ..line }.is_wrong());
    }
}
