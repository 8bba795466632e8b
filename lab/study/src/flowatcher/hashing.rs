//! Figure 6: what it costs to compute a flow's identifier.

use super::PAPER;
use crate::deciding::{Claim, RoundedValue, conclude, value, value_at};
use crate::figure::{Figure, PaperClaim};
use crate::over_wire::{bars, nanoseconds};
use crate::panel::{Axis, Curve, Guide};
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
/// Clock of the paper's testbed 1.
const GHZ: f64 = 2.6;
const LOST_FLOWS: &str = "flows_lost_percent";
/// Flows of the paper's traffic.
const FLOWS: u64 = 1 << 16;
/// The ratio of two times from which one counts as slower.
const CLEARLY: f64 = 1.2;

const TOEPLITZ_IS_SLOW: &str =
    "toeplitz in software is the slowest hash: it takes at least 1.2 times as long as any other";
const HEADERS_COST: &str = "reading and converting the 5-tuple takes at least 1.2 times as long as taking the RSS hash from the descriptor";
const ONLINE_COSTS: &str =
    "any hash computed for each packet takes longer than the card's, and toeplitz longest";

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
    panels: |rows, _| {
        let mut panel = bars(rows, "Hashing a 5-tuple", nanoseconds("time"), &FUNCTIONS, NS, None);
        // 10 million a second.
        panel.curves.push(Curve::from_paper("toeplitz: at least", &[(4.0, 100.0)]));
        let [least, most] = [47.0, 268.0].map(|cycles| cycles / GHZ);
        vec![panel.with_guides([
            Guide::across(least, "47 cycles, at its 2.6 GHz"),
            Guide::across(most, "268 cycles"),
        ])]
    },
    judge: |rows, _| conclude(TOEPLITZ_IS_SLOW, judge_functions(rows)),
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
    panels: |rows, _| {
        let rows = rows.only("frames", FRAMES);
        let panel = bars(&rows, "Identifying a flow", nanoseconds("time"), &WAYS, NS, None);
        let said = Guide::across(100.0 / GHZ, "up to 100 cycles, at its 2.6 GHz");
        vec![panel.with_guides([said, Guide::below("the 5-tuple loses 3.98 times as much as RSS")])]
    },
    judge: |rows, _| conclude(HEADERS_COST, judge_identifying(rows)),
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
    panels: |rows, _| {
        let names: Vec<&str> = [RSS].into_iter().chain(FUNCTIONS).collect();
        let times =
            bars(&online(rows), "Identifying a flow and hashing it", nanoseconds("time"), &names, NS, None);
        let lost = Axis::Log { label: "flows, %".to_owned() };
        let mut miscounted = bars(rows, "Miscounted of 64K flows", lost, &FUNCTIONS, LOST_FLOWS, None);
        miscounted.curves.push(Curve::from_paper("Murmur3 and Spooky", &[(2.0, 11.0), (3.0, 13.0)]));
        let said = ["toeplitz loses 30 % of the packets", "others 5 times as many as RSS"];
        vec![times.with_guides(said.map(Guide::below)), miscounted]
    },
    judge: |rows, _| conclude(ONLINE_COSTS, judge_online(rows)),
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

fn judge_functions(rows: &FigureRows) -> Result<Vec<Claim>, String> {
    let toeplitz = value(rows, TOEPLITZ, NS)?;
    let claim = |name: &str| {
        let other = value(rows, name, NS)?;
        let name = name.trim_start_matches("hash_");
        let text = format!("toeplitz takes {}, {name} {}", toeplitz.text("ns"), other.text("ns"));
        Ok(Claim::new(other.times(CLEARLY).is_below(toeplitz), text))
    };
    OTHERS.into_iter().map(claim).collect()
}

fn judge_identifying(rows: &FigureRows) -> Result<Vec<Claim>, String> {
    let of = |name| value_at(rows, name, ("frames", FRAMES), NS);
    let (rss, tuple) = (of(RSS)?, of(FIVE_TUPLE)?);
    let text = format!("the 5-tuple takes {}, the RSS hash {}", tuple.text("ns"), rss.text("ns"));
    Ok(vec![Claim::new(rss.times(CLEARLY).is_below(tuple), text)])
}

/// Returns the whole time of each way. What is computed of sums is no measurement: it has no answer that was checked.
fn online(rows: &FigureRows) -> FigureRows {
    let of = |name: &str| value_at(rows, name, ("frames", FRAMES), NS);
    let (Ok(rss), Ok(tuple)) = (of(RSS), of(FIVE_TUPLE)) else { return FigureRows::default() };
    let made = |series: &str, ns: RoundedValue| FigureRow {
        series: series.to_owned(),
        values: [(NS, ns.value), ("ns_per_packet_least", ns.least), ("ns_per_packet_most", ns.most)]
            .map(|(name, value)| (name.to_owned(), value))
            .into(),
        ..FigureRow::default()
    };
    let hashed = |name: &&str| Some(made(name, tuple.plus(value(rows, name, NS).ok()?)));
    let hashed = FUNCTIONS.iter().filter_map(hashed);
    FigureRows([made(RSS, rss)].into_iter().chain(hashed).collect())
}

fn judge_online(rows: &FigureRows) -> Result<Vec<Claim>, String> {
    // What is not right, or missing, is noticed where it was measured.
    judge_identifying(rows)?;
    let online = online(rows);
    let (rss, toeplitz) = (value(&online, RSS, NS)?, value(&online, TOEPLITZ, NS)?);
    let mut claims = Vec::new();
    for name in OTHERS {
        let other = value(&online, name, NS)?;
        let text = format!(
            "the card's hash takes {}, the 5-tuple with {} {}, with toeplitz {}",
            rss.text("ns"),
            name.trim_start_matches("hash_"),
            other.text("ns"),
            toeplitz.text("ns")
        );
        claims.push(Claim::new(rss.is_below(other), text.clone()));
        claims.push(Claim::new(other.is_below(toeplitz), text));
    }
    Ok(claims)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::deciding::made::{changed, row, spread_out};

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
        let judged = |judge: fn(&FigureRows) -> Result<Vec<Claim>, String>, rows: &FigureRows| {
            conclude("f", judge(rows)).holds
        };
        for judge in [judge_functions, judge_identifying, judge_online] {
            assert_eq!(judged(judge, &rows()), Some(true));
            assert_eq!(judged(judge, &FigureRows::default()), None);
        }
        let slow_spooky = changed(&rows(), "hash_spooky", NS, 41.0);
        assert_eq!(judged(judge_functions, &slow_spooky), Some(false));
        assert_eq!(judged(judge_online, &slow_spooky), Some(false));
        let quick_headers = changed(&rows(), FIVE_TUPLE, NS, 5.0);
        assert_eq!(judged(judge_identifying, &quick_headers), Some(false));
        let wavering = spread_out(&rows(), FIVE_TUPLE, NS);
        assert_eq!(judged(judge_identifying, &wavering), Some(true), "7.5 to 30 against 6");
        assert_eq!(judged(judge_identifying, &spread_out(&wavering, RSS, NS)), None);
        let online = online(&spread_out(&rows(), FIVE_TUPLE, NS));
        assert_eq!(value(&online, "hash_murmur3", NS), Ok(RoundedValue::new(20.0, [12.5, 35.0])));
    }
}
