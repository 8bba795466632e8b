//! Figure 6: what it costs to compute a flow's identifier.

use super::PAPER;
use crate::deciding::{value, value_at, verdict};
use crate::figure::{Figure, PaperClaim};
use crate::over_wire::{bars, nanoseconds};
use crate::point::{Scale, StudyPoint};
use crate::row::{FigureRow, FigureRows};
use bench::{Points, RecordPart, measure_record};

const NS: &str = "ns_per_packet";
/// Functions, and the paper's names for them. Toeplitz bit by bit is DPDK's `rte_softrss`.
const TOEPLITZ: &str = "hash_toeplitz_bits";
const FUNCTIONS: [&str; 7] =
    ["hash_add", "hash_xor", "hash_murmur3", "hash_spooky", TOEPLITZ, "hash_toeplitz_table", "hash_nh"];
/// Those that the paper has, but for Toeplitz itself.
const OTHERS: [&str; 4] = ["hash_add", "hash_xor", "hash_murmur3", "hash_spooky"];
const RSS: &str = "identify_rss_hash";
const FIVE_TUPLE: &str = "identify_five_tuple";
const WAYS: [&str; 4] = [RSS, "identify_addresses", "identify_addresses_ports", FIVE_TUPLE];
/// Frames that do not fit in L2.
const FRAMES: f64 = 64_000.0;
/// Flows of the paper's traffic.
const FLOWS: u64 = 1 << 16;
/// The ratio of two times from which one counts as slower.
const CLEARLY: f64 = 1.2;

const TOEPLITZ_IS_SLOW: &str = "toeplitz in software is the slowest hash by far, and every hash takes time that the card's RSS hash saves";
const HEADERS_COST: &str =
    "reading and converting the 5-tuple costs more than taking the RSS hash from the descriptor";
const ONLINE_COSTS: &str =
    "with any hash computed for each packet more is lost than with the card's, most with toeplitz";

pub(crate) static FIGURE_6A: Figure = Figure {
    paper: &PAPER,
    name: "figure-6a",
    title: "rates of hash functions",
    section: "Section V-B, Figure 6(a)",
    shows: "How many 5-tuples a second six hash functions compute on one core, and the cycles of a call.",
    here: "The same functions on 4096 tuples in cache, one call for each tuple, in turn: ADD, XOR, Murmur3, Spooky, Toeplitz bit by bit as in DPDK's rte_softrss; besides Toeplitz by tables and the hash that Edison uses (NH). DPDK's rte_softrss_be is not measured.",
    said: &[
        PaperClaim { what: "cycles of a call", value: "47 to 268", place: "Section V-B" },
        PaperClaim { what: "toeplitz", value: "not more than 10 million a second", place: "Section V-B" },
    ],
    points: |_, scale| vec![functions(scale)],
    panels: |rows| vec![bars(rows, "Hashing a 5-tuple", nanoseconds("time"), &FUNCTIONS, NS, None)],
    judge: |rows, _| verdict(TOEPLITZ_IS_SLOW, judge_functions(rows)),
};

pub(crate) static FIGURE_6B: Figure = Figure {
    paper: &PAPER,
    name: "figure-6b",
    title: "reading headers and converting them",
    section: "Section V-B, Figure 6(b)",
    shows: "The loss at 14.88 Mpps, and the cycles, of identifying a flow by the card's RSS hash, by addresses (8 bytes), with ports (12), and by the 5-tuple (13).",
    here: "The time to read the same of received frames that lie as in DPDK's mempools and do not fit in L2, one packet at a time, in turn. Loss is not measured: times decide.",
    said: &[
        PaperClaim { what: "from RSS to the 5-tuple", value: "3.98 times the loss", place: "Section V-B" },
        PaperClaim {
            what: "reading and converting",
            value: "up to 100 cycles a packet",
            place: "Section V-B",
        },
    ],
    points: |_, scale| vec![identifying(scale)],
    panels: |rows| {
        let rows = rows.only("frames", FRAMES);
        vec![bars(&rows, "Identifying a flow", nanoseconds("time"), &WAYS, NS, None)]
    },
    judge: |rows, _| verdict(HEADERS_COST, judge_identifying(rows)),
};

pub(crate) static FIGURE_6C: Figure = Figure {
    paper: &PAPER,
    name: "figure-6c",
    title: "hashing each packet, and taking the card's hash",
    section: "Section V-B, Figure 6(c)",
    shows: "The loss at 14.88 Mpps where the flow's identifier is computed of each packet by six functions, and where the card's RSS hash is taken.",
    here: "What each way adds to a packet's time, from the measurements of Figures 6(a) and 6(b): reading the 5-tuple and hashing it, or the hash in the descriptor. Loss is not measured: times decide.",
    said: &[
        PaperClaim { what: "toeplitz", value: "30 % lost", place: "Section V-B" },
        PaperClaim {
            what: "ADD, XOR, toeplitz_be",
            value: "about 1e-5 lost, about 5 times that of RSS",
            place: "Section V-B",
        },
        PaperClaim { what: "flows miscounted", value: "Murmur3 11 %, Spooky 13 %", place: "Section V-B" },
    ],
    points: |_, scale| vec![functions(scale), identifying(scale)],
    panels: |rows| {
        let names: Vec<&str> = [RSS].into_iter().chain(FUNCTIONS).collect();
        vec![bars(&online(rows), "Identifying a flow and hashing it", nanoseconds("time"), &names, NS, None)]
    },
    judge: |rows, _| verdict(ONLINE_COSTS, judge_online(rows)),
};

fn part(part: RecordPart, scale: Scale, more: Points) -> Result<Vec<FigureRow>, String> {
    let points = Points { seconds: scale.pick(3.0, 10.0), flows: Some(FLOWS), ..more };
    Ok(measure_record(part, &points)?.iter().map(FigureRow::from_line).collect())
}

fn functions(scale: Scale) -> StudyPoint {
    StudyPoint::new(format!("flowatcher hashes flows={FLOWS} {}", scale.name()), move || {
        part(RecordPart::Hashes, scale, Points::default())
    })
}

fn identifying(scale: Scale) -> StudyPoint {
    StudyPoint::new(format!("flowatcher identifying flows={FLOWS} {}", scale.name()), move || {
        part(RecordPart::Identifying, scale, Points { zipf: Some(0.0), ..Points::default() })
    })
}

fn judge_functions(rows: &FigureRows) -> Result<(bool, String), String> {
    let toeplitz = value(rows, TOEPLITZ, NS)?;
    let mut others = Vec::new();
    for name in OTHERS {
        others.push((name.trim_start_matches("hash_"), value(rows, name, NS)?));
    }
    let holds = others.iter().all(|(_, ns)| toeplitz > CLEARLY * ns && *ns > 0.0);
    let times = others.iter().map(|(name, ns)| format!("{name} {ns:.1} ns"));
    Ok((holds, format!("toeplitz takes {toeplitz:.1} ns, {}", times.collect::<Vec<_>>().join(", "))))
}

fn judge_identifying(rows: &FigureRows) -> Result<(bool, String), String> {
    let of = |name| value_at(rows, name, ("frames", FRAMES), NS);
    let (rss, tuple) = (of(RSS)?, of(FIVE_TUPLE)?);
    let why = format!(
        "the 5-tuple takes {tuple:.2} ns, the RSS hash {rss:.2} ns, {:.2} times as long",
        tuple / rss
    );
    Ok((tuple > CLEARLY * rss, why))
}

/// Returns the whole time of each way.
fn online(rows: &FigureRows) -> FigureRows {
    let of = |name: &str| rows.at(name, "frames", FRAMES).map(|row| row.value(NS));
    let (Some(rss), Some(tuple)) = (of(RSS), of(FIVE_TUPLE)) else { return FigureRows::default() };
    let made = |series: &str, ns: f64, checked| FigureRow {
        series: series.to_owned(),
        values: [(NS.to_owned(), ns)].into(),
        checked,
        ..FigureRow::default()
    };
    let hashed = |name: &&str| {
        rows.rows_of_series(name).next().map(|row| made(name, tuple + row.value(NS), row.checked))
    };
    let hashed = FUNCTIONS.iter().filter_map(hashed);
    FigureRows([made(RSS, rss, Some(true))].into_iter().chain(hashed).collect())
}

fn judge_online(rows: &FigureRows) -> Result<(bool, String), String> {
    // What is not right, or missing, is noticed where it was measured.
    judge_identifying(rows)?;
    let online = online(rows);
    let (rss, toeplitz) = (value(&online, RSS, NS)?, value(&online, TOEPLITZ, NS)?);
    let mut others = Vec::new();
    for name in OTHERS {
        others.push(value(&online, name, NS)?);
    }
    let least = others.iter().copied().fold(f64::INFINITY, f64::min);
    let holds = others.iter().all(|ns| *ns > rss && *ns < toeplitz);
    let miscounted = |name| value(rows, name, "flows_lost_percent").unwrap_or(f64::NAN);
    let why = format!(
        "the card's hash takes {rss:.1} ns, the 5-tuple with the fastest hash {least:.1} ns, with toeplitz {toeplitz:.1} ns; Murmur3 confuses {} % of the flows, Spooky {} %",
        miscounted("hash_murmur3"),
        miscounted("hash_spooky")
    );
    Ok((holds, why))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::deciding::made::{changed, row};

    fn rows() -> FigureRows {
        let hash = |name: &str, ns| row(name, &[(NS, ns), ("flows_lost_percent", 0.0)]).with("flows", FLOWS);
        let way = |name: &str, ns| row(name, &[(NS, ns)]).with("frames", 64_000);
        FigureRows(vec![
            hash("hash_add", 1.0),
            hash("hash_xor", 1.0),
            hash("hash_murmur3", 5.0),
            hash("hash_spooky", 10.0),
            hash(TOEPLITZ, 40.0),
            way(RSS, 5.0),
            way(FIVE_TUPLE, 15.0),
        ])
    }

    #[test]
    fn orders_decide() {
        for judge in [judge_functions, judge_identifying, judge_online] {
            assert_eq!(judge(&rows()).map(|(holds, _)| holds), Ok(true));
            assert!(judge(&FigureRows::default()).is_err());
        }
        let slow_spooky = changed(&rows(), "hash_spooky", NS, 41.0);
        assert_eq!(judge_functions(&slow_spooky).map(|(holds, _)| holds), Ok(false));
        assert_eq!(judge_online(&slow_spooky).map(|(holds, _)| holds), Ok(false));
        let quick_headers = changed(&rows(), FIVE_TUPLE, NS, 5.0);
        assert_eq!(judge_identifying(&quick_headers).map(|(holds, _)| holds), Ok(false));
        let online = online(&rows());
        assert_eq!(value(&online, "hash_murmur3", NS), Ok(20.0));
    }
}
