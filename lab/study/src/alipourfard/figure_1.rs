//! Figure 1: three structures by size.

use super::structures::heavy_hitters;
use super::{COUNT_MIN, HEAP, PAPER, SIMPLE, mean_ratio, sizes};
use crate::figure::{Figure, PaperClaim};
use crate::machine::MachineProfile;
use crate::panel::{Axis, Curve, Panel};
use crate::point::{Scale, StudyPoint};
use crate::row::FigureRows;
use crate::verdict::FindingResult;

pub(crate) static FIGURE: Figure = Figure {
    paper: &PAPER,
    name: "figure-1",
    title: "throughput, time per packet and accuracy of three structures by size, skew 1",
    section: "section 3.1",
    shows: "Heavy hitters of a trace of skew 1 by a simple hash table, by Count-Min of three rows and by SpaceSaving's heap. The hash table has the highest throughput at every size; the mean time per packet of hash table and Count-Min stays the same until 20 MB; above 200 KB the heap is more accurate, by no more than 4 %.",
    here: "(a), (b): the same three structures count generated packets of 10 million flows by Zipf(1), each packet after the one before it is done; throughput is the reciprocal of that time, without receiving and parsing. (c): the address pairs with 0.2 % of a window of a million packets of 300,000 flows by Zipf(1), into which scans, a flood and elephants are planted; each structure with its list of heavy keys, as Edison's tasks have them, compared with an exact count.",
    said: &[
        PaperClaim {
            what: "throughput of the hash table over Count-Min, mean",
            value: "28 % higher",
            place: "section 3.1, of Figure 1(a)",
        },
        PaperClaim {
            what: "throughput of the hash table over the heap, mean",
            value: "120 % higher",
            place: "section 3.1, of Figure 1(a)",
        },
        PaperClaim {
            what: "largest size that does not affect hash table and Count-Min",
            value: "20 MB",
            place: "section 3.1, of Figure 1(b)",
        },
        PaperClaim {
            what: "hash table that keeps the throughput",
            value: "up to 5 MB",
            place: "section 3.1",
        },
        PaperClaim {
            what: "accuracy of the heap over the hash table, above 200 KB",
            value: "at most 4 % higher",
            place: "section 3.1, of Figure 1(c)",
        },
    ],
    points,
    panels,
    judge,
};

fn points(_: &MachineProfile, scale: Scale) -> Vec<StudyPoint> {
    let sizes_kib: &[u64] = scale.pick(
        &[32, 256, 2 << 10, 16 << 10, 128 << 10],
        &[32, 128, 256, 512, 1 << 10, 2 << 10, 4 << 10, 8 << 10, 16 << 10, 32 << 10, 64 << 10, 128 << 10],
    );
    let memories_kib: &[u64] =
        scale.pick(&[32, 128, 512, 2 << 10], &[32, 64, 128, 256, 512, 1 << 10, 2 << 10, 8 << 10]);
    let times = sizes_kib.iter().map(|kib| sizes(kib << 10, 1.0, scale.pick(1.0, 5.0)));
    times.chain(memories_kib.iter().map(|kib| heavy_hitters(kib << 10, scale.pick(2, 5)))).collect()
}

fn panels(rows: &FigureRows) -> Vec<Panel> {
    let size = || Axis::Bytes { label: "size of the structure".to_owned() };
    let curves = |value: &str| {
        [(SIMPLE, "simple hash table"), (COUNT_MIN, "Count-Min, 3 rows"), (HEAP, "SpaceSaving heap")]
            .map(|(series, name)| Curve::from_rows(rows, series, name, "bytes", value))
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
        Panel {
            title: "(c) Accuracy: heavy hitters found".to_owned(),
            x: size(),
            y: Axis::Linear { label: "F1 of precision and recall".to_owned() },
            curves: [
                ("simple-hash-table", "simple hash table"),
                ("count-min", "Count-Min"),
                ("space-saving-heap", "heap"),
            ]
            .map(|(series, name)| Curve::from_rows(rows, series, name, "bytes", "f1"))
            .to_vec(),
        },
    ]
}

fn judge(rows: &FigureRows, _: &MachineProfile) -> FindingResult {
    let finding = "a simple hash table has a higher throughput than Count-Min (by 28 %) and than a heap (by 120 %), and above 200 KB \
                   finds heavy hitters within 4 % as well as the heap";
    let faster = |other| mean_ratio(rows, SIMPLE, other, "bytes", "mpps");
    let accuracy = rows.ratios("simple-hash-table", "space-saving-heap", "bytes", "f1");
    let worst =
        accuracy.iter().filter(|(bytes, _)| *bytes > 200e3).map(|(_, ratio)| 1.0 - ratio).reduce(f64::max);
    let (Some(count_min), Some(heap), Some(worst)) = (faster(COUNT_MIN), faster(HEAP), worst) else {
        return FindingResult::open(finding, "nothing is measured");
    };
    let percent = |ratio: f64| 100.0 * (ratio - 1.0);
    let why = format!(
        "by the mean over all sizes it is {:+.0} % against Count-Min and {:+.0} % against the heap, and its F1 is \
         at most {:.1} % below the heap's",
        percent(count_min),
        percent(heap),
        100.0 * worst.max(0.0)
    );
    FindingResult::new(finding, count_min > 1.0 && heap > 1.0 && worst <= 0.045, why)
}
