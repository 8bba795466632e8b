//! Figure 1: three structures by size.

use super::{COUNT_MIN, HEAP, PAPER, SIMPLE, mean_ratio, sizes};
use crate::figure::{Figure, Said};
use crate::machine::Machine;
use crate::panel::{Axis, Curve, Panel};
use crate::point::{Point, Scale};
use crate::row::Rows;
use crate::verdict::Verdict;

pub(crate) static FIGURE: Figure = Figure {
    paper: &PAPER,
    name: "figure-1",
    title: "throughput and time per packet of three structures by size, skew 1",
    section: "section 3.1",
    shows: "Heavy hitters of a trace of skew 1 by a simple hash table, by Count-Min of three rows and by SpaceSaving's heap. The hash table has \
            the highest throughput at every size; the mean time per packet of hash table and Count-Min stays the same until 20 MB.",
    here: "The same three structures count generated packets of 10 million flows by Zipf(1), each packet after the one before it is done; \
           throughput is the reciprocal of that time, without receiving and parsing. The 95th percentile includes the clock's own time (timer_ns).",
    said: &[
        Said {
            what: "throughput of the hash table over Count-Min, mean",
            value: "28 % higher",
            place: "section 3.1, of Figure 1(a)",
        },
        Said {
            what: "throughput of the hash table over the heap, mean",
            value: "120 % higher",
            place: "section 3.1, of Figure 1(a)",
        },
        Said {
            what: "largest size that does not affect hash table and Count-Min",
            value: "20 MB",
            place: "section 3.1, of Figure 1(b)",
        },
        Said { what: "hash table that keeps the throughput", value: "up to 5 MB", place: "section 3.1" },
    ],
    points,
    panels,
    judge,
};

fn points(_: &Machine, scale: Scale) -> Vec<Point> {
    let sizes_kib: &[u64] = scale.pick(
        &[32, 256, 2 << 10, 16 << 10, 128 << 10],
        &[32, 128, 256, 512, 1 << 10, 2 << 10, 4 << 10, 8 << 10, 16 << 10, 32 << 10, 64 << 10, 128 << 10],
    );
    sizes_kib.iter().map(|kib| sizes(kib << 10, 1.0, scale.pick(1.0, 5.0))).collect()
}

fn panels(rows: &Rows) -> Vec<Panel> {
    let size = || Axis::Bytes { label: "size of the structure".to_owned() };
    let curves = |value: &str| {
        [(SIMPLE, "simple hash table"), (COUNT_MIN, "Count-Min, 3 rows"), (HEAP, "SpaceSaving heap")]
            .map(|(series, name)| Curve::of(rows, series, name, "bytes", value))
            .to_vec()
    };
    let panel = |title: &str, y: &str, value: &str| Panel {
        title: title.to_owned(),
        x: size(),
        y: Axis::Log { label: y.to_owned() },
        curves: curves(value),
    };
    vec![
        panel("(a) Throughput", "million packets/s", "mpps"),
        panel("(b) Mean time per packet", "ns", "ns_per_packet"),
        panel("(b) 95th percentile", "ns", "p95_ns"),
    ]
}

fn judge(rows: &Rows, _: &Machine) -> Verdict {
    let finding =
        "a simple hash table has a higher throughput than Count-Min (by 28 %) and than a heap (by 120 %)";
    let faster = |other| mean_ratio(rows, SIMPLE, other, "bytes", "mpps");
    let (Some(count_min), Some(heap)) = (faster(COUNT_MIN), faster(HEAP)) else {
        return Verdict::open(finding, "nothing is measured");
    };
    let percent = |ratio: f64| 100.0 * (ratio - 1.0);
    let why = format!(
        "by the mean over all sizes it is {:+.0} % against Count-Min and {:+.0} % against the heap",
        percent(count_min),
        percent(heap)
    );
    Verdict::new(finding, count_min > 1.0 && heap > 1.0, why)
}
