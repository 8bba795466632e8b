//! Figure 3: the skew of the traffic.

use super::{COUNT_MIN, HEAP, PAPER, SIMPLE, sizes};
use crate::figure::{Figure, PaperClaim};
use crate::machine::MachineProfile;
use crate::panel::{Axis, Curve, Panel};
use crate::point::{Scale, StudyPoint};
use crate::row::FigureRows;
use crate::verdict::FindingResult;

pub(crate) static FIGURE: Figure = Figure {
    paper: &PAPER,
    name: "figure-3",
    title: "throughput by the skew of the traffic",
    section: "section 3.3",
    shows: "(a) Three structures of 32 MB: the throughput of all rises with the skew from 0.5 to 2, the heap's most. (b) The simple hash table of 0.125, 2 and 32 MB: with more \
            skew the throughput rises at every size.",
    here: "As figure-1, with packets of 10 million flows drawn by other exponents.",
    said: &[
        PaperClaim {
            what: "hash table of 2 MB at a skew of 0.5",
            value: "above 10 Mpps",
            place: "section 4",
        },
        PaperClaim {
            what: "skew from which 32 MB are served from L3 by 95 %",
            value: "1.5",
            place: "section 3.3",
        },
    ],
    points,
    panels,
    judge,
};

const LARGE: u64 = 32 << 20;
const SIZES: [(u64, &str); 3] = [(128 << 10, "0.125 MiB"), (2 << 20, "2 MiB"), (LARGE, "32 MiB")];

fn points(_: &MachineProfile, scale: Scale) -> Vec<StudyPoint> {
    let skews: &[f64] = scale.pick(&[0.5, 1.0, 1.5, 2.0], &[0.5, 0.75, 1.0, 1.25, 1.5, 1.75, 2.0]);
    let seconds = scale.pick(1.0, 5.0);
    skews.iter().flat_map(|skew| SIZES.map(|(bytes, _)| sizes(bytes, *skew, seconds))).collect()
}

fn panels(rows: &FigureRows) -> Vec<Panel> {
    let panel = |title: &str, curves: Vec<Curve>| Panel {
        title: title.to_owned(),
        x: Axis::Linear { label: "skew (Zipf exponent)".to_owned() },
        y: Axis::Log { label: "million packets/s".to_owned() },
        curves,
    };
    let large = rows.only("bytes", LARGE as f64);
    let of_three =
        [(SIMPLE, "simple hash table"), (COUNT_MIN, "Count-Min, 3 rows"), (HEAP, "SpaceSaving heap")]
            .map(|(series, name)| Curve::from_rows(&large, series, name, "zipf", "mpps"));
    let mut by_size: Vec<_> = SIZES
        .map(|(bytes, name)| {
            Curve::from_rows(&rows.only("bytes", bytes as f64), SIMPLE, name, "zipf", "mpps")
        })
        .to_vec();
    by_size.push(Curve::from_paper("2 MB: above", &[(0.5, 10.0)]));
    vec![
        panel("(a) Three structures of 32 MiB", of_three.to_vec()),
        panel("(b) Simple hash table by size", by_size),
    ]
}

fn judge(rows: &FigureRows, _: &MachineProfile) -> FindingResult {
    let finding = "the throughput of every structure and size rises with the skew, that of the heap most";
    // From a skew of 0.5 to one of 2.
    let rise = |series: &str, bytes: u64| {
        let of_size = rows.only("bytes", bytes as f64);
        let mpps = |skew: f64| of_size.at(series, "zipf", skew).map(|row| row.value("mpps"));
        Some(mpps(2.0)? / mpps(0.5)?)
    };
    let sizes = SIZES.map(|(bytes, _)| rise(SIMPLE, bytes));
    let ([Some(small), Some(middle), Some(simple)], Some(count_min), Some(heap)) =
        (sizes, rise(COUNT_MIN, LARGE), rise(HEAP, LARGE))
    else {
        return FindingResult::open(finding, "nothing is measured");
    };
    let holds =
        [small, middle, simple, count_min].iter().all(|rise| *rise > 1.0) && heap > simple.max(count_min);
    let why = format!(
        "from a skew of 0.5 to 2 it is {simple:.1} times as high for the hash table of 32 MiB, {count_min:.1} times for Count-Min and {heap:.1} times for the heap, \
         and for hash tables of 0.125 and 2 MiB {small:.1} and {middle:.1} times"
    );
    FindingResult::new(finding, holds, why)
}
