//! Makwana: project report, University of Massachusetts Lowell.

use crate::alipourfard::{COUNT_MIN, HEAP, SIMPLE, mean_ratio, sizes};
use crate::figure::{Figure, Paper, PaperClaim};
use crate::machine::MachineProfile;
use crate::panel::{Axis, Curve, Panel};
use crate::point::{Scale, StudyPoint};
use crate::row::FigureRows;
use crate::verdict::FindingResult;

pub(crate) static PAPER: Paper = Paper {
    name: "makwana",
    cite: "Makwana: Software based measurement sketch using DPDK pipeline, project report, University of Massachusetts Lowell",
    machine: "Xeon E5-2650, 12 cores, 256 KB of L2 a core, 25 MB of L3, 32 GB, a 100G card (\"Performance\")",
};

const SECTION: &str = "\"Performance\"; its figures have letters and no numbers";
const HERE: &str = "The same three structures as in Alipourfard's Figure 1, whose measurement the report repeats: points that were measured for it \
                    are taken from there. Packets are generated, of 10 million flows by Zipf(1); the report does not say which traffic it has.";

pub(crate) static FIGURE_A: Figure = Figure {
    paper: &PAPER,
    name: "figure-a",
    title: "throughput of a simple hash table, Count-Min and a heap by size",
    section: SECTION,
    shows: "The throughput of three structures by their size. Count-Min computes three hash functions a packet and accesses three places, the \
            heap several more.",
    here: HERE,
    said: &[
        PaperClaim {
            what: "throughput of the hash table over Count-Min, mean",
            value: "38 % higher",
            place: "of Figure (a)",
        },
        PaperClaim {
            what: "throughput of the hash table over the heap, mean",
            value: "110 % higher",
            place: "of Figure (a)",
        },
    ],
    points,
    panels: throughput,
    judge: judge_throughput,
};

pub(crate) static FIGURE_B: Figure = Figure {
    paper: &PAPER,
    name: "figure-b",
    title: "mean and 95th percentile of the time per packet by size",
    section: SECTION,
    shows: "The mean time per packet of hash table and Count-Min does not depend on their size until 20 MB, and the heap's becomes shorter with its \
            size. The heap's 95th percentile becomes longer with its size.",
    here: HERE,
    said: &[
        PaperClaim {
            what: "largest size that does not affect hash table and Count-Min",
            value: "20 MB",
            place: "of Figure (b)",
        },
        PaperClaim {
            what: "sizes between which the 95th percentile has a jump",
            value: "10 MB to 30 MB",
            place: "of Figure (b)",
        },
    ],
    points,
    panels: times,
    judge: judge_times,
};

fn points(_: &MachineProfile, scale: Scale) -> Vec<StudyPoint> {
    let sizes_kib: &[u64] = scale.pick(
        &[32, 256, 2 << 10, 16 << 10, 128 << 10],
        &[32, 256, 1 << 10, 2 << 10, 4 << 10, 16 << 10, 32 << 10, 128 << 10],
    );
    sizes_kib.iter().map(|kib| sizes(kib << 10, 1.0, scale.pick(1.0, 5.0))).collect()
}

fn panel(rows: &FigureRows, title: &str, y: &str, value: &str) -> Panel {
    let curves = [(SIMPLE, "simple hash table"), (COUNT_MIN, "Count-Min, 3 rows"), (HEAP, "heap")];
    Panel {
        title: title.to_owned(),
        x: Axis::Bytes { label: "size of the structure".to_owned() },
        y: Axis::Log { label: y.to_owned() },
        curves: curves.map(|(series, name)| Curve::from_rows(rows, series, name, "bytes", value)).to_vec(),
    }
}

fn throughput(rows: &FigureRows) -> Vec<Panel> {
    vec![panel(rows, "(a) Throughput", "million packets/s", "mpps")]
}

fn times(rows: &FigureRows) -> Vec<Panel> {
    vec![
        panel(rows, "(b) Mean time per packet", "ns", "ns_per_packet"),
        panel(rows, "(b) 95th percentile", "ns", "p95_ns"),
    ]
}

fn judge_throughput(rows: &FigureRows, _: &MachineProfile) -> FindingResult {
    let finding =
        "a simple hash table has a higher throughput than Count-Min (by 38 %) and than a heap (by 110 %)";
    let faster = |other| mean_ratio(rows, SIMPLE, other, "bytes", "mpps");
    let (Some(count_min), Some(heap)) = (faster(COUNT_MIN), faster(HEAP)) else {
        return FindingResult::open(finding, "nothing is measured");
    };
    let why = format!(
        "by the mean over all sizes it is {:+.0} % against Count-Min and {:+.0} % against the heap",
        100.0 * (count_min - 1.0),
        100.0 * (heap - 1.0)
    );
    FindingResult::new(finding, count_min > 1.0 && heap > 1.0, why)
}

/// A time that is longer by no more than this is taken as the same.
const SAME: f64 = 1.25;

fn judge_times(rows: &FigureRows, _: &MachineProfile) -> FindingResult {
    let finding = "up to 20 MB the size does not affect the mean time per packet of hash table and Count-Min, and a larger heap is faster";
    let time = |series: &str, kib: u64| {
        rows.at(series, "bytes", (kib << 10) as f64).map(|row| row.value("ns_per_packet"))
    };
    let grows = |series: &str, to: u64| Some(time(series, to)? / time(series, 32)?);
    let (Some(simple), Some(count_min), Some(heap)) =
        (grows(SIMPLE, 16 << 10), grows(COUNT_MIN, 16 << 10), grows(HEAP, 128 << 10))
    else {
        return FindingResult::open(finding, "nothing is measured");
    };
    let why = format!(
        "from 32 KiB to 16 MiB a packet takes {simple:.1} times as long in the hash table and {count_min:.1} times in Count-Min \
         (up to {SAME} counts as the same), and from 32 KiB to 128 MiB {heap:.1} times in the heap"
    );
    FindingResult::new(finding, simple <= SAME && count_min <= SAME && heap < 1.0, why)
}
